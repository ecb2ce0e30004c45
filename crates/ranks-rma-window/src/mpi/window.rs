//! A window of the library: how it is made, and how it goes.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;
use ranks_comm::backend::{Child, FreedTogether, MpiComm, TypeOf, check, check_with};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Win, native};

use super::dynamic::Attachments;
use super::epochs::LockTypes;
use super::exposure::{Exposure, end_exposures};
use super::faults::Faults;
use super::nothing;
use super::own_comm::OwnComm;
use crate::epoch::epochs::Epochs;
use crate::epoch::table::aint;
use crate::page::take;

/// Minimum alignment of elements: a cache line.
const LINE: usize = 64;

/// Displacements count bytes.
const DISPLACEMENT_UNIT: c_int = 1;

/// A window over MPI.
pub(crate) struct Window<T: Pod> {
    /// The handle in the library's own terms, and that of the datatype of the elements: here they
    /// are one load away.
    pub(super) win: native::Win,
    pub(super) datatype: native::Datatype,
    pub(super) lock_types: LockTypes,
    /// This rank's elements.
    pub(super) elements: Elements<T>,
    /// The handle in the terms of the standard ABI.
    pub(super) canonical: MPI_Win,
    pub(super) faults: Faults,
    start: usize,
    /// `None` if it is another view of a window to which memory is attached.
    child: Option<Child<Made<T>>>,
}

/// Location of this rank's elements.
#[derive(Clone, Copy)]
pub(super) struct Elements<T> {
    pub(super) first: NonNull<T>,
    pub(super) len: usize,
}

// SAFETY: it is a place in memory; who may look there is said by the state of the window.
unsafe impl<T: Send> Send for Elements<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Elements<T> {}

/// Resources with a deferred free if the window is dropped: peers may access the memory until it is
/// freed by all.
pub(super) struct Made<T: Pod> {
    canonical: MPI_Win,
    /// Communicator that it was made from; before it is freed the ranks tell each other there what
    /// they have to end.
    comm: OwnComm,
    elements: Elements<T>,
    memory: Memory<T>,
    epochs: Arc<Epochs>,
    exposure: Exposure,
    /// Memory attached to it.
    attachments: Attachments,
    /// True if not all ranks could make it, so that it can never be freed by all.
    abandoned: AtomicBool,
    /// True if the caller of `free` takes the vector.
    wanted: AtomicBool,
}

// SAFETY: the elements are plain bytes, which nobody looks at here; the rest crosses threads.
unsafe impl<T: Pod> Send for Made<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for Made<T> {}

/// Owner of the memory.
#[derive(Clone, Copy)]
pub(super) enum Memory<T> {
    /// The library's.
    Allocated,
    /// A vector's.
    Vector(Parts<T>),
    /// The library's, to which the elements of a vector were copied.
    Beside(Parts<T>),
    /// That of vectors which are attached.
    Attached,
}

/// A vector that nobody has; if nobody makes it again it is leaked.
#[derive(Clone, Copy)]
pub(super) struct Parts<T> {
    elements: Elements<T>,
    capacity: usize,
}

impl<T> Parts<T> {
    fn of(vec: Vec<T>) -> Self {
        let mut vec = ManuallyDrop::new(vec);
        let (pointer, len, capacity) = (vec.as_mut_ptr(), vec.len(), vec.capacity());
        let first = NonNull::new(pointer).unwrap_or(NonNull::dangling());
        Self {
            elements: Elements { first, len },
            capacity,
        }
    }

    /// The vector again.
    ///
    /// # Safety
    /// Nobody else has its memory; this is done once.
    unsafe fn into_vec(self) -> Vec<T> {
        let Elements { first, len } = self.elements;
        // SAFETY: they are the parts of a vector, by `of`, and nobody has it, by contract.
        unsafe { Vec::from_raw_parts(first.as_ptr(), len, self.capacity) }
    }
}

impl<T: Pod> Window<T> {
    /// Makes a window with `len` zeroed elements of this rank's. Collective.
    pub(crate) fn allocate(comm: &MpiComm, len: usize, epochs: Arc<Epochs>) -> Result<Self> {
        Self::in_memory(comm, len, Memory::Allocated, epochs)
    }

    /// Makes a window whose part on this rank is `vec`. Collective.
    ///
    /// Open MPI 4.1 has nothing that makes such a window of one rank alone (`MPI_ERR_WIN`), so
    /// there the elements are copied.
    pub(crate) fn from_vec(
        comm: &MpiComm,
        vec: Vec<T>,
        alone: bool,
        epochs: Arc<Epochs>,
    ) -> Result<Self> {
        let parts = Parts::of(vec);
        if !alone {
            return Self::in_place(comm, parts, epochs);
        }
        let Elements { first, len } = parts.elements;
        let window = Self::in_memory(comm, len, Memory::Beside(parts), epochs)?;
        let ours = window.elements.first.as_ptr();
        // SAFETY: both have `len` elements, and nobody else has either.
        unsafe { ptr::copy_nonoverlapping(first.as_ptr(), ours, len) };
        Ok(window)
    }

