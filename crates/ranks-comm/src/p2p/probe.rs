//! Probes and matched probes: the status of a message before it is received.

use crate::call::limit;
use crate::call::record::{self, Call};
use crate::communicator::Communicator;
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::p2p::message::Message;
use crate::result::Result;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};
use crate::transport::mpi;

const PROBE: &record::Kind = &record::Kind::probe("MPI_Probe");
const MPROBE: &record::Kind = &record::Kind::probe("MPI_Mprobe");

impl Communicator {
    /// Waits for a message and returns its status; the message is not received.
    ///
    /// Another thread may receive the message first; a matched probe ([`mprobe`](Self::mprobe))
    /// rules that out.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or
    /// what the library reports; in process [`ErrorKind::PeerFailed`](crate::ErrorKind::PeerFailed)
    /// if nobody is left to send.
    ///
    /// MPI 5.0 §3.8.1 (`MPI_Probe`).
    #[doc(alias = "MPI_Probe")]
    #[inline]
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        const OPERATION: &str = "MPI_Probe";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        let mut words = EMPTY_STATUS;
        let call = Call::of(PROBE).from(source, tag);
        let kind = match self.fast_path(1) {
            Some(comm) => mpi::Comm::probe(self.recorded(comm, call), source, tag, &mut words)?,
            None => self.probe_slow(call, source, tag, &mut words)?,
        };
        Ok(Status::new(kind, words))
    }

    #[cold]
    #[inline(never)]
    fn probe_slow(&self, call: Call, source: Source, tag: Tag, words: &mut Words) -> Result<Kind> {
        const OPERATION: &str = "MPI_Probe";
        self.dispatch_with(
            call,
            words,
            |comm, words| match limit::may_end() {
                Some(under_way) => under_way.look(|| comm.iprobe_in_turn(source, tag, words)),
                None => comm.probe_in_turn(source, tag, words),
            },
            |comm, words| Ok(comm.probe(OPERATION, source, tag)?.into_parts(words)),
        )
    }

    /// Returns the status of a message if one has arrived. Nonblocking.
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    ///
    /// MPI 5.0 §3.8.1 (`MPI_Iprobe`).
    #[doc(alias = "MPI_Iprobe")]
    #[inline]
    pub fn iprobe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        const OPERATION: &str = "MPI_Iprobe";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        let mut words = EMPTY_STATUS;
        let found = match self.fast_path(1) {
            Some(comm) => comm.iprobe(source, tag, &mut words)?,
            None => self.iprobe_slow(source, tag, &mut words)?,
        };
        Ok(found.map(|kind| Status::new(kind, words)))
    }

    #[cold]
    #[inline(never)]
    fn iprobe_slow(&self, source: Source, tag: Tag, words: &mut Words) -> Result<Option<Kind>> {
        const OPERATION: &str = "MPI_Iprobe";
        self.dispatch_with(
            OPERATION,
            words,
            |comm, words| comm.iprobe_in_turn(source, tag, words),
            |comm, words| {
                let found = comm.iprobe(OPERATION, source, tag)?;
                Ok(found.map(|status| status.into_parts(words)))
            },
        )
    }

    /// Waits for a message and matches it: only the holder of the returned [`Message`] can receive
    /// it.
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Mprobe`).
    #[doc(alias = "MPI_Mprobe")]
    #[inline]
    pub fn mprobe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Message> {
        const OPERATION: &str = "MPI_Mprobe";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        let call = Call::of(MPROBE).from(source, tag);
        if let Some(comm) = self.fast_path_recorded(call) {
            let found = comm.during(|comm| comm.mprobe(source, tag))?;
            return Ok(Message::mpi(self, found));
        }
        self.dispatch(
            call,
            move |comm| Ok(Message::mpi(self, self.mprobe_in_time(comm, source, tag)?)),
            move |comm| {
                Ok(Message::in_process(
                    self,
                    comm.mprobe(OPERATION, source, tag)?,
                ))
            },
        )
    }

    /// Waits for a message and matches it; no longer than the time limit, if there is one.
    pub(crate) fn mprobe_in_time(
        &self,
        comm: &mpi::Comm,
        source: Source,
        tag: Tag,
    ) -> Result<(mpi::Message, Status)> {
        match limit::may_end() {
            Some(under_way) => under_way.look(|| comm.improbe_in_turn(source, tag)),
            None => comm.mprobe_in_turn(source, tag),
        }
    }

    /// Matches a message if one has arrived. Nonblocking.
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Improbe`).
    #[doc(alias = "MPI_Improbe")]
    pub fn improbe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<Message>> {
        const OPERATION: &str = "MPI_Improbe";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        self.dispatch(
            OPERATION,
            move |comm| {
                let found = comm.improbe_in_turn(source, tag)?;
                Ok(found.map(|message| Message::mpi(self, message)))
            },
            move |comm| {
                let found = comm.improbe(OPERATION, source, tag)?;
                Ok(found.map(|message| Message::in_process(self, message)))
            },
        )
    }
}
