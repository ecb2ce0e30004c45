//! Datatypes that are taken apart into arrays of datatypes.

use std::ffi::c_int;

use super::darray::{Distributions, argument_to_standard};
use super::length;
use super::requests::unpack;
use crate::abi::Abi;
use crate::abi::column;
use crate::abi::handle;
use crate::abi::numbers::Orders;
use crate::generated::functions::datatype as slots;
use crate::types::{MPI_Aint, MPI_Count, MPI_Datatype};

type Made<A> = *mut <A as Abi>::Handle<MPI_Datatype>;

/// The envelope of a datatype: its constructor and the numbers of the arguments, in the standard's
/// terms.
struct Envelope {
    integers: usize,
    types: usize,
    combiner: c_int,
}

fn envelope(datatype: MPI_Datatype) -> Envelope {
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    // SAFETY: the caller of MPI gave this datatype; four places for ints.
    unsafe {
        crate::MPI_Type_get_envelope(
            datatype,
            &raw mut integers,
            &raw mut addresses,
            &raw mut types,
            &raw mut combiner,
        )
    };
    Envelope {
        integers: length(integers),
        types: length(types),
        combiner,
    }
}

/// Converts the constants among the integers that describe a subarray or a distributed array
/// (MPI 5.0 §5.1.13: the order of the constructor's arguments).
///
/// # Safety
/// `integers` has the `count` integers that the library wrote.
unsafe fn convert_integers<A: Abi>(combiner: c_int, integers: *mut c_int, count: usize) {
    if integers.is_null() || count == 0 {
        return;
    }
    // SAFETY: the library has written `count` integers, by this function's contract.
    let integers = unsafe { std::slice::from_raw_parts_mut(integers, count) };
    match combiner {
        crate::MPI_COMBINER_SUBARRAY => {
            let dimensions = length(integers[0]);
            if let Some(order) = integers.get_mut(1 + 3 * dimensions) {
                *order = column::to_standard::<A, Orders>(*order);
            }
        }
        crate::MPI_COMBINER_DARRAY => {
            let dimensions = integers.get(2).map_or(0, |&n| length(n));
            let (distributions, arguments) = (3 + dimensions, 3 + 2 * dimensions);
            for value in integers
                .get_mut(distributions..arguments)
                .into_iter()
                .flatten()
            {
                *value = column::to_standard::<A, Distributions>(*value);
            }
            for value in integers
                .get_mut(arguments..arguments + dimensions)
                .into_iter()
                .flatten()
            {
                *value = argument_to_standard::<A>(*value);
            }
            if let Some(order) = integers.get_mut(3 + 4 * dimensions) {
                *order = column::to_standard::<A, Orders>(*order);
            }
        }
        _ => {}
    }
}

pub(crate) unsafe extern "C" fn MPI_Type_get_contents<A: Abi>(
    datatype: MPI_Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_types: c_int,
    integers: *mut c_int,
    addresses: *mut MPI_Aint,
    types: *mut MPI_Datatype,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(
        <A as Abi>::Handle<MPI_Datatype>,
        c_int,
        c_int,
        c_int,
        *mut c_int,
        *mut MPI_Aint,
        Made<A>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Type_get_contents::LIBRARY.function::<Call<A>>() };
    let made = envelope(datatype);
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let native = unsafe { handle::to_native::<A, _>(datatype) };
    // SAFETY: the arrays are as long as the caller of MPI says, and native datatypes are no larger.
    let code = unsafe {
        call(
            native,
            max_integers,
            max_addresses,
            max_types,
            integers,
            addresses,
            types.cast(),
        )
    };
    if code == crate::MPI_SUCCESS {
        // SAFETY: the library has written the datatypes of the envelope.
        unsafe { unpack::<A, _>(types, made.types) };
        // SAFETY: the library has written the integers of the envelope, at most `max_integers`.
        unsafe { convert_integers::<A>(made.combiner, integers, made.integers) };
    }
    code
}

pub(crate) unsafe extern "C" fn MPI_Type_get_contents_c<A: Abi>(
    datatype: MPI_Datatype,
    max_integers: MPI_Count,
    max_addresses: MPI_Count,
    max_counts: MPI_Count,
    max_types: MPI_Count,
    integers: *mut c_int,
    addresses: *mut MPI_Aint,
    counts: *mut MPI_Count,
    types: *mut MPI_Datatype,
) -> c_int {
    type Call<A> = unsafe extern "C" fn(
        <A as Abi>::Handle<MPI_Datatype>,
        MPI_Count,
        MPI_Count,
        MPI_Count,
        MPI_Count,
        *mut c_int,
        *mut MPI_Aint,
        *mut MPI_Count,
        Made<A>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { slots::MPI_Type_get_contents_c::LIBRARY.function::<Call<A>>() };
    let (mut n_integers, mut n_addresses, mut n_counts, mut n_types, mut combiner) =
        (0, 0, 0, 0, 0);
    // SAFETY: the caller of MPI gave this datatype; five places.
    let code = unsafe {
        crate::MPI_Type_get_envelope_c(
            datatype,
            &raw mut n_integers,
            &raw mut n_addresses,
            &raw mut n_counts,
            &raw mut n_types,
            &raw mut combiner,
        )
    };
    if code != crate::MPI_SUCCESS {
        return super::code::<A>(code);
    }
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let native = unsafe { handle::to_native::<A, _>(datatype) };
    // SAFETY: the arrays are as long as the caller of MPI says, and native datatypes are no larger.
    let code = unsafe {
        call(
            native,
            max_integers,
            max_addresses,
            max_counts,
            max_types,
            integers,
            addresses,
            counts,
            types.cast(),
        )
    };
    if code == crate::MPI_SUCCESS {
        // SAFETY: the library has written the datatypes of the envelope.
        unsafe { unpack::<A, _>(types, length(n_types)) };
        // With large counts the sizes are elsewhere and the integers are in another order: the
        // constants of a large subarray or distributed array lie at the end.
        if n_counts == 0 {
            // SAFETY: the library has written the integers of the envelope.
            unsafe { convert_integers::<A>(combiner, integers, length(n_integers)) };
        }
    }
    code
}
