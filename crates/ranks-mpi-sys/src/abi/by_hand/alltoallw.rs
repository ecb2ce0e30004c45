//! Collectives with a datatype for every process.
//!
//! The arrays of datatypes of a blocking call are copied in the library's own form. Those of a call
//! that goes on after it has returned have that form already: the caller keeps them, see
//! [`Datatypes`](crate::native::Datatypes).

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::{ptr, slice};

use super::{Handles, length, through};
use crate::abi::Abi;
use crate::abi::handle;
use crate::abi::kinds::{Arg, OutRequest};
use crate::abi::memory::Buf;
use crate::generated::functions::{coll, neighbor};
use crate::native::DatatypeWord;
use crate::types::*;

type Types<A> = *const <A as Abi>::Handle<MPI_Datatype>;

/// The numbers of processes that a call on `comm` sends to, and receives from.
fn peers(comm: MPI_Comm) -> (usize, usize) {
    let (mut inter, mut size) = (0, 0);
    // SAFETY: the caller of MPI gave this communicator; a place for an int.
    unsafe { crate::MPI_Comm_test_inter(comm, &raw mut inter) };
    if inter == 0 {
        // SAFETY: as above.
        unsafe { crate::MPI_Comm_size(comm, &raw mut size) };
    } else {
        // SAFETY: as above.
        unsafe { crate::MPI_Comm_remote_size(comm, &raw mut size) };
    }
    (length(size), length(size))
}

/// The numbers of neighbours that a call on `comm` sends to, and receives from.
fn neighbors(comm: MPI_Comm) -> (usize, usize) {
    let mut topology = crate::MPI_UNDEFINED;
    // SAFETY: the caller of MPI gave this communicator; a place for an int.
    unsafe { crate::MPI_Topo_test(comm, &raw mut topology) };
    match topology {
        crate::MPI_CART => {
            let mut dimensions = 0;
            // SAFETY: as above.
            unsafe { crate::MPI_Cartdim_get(comm, &raw mut dimensions) };
            (2 * length(dimensions), 2 * length(dimensions))
        }
        crate::MPI_GRAPH => {
            let (mut rank, mut count) = (0, 0);
            // SAFETY: as above.
            unsafe { crate::MPI_Comm_rank(comm, &raw mut rank) };
            // SAFETY: as above.
            unsafe { crate::MPI_Graph_neighbors_count(comm, rank, &raw mut count) };
            (length(count), length(count))
        }
        crate::MPI_DIST_GRAPH => {
            let (mut sources, mut destinations, mut weighted) = (0, 0, 0);
            // SAFETY: as above, with three places.
            unsafe {
                crate::MPI_Dist_graph_neighbors_count(
                    comm,
                    &raw mut sources,
                    &raw mut destinations,
                    &raw mut weighted,
                )
            };
            (length(destinations), length(sources))
        }
        _ => (0, 0),
    }
}

/// The datatypes of both sides in the library's own form.
struct Sides<A: Abi> {
    send: Option<Handles<A, MPI_Datatype>>,
    receive: Handles<A, MPI_Datatype>,
}

impl<A: Abi> Sides<A> {
    /// # Safety
    /// The arrays have as many datatypes as `counts` says. Those to send are not looked at with
    /// `MPI_IN_PLACE`.
    unsafe fn new(
        buffer: *const c_void,
        send: *const MPI_Datatype,
        receive: *const MPI_Datatype,
        counts: (usize, usize),
    ) -> Self {
        let in_place = buffer.addr() == crate::MPI_IN_PLACE.addr();
        // SAFETY: by this function's contract.
        let send = (!in_place).then(|| unsafe { Handles::new(send, counts.0) });
        // SAFETY: by this function's contract.
        let receive = unsafe { Handles::new(receive, counts.1) };
        Sides { send, receive }
    }

    fn send(&self) -> Types<A> {
        self.send.as_ref().map_or(ptr::null(), Handles::as_ptr)
    }
}

