//! Memory that all ranks of a node share, of any kind.
//!
//! A [`Region`] knows nothing of elements or phases: it is bytes, zero at first, at an address of
//! their own on each rank.
#![allow(unsafe_code)]

mod heap;
mod mapping;
mod window;

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use ranks_comm::backend::{Backend, Child, FreedTogether, InProcessComm, InfoHandle, MpiComm};
use ranks_comm::{Communicator, Error, ErrorKind, Info, Result};
use ranks_mpi_sys::MPI_Win;

use crate::page::{make_writable, take, touch, welcome_large};
use crate::preflight;
use heap::Heap;
use mapping::Mapping;
pub(crate) use mapping::Nameless;
use window::Window;

/// Kind of memory that a region is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backing {
    /// The heap of one process: of one rank, or of threads that are ranks.
    Heap,
    /// A window of the MPI library. Where the ranks are threads, or one alone, it is the heap all
    /// the same.
    MpiWindow,
    /// A file without a name, which each rank has mapped for itself.
    Mapping,
}

/// The memory, zero at first; no page of it was touched when it was made.
#[derive(Debug)]
pub(crate) struct Region {
    /// Ranks that share it.
    node: Communicator,
    len: usize,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Heap(Arc<Heap>),
    Window(Child<Window>),
    Mapping(Mapping),
}

/// Stands in the order of creation for a rank that made nothing which must be freed together.
struct Nothing;