    /// Makes a window of memory of the library's.
    fn in_memory(
        comm: &MpiComm,
        len: usize,
        memory: Memory<T>,
        epochs: Arc<Epochs>,
    ) -> Result<Self> {
        const OPERATION: &str = "MPI_Win_allocate";
        let align = align_of::<T>().max(LINE);
        // The caller has computed that a part with two lines more is no larger than memory can be.
        let bytes = len * size_of::<T>();
        // Peers look for a part whose length is no multiple of 16 beside it in MPICH 4.0.2.
        let room = match bytes {
            0 => 0,
            _ => (bytes + align).next_multiple_of(LINE),
        };
        let mut base: *mut c_void = ptr::null_mut();
        let mut start = 0;
        let mut taken = Ok(());
        let child = Self::create(comm, memory, epochs, |comm| {
            let mut win = sys::MPI_WIN_NULL;
            // SAFETY: the communicator is alive; the pointer and the handle are ours.
            let code = unsafe {
                sys::MPI_Win_allocate(
                    aint(room),
                    DISPLACEMENT_UNIT,
                    sys::MPI_INFO_NULL,
                    comm,
                    (&raw mut base).cast(),
                    &raw mut win,
                )
            };
            check_with(code, OPERATION, || {
                format!("with {} on this rank", Count(room, "byte"))
            })?;
            let first = match NonNull::new(base.cast::<u8>()) {
                Some(base) if bytes > 0 => {
                    start = base.as_ptr().align_offset(align);
                    // SAFETY: the library gave `room` bytes, which are `align` more than those of
                    // the elements.
                    let first = unsafe { base.add(start) };
                    // SAFETY: as above; nobody else has the memory before all ranks have come out
                    // of the call that makes the window.
                    taken = unsafe { take(first, bytes) };
                    if taken.is_ok() {
                        // SAFETY: as above.
                        unsafe { first.as_ptr().write_bytes(0, bytes) };
                    }
                    first.cast()
                }
                None if bytes > 0 => {
                    let why = "the library gave no memory and no error";
                    return Err(Error::new(ErrorKind::Library, OPERATION, why));
                }
                _ => NonNull::dangling(),
            };
            Ok((win, Elements { first, len }))
        })?;
        let window = Self::of(child, start);
        if let Err(error) = taken {
            // The others learn of it, and leave theirs as well.
            window.abandon();
            return Err(error);
        }
        Ok(window)
    }

    /// Makes a window of the memory of a vector.
    fn in_place(comm: &MpiComm, parts: Parts<T>, epochs: Arc<Epochs>) -> Result<Self> {
        const OPERATION: &str = "MPI_Win_create";
        let Elements { first, len } = parts.elements;
        let bytes = len * size_of::<T>();
        let base = match bytes {
            0 => nothing(),
            _ => first.as_ptr().cast(),
        };
        let child = Self::create(comm, Memory::Vector(parts), epochs, |comm| {
            let mut win = sys::MPI_WIN_NULL;
            // SAFETY: the communicator is alive; the memory is that of a vector which nobody has
            // until the window is freed; the handle is ours.
            let code = unsafe {
                sys::MPI_Win_create(
                    base,
                    aint(bytes),
                    DISPLACEMENT_UNIT,
                    sys::MPI_INFO_NULL,
                    comm,
                    &raw mut win,
                )
            };
            check_with(code, OPERATION, || {
                format!("over {} on this rank", Count(bytes, "byte"))
            })?;
            Ok((win, parts.elements))
        })?;
        Ok(Self::of(child, 0))
    }

    /// Creates a window by `make`, of a communicator of its own. Collective.
    pub(super) fn create(
        comm: &MpiComm,
        memory: Memory<T>,
        epochs: Arc<Epochs>,
        make: impl FnOnce(MPI_Comm) -> Result<(MPI_Win, Elements<T>)>,
    ) -> Result<Child<Made<T>>> {
        comm.make_child(|| {
            let comm = OwnComm::dup(comm)?;
            let (win, elements) = make(comm.handle())?;
            Made::new(win, comm, elements, memory, epochs)
        })
    }

