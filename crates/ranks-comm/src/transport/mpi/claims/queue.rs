//! The queue of receives that are matched first, and their progress.

use std::ffi::c_int;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Count, MPI_Message, MPI_Request, MPI_Status};

use crate::data::in_flight::{InFlight, KeepAlive, Over};
use crate::data::raw_slice::{Element, OpInfo, RawSlice, RecvStorage, RecvTarget};
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::transport::completion::Completion;
use crate::transport::mpi::error::{check, library};
use crate::transport::mpi::{buffer, fault_tolerance};

#[derive(Default)]
pub(super) struct Queue {
    pub(super) next: u64,
    pub(super) entries: Vec<Entry>,
    /// The number of users of the communicator: the world may have several, and one that was
    /// dropped has none.
    pub(super) users: usize,
    /// The communicator is freed, or about to be: no more messages can be matched.
    pub(super) closed: bool,
    /// The number of probes that have found nothing.
    pub(super) looks: u32,
    /// Memory that is free; dropped when the queue is not locked, since that may run code of the
    /// program.
    pub(super) spent: Vec<KeepAlive>,
}

pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) role: &'static OpInfo,
    pub(super) element: Element,
    pub(super) landing: RecvTarget,
    pub(super) source: Source,
    pub(super) tag: Tag,
    pub(super) phase: Phase,
    /// The memory, if the receive was left to the runtime.
    pub(super) abandoned: Option<KeepAlive>,
}

pub(super) enum Phase {
    Waiting,
    Receiving {
        request: MPI_Request,
        status: Status,
        room: Option<InFlight<RecvStorage>>,
        /// The reason why the message is discarded.
        refused: Option<Error>,
    },
    Over(Result<Completion>),
}

impl Entry {
    #[inline]
    pub(super) fn waits(&self) -> bool {
        matches!(self.phase, Phase::Waiting)
    }

    #[inline]
    pub(super) fn matches(&self, source: Option<usize>, tag: Option<i32>) -> bool {
        let same_source = match self.source {
            Source::Any => true,
            Source::Rank(rank) => source == Some(rank),
            Source::Null => false,
        };
        let same_tag = match self.tag {
            Tag::Any => true,
            Tag::Value(value) => tag == Some(value),
        };
        same_source && same_tag
    }

    /// Returns `true` if one message could match both.
    #[inline]
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let sources = self.source == other.source
            || self.source == Source::Any
            || other.source == Source::Any;
        let tags = self.tag == other.tag || self.tag == Tag::Any || other.tag == Tag::Any;
        sources && tags
    }

    /// Returns `true` if every message that matches `other` matches this one.
    #[inline]
    pub(super) fn covers(&self, other: &Self) -> bool {
        (self.source == Source::Any || self.source == other.source)
            && (self.tag == Tag::Any || self.tag == other.tag)
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// Starts the receive of the matched message, or discards it if it does not fit.
    #[inline]
    pub(super) fn begin(&mut self, message: MPI_Message, status: Status) {
        let (operation, bytes) = (self.role.operation, status.bytes());
        let refused = self
            .landing
            .refuses(operation, self.element, bytes, library())
            .map(|error| match error.kind() {
                ErrorKind::Truncated => error.with_class(sys::MPI_ERR_TRUNCATE),
                _ => error,
            });
        let align = match self.landing {
            RecvTarget::New(align) => align,
            RecvTarget::Into(_) => 1,
        };
        let room = match (&refused, self.landing) {
            (None, RecvTarget::Into(_)) => None,
            _ => match RecvStorage::new(operation, bytes, align) {
                Ok(room) => Some(room),
                Err(error) => {
                    eprintln!(
                        "ranks: a message was not received, because there is no memory for it"
                    );
                    self.phase = Phase::Over(Err(refused.unwrap_or(error)));
                    return;
                }
            },
        };
        let span = match (&room, self.landing) {
            (None, RecvTarget::Into(span)) => Some(span),
            (room, _) => room.as_ref().map(RecvStorage::span),
        };
        let room = room.map(InFlight::new);
        self.phase = match span.map(|span| imrecv(message, span, bytes)) {
            Some(Ok(request)) => Phase::Receiving {
                request,
                status,
                room,
                refused,
            },
            Some(Err(code)) => {
                Phase::Over(check(code, operation).map(|()| Completion::plain(status)))
            }
            None => Phase::Over(Ok(Completion::plain(status))),
        };
        self.advance();
    }

    /// Tests whether the library has received the message.
    #[inline]
    pub(super) fn advance(&mut self) {
        let Phase::Receiving {
            request,
            status,
            room,
            refused,
        } = &mut self.phase
        else {
            return;
        };
        let mut flag: c_int = 0;
        let mut ignored = MPI_Status::EMPTY;
        // SAFETY: the request was begun by `imrecv` and is not over; flag and status are ours.
        let code = unsafe { sys::MPI_Test(request, &raw mut flag, &raw mut ignored) };
        if code == sys::MPI_SUCCESS && flag == 0 {
            return;
        }
        // SAFETY: the library has said that the operation is over.
        let over = || unsafe { Over::new() };
        let room = room.take().map(|room| room.give_back(over()));
        let outcome = match (check(code, self.role.operation), refused.take()) {
            (_, Some(error)) | (Err(error), None) => Err(error),
            (Ok(()), None) => Ok(Completion {
                status: *status,
                room,
            }),
        };
        self.phase = Phase::Over(outcome);
    }
}

