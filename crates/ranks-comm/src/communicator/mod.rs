//! Communicators: groups of ranks with a context of their own, in which their messages stay apart
//! from all others.

pub(crate) mod agree;
mod arguments;
pub(crate) mod attributes;
mod compare;
mod environment;
pub(crate) mod fault_tolerance;
pub(crate) mod group;
mod in_process;
mod info;
mod mpi;
pub(crate) mod split;
mod time_limit;
mod ways;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ranks_trace::Statistics;

use crate::call::limit::OwnLimit;
use crate::call::observe;
use crate::call::record::IN_PROCESS;
use crate::call::record::Recorder;
use crate::call::record::dump::{self, Reason};
use crate::call::thread_guard::THREAD_GUARD;
use crate::call::thread_level::ThreadLevel;
use crate::result::{Error, ErrorKind, Result};
use crate::transport;
use crate::transport::backend::Backend;
use crate::transport::comparison::Comparison;
use crate::transport::mpi::{CommFastPath, object_name};
use attributes::Attributes;
use group::Group;

/// A communicator: ranks `0..size`, and a context of its own in which their messages travel.
///
/// A clone is another handle of the same communicator; [`dup`](Self::dup) makes a new one. Handles
/// can be sent to other threads and keep the runtime alive. Dropping the last handle never blocks:
/// the free is deferred to a later collective call that makes communicators from the same parent,
/// or of the same ranks where the parent was dropped as well, once no operation is pending on the
/// communicator, or to the end of the runtime. Deferred frees of one parent's are made in the order
/// of creation.
///
/// MPI 5.0 §7.
#[doc(alias = "MPI_Comm")]
#[derive(Clone)]
pub struct Communicator(Arc<Inner>);

struct Inner {
    way: CommFastPath,
    rank: usize,
    size: usize,
    /// The number of ranks that messages go to and come from: all of them, or those of the remote
    /// group.
    peers: usize,
    max_tag: i32,
    attributes: Arc<Attributes>,
    recorder: Arc<Recorder>,
    /// `true` once some rank has missed a collective at its time limit: later messages may then
    /// belong to different calls.
    out_of_step: Arc<AtomicBool>,
    /// The time limit of operations, if one was set for this communicator.
    limit: Arc<OwnLimit>,
}

impl Communicator {
    pub(crate) fn over_mpi(
        comm: transport::mpi::Comm,
        rank: usize,
        size: usize,
        peers: usize,
        max_tag: i32,
        recorder: Arc<Recorder>,
    ) -> Self {
        let way = CommFastPath::over_mpi(comm);
        Self::of(way, rank, size, peers, max_tag, recorder)
    }

    pub(crate) fn in_process(comm: transport::in_process::Comm) -> Self {
        let (rank, size, peers) = (comm.rank(), comm.size(), comm.peers());
        let recorder = comm.recorder();
        let way = CommFastPath::in_process(comm);
        Self::of(way, rank, size, peers, i32::MAX, recorder)
    }

    fn of(
        way: CommFastPath,
        rank: usize,
        size: usize,
        peers: usize,
        max_tag: i32,
        recorder: Arc<Recorder>,
    ) -> Self {
        Self(Arc::new(Inner {
            way,
            rank,
            size,
            peers,
            max_tag,
            attributes: Arc::default(),
            recorder,
            out_of_step: Arc::default(),
            limit: Arc::default(),
        }))
    }

    /// This new communicator with attributes and a mark that others share: it is out of step when
    /// they are.
    #[must_use]
    pub(crate) fn sharing(self, attributes: Arc<Attributes>, out_of_step: Arc<AtomicBool>) -> Self {
        self.amended(|inner| {
            inner.attributes = attributes;
            inner.out_of_step = out_of_step;
        })
    }

