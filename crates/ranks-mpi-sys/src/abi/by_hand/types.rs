//! Datatypes that are built from arrays of datatypes.

use std::ffi::c_int;

use super::{Handles, length, through};
use crate::abi::Abi;
use crate::abi::kinds::OutDatatype;
use crate::generated::functions::datatype as slots;
use crate::types::{MPI_Aint, MPI_Count, MPI_Datatype};

type Types<A> = *const <A as Abi>::Handle<MPI_Datatype>;
type Made<A> = *mut <A as Abi>::Handle<MPI_Datatype>;

pub(crate) unsafe extern "C" fn MPI_Type_create_struct<A: Abi>(
    count: c_int,
    lengths: *const c_int,
    places: *const MPI_Aint,
    types: *const MPI_Datatype,
    new: *mut MPI_Datatype,
) -> c_int {
    type Call<A> =
        unsafe extern "C" fn(c_int, *const c_int, *const MPI_Aint, Types<A>, Made<A>) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Type_create_struct::LIBRARY.function::<Call<A>>() };
    // SAFETY: the caller of MPI gives `count` datatypes.
    let types = unsafe { Handles::<A, MPI_Datatype>::new(types, length(count)) };
    // SAFETY: the arguments are in the family's own form.
    let call = |new| unsafe { call(count, lengths, places, types.as_ptr(), new) };
    // SAFETY: the caller of MPI gives a place for the new datatype.
    unsafe { through::<A, OutDatatype>(new, call) }
}

#[cfg(feature = "whole")]
pub(crate) unsafe extern "C" fn MPI_Type_create_struct_c<A: Abi>(
    count: MPI_Count,
    lengths: *const MPI_Count,
    places: *const MPI_Count,
    types: *const MPI_Datatype,
    new: *mut MPI_Datatype,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(
        MPI_Count,
        *const MPI_Count,
        *const MPI_Count,
        Types<A>,
        Made<A>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Type_create_struct_c::LIBRARY.function::<Call<A>>() };
    // SAFETY: the caller of MPI gives `count` datatypes.
    let types = unsafe { Handles::<A, MPI_Datatype>::new(types, length(count)) };
    // SAFETY: the arguments are in the family's own form.
    let call = |new| unsafe { call(count, lengths, places, types.as_ptr(), new) };
    // SAFETY: the caller of MPI gives a place for the new datatype.
    unsafe { through::<A, OutDatatype>(new, call) }
}
