//! The program's own operations: how the library's call finds the way back to a closure.
//!
//! A function that MPI calls back for two blocks gets their length and datatype, and nothing that a
//! caller could have put there. So the datatype is what tells calls apart: each call makes one of
//! its own, of the element's size, and notes under its handle which closure belongs to it. All
//! closures share the two operations [`of`](operation) (commutative or not), so there is no table
//! that could be full, and it matters not on which thread the library calls.
//!
//! A closure is called only while the call that it belongs to lasts: [`Registered`] takes the note
//! away when it ends, and waits for a closure that should still run. A call back that finds no note
//! ends the process, since it would have to go on with memory or closures that may be gone.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bytemuck::Pod;
use ranks_comm::backend::{Keep, check, do_what_is_left, last_words};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Datatype, MPI_Op};

use crate::ops::Reduction;
use crate::ops::user_op::Panicked;

/// Combines `length` elements at `left` with those at `right`, into `right`.
type Fold = unsafe fn(op: *const c_void, left: *const c_void, right: *mut c_void, length: usize);

/// A note: which closure a datatype stands for, and what became of it.
struct Note {
    /// The operation, as long as its call lasts.
    op: RwLock<Option<Pointer>>,
    fold: Fold,
    panicked: Mutex<Option<Panicked>>,
}

/// A pointer to an operation, which is `Sync`.
struct Pointer(*const c_void);

// SAFETY: `Registered::new` makes it of a reference to an `Op`, which is `Sync`.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

/// The notes of all calls of this process that go on now.
static NOTES: Mutex<Vec<(MPI_Datatype, Arc<Note>)>> = Mutex::new(Vec::new());

/// The operations that all closures share, once they are needed: not commutative, and commutative.
/// They live as long as the library does.
static OPERATIONS: [Mutex<Option<MPI_Op>>; 2] = [Mutex::new(None), Mutex::new(None)];

/// An operation of the program's, known to the library until this is dropped.
pub(super) struct Registered<'o> {
    op: MPI_Op,
    datatype: MPI_Datatype,
    note: Arc<Note>,
    borrowed: PhantomData<&'o ()>,
    /// The operation itself, if it is not borrowed.
    kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl<'o> Registered<'o> {
    pub(super) fn new<T: Pod, O: Reduction<T>>(op: &'o O) -> Result<Self> {
        let shared = operation(op.commutes())?;
        let note = Arc::new(Note {
            op: RwLock::new(Some(Pointer((&raw const *op).cast()))),
            fold: fold::<T, O>,
            panicked: Mutex::new(None),
        });
        let datatype = element(size_of::<T>())?;
        locked(&NOTES).push((datatype, Arc::clone(&note)));
        Ok(Self {
            op: shared,
            datatype,
            note,
            borrowed: PhantomData,
            kept: None,
        })
    }

    /// The same for an operation that goes on: it takes the closure along.
    pub(super) fn keeping<T: Pod, O: Reduction<T> + Send + 'static>(
        op: O,
    ) -> Result<Registered<'static>> {
        let op = Arc::new(op);
        // SAFETY: it stays where it is as long as there is an `Arc` of it, and the one that is kept
        // goes after the note.
        let lasting: &'static O = unsafe { &*Arc::as_ptr(&op) };
        let mut registered = Registered::new::<T, O>(lasting)?;
        registered.kept = Some(op);
        Ok(registered)
    }

    pub(super) fn op(&self) -> MPI_Op {
        self.op
    }

    pub(super) fn datatype(&self) -> MPI_Datatype {
        self.datatype
    }

    /// Ends the call `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the closure panicked.
    pub(super) fn end(self, name: &'static str) -> Result<()> {
        do_what_is_left();
        self.outcome(name)
    }

    fn outcome(&self, name: &'static str) -> Result<()> {
        let panicked = locked(&self.note.panicked).take();
        panicked.map_or(Ok(()), |panicked| Err(panicked.error(name)))
    }
}