fn in_place<A: Abi>(buffer: *const c_void) -> *const c_void {
    // SAFETY: a buffer is only compared with the constant.
    let mut held = unsafe { <Buf as Arg<A>>::enter(buffer.cast_mut()) };
    <Buf as Arg<A>>::pass(&mut held)
}

/// The counts of both sides for the function of large counts.
struct LargeCounts {
    send: Vec<MPI_Count>,
    receive: Vec<MPI_Count>,
}

impl LargeCounts {
    /// The counts, where the other function mixes them up: MPICH 4.0 to 4.0.2 copies as many of
    /// what is sent as there are sources, and as many of what is received as there are
    /// destinations. The function of large counts copies none, and does not read them after it has
    /// returned.
    ///
    /// # Safety
    /// There is a count for every neighbour.
    unsafe fn needed(comm: MPI_Comm, send: *const c_int, receive: *const c_int) -> Option<Self> {
        const MIXED_UP: [&str; 3] = ["MPICH 4.0", "MPICH 4.0.1", "MPICH 4.0.2"];
        static IS_NEEDED: OnceLock<bool> = OnceLock::new();
        let is_needed = || crate::loaded().is_some_and(|loaded| MIXED_UP.contains(&loaded.name()));
        if !*IS_NEEDED.get_or_init(is_needed) {
            return None;
        }
        let (destinations, sources) = neighbors(comm);
        let large = |counts: *const c_int, length: usize| match length {
            0 => Vec::new(),
            // SAFETY: by this function's contract.
            _ => unsafe { slice::from_raw_parts(counts, length) }
                .iter()
                .map(|count| MPI_Count::from(*count))
                .collect(),
        };
        (destinations != sources).then(|| Self {
            send: large(send, destinations),
            receive: large(receive, sources),
        })
    }
}

/// A call that is done when it returns; some by `$large`, where [`LargeCounts`] are needed.
macro_rules! blocking {
    ($name:ident in $family:ident, $peers:ident, $count:ty, $place:ty $(, $large:path)?) => {
        pub(crate) unsafe extern "C" fn $name<A: Abi>(
            send_buffer: *const c_void,
            send_counts: *const $count,
            send_places: *const $place,
            send_types: *const MPI_Datatype,
            buffer: *mut c_void,
            counts: *const $count,
            places: *const $place,
            types: *const MPI_Datatype,
            comm: MPI_Comm,
        ) -> c_int {
            type Call<A> = unsafe extern "C" fn(
                *const c_void,
                *const $count,
                *const $place,
                Types<A>,
                *mut c_void,
                *const $count,
                *const $place,
                Types<A>,
                <A as Abi>::Handle<MPI_Comm>,
            ) -> c_int;
            $(
                // SAFETY: the caller of MPI gives a count for every neighbour.
                if let Some(large) = unsafe { LargeCounts::needed(comm, send_counts, counts) } {
                    let (send_counts, counts) = (large.send.as_ptr(), large.receive.as_ptr());
                    // SAFETY: the same call.
                    return unsafe {
                        $large(
                            send_buffer, send_counts, send_places, send_types, buffer, counts, places, types, comm,
                        )
                    };
                }
            )?
            // SAFETY: the type of this function in the family's header.
            let call = unsafe { $family::$name::LIBRARY.function::<Call<A>>() };
            // SAFETY: the caller of MPI gives a datatype for every process.
            let sides = unsafe { Sides::<A>::new(send_buffer, send_types, types, $peers(comm)) };
            // SAFETY: the tables are filled: the caller has seen `load` return.
            let comm = unsafe { handle::to_native::<A, _>(comm) };
            // SAFETY: the arguments are in the family's own form.
            unsafe {
                call(
                    in_place::<A>(send_buffer),
                    send_counts,
                    send_places,
                    sides.send(),
                    buffer,
                    counts,
                    places,
                    sides.receive.as_ptr(),
                    comm,
                )
            }
        }
    };
}

