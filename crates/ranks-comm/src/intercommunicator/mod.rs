//! Intercommunicators: two groups of ranks, in which messages go to the remote group.

mod nonblocking;

use std::fmt;

use crate::communicator::Communicator;
use crate::communicator::group::Group;
use crate::data::element::Pod;
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::p2p::message::Message;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::backend::Backend;
use crate::transport::comparison::Comparison;

pub use nonblocking::IntercommunicatorScope;

/// Two disjoint groups of ranks; a message goes from a rank of one to a rank of the other.
///
/// [`rank`](Self::rank) and [`size`](Self::size) are of this rank's own group, the local one. A
/// rank that an operation takes or returns is one of the other group, the remote one. It comes from
/// [`Communicator::intercomm_create`], and [`merge`](Self::merge) makes it a communicator of all
/// ranks.
///
/// A clone is another handle of the same intercommunicator. As with a [`Communicator`], dropping
/// never blocks.
///
/// ```
/// use ranks::Runtime;
///
/// Runtime::builder().ranks(4).run(|world| {
///     // Even ranks compute, odd ranks write: 0 is the leader of the first, 1 of the others.
///     let writes = world.rank() % 2 == 1;
///     let part = world.split(Some(i32::from(writes)), 0)?.expect("each rank has a color");
///     let between = part.intercomm_create(0, &world, if writes { 0 } else { 1 }, 7)?;
///     if writes {
///         let (values, from) = between.recv_vec::<f64>(part.rank(), 0)?;
///         assert_eq!((values[0], from.source()), (part.rank() as f64, Some(part.rank())));
///     } else if part.rank() < between.remote_size() {
///         between.send(&[part.rank() as f64], part.rank(), 0)?;
///     }
///     Ok::<(), ranks::Error>(())
/// })
/// # .unwrap();
/// ```
///
/// MPI 5.0 §7.6.
#[doc(alias = "MPI_Comm_test_inter")]
#[derive(Clone)]
pub struct Intercommunicator(Communicator);

impl Communicator {
    /// Makes an intercommunicator of the ranks of this communicator and those of another one, which
    /// call it at the same time.
    ///
    /// Each of the two has a leader. Both leaders are ranks of `peer`, in which they reach each
    /// other: there `remote_leader` is the rank of the other leader. On other ranks than the local
    /// leader `peer`, `remote_leader` and `tag` are not significant, and any communicator will do.
    /// No receive that would match a message with this tag from the other leader may be pending in
    /// `peer` meanwhile. Collective over both.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if a leader is not in its communicator; at the leader
    /// [`ErrorKind::Tag`], and [`ErrorKind::Argument`] if it is its own remote leader: the other
    /// ranks of this communicator get [`ErrorKind::Mismatch`] where calls are compared, and those
    /// of the other one wait. Otherwise what the library reports, such as that the groups have a
    /// rank in common.
    ///
    /// MPI 5.0 §7.6.2 (`MPI_Intercomm_create`).
    #[doc(alias = "MPI_Intercomm_create")]
    pub fn intercomm_create(
        &self,
        local_leader: usize,
        peer: &Self,
        remote_leader: usize,
        tag: i32,
    ) -> Result<Intercommunicator> {
        const OPERATION: &str = "MPI_Intercomm_create";
        let leads = local_leader == self.rank();
        // Elsewhere they are passed all the same, and have to be valid.
        let (peer, remote_leader, tag) = match leads {
            true => (peer, remote_leader, tag),
            false => (self, 0, 0),
        };
        let check = || {
            self.destination(OPERATION, local_leader)?;
            peer.destination(OPERATION, remote_leader)?;
            peer.check_tag(OPERATION, tag)?;
            if leads && remote_leader == peer.rank() {
                let why = format_args!("the remote leader {remote_leader} is this rank itself");
                return Err(Error::new(ErrorKind::Argument, OPERATION, why));
            }
            Ok(())
        };
        let mut entered = self.enter(OPERATION)?;
        let called = self.all_call(OPERATION, check());
        let new = called.and_then(|()| match (self.backend(), peer.backend()) {
            (Backend::Mpi(comm), Backend::Mpi(peer)) => {
                comm.intercomm_create(self, local_leader, peer, remote_leader, tag)
            }
            (Backend::InProcess(comm), Backend::InProcess(peer)) => comm
                .intercomm_create(OPERATION, local_leader, peer, remote_leader, tag)
                .map(Self::in_process),
            _ => {
                let why = "one of the two communicators is over MPI and the other in process";
                Err(Error::new(ErrorKind::Argument, OPERATION, why))
            }
        });
        entered.note(&new);
        new.map(Intercommunicator)
    }
}

