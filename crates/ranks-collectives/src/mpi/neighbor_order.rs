//! In what order a library lets blocks arrive that come from one rank.
//!
//! In a graph with several edges between two ranks, the first block that is sent arrives as the
//! first. In a grid whose ends are neighbours and that is one or two ranks long, the rank before
//! and the rank after are the same, and what is sent to the one arrives from the other (MPI 5.0
//! §8.6). MPICH from 5.0 on keeps to that, and Open MPI in the operations that block. In its
//! others, in Intel MPI, and in MPICH up to 4.0 the first is the first in a grid, too; in MPICH 4.3
//! the first is the last, in a graph as well. So a library is asked once what it does, with a grid
//! of this process alone, unless it is known that no rank has a neighbour several times.

use std::ffi::c_int;
use std::sync::{Mutex, OnceLock, PoisonError};

use ranks_comm::backend::check;
use ranks_comm::{Error, ErrorKind, Neighborhood, Result};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, MPI_Comm, MPI_Datatype, native};

use crate::arguments::neighbors::{Order, slots};

/// Functions that may differ in it.
#[derive(Clone, Copy)]
pub(crate) enum NeighborFunction {
    /// `MPI_Neighbor_alltoall`.
    Even,
    /// `MPI_Neighbor_alltoallv`.
    Blocking,
    /// `MPI_Ineighbor_alltoallv`.
    Nonblocking,
    /// `MPI_Neighbor_alltoallw`.
    Layouts,
    /// `MPI_Neighbor_alltoallv_init`.
    Persistent,
    /// `MPI_Ineighbor_alltoallw`.
    NonblockingLayouts,
    /// `MPI_Neighbor_alltoallw_init`.
    PersistentLayouts,
}

/// The answers, by form.
static KNOWN: [OnceLock<Order>; 7] = [const { OnceLock::new() }; 7];

/// The order in which blocks arrive that `form` sends; nothing is asked where no rank has a
/// neighbour several times. It is the same on all ranks, which use the same library.
///
/// # Errors
/// Errors of the library in answer to the question.
#[inline]
pub(super) fn order_of(form: NeighborFunction, around: &dyn Neighborhood) -> Result<Order> {
    match KNOWN[form as usize].get() {
        Some(Order::Standard) => Ok(Order::Standard),
        _ if around.are_distinct() => Ok(Order::Standard),
        Some(order) => Ok(*order),
        None => ask(form),
    }
}

/// The block that each of the library's blocks has to be; `None` if each is what it should be.
///
/// # Errors
/// As [`order_of`].
#[inline]
pub(super) fn slots_for(
    form: NeighborFunction,
    around: &dyn Neighborhood,
) -> Result<Option<Vec<usize>>> {
    match order_of(form, around)? {
        Order::Standard => Ok(None),
        order => Ok(slots(around, order)),
    }
}

/// Sends four numbers round two rings of this process alone.
#[cold]
fn ask(form: NeighborFunction) -> Result<Order> {
    /// No two threads may use one communicator at a time.
    static ASKING: Mutex<()> = Mutex::new(());
    let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut rings = sys::MPI_COMM_NULL;
    let ones = ONES.as_ptr();
    // SAFETY: the library is initialised, as there is a `Comm`; a grid of two dimensions, and a
    // place for it.
    let code =
        unsafe { sys::MPI_Cart_create(sys::MPI_COMM_SELF, 2, ones, ones, 0, &raw mut rings) };
    check(code, "MPI_Cart_create")?;
    let mut arrived = [-1; 4];
    let code = send_round(form, rings, &PLACES, &mut arrived);
    // SAFETY: made above, and used no more.
    unsafe { sys::MPI_Comm_free(&raw mut rings) };
    check(code, "MPI_Neighbor_alltoallv")?;
    let order = match arrived {
        [1, 0, 3, 2] => Order::Standard,
        [0, 1, 2, 3] => Order::FirstIsFirst,
        [3, 2, 1, 0] => Order::FirstIsLast,
        _ => {
            return Err(Error::new(
                ErrorKind::Library,
                "MPI_Neighbor_alltoallv",
                format_args!(
                    "messages of this process to itself in a grid of two rings arrive as {arrived:?}"
                ),
            ));
        }
    };
    Ok(*KNOWN[form as usize].get_or_init(|| order))
}

