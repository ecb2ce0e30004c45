//! One rank's side of a window: making and freeing it, epochs between fences, accesses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ranks_comm::backend::{CallDescription, INLINE, InProcessComm, digest};
use ranks_comm::{Error, ErrorKind, Pod, Result};
use ranks_launch::Count;

use super::region::{Base, Region};
use super::segment::{Phase, Segment};

/// State shared by all ranks of a window. It lives as long as one of them.
#[derive(Debug)]
struct Common {
    segments: Box<[OnceLock<Result<Segment, String>>]>,
    /// Ranks that have dropped the window.
    left: Box<[AtomicBool]>,
}

/// A window among thread-ranks.
///
/// It begins quiet: no peer has access. [`fence`](Self::fence) opens an epoch in which all have,
/// [`open_passive`](Self::open_passive) the one of locks, [`post`](Self::post) that of those whom
/// it names; [`close`](Self::close) ends the first two, [`wait`](Self::wait) the last. Only while
/// it is quiet, or this rank holds an exclusive lock on itself and accesses nothing of its own
/// otherwise, may the owner make references to what lies at [`base`](Self::base).
#[derive(Debug)]
pub(crate) struct LocalWindow {
    /// The same ranks, for the rounds of this window alone.
    comm: InProcessComm,
    common: Arc<Common>,
    base: Base,
    /// With whom an access epoch was started.
    started: Mutex<Vec<usize>>,
}

impl LocalWindow {
    /// A window of so many bytes of zeros on this rank, aligned to 64. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] on all ranks if there is no memory on one; [`ErrorKind::PeerFailed`].
    pub(crate) fn allocate(comm: &InProcessComm, bytes: usize) -> Result<Self> {
        Self::of_region(comm, "MPI_Win_allocate", Region::zeroed(bytes))
    }

    /// A window of the memory of a vector. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::PeerFailed`].
    pub(crate) fn from_memory<T: Pod>(comm: &InProcessComm, values: Vec<T>) -> Result<Self> {
        Self::of_region(comm, "MPI_Win_create", Ok(Region::of_vec(values)))
    }

    fn of_region(
        comm: &InProcessComm,
        operation: &'static str,
        region: Result<Region>,
    ) -> Result<Self> {
        let comm = comm.of_its_own()?;
        let size = comm.size();
        let common = comm.share(|| Common {
            segments: (0..size).map(|_| OnceLock::new()).collect(),
            left: (0..size).map(|_| AtomicBool::new(false)).collect(),
        })?;
        let mine = region
            .map(|region| Segment::new(region, size))
            .map_err(|error| error.to_string());
        // This rank alone sets its place, once.
        let mine = common.segments[comm.rank()].get_or_init(|| mine);
        let base = mine.as_ref().map(Segment::base).ok();
        let window = Self {
            comm,
            base: base.unwrap_or(Base::NOWHERE),
            common,
            started: Mutex::default(),
        };
        window.barrier(operation)?;
        for (rank, segment) in window.common.segments.iter().enumerate() {
            if let Some(Err(why)) = segment.get() {
                let detail = format_args!("rank {rank} has no memory for its part: {why}");
                return Err(Error::new(ErrorKind::Length, operation, detail));
            }
        }
        Ok(window)
    }