impl FreedTogether for Nothing {
    fn free(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Region {
    /// `bytes` bytes in all for the ranks of `node`, which pass the same number. Collective over
    /// `parent`.
    ///
    /// `node` is `parent`, a duplicate of it, or a part: each rank of `parent` passes the one that
    /// it is in, and a backing for it. A region that is dropped is freed at the next collective
    /// point of `parent`. Another handle of `node` is kept, so it had better not be one that the
    /// user may want to free.
    ///
    /// # Errors
    /// The same on every rank of `parent`: [`ErrorKind::Memory`] if a node has too little memory,
    /// [`ErrorKind::PeerFailed`] with the reason if a rank got none or the library reports a
    /// failure.
    pub(crate) fn allocate(
        parent: &Communicator,
        node: &Communicator,
        bytes: usize,
        backing: Backing,
        hints: Option<&Info>,
    ) -> Result<Self> {
        const OPERATION: &str = "MPI_Win_allocate_shared";
        let _entered = node.enter(OPERATION)?;
        // Not all parts need to have the same kind of memory: whichever they ask about, they ask
        // together.
        let alone = matches!(node.backend(), Backend::InProcess(_)) || node.size() == 1;
        let mine = if node.rank() == 0 { bytes } else { 0 };
        if alone || backing == Backing::Heap {
            preflight::memory(parent, mine)?;
        } else {
            preflight::shared_memory(parent, mine)?;
        }
        let memory = match (parent.backend(), node.backend()) {
            (_, Backend::InProcess(comm)) => heap_of_threads(parent, comm, bytes)?,
            (Backend::Mpi(above), Backend::Mpi(comm)) => {
                let heap = alone || backing == Backing::Heap;
                // Who cannot tell the library its hints keeps nobody in what comes now.
                let hints = parent.agree(hints.map(InfoHandle::new).transpose())?;
                let asked = Asked {
                    parent,
                    node,
                    bytes,
                };
                if heap {
                    asked.heap(above)?
                } else {
                    asked.window(above, comm, hints.as_ref())?
                }
            }
            (Backend::InProcess(_), Backend::Mpi(_)) => {
                let why = "a part of an in-process communicator is in process as well";
                return Err(Error::new(ErrorKind::Argument, OPERATION, why));
            }
        };
        Ok(Self {
            node: node.clone(),
            len: bytes,
            memory,
        })
    }

    /// As [`allocate`](Self::allocate), of a file that each rank maps for itself and unmaps when it
    /// drops the region. Of processes alone: threads have a heap.
    ///
    /// # Errors
    /// The same on every rank of `parent`: [`ErrorKind::Memory`] if a node has too little memory,
    /// [`ErrorKind::PeerFailed`] with the reason if a rank cannot make, open or map the file.
    pub(crate) fn mapped(
        parent: &Communicator,
        node: &Communicator,
        bytes: usize,
        kind: Nameless<'_>,
    ) -> Result<Self> {
        if kind == Nameless::Memory {
            preflight::memory(parent, if node.rank() == 0 { bytes } else { 0 })?;
        }
        let mapping = Mapping::shared(parent, node, bytes, kind)?;
        Ok(Self {
            node: node.clone(),
            len: bytes,
            memory: Memory::Mapping(mapping),
        })
    }

    /// Address on this rank: a multiple of the page size, on every rank.
    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        match &self.memory {
            Memory::Heap(heap) => heap.base(),
            Memory::Window(window) => window.base(),
            Memory::Mapping(mapping) => mapping.base(),
        }
    }

    /// Length in bytes, the same on every rank.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Ranks that share it.
    pub(crate) fn node(&self) -> &Communicator {
        &self.node
    }

    /// Kind of its memory.
    pub(crate) fn backing(&self) -> Backing {
        match self.memory {
            Memory::Heap(_) => Backing::Heap,
            Memory::Window(_) => Backing::MpiWindow,
            Memory::Mapping(_) => Backing::Mapping,
        }
    }

    /// The window of the library that it is made of, if it is.
    pub(crate) fn handle(&self) -> Option<MPI_Win> {
        match &self.memory {
            Memory::Window(window) => Some(window.handle()),
            Memory::Heap(_) | Memory::Mapping(_) => None,
        }
    }

    /// Has the system give the pages of these bytes now, near this rank, so that whoever writes
    /// there later finds them. Those of a heap, which are no file's, only if they are `placed`
    /// somewhere; none of a file in a folder, which were reserved. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if there are none.
    ///
    /// # Safety
    /// The bytes are zero, and nobody else touches them.
    pub(crate) unsafe fn take(&self, bytes: Range<usize>, placed: bool) -> Result<()> {
        let bytes = bytes.start..bytes.end.min(self.len);
        // SAFETY: it is not behind the end.
        let first = unsafe { self.base().add(bytes.start.min(bytes.end)) };
        match &self.memory {
            Memory::Heap(_) if placed => {
                // SAFETY: so many bytes are there; the rest by contract.
                unsafe { touch(first, bytes.len()) };
                Ok(())
            }
            Memory::Heap(_) => Ok(()),
            Memory::Mapping(mapping) if mapping.is_reserved() => Ok(()),
            // SAFETY: so many bytes are there; the rest by contract.
            Memory::Mapping(_) | Memory::Window(_) => unsafe { take(first, bytes.len()) },
        }
    }

    /// Orders what this rank has stored before what it does next, and what it loads next after what
    /// it has done. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`], [`ErrorKind::WrongThread`], or what the library reports.
    pub(crate) fn sync(&self) -> Result<()> {
        fence(Ordering::SeqCst);
        match &self.memory {
            Memory::Heap(_) | Memory::Mapping(_) => Ok(()),
            Memory::Window(window) => {
                let _entered = self.node.enter("MPI_Win_sync")?;
                window.sync()
            }
        }
    }

    /// Frees it immediately. Collective over the parent.
    ///
    /// # Errors
    /// Errors of the library.
    pub(crate) fn free(self) -> Result<()> {
        match self.memory {
            Memory::Heap(_) | Memory::Mapping(_) => Ok(()),
            Memory::Window(window) => {
                let _entered = self.node.enter("MPI_Win_free")?;
                window.free()
            }
        }
    }

    /// Lets the whole pages among these bytes be written to, or only be read, by this process;
    /// those that are so in part stay as they are. Whether the system has done it. Local.
    pub(crate) fn make_writable(&self, bytes: Range<usize>, writable: bool) -> bool {
        let bytes = bytes.start.min(self.len)..bytes.end.min(self.len);
        // The base begins a page, and behind the last whole one there may be memory of others.
        make_writable(self.base(), bytes, writable)
    }

    /// Says to the system that large pages are welcome; whether it has any is its own affair.
    /// Local.
    pub(crate) fn welcome_large_pages(&self) {
        // The base begins a page, and all bytes lie in one block or one window.
        welcome_large(self.base(), self.len);
    }
}

/// Parameters of an allocation over MPI.
#[derive(Clone, Copy)]
struct Asked<'a> {
    parent: &'a Communicator,
    node: &'a Communicator,
    bytes: usize,
}

impl Asked<'_> {
    /// Memory of this process, while the others may make windows: all take the same steps.
    fn heap(self, above: &MpiComm) -> Result<Memory> {
        let made = if self.node.size() == 1 {
            Heap::zeroed(self.bytes)
        } else {
            let ranks = self.node.size();
            Err(Error::new(
                ErrorKind::Argument,
                "MPI_Win_allocate_shared",
                format_args!("{ranks} processes have no heap in common; ask for a window"),
            ))
        };
        if self.parent.size() == 1 {
            let heap = made?;
            return Ok(Memory::Heap(Arc::new(heap)));
        }
        let mut heap = None;
        let place = above.make_child(|| {
            heap = Some(self.parent.agree(made)?);
            self.parent.agree::<(), Error>(Ok(()))?;
            Ok(Nothing)
        })?;
        drop(place);
        let heap = heap.ok_or_else(unmade)?;
        Ok(Memory::Heap(Arc::new(heap)))
    }

    fn window(self, above: &MpiComm, comm: &MpiComm, hints: Option<&InfoHandle>) -> Result<Memory> {
        let child = above.make_child(|| {
            let made = Window::allocate(comm, self.node.rank(), self.bytes, hints);
            // If it failed anywhere, the windows of the others are lost: they could only be freed
            // by all together.
            let mut window = self.parent.agree(made)?;
            let opened = window.open(self.node);
            match self.parent.agree(opened) {
                Ok(()) => Ok(window),
                Err(error) => {
                    // Why it could not be opened is more to the point.
                    let _ = Box::new(window).free();
                    Err(error)
                }
            }
        })?;
        Ok(Memory::Window(child))
    }
}

