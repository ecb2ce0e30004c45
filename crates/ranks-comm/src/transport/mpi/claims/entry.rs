//! A receive that is matched first: from its message to its outcome.

use std::ffi::c_int;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native::{self, Cell};
use ranks_mpi_sys::{MPI_Count, MPI_Request};

use super::order::{Links, Pattern, pattern};
use crate::data::in_flight::{InFlight, KeepAlive, Over};
use crate::data::raw_slice::{Element, OpInfo, RawSlice, RecvStorage, RecvTarget};
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::status::EMPTY_STATUS;
use crate::result::{Error, Result, Status};
use crate::transport::completion::Completion;
use crate::transport::mpi::buffer;
use crate::transport::mpi::error::{check, failed, library};
use crate::transport::mpi::message::Message;
use crate::transport::mpi::recv::with_class;
use crate::transport::mpi::status::to_write;

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
    /// Its neighbours in the list that it is in.
    pub(super) links: Links,
}

pub(super) enum Phase {
    Waiting,
    Receiving {
        request: Cell<MPI_Request>,
        status: Status,
        room: Option<InFlight<RecvStorage>>,
        /// The reason why the message is discarded.
        refused: Option<Error>,
    },
    Over(Result<Completion>),
}

impl Entry {
    pub(super) fn pattern(&self) -> Pattern {
        pattern(self.source, self.tag)
    }

    #[inline]
    pub(super) fn waits(&self) -> bool {
        matches!(self.phase, Phase::Waiting)
    }

    pub(super) fn is_receiving(&self) -> bool {
        matches!(self.phase, Phase::Receiving { .. })
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// Starts the receive of the matched message, or discards it if it does not fit.
    #[inline]
    pub(super) fn begin(&mut self, message: Message, status: Status) {
        let (operation, bytes) = (self.role.operation, status.bytes());
        let refused = self
            .landing
            .refuses(operation, self.element, bytes, library())
            .map(|error| with_class(error).of_message(&status));
        let (span, room) = match (&refused, self.landing) {
            (None, RecvTarget::Into(span)) => (span, None),
            (_, landing) => {
                let align = match landing {
                    RecvTarget::New(align) => align,
                    RecvTarget::Into(_) => 1,
                };
                match RecvStorage::new(operation, bytes, align) {
                    Ok(room) => (room.span(), Some(InFlight::new(room))),
                    Err(error) => {
                        message.abandon();
                        self.phase = Phase::Over(Err(refused.unwrap_or(error)));
                        return;
                    }
                }
            }
        };
        self.phase = match imrecv(message, span, bytes) {
            Ok(request) => Phase::Receiving {
                request,
                status,
                room,
                refused,
            },
            Err(code) => Phase::Over(Err(failed(code, operation, &""))),
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
        let mut ignored = EMPTY_STATUS;
        let ignored = to_write(&mut ignored);
        // SAFETY: the request was begun by `imrecv` and is not over; flag and status are ours.
        let code = unsafe { native::MPI_Test(request, &raw mut flag, ignored) };
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

/// Starts the receive of a matched message of that many bytes; the code, if that fails.
fn imrecv(
    Message(mut handle): Message,
    span: RawSlice,
    bytes: usize,
) -> Result<Cell<MPI_Request>, c_int> {
    let mut request = Cell::new();
    let start = if bytes == 0 {
        buffer::to_write::<u8>(&mut [])
    } else {
        span.start().cast()
    };
    let code = match c_int::try_from(bytes) {
        // SAFETY: the span has room for the message, as `begin` has compared, and is promised until
        // this is over.
        Ok(count) => unsafe {
            native::MPI_Imrecv(
                start,
                count,
                buffer::bytes(),
                &raw mut handle,
                &raw mut request,
            )
        },
        Err(_) => {
            let count = MPI_Count::try_from(bytes).unwrap_or(0);
            // SAFETY: a matched probe has written it.
            let mut message = unsafe { handle.get() };
            let mut large = sys::MPI_REQUEST_NULL;
            // SAFETY: as above.
            let code = unsafe {
                sys::MPI_Imrecv_c(
                    start,
                    count,
                    sys::MPI_BYTE,
                    &raw mut message,
                    &raw mut large,
                )
            };
            // SAFETY: the library is loaded, as it has matched the message.
            request = unsafe { Cell::holding(large) };
            code
        }
    };
    if code == sys::MPI_SUCCESS {
        Ok(request)
    } else {
        Err(code)
    }
}