    pub(super) fn of(child: Child<Made<T>>, start: usize) -> Self {
        let allocated = matches!(child.memory, Memory::Allocated | Memory::Beside(_));
        Self {
            // SAFETY: the library is loaded, as it made the window.
            win: unsafe { native::win(child.canonical) },
            // SAFETY: as above.
            datatype: unsafe { native::datatype(TypeOf::<T>::datatype()) },
            lock_types: LockTypes::of_library(),
            elements: child.elements,
            canonical: child.canonical,
            faults: Faults::of(allocated),
            start,
            child: Some(child),
        }
    }

    /// The same window with memory of another type, which is attached.
    pub(super) fn seen_as<U: Pod>(
        &self,
        datatype: native::Datatype,
        elements: Elements<U>,
        start: usize,
    ) -> Window<U> {
        Window {
            win: self.win,
            datatype,
            lock_types: self.lock_types,
            elements,
            canonical: self.canonical,
            start,
            faults: self.faults,
            child: None,
        }
    }

    /// Epochs of this window that targets post and origins start.
    pub(crate) fn exposure(&self, operation: &'static str) -> Result<&Exposure> {
        self.made(operation).map(|made| &made.exposure)
    }

    fn made(&self, operation: &'static str) -> Result<&Made<T>> {
        self.child.as_deref().ok_or_else(|| {
            let why = "this is a view of what is attached, not the window";
            Error::new(ErrorKind::Argument, operation, why)
        })
    }

    /// The handle in the terms of the standard ABI.
    pub(crate) fn handle(&self) -> MPI_Win {
        self.canonical
    }

    /// Offset of the first element, in bytes from where the library counts.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Not all ranks could make it: it is never freed.
    pub(crate) fn abandon(self) {
        if let Some(child) = self.child {
            child.abandoned.store(true, Ordering::Relaxed);
        }
    }

    /// The first of this rank's elements, and how many they are.
    pub(crate) fn local(&self) -> (NonNull<T>, usize) {
        (self.elements.first, self.elements.len)
    }

    /// Frees it, and gives back the vector that it was made of. Collective.
    pub(crate) fn free(self) -> Result<Option<Vec<T>>> {
        let Some(child) = self.child else {
            return Ok(None);
        };
        let memory = child.memory;
        let parts = match memory {
            Memory::Allocated | Memory::Attached => None,
            Memory::Vector(parts) => Some(parts),
            Memory::Beside(parts) => {
                let Elements { first, len } = self.elements;
                let theirs = parts.elements.first.as_ptr();
                // SAFETY: both have `len` elements, and nobody else has either.
                unsafe { ptr::copy_nonoverlapping(first.as_ptr(), theirs, len) };
                Some(parts)
            }
        };
        child.wanted.store(true, Ordering::Relaxed);
        child.free()?;
        // SAFETY: the library is done with it, and `wanted` keeps it from being freed.
        Ok(parts.map(|parts| unsafe { parts.into_vec() }))
    }
}

impl Window<u8> {
    /// Attached memory.
    pub(super) fn attachments(&self) -> Result<&Attachments> {
        self.made("MPI_Win_attach").map(|made| &made.attachments)
    }
}

impl<T: Pod> Made<T> {
    fn new(
        canonical: MPI_Win,
        comm: OwnComm,
        elements: Elements<T>,
        memory: Memory<T>,
        epochs: Arc<Epochs>,
    ) -> Result<Self> {
        // SAFETY: the window is alive, and the handler is the library's own.
        let code = unsafe { sys::MPI_Win_set_errhandler(canonical, sys::MPI_ERRORS_RETURN) };
        check(code, "MPI_Win_set_errhandler")?;
        Ok(Self {
            canonical,
            exposure: Exposure::of(canonical, comm.handle())?,
            comm,
            elements,
            memory,
            epochs,
            attachments: Attachments::default(),
            abandoned: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
        })
    }
}

impl<T: Pod> FreedTogether for Made<T> {
    fn free(self: Box<Self>) -> Result<()> {
        if self.abandoned.load(Ordering::Relaxed) {
            return Ok(());
        }
        super::epochs::end_all(self.canonical, &self.epochs)?;
        let comm = self.comm.handle();
        end_exposures(&self.exposure, comm, &self.epochs.open().dealings)?;
        let mut win = self.canonical;
        // SAFETY: the window is freed once; nothing is under way on it, as its epochs are over.
        let code = unsafe { sys::MPI_Win_free(&raw mut win) };
        check(code, "MPI_Win_free")?;
        self.attachments.free();
        if let (Memory::Vector(parts) | Memory::Beside(parts), false) =
            (self.memory, self.wanted.load(Ordering::Relaxed))
        {
            // SAFETY: the library is done with it, and nobody wants it.
            drop(unsafe { parts.into_vec() });
        }
        self.comm.free()
    }
}

impl<T: Pod> fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("canonical", &self.canonical)
            .finish_non_exhaustive()
    }
}