static ONES: [c_int; 4] = [1; 4];
static PLACES: [c_int; 4] = [0, 1, 2, 3];
static BYTES: [MPI_Aint; 4] = [0, 4, 8, 12];
static INTS: [MPI_Datatype; 4] = [INT; 4];
const INT: MPI_Datatype = sys::MPI_INT;

/// The same, as it is read by calls that go on after they have returned.
fn ints() -> *const native::DatatypeWord {
    static WORDS: OnceLock<native::Datatypes> = OnceLock::new();
    // SAFETY: the library is loaded, as there is a communicator.
    let words = WORDS.get_or_init(|| unsafe { native::Datatypes::new(&INTS) });
    words.as_ptr()
}

fn send_round(
    form: NeighborFunction,
    ring: MPI_Comm,
    sent: &[c_int; 4],
    arrived: &mut [c_int; 4],
) -> c_int {
    let (from, to) = (sent.as_ptr().cast(), arrived.as_mut_ptr().cast());
    let (counts, places, bytes) = (ONES.as_ptr(), PLACES.as_ptr(), BYTES.as_ptr());
    let mut request = sys::MPI_REQUEST_NULL;
    let (info, begun) = (sys::MPI_INFO_NULL, &raw mut request);
    let code = match form {
        // SAFETY: the one neighbour on all four sides gets and sends an integer, for which there
        // are four each.
        NeighborFunction::Even => unsafe {
            sys::MPI_Neighbor_alltoall(from, 1, INT, to, 1, INT, ring)
        },
        // SAFETY: the same.
        NeighborFunction::Blocking => unsafe {
            sys::MPI_Neighbor_alltoallv(from, counts, places, INT, to, counts, places, INT, ring)
        },
        // SAFETY: the same; it is waited for below, and the arrays live for ever.
        NeighborFunction::Nonblocking => unsafe {
            sys::MPI_Ineighbor_alltoallv(
                from, counts, places, INT, to, counts, places, INT, ring, begun,
            )
        },
        // SAFETY: the same; it is started, waited for and freed below.
        NeighborFunction::Persistent => unsafe {
            sys::MPI_Neighbor_alltoallv_init(
                from, counts, places, INT, to, counts, places, INT, ring, info, begun,
            )
        },
        NeighborFunction::Layouts => {
            let types = INTS.as_ptr();
            // SAFETY: the same.
            unsafe {
                sys::MPI_Neighbor_alltoallw(
                    from, counts, bytes, types, to, counts, bytes, types, ring,
                )
            }
        }
        NeighborFunction::NonblockingLayouts => {
            let types = ints();
            // SAFETY: the same; it is waited for below, and the arrays live for ever.
            unsafe {
                sys::MPI_Ineighbor_alltoallw(
                    from, counts, bytes, types, to, counts, bytes, types, ring, begun,
                )
            }
        }
        NeighborFunction::PersistentLayouts => {
            let types = ints();
            // SAFETY: the same; it is started, waited for and freed below.
            unsafe {
                sys::MPI_Neighbor_alltoallw_init(
                    from, counts, bytes, types, to, counts, bytes, types, ring, info, begun,
                )
            }
        }
    };
    if code != sys::MPI_SUCCESS {
        return code;
    }
    let is_kept = matches!(
        form,
        NeighborFunction::Persistent | NeighborFunction::PersistentLayouts
    );
    if is_kept {
        // SAFETY: a request that was prepared above.
        let code = unsafe { sys::MPI_Start(&raw mut request) };
        if code != sys::MPI_SUCCESS {
            return code;
        }
    }
    // SAFETY: a request that was begun here, or none; nobody asks for its status.
    let code = unsafe { sys::MPI_Wait(&raw mut request, sys::MPI_STATUS_IGNORE) };
    if is_kept {
        // SAFETY: the request is not started any more.
        unsafe { sys::MPI_Request_free(&raw mut request) };
    }
    code
}