/// A call that goes on after it has returned: nonblocking, or persistent with hints; some by
/// `$large`, where [`LargeCounts`] are needed.
macro_rules! continued {
    ($name:ident in $family:ident, $count:ty, $place:ty $(, $info:ident: $info_type:ty)? $(; $large:path $(, $passed:ident)?)?) => {
        pub(crate) unsafe extern "C" fn $name<A: Abi>(
            send_buffer: *const c_void,
            send_counts: *const $count,
            send_places: *const $place,
            send_types: *const DatatypeWord,
            buffer: *mut c_void,
            counts: *const $count,
            places: *const $place,
            types: *const DatatypeWord,
            comm: MPI_Comm,
            $($info: $info_type,)?
            request: *mut MPI_Request,
        ) -> c_int {
            type Call<A> = unsafe extern "C" fn(
                *const c_void, *const $count, *const $place, Types<A>,
                *mut c_void, *const $count, *const $place, Types<A>,
                <A as Abi>::Handle<MPI_Comm>,
                $(<A as Abi>::Handle<$info_type>,)?
                *mut <A as Abi>::Handle<MPI_Request>,
            ) -> c_int;
            $(
                // SAFETY: the caller of MPI gives a count for every neighbour.
                if let Some(large) = unsafe { LargeCounts::needed(comm, send_counts, counts) } {
                    let (send_counts, counts) = (large.send.as_ptr(), large.receive.as_ptr());
                    // SAFETY: the same call.
                    return unsafe { $large(
                        send_buffer, send_counts, send_places, send_types, buffer, counts, places, types, comm,
                        $($passed,)? request,
                    ) };
                }
            )?
            // SAFETY: the type of this function in the family's header.
            let call = unsafe { $family::$name::LIBRARY.function::<Call<A>>() };
            // SAFETY: the tables are filled: the caller has seen `load` return.
            let comm = unsafe { handle::to_native::<A, _>(comm) };
            // SAFETY: as above.
            $(let $info = unsafe { handle::to_native::<A, _>($info) };)?
            // SAFETY: the arguments are in the family's own form.
            let call = |request| unsafe {
                call(
                    in_place::<A>(send_buffer), send_counts, send_places, send_types.cast(),
                    buffer, counts, places, types.cast(), comm, $($info,)? request,
                )
            };
            // SAFETY: the caller of MPI gives a place for the request.
            unsafe { through::<A, OutRequest>(request, call) }
        }
    };
}

blocking!(MPI_Alltoallw in coll, peers, c_int, c_int);
#[cfg(feature = "whole")]
blocking!(MPI_Alltoallw_c in coll, peers, MPI_Count, MPI_Aint);
blocking!(MPI_Neighbor_alltoallw in neighbor, neighbors, c_int, MPI_Aint, crate::MPI_Neighbor_alltoallw_c);
blocking!(MPI_Neighbor_alltoallw_c in neighbor, neighbors, MPI_Count, MPI_Aint);
continued!(MPI_Ialltoallw in coll, c_int, c_int);
#[cfg(feature = "whole")]
continued!(MPI_Ialltoallw_c in coll, MPI_Count, MPI_Aint);
continued!(MPI_Ineighbor_alltoallw in neighbor, c_int, MPI_Aint; crate::MPI_Ineighbor_alltoallw_c);
continued!(MPI_Ineighbor_alltoallw_c in neighbor, MPI_Count, MPI_Aint);
continued!(MPI_Alltoallw_init in coll, c_int, c_int, info: MPI_Info);
#[cfg(feature = "whole")]
continued!(MPI_Alltoallw_init_c in coll, MPI_Count, MPI_Aint, info: MPI_Info);
continued!(
    MPI_Neighbor_alltoallw_init in neighbor, c_int, MPI_Aint, info: MPI_Info;
    crate::MPI_Neighbor_alltoallw_init_c, info
);
continued!(MPI_Neighbor_alltoallw_init_c in neighbor, MPI_Count, MPI_Aint, info: MPI_Info);
