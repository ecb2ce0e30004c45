//! Collectives with a datatype for every process.
//!
//! The arrays of datatypes of a blocking call are copied in the library's own form. Those of a call
//! that goes on after it has returned have that form already: the caller keeps them, see
//! [`Datatypes`](crate::native::Datatypes).

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::{ptr, slice};

use super::{Handles, length};
use crate::abi::Abi;
use crate::abi::handle;
use crate::abi::kinds::{Arg, Comm, Info, Kind, OutRequest};
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
enum Sides<A: Abi> {
    /// Copies, of what is sent none with `MPI_IN_PLACE`.
    Copied(Option<Handles<A, MPI_Datatype>>, Handles<A, MPI_Datatype>),
    /// Arrays of the caller.
    Given(Types<A>, Types<A>),
}

impl<A: Abi> Sides<A> {
    /// # Safety
    /// The arrays have as many datatypes as `counts` says. Those to send are not looked at with
    /// `MPI_IN_PLACE`.
    unsafe fn copied(
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
        Sides::Copied(send, receive)
    }

    fn send(&self) -> Types<A> {
        match self {
            Sides::Copied(send, _) => send.as_ref().map_or(ptr::null(), Handles::as_ptr),
            Sides::Given(send, _) => *send,
        }
    }

    fn receive(&self) -> Types<A> {
        match self {
            Sides::Copied(_, receive) => receive.as_ptr(),
            Sides::Given(_, receive) => *receive,
        }
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

/// The type of datatypes that are copied, as those of a call that is done when it returns, or that
/// are given in the library's own form.
macro_rules! datatype {
    (copied) => {
        MPI_Datatype
    };
    (given) => {
        DatatypeWord
    };
}

/// The datatypes of both sides of a call on `$comm`, which has as many as `$peers` says.
macro_rules! sides {
    (copied($peers:ident) $comm:ident, $buffer:ident, $send:ident, $receive:ident) => {
        // SAFETY: the caller of MPI gives a datatype for every process.
        unsafe { Sides::copied($buffer, $send, $receive, $peers($comm)) }
    };
    (given $comm:ident, $buffer:ident, $send:ident, $receive:ident) => {
        Sides::Given($send.cast(), $receive.cast())
    };
}

/// Returns what `$large` does with these arguments, where [`LargeCounts`] are needed.
macro_rules! by_large {
    (() $($arguments:tt)*) => {};
    (($large:path) $send_counts:ident, $counts:ident, $comm:ident, ($($argument:ident),* $(,)?)) => {
        // SAFETY: the caller of MPI gives a count for every neighbour.
        if let Some(large) = unsafe { LargeCounts::needed($comm, $send_counts, $counts) } {
            let ($send_counts, $counts) = (large.send.as_ptr(), large.receive.as_ptr());
            // SAFETY: the same call.
            return unsafe { $large($($argument),*) };
        }
    };
}

/// A call; some by `$large`.
macro_rules! alltoallw {
    ($name:ident in $family:ident $way:ident $(($peers:ident))?, $count:ty, $place:ty
     $(, $more:ident: $kind:ty)* $(; $large:path)?) => {
        pub(crate) unsafe extern "C" fn $name<A: Abi>(
            send_buffer: *const c_void,
            send_counts: *const $count,
            send_places: *const $place,
            send_types: *const datatype!($way),
            buffer: *mut c_void,
            counts: *const $count,
            places: *const $place,
            types: *const datatype!($way),
            comm: MPI_Comm,
            $($more: <$kind as Kind>::Standard),*
        ) -> c_int {
            type Call<A> = unsafe extern "C" fn(
                *const c_void, *const $count, *const $place, Types<A>,
                *mut c_void, *const $count, *const $place, Types<A>,
                <Comm as Arg<A>>::Native,
                $(<$kind as Arg<A>>::Native),*
            ) -> c_int;
            by_large!(($($large)?) send_counts, counts, comm, (
                send_buffer, send_counts, send_places, send_types,
                buffer, counts, places, types, comm, $($more),*
            ));
            // SAFETY: the type of this function in the family's header.
            let call = unsafe { $family::$name::LIBRARY.function::<Call<A>>() };
            let sides: Sides<A> = sides!($way $(($peers))? comm, send_buffer, send_types, types);
            // SAFETY: the tables are filled: the caller has seen `load` return.
            let comm = unsafe { handle::to_native::<A, _>(comm) };
            // SAFETY: the caller of MPI meets the contract of this argument.
            $(let mut $more = unsafe { <$kind as Arg<A>>::enter($more) };)*
            // SAFETY: the arguments are in the family's own form.
            let code = unsafe {
                call(
                    in_place::<A>(send_buffer), send_counts, send_places, sides.send(),
                    buffer, counts, places, sides.receive(),
                    comm, $(<$kind as Arg<A>>::pass(&mut $more)),*
                )
            };
            // SAFETY: the call has returned.
            $(unsafe { <$kind as Arg<A>>::leave($more) };)*
            code
        }
    };
}

alltoallw!(MPI_Alltoallw in coll copied(peers), c_int, c_int);
#[cfg(feature = "whole")]
alltoallw!(MPI_Alltoallw_c in coll copied(peers), MPI_Count, MPI_Aint);
alltoallw!(
    MPI_Neighbor_alltoallw in neighbor copied(neighbors), c_int, MPI_Aint;
    crate::MPI_Neighbor_alltoallw_c
);
alltoallw!(MPI_Neighbor_alltoallw_c in neighbor copied(neighbors), MPI_Count, MPI_Aint);
alltoallw!(MPI_Ialltoallw in coll given, c_int, c_int, request: OutRequest);
#[cfg(feature = "whole")]
alltoallw!(MPI_Ialltoallw_c in coll given, MPI_Count, MPI_Aint, request: OutRequest);
alltoallw!(
    MPI_Ineighbor_alltoallw in neighbor given, c_int, MPI_Aint, request: OutRequest;
    crate::MPI_Ineighbor_alltoallw_c
);
alltoallw!(
    MPI_Ineighbor_alltoallw_c in neighbor given, MPI_Count, MPI_Aint,
    request: OutRequest
);
alltoallw!(
    MPI_Alltoallw_init in coll given, c_int, c_int, info: Info, request: OutRequest
);
#[cfg(feature = "whole")]
alltoallw!(
    MPI_Alltoallw_init_c in coll given, MPI_Count, MPI_Aint,
    info: Info, request: OutRequest
);
alltoallw!(
    MPI_Neighbor_alltoallw_init in neighbor given, c_int, MPI_Aint,
    info: Info, request: OutRequest;
    crate::MPI_Neighbor_alltoallw_init_c
);
alltoallw!(
    MPI_Neighbor_alltoallw_init_c in neighbor given, MPI_Count, MPI_Aint,
    info: Info, request: OutRequest
);
