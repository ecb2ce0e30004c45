//! Blocks of a slice of any length, as derived types: each says how long its block is and where.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Keep, MpiComm as Comm, StartedOp, check, check_collective};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, MPI_Count, MPI_Datatype, native};

use super::begun::begin_large;
use super::pointer::{standard_recv_pointer, standard_send_pointer};

/// A block of a slice for each rank, or nothing for it.
#[derive(Debug)]
pub(super) struct TypedBlocks {
    /// 1 where there is a block.
    counts: Vec<c_int>,
    types: Vec<MPI_Datatype>,
    /// All zero: where a block is its type knows.
    displacements: Vec<c_int>,
}

impl TypedBlocks {
    /// Blocks of `slice`.
    ///
    /// # Errors
    /// Errors of the library about the types.
    pub(super) fn new<T: Pod>(
        blocks: impl Iterator<Item = Option<Range<usize>>>,
        slice: &[T],
    ) -> Result<Self> {
        let mut made = Self {
            counts: Vec::new(),
            types: Vec::new(),
            displacements: Vec::new(),
        };
        for block in blocks {
            let bytes = block
                .and_then(|block| Some((block.start, size_of_val(slice.get(block)?))))
                .filter(|&(_, length)| length > 0);
            let datatype = match bytes {
                Some((start, length)) => one(start * size_of::<T>(), length)?,
                None => sys::MPI_BYTE,
            };
            made.counts.push(c_int::from(bytes.is_some()));
            made.types.push(datatype);
            made.displacements.push(0);
        }
        Ok(made)
    }
}

impl Drop for TypedBlocks {
    fn drop(&mut self) {
        for datatype in &mut self.types {
            if *datatype != sys::MPI_BYTE {
                // SAFETY: `new` has made it, and it is freed once; a failure leaves nothing to be
                // done.
                unsafe { sys::MPI_Type_free(datatype) };
            }
        }
    }
}

/// `length` bytes from `start` on: both are of a slice, and fit.
fn one(start: usize, length: usize) -> Result<MPI_Datatype> {
    let length = MPI_Count::try_from(length).unwrap_or(0);
    let start = MPI_Aint::try_from(start).unwrap_or(0);
    let mut bytes = sys::MPI_DATATYPE_NULL;
    // SAFETY: the library is initialised, as there is a `Comm`; the place is ours.
    let code = unsafe { sys::MPI_Type_contiguous_c(length, sys::MPI_BYTE, &raw mut bytes) };
    check(code, "MPI_Type_contiguous_c")?;
    let mut placed = sys::MPI_DATATYPE_NULL;
    // SAFETY: lists of one length and one place, and a place for the type.
    let code = unsafe {
        sys::MPI_Type_create_hindexed(1, &raw const ONE, &raw const start, bytes, &raw mut placed)
    };
    // SAFETY: made above; what is built on it lives on by itself (MPI 5.0 §5.1.9).
    unsafe { sys::MPI_Type_free(&raw mut bytes) };
    check(code, "MPI_Type_create_hindexed")?;
    // SAFETY: made just now.
    let code = unsafe { sys::MPI_Type_commit(&raw mut placed) };
    check(code, "MPI_Type_commit")?;
    Ok(placed)
}

static ONE: c_int = 1;

/// Sends `sent` of `send`, and gets `received` of `recv`: blocks that do not overlap.
pub(super) fn exchange<T: Pod>(
    comm: &Comm,
    (send, sent): (&[T], &TypedBlocks),
    (recv, received): (&mut [T], &TypedBlocks),
) -> Result<()> {
    // SAFETY: the blocks lie in their slices, as `TypedBlocks::new` has seen, and those that are
    // written do not overlap, by the caller's `Gathering` or `Scattering`; there is one of each for
    // each rank.
    let code = unsafe {
        sys::MPI_Alltoallw(
            standard_send_pointer(Some(send)),
            sent.counts.as_ptr(),
            sent.displacements.as_ptr(),
            sent.types.as_ptr(),
            standard_recv_pointer(Some(recv)),
            received.counts.as_ptr(),
            received.displacements.as_ptr(),
            received.types.as_ptr(),
            comm.canonical,
        )
    };
    check_collective(code, "MPI_Alltoallw")
}

/// Memory that the library reads until an exchange is complete.
#[derive(Debug)]
struct Sides {
    sent: TypedBlocks,
    received: TypedBlocks,
    /// The datatypes of both, as the library reads them.
    types: [native::Datatypes; 2],
    /// The copy that is sent, if it is one.
    _copy: Option<Box<dyn Any + Send>>,
}

impl Keep for Sides {
    fn ended(&mut self, _: &'static str) -> Result<()> {
        Ok(())
    }
}

/// As [`exchange`], and returns at once; keeps `copy` until it is over.
///
/// # Safety
/// The blocks lie where `send` and `recv` point to, which lasts until the operation is over, or in
/// `copy`; those of `recv` do not overlap.
pub(super) unsafe fn begin_exchange(
    comm: &Comm,
    (send, sent): (*const c_void, TypedBlocks),
    (recv, received): (*mut c_void, TypedBlocks),
    copy: Option<Box<dyn Any + Send>>,
) -> Result<StartedOp> {
    // SAFETY: the library is loaded, as there is a `Comm`.
    let types = [&sent, &received].map(|side| unsafe { native::Datatypes::new(&side.types) });
    let keep = Box::new(Sides {
        sent,
        received,
        types,
        _copy: copy,
    });
    let (sent, received) = (&keep.sent, &keep.received);
    let (send_counts, send_places) = (sent.counts.as_ptr(), sent.displacements.as_ptr());
    let (recv_counts, recv_places) = (received.counts.as_ptr(), received.displacements.as_ptr());
    let [send_types, recv_types] = keep.types.each_ref().map(native::Datatypes::as_ptr);
    begin_large("MPI_Ialltoallw", Some(keep), |request| {
        // SAFETY: by this function's contract; there is a block for each rank; counts, places and
        // types are kept until it is over.
        unsafe {
            sys::MPI_Ialltoallw(
                send,
                send_counts,
                send_places,
                send_types,
                recv,
                recv_counts,
                recv_places,
                recv_types,
                comm.canonical,
                request,
            )
        }
    })
}