    /// Address of this rank's memory; aligned to 64 bytes if it was allocated.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.pointer()
    }

    /// Opens an epoch in which all ranks have access, or begins the next one: waits for all ranks.
    /// Collective.
    ///
    /// # Errors
    /// [`ErrorKind::PeerFailed`] if a rank has ended, failed, or dropped the window.
    pub(crate) fn fence(&self) -> Result<()> {
        self.mine("MPI_Win_fence")?.set_phase(Phase::Fence);
        self.barrier("MPI_Win_fence")
    }

    /// Opens the epoch in which ranks that hold a lock have access. Collective.
    ///
    /// # Errors
    /// As [`fence`](Self::fence).
    pub(crate) fn open_passive(&self, operation: &'static str) -> Result<()> {
        self.mine(operation)?.set_phase(Phase::Passive);
        self.barrier(operation)
    }

    /// Ends the epoch that `fence` or `open_passive` opened: from now on only this rank has access
    /// to its memory. Collective.
    ///
    /// # Errors
    /// As [`fence`](Self::fence); the epoch goes on then.
    pub(crate) fn close(&self, operation: &'static str) -> Result<()> {
        self.barrier(operation)?;
        self.mine(operation)?.set_phase(Phase::Quiet);
        Ok(())
    }

    /// Copies `bytes` to byte `at` of the memory of `rank`; they are there when this returns.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`]; [`ErrorKind::Length`] if they do not fit; [`ErrorKind::Mismatch`]
    /// without access.
    pub(crate) fn put(&self, bytes: &[u8], rank: usize, at: usize) -> Result<()> {
        self.access("MPI_Put", rank, at, bytes.len(), |target: &mut [u8]| {
            target.copy_from_slice(bytes);
        })
    }

    /// Copies from byte `at` of the memory of `rank` to `bytes`.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub(crate) fn get(&self, bytes: &mut [u8], rank: usize, at: usize) -> Result<()> {
        self.access("MPI_Get", rank, at, bytes.len(), |target: &mut [u8]| {
            bytes.copy_from_slice(target);
        })
    }

    /// Lets `work` read and change `length` elements from byte `at` of the memory of `rank` on,
    /// while nobody else does. It must call nothing of the window.
    ///
    /// # Errors
    /// As [`put`](Self::put); [`ErrorKind::Argument`] if they are not aligned.
    pub(crate) fn update<T: Pod, R>(
        &self,
        rank: usize,
        at: usize,
        length: usize,
        work: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R> {
        self.access("MPI_Accumulate", rank, at, length, work)
    }

    fn access<T: Pod, R>(
        &self,
        operation: &'static str,
        rank: usize,
        at: usize,
        length: usize,
        work: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R> {
        let ranks = (self.comm.rank(), rank);
        self.segment(operation, rank)?
            .access(operation, ranks, at, length, work)
    }

    /// Gives the vector of [`from_memory`](Self::from_memory) back when all ranks are here.
    /// Collective.
    ///
    /// # Errors
    /// As [`fence`](Self::fence); [`ErrorKind::Type`] if it was made of no such vector. The memory
    /// goes when no rank has the window any more, then.
    pub(crate) fn free_into<T: Pod>(self) -> Result<Vec<T>> {
        const OPERATION: &str = "MPI_Win_free";
        self.barrier(OPERATION)?;
        let region = self.mine(OPERATION)?.take();
        region.and_then(Region::into_vec).ok_or_else(|| {
            let detail = "the window was not made of a vector of this type";
            Error::new(ErrorKind::Type, OPERATION, detail)
        })
    }

    /// Lets go of it when all ranks are here. Collective.
    ///
    /// # Errors
    /// As [`fence`](Self::fence).
    pub(crate) fn free(self) -> Result<()> {
        self.barrier("MPI_Win_free")
    }

    /// Waits for all ranks. Collective.
    ///
    /// # Errors
    /// As [`fence`](Self::fence); [`ErrorKind::Mismatch`] on all ranks if they come for different
    /// operations.
    pub(crate) fn barrier(&self, operation: &'static str) -> Result<()> {
        let name = operation.as_bytes();
        let words = (0, digest(name.iter().copied().map(u64::from)));
        let carried = &name[..name.len().min(INLINE)];
        let round = self.comm.round(operation, words, carried);
        let round = round.map_err(|error| match self.who_left() {
            Some(rank) if error.kind() == ErrorKind::PeerFailed => self.gone(operation, rank),
            _ => error,
        })?;
        if round.differing().is_none() {
            return Ok(());
        }
        let told = (0..self.comm.size()).flat_map(|rank| {
            let name = round.carried(rank);
            let name = String::from_utf8_lossy(&name);
            let told = CallDescription::named(name.trim_end_matches('\0'));
            told.bytes().to_vec()
        });
        CallDescription::compare(operation, &told.collect::<Vec<u8>>())
    }

    /// Waits for what another rank does; see [`InProcessComm::wait_for`].
    pub(super) fn wait_for<R>(
        &self,
        operation: &'static str,
        mut look: impl FnMut() -> Result<R, usize>,
    ) -> Result<R> {
        self.comm
            .wait_for(operation, || self.look(operation, &mut look))?
    }

    /// As [`wait_for`](Self::wait_for), without waiting.
    pub(super) fn try_for<R>(
        &self,
        operation: &'static str,
        mut look: impl FnMut() -> Result<R, usize>,
    ) -> Result<Option<R>> {
        let found = self
            .comm
            .try_for(operation, || self.look(operation, &mut look))?;
        found.transpose()
    }

    /// Looks; a rank that has dropped the window will do nothing any more.
    fn look<R>(
        &self,
        operation: &'static str,
        look: &mut impl FnMut() -> Result<R, usize>,
    ) -> Result<Result<R>, usize> {
        match look() {
            Ok(found) => return Ok(Ok(found)),
            Err(rank) if self.has_left(rank) => {}
            Err(rank) => return Err(rank),
        }
        // What it did before it left can be seen by now.
        match look() {
            Ok(found) => Ok(Ok(found)),
            Err(rank) if self.has_left(rank) => Ok(Err(self.gone(operation, rank))),
            Err(rank) => Err(rank),
        }
    }

    /// The first rank that has dropped the window.
    fn who_left(&self) -> Option<usize> {
        (0..self.comm.size()).find(|&rank| self.has_left(rank))
    }

    /// Returns `true` if a rank has dropped the window.
    fn has_left(&self, rank: usize) -> bool {
        self.common.left[rank].load(Ordering::Acquire)
    }

    #[cold]
    fn gone(&self, operation: &'static str, rank: usize) -> Error {
        let size = self.comm.size();
        let detail = format_args!("rank {rank} of {size} has let go of the window");
        Error::new(ErrorKind::PeerFailed, operation, detail)
    }

    pub(super) fn comm(&self) -> &InProcessComm {
        &self.comm
    }

    /// The segment of this rank.
    pub(super) fn mine(&self, operation: &'static str) -> Result<&Segment> {
        self.segment(operation, self.comm.rank())
    }

    /// The segment of `rank`.
    pub(super) fn segment(&self, operation: &'static str, rank: usize) -> Result<&Segment> {
        match self.common.segments.get(rank).and_then(OnceLock::get) {
            Some(Ok(segment)) => Ok(segment),
            _ => {
                let size = self.comm.size();
                let detail = format_args!("rank {rank} of a window of {}", Count(size, "rank"));
                Err(Error::new(ErrorKind::Rank, operation, detail))
            }
        }
    }

    /// The ranks with which an access epoch was started.
    pub(super) fn started(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LocalWindow {
    fn drop(&mut self) {
        self.common.left[self.comm.rank()].store(true, Ordering::Release);
        self.comm.leave_others();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use ranks_comm::backend::Backend::InProcess;
    use ranks_comm::{Backend, Communicator, Runtime};

    use super::*;

    /// Runs `f` on so many thread-ranks, each with a window of 8 bytes.
    pub(in super::super) fn on(
        ranks: usize,
        f: impl Fn(&Communicator, &LocalWindow) -> Result<()> + Send + Sync,
    ) {
        everywhere(ranks, |world, comm| {
            f(world, &LocalWindow::allocate(comm, 8)?)
        });
    }

    fn everywhere(
        ranks: usize,
        f: impl Fn(&Communicator, &InProcessComm) -> Result<()> + Send + Sync,
    ) {
        let runtime = Runtime::builder().backend(Backend::InProcess).ranks(ranks);
        let outcome = runtime.run(|world| match world.backend() {
            InProcess(comm) => f(&world, comm),
            _ => unreachable!("threads were asked for"),
        });
        outcome.unwrap();
    }

    #[test]
    fn values_come_round_a_ring() {
        on(3, |comm, window| {
            let (me, size) = (comm.rank(), comm.size());
            assert!(window.base().addr().is_multiple_of(64));
            window.fence()?;
            for step in 0..4 {
                window.put(&[u8::try_from(me + step).unwrap()], (me + 1) % size, 3)?;
                window.fence()?;
                let mut got = [0];
                window.get(&mut got, me, 3)?;
                assert_eq!(usize::from(got[0]), (me + size - 1) % size + step);
                window.fence()?;
            }
            window.close("close")
        });
    }

    #[test]
    fn nothing_is_accessed_outside_of_an_epoch_or_of_the_memory() {
        on(2, |_, window| {
            let refused = |outcome: Result<()>| outcome.unwrap_err().kind();
            assert_eq!(refused(window.put(&[1], 1, 0)), ErrorKind::Mismatch);
            window.barrier("test")?;
            window.fence()?;
            assert_eq!(refused(window.put(&[1, 2], 1, 7)), ErrorKind::Length);
            assert_eq!(refused(window.put(&[1], 1, usize::MAX)), ErrorKind::Length);
            assert_eq!(refused(window.put(&[1], 2, 0)), ErrorKind::Rank);
            let odd = window.update(1, 1, 1, |_: &mut [u32]| ());
            assert_eq!(refused(odd), ErrorKind::Argument);
            window.update(1, 4, 1, |value: &mut [u32]| value[0] += 1)?;
            window.close("close")?;
            window.barrier("test")?;
            assert_eq!(refused(window.put(&[1], 1, 0)), ErrorKind::Mismatch);
            Ok(())
        });
    }

    #[test]
    fn a_vector_comes_back_with_what_was_put() {
        everywhere(2, |world, comm| {
            let me = world.rank();
            let window = LocalWindow::from_memory(comm, vec![7u32; 2 * me])?;
            window.fence()?;
            let error = window.put(&[0; 9], 1, 0).unwrap_err().to_string();
            assert!(error.contains("the target has 8 bytes"), "{error}");
            if me == 0 {
                window.put(&5u32.to_ne_bytes(), 1, 4)?;
            }
            window.close("close")?;
            let values = window.free_into::<u32>()?;
            assert_eq!(values, if me == 0 { &[][..] } else { &[7, 5] });
            Ok(())
        });
    }

    #[test]
    fn a_rank_that_ends_or_lets_go_ends_the_waiting_of_others() {
        for ends in [true, false] {
            everywhere(2, |world, comm| {
                let window = LocalWindow::allocate(comm, 1)?;
                if world.rank() == 0 {
                    drop(window);
                    if !ends {
                        return world.recv_vec::<u8>(1, 0).map(drop);
                    }
                    return Ok(());
                }
                let error = window.fence().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::PeerFailed);
                world.send(&[1u8], 0, 0)
            });
        }
    }

    #[test]
    fn memory_that_is_not_there_is_told_to_all() {
        everywhere(2, |world, comm| {
            let bytes = [usize::MAX, 8][world.rank()];
            let error = LocalWindow::allocate(comm, bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length);
            assert!(
                error.to_string().contains("rank 0 has no memory"),
                "{error}"
            );
            Ok(())
        });
    }
}