impl Queue {
    /// Appends a receive; returns its number.
    #[inline]
    pub(super) fn push(
        &mut self,
        role: &'static OpInfo,
        element: Element,
        landing: RecvTarget,
        source: Source,
        tag: Tag,
    ) -> u64 {
        let number = self.next;
        self.next += 1;
        self.entries.push(Entry {
            number,
            role,
            element,
            landing,
            source,
            tag,
            phase: Phase::Waiting,
            abandoned: None,
        });
        number
    }

    /// Checks at intervals whether the receive at `index` waits for a rank that has failed.
    ///
    /// # Errors
    /// [`ErrorKind::ProcFailed`], or what the library reports.
    pub(super) fn may_have_sender(&mut self, comm: MPI_Comm, index: usize) -> Result<()> {
        const LOOKS: u32 = 1024;
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(LOOKS) || !fault_tolerance::is_on() {
            return Ok(());
        }
        let entry = &self.entries[index];
        let Some(rank) = fault_tolerance::awaited_loss(comm, entry.source)? else {
            return Ok(());
        };
        let why = format_args!("rank {rank} is lost");
        Err(Error::new(ErrorKind::ProcFailed, entry.role.operation, why))
    }

    /// Returns `true` if any has no message yet, or one that the library still receives.
    #[inline]
    pub(super) fn is_under_way(&self) -> bool {
        self.entries.iter().any(|entry| !entry.is_over())
    }

    /// Those that have no message yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.waits())
    }

    #[inline]
    pub(super) fn index(&self, number: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.number == number)
    }

    #[inline]
    pub(super) fn collect(&mut self, number: u64) -> Option<Result<Completion>> {
        let Some(index) = self.index(number) else {
            let gone = "the communicator of this receive is gone";
            return Some(Err(Error::new(ErrorKind::Argument, "MPI_Wait", gone)));
        };
        match self.entries[index].phase {
            Phase::Over(_) => match self.entries.remove(index).phase {
                Phase::Over(outcome) => Some(outcome),
                Phase::Waiting | Phase::Receiving { .. } => None,
            },
            Phase::Waiting | Phase::Receiving { .. } => None,
        }
    }
}

/// Starts the receive of a matched message of that many bytes; the code, if that fails.
fn imrecv(mut message: MPI_Message, span: RawSlice, bytes: usize) -> Result<MPI_Request, c_int> {
    let mut request = sys::MPI_REQUEST_NULL;
    let start = if bytes == 0 {
        buffer::to_write::<u8>(&mut [])
    } else {
        span.start().cast()
    };
    let code = match c_int::try_from(bytes) {
        // SAFETY: the span has room for the message, as `begin` has compared, and is promised until
        // this is over.
        Ok(count) => unsafe {
            sys::MPI_Imrecv(
                start,
                count,
                sys::MPI_BYTE,
                &raw mut message,
                &raw mut request,
            )
        },
        Err(_) => {
            let count = MPI_Count::try_from(bytes).unwrap_or(0);
            // SAFETY: as above.
            unsafe {
                sys::MPI_Imrecv_c(
                    start,
                    count,
                    sys::MPI_BYTE,
                    &raw mut message,
                    &raw mut request,
                )
            }
        }
    };
    if code == sys::MPI_SUCCESS {
        Ok(request)
    } else {
        Err(code)
    }
}