impl Keep for Registered<'static> {
    fn ended(&mut self, operation: &'static str) -> Result<()> {
        self.outcome(operation)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        locked(&NOTES).retain(|(datatype, _)| *datatype != self.datatype);
        // A closure that runs has the lock.
        *self.note.op.write().unwrap_or_else(PoisonError::into_inner) = None;
        // SAFETY: the datatype was made by `new` and is freed once; a failure leaves nothing to be
        // done.
        unsafe { sys::MPI_Type_free(&raw mut self.datatype) };
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operation that calls [`call_back`].
fn operation(commutes: bool) -> Result<MPI_Op> {
    let mut made = locked(&OPERATIONS[usize::from(commutes)]);
    if let Some(op) = *made {
        return Ok(op);
    }
    let mut op = sys::MPI_OP_NULL;
    // SAFETY: the library is initialised, as there is a `Comm`; the function lives for ever, and
    // the place is ours.
    let code = unsafe { sys::MPI_Op_create(Some(call_back), c_int::from(commutes), &raw mut op) };
    check(code, "MPI_Op_create")?;
    *made = Some(op);
    Ok(op)
}

/// A datatype of `size` bytes that nothing else has. Elements of no size are sent as none of one
/// byte.
///
/// # Errors
/// [`ErrorKind::Argument`] if an `int` does not count so many bytes; otherwise what the library
/// reports.
fn element(size: usize) -> Result<MPI_Datatype> {
    const MAKE: &str = "MPI_Type_contiguous";
    let Ok(bytes) = c_int::try_from(size.max(1)) else {
        let why = format_args!(
            "elements of {size} bytes are larger than a datatype of an operation of the program's own \
             can be; pass smaller ones, of at most {}",
            c_int::MAX
        );
        return Err(Error::new(ErrorKind::Argument, MAKE, why));
    };
    let mut datatype = sys::MPI_DATATYPE_NULL;
    // SAFETY: the library is initialised, as there is a `Comm`; the place is ours.
    let code = unsafe { sys::MPI_Type_contiguous(bytes, sys::MPI_BYTE, &raw mut datatype) };
    check(code, MAKE)?;
    // SAFETY: the datatype was made just now.
    let code = unsafe { sys::MPI_Type_commit(&raw mut datatype) };
    check(code, "MPI_Type_commit")?;
    Ok(datatype)
}

/// The function that the library calls for two blocks: `right[i] = left[i] op right[i]`.
unsafe extern "C" fn call_back(
    left: *mut c_void,
    right: *mut c_void,
    length: *mut c_int,
    datatype: *mut MPI_Datatype,
) {
    // SAFETY: by the contract of MPI the length is there.
    let length = unsafe { length.read() };
    // SAFETY: by the contract of MPI the datatype is there.
    let datatype = unsafe { datatype.read() };
    let note = locked(&NOTES)
        .iter()
        .find(|(of, _)| *of == datatype)
        .map(|(_, note)| Arc::clone(note));
    let Some(note) = note else {
        abort();
    };
    let op = note.op.read().unwrap_or_else(PoisonError::into_inner);
    let Some(Pointer(op)) = *op else {
        abort();
    };
    let length = usize::try_from(length).unwrap_or(0);
    let outcome = Panicked::catch(|| {
        // SAFETY: the note is of the call that `datatype` was made for, so that the operation is of
        // the type that `fold` takes, and the blocks are `length` items of `datatype`, each an
        // element. The operation is there: `Registered` cannot go while the lock is held.
        unsafe { (note.fold)(op, left, right, length) };
    });
    if let Err(panicked) = outcome {
        locked(&note.panicked).get_or_insert(panicked);
    }
}

/// # Safety
/// `op` points at an `O`, `left` and `right` at `length` elements each, at any address.
unsafe fn fold<T: Pod, O: Reduction<T>>(
    op: *const c_void,
    left: *const c_void,
    right: *mut c_void,
    length: usize,
) {
    // SAFETY: by this function's contract.
    let op = unsafe { &*op.cast::<O>() };
    let (left, right) = (left.cast::<T>(), right.cast::<T>());
    for index in 0..length {
        let (left, right) = (left.wrapping_add(index), right.wrapping_add(index));
        // SAFETY: one of the elements at `left`; any bytes are a `T`.
        let lower = unsafe { left.read_unaligned() };
        // SAFETY: one of the elements at `right`; any bytes are a `T`.
        let higher = unsafe { right.read_unaligned() };
        let combined = op.combine(lower, higher);
        // SAFETY: one of the elements at `right`.
        unsafe { right.write_unaligned(combined) };
    }
}

/// The library calls for a reduction that is over.
#[cold]
fn abort() -> ! {
    last_words(format_args!(
        "the MPI library applies an operation of the program's to a datatype that no reduction is using now; \
         the process ends here"
    ));
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They were taken for shorter ones, and what was behind those was read and written.
    #[test]
    fn elements_that_no_int_counts_are_refused() {
        let error = element(1 << 31).expect_err("an int counts less");
        assert_eq!(error.kind(), ErrorKind::Argument);
        let text = error.to_string();
        assert!(text.contains("2147483648 bytes"), "{text}");
    }
}
