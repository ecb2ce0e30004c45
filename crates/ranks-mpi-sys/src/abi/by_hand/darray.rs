//! Distributed arrays: arrays of constants.

use std::ffi::c_int;

use super::{length, through};
use crate::abi::Abi;
use crate::abi::column::{self, Enumeration};
use crate::abi::handle;
use crate::abi::kinds::OutDatatype;
use crate::abi::numbers::Orders;
use crate::generated::columns::{self, Value};
use crate::generated::functions::datatype as slots;
use crate::types::{MPI_Count, MPI_Datatype};

/// The ways of distributing a dimension.
pub(super) struct Distributions;

impl Enumeration for Distributions {
    const VALUES: &'static [Value] = columns::DISTRIBUTION;
}

/// The values of the default argument of a distribution, standard and native. Every other argument
/// is a number of elements and stays.
fn default_argument<A: Abi>() -> (c_int, c_int) {
    let default = crate::MPI_DISTRIBUTE_DFLT_DARG;
    (default, column::to_native::<A, Distributions>(default))
}

/// The standard's form of an argument of a distribution.
pub(super) fn argument_to_standard<A: Abi>(native: c_int) -> c_int {
    let (standard, default) = default_argument::<A>();
    if native == default { standard } else { native }
}

fn argument_to_native<A: Abi>(standard: c_int) -> c_int {
    let (default, native) = default_argument::<A>();
    if standard == default {
        native
    } else {
        standard
    }
}

/// # Safety
/// `values` has `count` ints.
unsafe fn converted(values: *const c_int, count: usize, convert: fn(c_int) -> c_int) -> Vec<c_int> {
    // SAFETY: inside the array, by this function's contract.
    (0..count)
        .map(|i| convert(unsafe { *values.add(i) }))
        .collect()
}

macro_rules! darray {
    ($create:ident, $sizes:ty) => {
        pub(crate) unsafe extern "C" fn $create<A: Abi>(
            size: c_int,
            rank: c_int,
            dimensions: c_int,
            sizes: *const $sizes,
            distributions: *const c_int,
            arguments: *const c_int,
            processes: *const c_int,
            order: c_int,
            element: MPI_Datatype,
            new: *mut MPI_Datatype,
        ) -> c_int {
            type Ints = *const c_int;
            type Datatype<A> = <A as Abi>::Handle<MPI_Datatype>;
            type Create<A> = unsafe extern "C" fn(
                c_int,
                c_int,
                c_int,
                *const $sizes,
                Ints,
                Ints,
                Ints,
                c_int,
                Datatype<A>,
                *mut Datatype<A>,
            ) -> c_int;
            // SAFETY: the type of this function in the family's header.
            let call = unsafe { slots::$create::LIBRARY.function::<Create<A>>() };
            let n = length(dimensions);
            let to_native = column::to_native::<A, Distributions>;
            // SAFETY: the caller of MPI gives one for each dimension.
            let distributions = unsafe { converted(distributions, n, to_native) };
            // SAFETY: as above.
            let arguments = unsafe { converted(arguments, n, argument_to_native::<A>) };
            let order = column::to_native::<A, Orders>(order);
            // SAFETY: the tables are filled: the caller has seen `load` return.
            let element = unsafe { handle::to_native::<A, _>(element) };
            // SAFETY: the arguments are in the family's own form.
            let call = |new| unsafe {
                call(
                    size,
                    rank,
                    dimensions,
                    sizes,
                    distributions.as_ptr(),
                    arguments.as_ptr(),
                    processes,
                    order,
                    element,
                    new,
                )
            };
            // SAFETY: the caller of MPI gives a place for the new datatype.
            unsafe { through::<A, OutDatatype>(new, call) }
        }
    };
}

darray!(MPI_Type_create_darray, c_int);
darray!(MPI_Type_create_darray_c, MPI_Count);