impl Intercommunicator {
    /// The rank of this process in its own group, from 0 to `size - 1`.
    #[inline]
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.rank()
    }

    /// The number of ranks of the local group.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.size()
    }

    /// The number of ranks of the remote group, to which messages go.
    ///
    /// MPI 5.0 §7.6.1 (`MPI_Comm_remote_size`).
    #[doc(alias = "MPI_Comm_remote_size")]
    #[inline]
    #[must_use]
    pub fn remote_size(&self) -> usize {
        self.0.peers()
    }

    /// The largest tag that a message may have.
    #[must_use]
    pub fn max_tag(&self) -> i32 {
        self.0.max_tag()
    }

    /// The local group: that of this rank. Local.
    ///
    /// # Errors
    /// As [`Communicator::group`].
    ///
    /// MPI 5.0 §7.6.1 (`MPI_Comm_group`).
    pub fn group(&self) -> Result<Group> {
        self.0.group()
    }

    /// The remote group. Local.
    ///
    /// # Errors
    /// As [`Communicator::group`].
    ///
    /// MPI 5.0 §7.6.1 (`MPI_Comm_remote_group`).
    #[doc(alias = "MPI_Comm_remote_group")]
    pub fn remote_group(&self) -> Result<Group> {
        let members = self.0.dispatch(
            "MPI_Comm_remote_group",
            |comm| comm.remote_world_ranks(),
            |comm| Ok(comm.remote_world_ranks().to_vec()),
        )?;
        Ok(self.group()?.with(members))
    }

    /// Compares this intercommunicator with `other`, by local and remote group. Local.
    ///
    /// # Errors
    /// As [`Communicator::compare`].
    ///
    /// MPI 5.0 §7.4.1 (`MPI_Comm_compare`).
    pub fn compare(&self, other: &Self) -> Result<Comparison> {
        self.0.compare(&other.0)
    }

    /// The name that tools and messages show; empty if none was set.
    ///
    /// # Errors
    /// As [`Communicator::name`].
    pub fn name(&self) -> Result<String> {
        self.0.name()
    }

    /// Sets its name, on this rank only.
    ///
    /// # Errors
    /// As [`Communicator::set_name`].
    pub fn set_name(&self, name: &str) -> Result<()> {
        self.0.set_name(name)
    }

    /// A new intercommunicator of the same groups. Collective over both.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_dup`).
    pub fn dup(&self) -> Result<Self> {
        self.0.dup().map(Self)
    }

    /// Makes one communicator of both groups: first the ranks of the group that passes `false`,
    /// then those of the one that passes `true`. If both pass the same, either may come first.
    /// Collective over both; all ranks of a group pass the same.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §7.6.2 (`MPI_Intercomm_merge`).
    #[doc(alias = "MPI_Intercomm_merge")]
    pub fn merge(&self, high: bool) -> Result<Communicator> {
        self.0.dispatch(
            "MPI_Intercomm_merge",
            |comm| comm.intercomm_merge(&self.0, high),
            |comm| comm.intercomm_merge(high).map(Communicator::in_process),
        )
    }

    /// Frees it now, without deferring it. Collective over both groups.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if other handles of it exist, which includes matched messages.
    ///
    /// MPI 5.0 §7.4.3 (`MPI_Comm_free`).
    pub fn free(self) -> Result<()> {
        self.0.free()
    }

    /// The handle that operations of sibling crates are begun on.
    ///
    /// # Safety
    /// They are operations between two groups: those of one group take it that messages go to as
    /// many ranks as it has itself.
    #[doc(hidden)]
    #[allow(unsafe_code, reason = "it is called elsewhere")]
    #[must_use]
    pub unsafe fn handle(&self) -> &Communicator {
        &self.0
    }

    /// Sends `data` to the rank `dest` of the remote group; see [`Communicator::send`].
    ///
    /// # Errors
    /// As [`Communicator::send`].
    #[inline]
    pub fn send<T: Pod>(&self, data: &[T], dest: impl Into<Destination>, tag: i32) -> Result<()> {
        self.0.send(data, dest, tag)
    }

    /// Sends `data`, and returns only when the matching receive has started; see
    /// [`Communicator::ssend`].
    ///
    /// # Errors
    /// As [`Communicator::ssend`].
    #[inline]
    pub fn ssend<T: Pod>(&self, data: &[T], dest: impl Into<Destination>, tag: i32) -> Result<()> {
        self.0.ssend(data, dest, tag)
    }

    /// Receives a message from the rank `source` of the remote group into `buf`; see
    /// [`Communicator::recv`].
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    #[inline]
    pub fn recv<T: Pod>(
        &self,
        buf: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        self.0.recv(buf, source, tag)
    }

    /// Receives a message of any length; see [`Communicator::recv_vec`].
    ///
    /// # Errors
    /// As [`Communicator::recv_vec`].
    pub fn recv_vec<T: Pod>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        self.0.recv_vec(source, tag)
    }

    /// Sends and receives at the same time; see [`Communicator::sendrecv`].
    ///
    /// # Errors
    /// As [`Communicator::sendrecv`].
    #[inline]
    pub fn sendrecv<S: Pod, R: Pod>(
        &self,
        send: &[S],
        dest: impl Into<Destination>,
        send_tag: i32,
        recv: &mut [R],
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Status> {
        self.0
            .sendrecv(send, dest, send_tag, recv, source, recv_tag)
    }

    /// Sends `buf` and replaces it by the message that arrives; see
    /// [`Communicator::sendrecv_replace`].
    ///
    /// # Errors
    /// As [`Communicator::sendrecv_replace`].
    #[inline]
    pub fn sendrecv_replace<T: Pod>(
        &self,
        buf: &mut [T],
        dest: impl Into<Destination>,
        send_tag: i32,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Status> {
        self.0
            .sendrecv_replace(buf, dest, send_tag, source, recv_tag)
    }

    /// Waits for a message and returns its status; see [`Communicator::probe`].
    ///
    /// # Errors
    /// As [`Communicator::probe`].
    #[inline]
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        self.0.probe(source, tag)
    }

    /// Returns the status of a message if one has arrived; see [`Communicator::iprobe`].
    ///
    /// # Errors
    /// As [`Communicator::iprobe`].
    #[inline]
    pub fn iprobe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        self.0.iprobe(source, tag)
    }

    /// Waits for a message and matches it; see [`Communicator::mprobe`].
    ///
    /// # Errors
    /// As [`Communicator::mprobe`].
    pub fn mprobe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Message> {
        self.0.mprobe(source, tag)
    }

    /// Matches a message if one has arrived; see [`Communicator::improbe`].
    ///
    /// # Errors
    /// As [`Communicator::improbe`].
    pub fn improbe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<Message>> {
        self.0.improbe(source, tag)
    }
}

impl fmt::Debug for Intercommunicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intercommunicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("remote_size", &self.remote_size())
            .finish_non_exhaustive()
    }
}
