//! Messages before they travel: elements, the buffers that hold them, and the owner of memory in
//! flight.

pub(crate) mod buffer;
pub(crate) mod datatype;
pub mod element;
pub(crate) mod in_flight;
pub mod layout;
pub(crate) mod lent;
pub(crate) mod owned;
pub(crate) mod raw_slice;
pub(crate) mod sentinels;
pub(crate) mod source;
pub(crate) mod tag;
