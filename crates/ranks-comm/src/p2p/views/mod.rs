//! Messages of the elements that layouts select.

pub(crate) mod nonblocking;
mod pack;
mod recv;
mod send;
mod sendrecv;
