//! Arrays of ranks, and weights of graphs.

use std::ffi::c_int;

use super::{length, through};
use crate::abi::Abi;
use crate::abi::handle;
use crate::abi::kinds::{Conversion, OutComm};
use crate::abi::numbers::Ranks;
use crate::abi::predefined::pointer;
use crate::generated::functions::{group, topology};
use crate::types::{MPI_Comm, MPI_Group, MPI_Info};

type Group<A> = <A as Abi>::Handle<MPI_Group>;
type Comm<A> = <A as Abi>::Handle<MPI_Comm>;
type Info<A> = <A as Abi>::Handle<MPI_Info>;

/// Ranks may be `MPI_PROC_NULL`, and may come back as it.
pub(crate) unsafe extern "C" fn MPI_Group_translate_ranks<A: Abi>(
    from: MPI_Group,
    count: c_int,
    ranks: *const c_int,
    to: MPI_Group,
    translated: *mut c_int,
) -> c_int {
    type Call<A> =
        unsafe extern "C" fn(Group<A>, c_int, *const c_int, Group<A>, *mut c_int) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { group::MPI_Group_translate_ranks::LIBRARY.function::<Call<A>>() };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let from = unsafe { handle::to_native::<A, _>(from) };
    // SAFETY: as above.
    let to = unsafe { handle::to_native::<A, _>(to) };
    let mut native = Vec::with_capacity(length(count));
    for i in 0..length(count) {
        // SAFETY: the caller of MPI gives `count` ranks.
        native.push(Ranks::to_native::<A>(unsafe { *ranks.add(i) }));
    }
    // SAFETY: the arguments are in the family's own form; there is room for `count` ranks.
    let code = unsafe { call(from, count, native.as_ptr(), to, translated) };
    if code == crate::MPI_SUCCESS {
        for i in 0..length(count) {
            // SAFETY: the library has written `count` ranks.
            let rank = unsafe { &mut *translated.add(i) };
            if *rank != crate::MPI_UNDEFINED {
                *rank = Ranks::to_standard::<A>(*rank);
            }
        }
    }
    code
}

/// `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` as the library has them; real weights stay.
fn weights(standard: *const c_int) -> *const c_int {
    if standard.addr() == crate::MPI_UNWEIGHTED.addr() {
        pointer("MPI_UNWEIGHTED").cast_const().cast()
    } else if standard.addr() == crate::MPI_WEIGHTS_EMPTY.addr() {
        pointer("MPI_WEIGHTS_EMPTY").cast_const().cast()
    } else {
        standard
    }
}

pub(crate) unsafe extern "C" fn MPI_Dist_graph_create<A: Abi>(
    comm: MPI_Comm,
    count: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    edge_weights: *const c_int,
    info: MPI_Info,
    reorder: c_int,
    new: *mut MPI_Comm,
) -> c_int {
    type Ints = *const c_int;
    type Call<A> = unsafe extern "C" fn(
        Comm<A>,
        c_int,
        Ints,
        Ints,
        Ints,
        Ints,
        Info<A>,
        c_int,
        *mut Comm<A>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { topology::MPI_Dist_graph_create::LIBRARY.function::<Call<A>>() };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let comm = unsafe { handle::to_native::<A, _>(comm) };
    // SAFETY: as above.
    let info = unsafe { handle::to_native::<A, _>(info) };
    let edge_weights = weights(edge_weights);
    // SAFETY: the arguments are in the family's own form.
    let call = |new| unsafe {
        call(
            comm,
            count,
            sources,
            degrees,
            destinations,
            edge_weights,
            info,
            reorder,
            new,
        )
    };
    // SAFETY: the caller of MPI gives a place for the communicator.
    unsafe { through::<A, OutComm>(new, call) }
}

pub(crate) unsafe extern "C" fn MPI_Dist_graph_create_adjacent<A: Abi>(
    comm: MPI_Comm,
    indegree: c_int,
    sources: *const c_int,
    source_weights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destination_weights: *const c_int,
    info: MPI_Info,
    reorder: c_int,
    new: *mut MPI_Comm,
) -> c_int {
    type Ints = *const c_int;
    type Call<A> = unsafe extern "C" fn(
        Comm<A>,
        c_int,
        Ints,
        Ints,
        c_int,
        Ints,
        Ints,
        Info<A>,
        c_int,
        *mut Comm<A>,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { topology::MPI_Dist_graph_create_adjacent::LIBRARY.function::<Call<A>>() };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let comm = unsafe { handle::to_native::<A, _>(comm) };
    // SAFETY: as above.
    let info = unsafe { handle::to_native::<A, _>(info) };
    let (source_weights, destination_weights) =
        (weights(source_weights), weights(destination_weights));
    // SAFETY: the arguments are in the family's own form.
    let call = |new| unsafe {
        call(
            comm,
            indegree,
            sources,
            source_weights,
            outdegree,
            destinations,
            destination_weights,
            info,
            reorder,
            new,
        )
    };
    // SAFETY: the caller of MPI gives a place for the communicator.
    unsafe { through::<A, OutComm>(new, call) }
}

pub(crate) unsafe extern "C" fn MPI_Dist_graph_neighbors<A: Abi>(
    comm: MPI_Comm,
    max_indegree: c_int,
    sources: *mut c_int,
    source_weights: *mut c_int,
    max_outdegree: c_int,
    destinations: *mut c_int,
    destination_weights: *mut c_int,
) -> c_int {
    type Ints = *mut c_int;
    type Call<A> = unsafe extern "C" fn(Comm<A>, c_int, Ints, Ints, c_int, Ints, Ints) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { topology::MPI_Dist_graph_neighbors::LIBRARY.function::<Call<A>>() };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let comm = unsafe { handle::to_native::<A, _>(comm) };
    let source_weights = weights(source_weights).cast_mut();
    let destination_weights = weights(destination_weights).cast_mut();
    // SAFETY: the arguments are in the family's own form.
    unsafe {
        call(
            comm,
            max_indegree,
            sources,
            source_weights,
            max_outdegree,
            destinations,
            destination_weights,
        )
    }
}