fn heap_of_threads(parent: &Communicator, comm: &InProcessComm, bytes: usize) -> Result<Memory> {
    let shared = comm.share(|| Heap::zeroed(bytes).map(Arc::new))?;
    let heap = match &*shared {
        Ok(heap) => Ok(Arc::clone(heap)),
        Err(error) => Err(error.to_string()),
    };
    let heap = parent.agree(heap)?;
    Ok(Memory::Heap(heap))
}

#[cold]
fn unmade() -> Error {
    Error::new(
        ErrorKind::Library,
        "MPI_Win_allocate_shared",
        "nothing was made",
    )
}

#[cfg(test)]
mod tests {
    use ranks_collectives::Collectives;

    use super::*;

    /// The byte at `at`, to be stored or loaded by any rank.
    fn byte(region: &Region, at: usize) -> &std::sync::atomic::AtomicU8 {
        assert!(at < region.len());
        // SAFETY: it is one of the region's bytes.
        let byte = unsafe { region.base().add(at) };
        // SAFETY: nobody touches it in another way, and it lives as long as the region.
        unsafe { byte.cast().as_ref() }
    }

    /// This rank's bytes of the region are `from`, and then `to`.
    fn pass(region: &Region, from: u8, to: u8) {
        let (rank, size) = (region.node().rank(), region.node().size());
        for at in (0..region.len()).filter(|at| at % size == rank) {
            assert_eq!(byte(region, at).load(Ordering::Relaxed), from);
            byte(region, at).store(to, Ordering::Relaxed);
        }
    }

    /// Memory that was freed just before, full of other bytes, is zero again.
    #[ranks_test::ranks(1, 2, 3, 4)]
    fn it_is_zero_at_first_and_common_to_all(world: Communicator) -> Result<()> {
        let node = world.split_shared(0)?;
        for (round, bytes) in [0, 1, 5000, 300_000, 5000, 300_000].into_iter().enumerate() {
            let region = Region::allocate(&world, &node, bytes, Backing::MpiWindow, None)?;
            assert_eq!(region.len(), bytes);
            assert_eq!(region.base().addr().get() % crate::page::page_size(), 0);
            region.welcome_large_pages();
            pass(&region, 0, 7);
            region.sync()?;
            world.barrier()?;
            region.sync()?;
            assert!((0..bytes).all(|at| byte(&region, at).load(Ordering::Relaxed) == 7));
            world.barrier()?;
            if round % 2 == 0 {
                region.free()?;
            }
        }
        Ok(())
    }

    /// Parts of a communicator have regions of their own, of different kinds.
    #[ranks_test::ranks(1, 2, 3, 4)]
    fn each_part_has_its_own(world: Communicator) -> Result<()> {
        let color = u8::from(world.rank() == 0);
        // Ranks on two hosts are no part, whatever their color.
        let Some(node) = world.split_shared(0)?.split(Some(color.into()), 0)? else {
            return Ok(());
        };
        let region = Region::allocate(&world, &node, 1000, Backing::MpiWindow, None)?;
        let alone = node.size() == 1 || matches!(world.backend(), Backend::InProcess(_));
        assert_eq!(region.backing() == Backing::Heap, alone);
        pass(&region, 0, 3 + color);
        region.sync()?;
        world.barrier()?;
        region.sync()?;
        let mine = 3 + color;
        assert!((0..1000).all(|at| byte(&region, at).load(Ordering::Relaxed) == mine));
        world.barrier()?;
        Ok(())
    }

    /// The others waited for it, where a library refuses keys of that length.
    #[ranks_test::ranks(2, 3, 4)]
    fn a_hint_that_one_rank_cannot_tell_is_the_same_everywhere(world: Communicator) -> Result<()> {
        let node = world.split_shared(0)?;
        let length = if world.rank() == 1 { 200 } else { 1 };
        let hints = Info::new().with(&"k".repeat(length), "v")?;
        let refused = Region::allocate(&world, &node, 100, Backing::MpiWindow, Some(&hints));
        let all = world.exchange("a test", &[u8::from(refused.is_err())])?;
        assert!(all.iter().all(|&other| other == all[0]), "{all:?}");
        Ok(())
    }

    #[ranks_test::ranks(1, 2, 3)]
    fn what_cannot_be_had_is_the_same_error_everywhere(world: Communicator) -> Result<()> {
        let error = Region::allocate(&world, &world, usize::MAX / 2, Backing::MpiWindow, None);
        let told = error.unwrap_err().to_string();
        let all = world.exchange("a test", &told.as_bytes()[..40])?;
        assert!(all.chunks(40).all(|other| other == &told.as_bytes()[..40]));
        Ok(())
    }
}