    /// This new communicator, changed; unchanged if it has other handles.
    fn amended(mut self, amend: impl FnOnce(&mut Inner)) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            amend(inner);
        }
        self
    }

    /// The rank of this process (or thread), from 0 to `size - 1`. Known since the communicator was
    /// made; no call of the library.
    #[doc(alias = "MPI_Comm_rank")]
    #[inline]
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.rank
    }

    /// The number of ranks. Known since the communicator was made; no call of the library.
    #[doc(alias = "MPI_Comm_size")]
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// The largest tag that a message may have.
    #[doc(alias = "MPI_TAG_UB")]
    #[must_use]
    pub fn max_tag(&self) -> i32 {
        self.0.max_tag
    }

    /// The transport of the messages: the MPI library's name and version, such as
    /// `Open MPI 5.0.11`, or `in process`.
    #[must_use]
    pub fn library(&self) -> &'static str {
        match self.backend() {
            Backend::Mpi(_) => ranks_mpi_sys::loaded().map_or("MPI", ranks_mpi_sys::Loaded::name),
            Backend::InProcess(_) => IN_PROCESS,
        }
    }

    /// The ranks of this communicator. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`], [`ErrorKind::WrongThread`], or what the library reports.
    ///
    /// MPI 5.0 §7.3.2 (`MPI_Comm_group`).
    #[doc(alias = "MPI_Comm_group")]
    pub fn group(&self) -> Result<Group> {
        let members = self.dispatch(
            "MPI_Comm_group",
            |comm| comm.world_ranks(),
            |comm| Ok(comm.members().to_vec()),
        )?;
        let world = self.0.recorder.home.world;
        Ok(Group::new(world, members, self.rank()))
    }

    /// Returns `true` if both are handles of one communicator.
    #[doc(hidden)]
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Compares this communicator with `other`. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`], [`ErrorKind::WrongThread`], or what the library reports.
    ///
    /// MPI 5.0 §7.4.1 (`MPI_Comm_compare`).
    #[doc(alias = "MPI_Comm_compare")]
    pub fn compare(&self, other: &Self) -> Result<Comparison> {
        let mut entered = self.enter("MPI_Comm_compare")?;
        let result = match (self.backend(), other.backend()) {
            (Backend::Mpi(comm), Backend::Mpi(other)) => comm.compare(other),
            (Backend::InProcess(comm), Backend::InProcess(other)) => Ok(comm.compare(other)),
            _ => Ok(Comparison::Unequal),
        };
        entered.note(&result);
        result
    }

    /// The name that tools and messages show; empty if none was set.
    ///
    /// # Errors
    /// [`ErrorKind::Finalized`], [`ErrorKind::WrongThread`], or what the library reports.
    ///
    /// MPI 5.0 §7.8 (`MPI_Comm_get_name`).
    #[doc(alias = "MPI_Comm_get_name")]
    pub fn name(&self) -> Result<String> {
        self.dispatch("MPI_Comm_get_name", transport::mpi::Comm::name, |_| {
            Ok(self.0.recorder.name())
        })
    }

    /// Sets the name of the communicator, on this rank only.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the name holds a zero byte. Libraries cut names of more than 63
    /// bytes, for Open MPI 5 that of the world after 13.
    ///
    /// MPI 5.0 §7.8 (`MPI_Comm_set_name`).
    #[doc(alias = "MPI_Comm_set_name")]
    pub fn set_name(&self, name: &str) -> Result<()> {
        const OPERATION: &str = "MPI_Comm_set_name";
        self.dispatch(
            OPERATION,
            |comm| comm.set_name(name),
            |comm| object_name(OPERATION, name).map(|_| comm.set_name(name)),
        )?;
        self.0.recorder.set_name(name);
        Ok(())
    }

    /// The name that reports show: as it was set, whole, without a call of the library.
    #[doc(hidden)]
    #[must_use]
    pub fn name_in_reports(&self) -> String {
        self.0.recorder.name()
    }

    /// Sets what errors call it while it has no name: it belongs to something else.
    #[doc(hidden)]
    pub fn set_unnamed(&self, words: &'static str) {
        self.0.recorder.set_unnamed(words);
    }

    /// Frees the communicator now, without deferring it. Collective over its ranks.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if other handles of it exist, or if it is the world; the
    /// communicator lives on then.
    ///
    /// MPI 5.0 §7.4.3 (`MPI_Comm_free`).
    #[doc(alias = "MPI_Comm_free")]
    pub fn free(self) -> Result<()> {
        const OPERATION: &str = "MPI_Comm_free";
        let others = self.other_handles();
        let mut ready = Ok(());
        if others > 0 {
            let why = format_args!(
                "there are others of this communicator (handles and requests: {others}); drop or complete them first"
            );
            ready = Err(Error::new(ErrorKind::Argument, OPERATION, why));
        }
        self.dispatch_together(
            OPERATION,
            ready,
            transport::mpi::Comm::free,
            // A context is a number.
            |_| Ok(()),
        )
    }

    /// The counts and times of this rank's calls on this communicator so far; empty without
    /// `RANKS_STATS`. Local.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        observe::statistics(self.recorder(), false)
    }

    /// Aborts the job: ends all of its processes with `code`, or with 1 if the system would keep 0
    /// of another code, of which it keeps eight bits. In process it ends this process.
    ///
    /// MPI 5.0 §9.3.4 (`MPI_Abort`).
    #[doc(alias = "MPI_Abort")]
    pub fn abort(&self, code: i32) -> ! {
        let rank = self.0.recorder.place.0;
        let code_given = format!("aborted with code {code}");
        let code = if code & 0xff == 0 {
            code.signum().abs()
        } else {
            code
        };
        dump::write(Reason::Abort, Some(&code_given), Some(rank));
        if let Backend::Mpi(comm) = self.backend() {
            comm.abort(code);
        }
        std::process::exit(code)
    }

    /// Returns `true` if messages go to the ranks of a remote group, which is so inside an
    /// `Intercommunicator`.
    #[doc(hidden)]
    #[must_use]
    pub fn is_between(&self) -> bool {
        match self.backend() {
            Backend::Mpi(comm) => comm.between,
            Backend::InProcess(comm) => comm.is_between(),
        }
    }

    /// The number of ranks that messages go to and come from.
    #[doc(hidden)]
    #[must_use]
    pub fn peers(&self) -> usize {
        self.0.peers
    }

    /// The attributes that its users have set.
    pub(crate) fn attributes(&self) -> &Attributes {
        &self.0.attributes
    }

    /// The number of handles of this communicator besides this one.
    pub(crate) fn other_handles(&self) -> usize {
        Arc::strong_count(&self.0).saturating_sub(1)
    }

    /// The backend, if this is the last handle.
    pub(crate) fn into_backend(self) -> Option<Backend> {
        Arc::into_inner(self.0).map(|inner| inner.way.into_backend())
    }

    /// The backend of this communicator.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn backend(&self) -> &Backend {
        self.0.way.backend()
    }

    /// The recorder of its calls.
    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.0.recorder
    }

    /// The thread level that the library has granted, which may be less than was asked for.
    #[doc(alias = "MPI_Query_thread")]
    #[must_use]
    pub fn thread_level(&self) -> ThreadLevel {
        match self.backend() {
            Backend::Mpi(_) => THREAD_GUARD.level(),
            Backend::InProcess(comm) => comm.thread_level(),
        }
    }

    /// Returns `true` if any thread may communicate at any time (`MPI_THREAD_MULTIPLE`).
    #[doc(hidden)]
    #[must_use]
    pub fn lets_threads_call(&self) -> bool {
        self.thread_level() == ThreadLevel::Multiple
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communicators_cross_threads_and_live_in_structs() {
        fn crosses<T: Clone + Send + Sync + 'static>() {}
        crosses::<Communicator>();
        assert_eq!(size_of::<Communicator>(), size_of::<usize>());
    }
}
