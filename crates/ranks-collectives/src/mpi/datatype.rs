//! The datatype of an element in the library's own form.

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;
use ranks_mpi_sys::native;

#[inline]
pub(super) fn datatype<T: Pod>() -> native::Datatype {
    // SAFETY: the library is loaded: this is called by operations on a `Comm` only.
    unsafe { native::datatype(TypeOf::<T>::datatype()) }
}
