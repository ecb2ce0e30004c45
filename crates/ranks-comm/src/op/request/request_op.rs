//! The operation of a request.

use crate::call::record::{self, Call, Over as _};
use crate::communicator::Communicator;
use crate::data::in_flight::Over as Ended;
use crate::data::raw_slice::{OpInfo, RecvStorage};
use crate::result::status::{Kind, Words};
use crate::transport::backend::Backend;
use crate::transport::completion::Completion;
use crate::transport::mpi::pending_op::wait_plain;
use crate::transport::mpi::status::CountWord;
use crate::transport::mpi::{Cell, Native};
use crate::transport::pending_op::PendingOp;

/// The operation of a request: three words, as it is moved with it.
pub(crate) enum RequestOp<B> {
    /// Pending in the library, and [plain](Native::is_plain).
    Plain(Plain),
    /// Any other, or one that has been tested.
    Other(Box<Other<B>>),
}

/// A request of the library, and what is known of it at its completion.
pub(crate) struct Plain {
    cell: Cell,
    role: &'static OpInfo,
    /// The number of elements that fit, if it receives.
    capacity: usize,
}

/// Any operation.
pub(crate) struct Other<B> {
    pub(crate) op: PendingOp,
    /// Makes the buffer of a message of unknown length.
    pub(crate) settle: Option<fn(RecvStorage) -> B>,
}

impl<B> RequestOp<B> {
    /// A request of the library that is over when it is complete.
    #[inline(always)]
    pub(crate) fn plain(cell: Cell, role: &'static OpInfo, capacity: usize) -> Self {
        Self::Plain(Plain {
            cell,
            role,
            capacity,
        })
    }

    /// A pending operation.
    pub(crate) fn of(op: PendingOp) -> Self {
        match op {
            PendingOp::Native(Native {
                cell,
                role,
                capacity,
                keep: None,
                cancelling: false,
                persistent: false,
                count_word: _,
            }) => Self::plain(cell, role, capacity),
            op => Self::other(op, None),
        }
    }

    /// An operation that makes its buffer, if that is given.
    pub(crate) fn other(op: PendingOp, settle: Option<fn(RecvStorage) -> B>) -> Self {
        Self::Other(Box::new(Other { op, settle }))
    }

    /// The same, as any other.
    pub(crate) fn into_other(self, comm: &Communicator) -> Other<B> {
        match self {
            Self::Plain(plain) => Other {
                op: PendingOp::Native(plain.into_native(comm)),
                settle: None,
            },
            Self::Other(other) => *other,
        }
    }

    /// The operation, which is not plain from now on.
    pub(crate) fn op_mut(&mut self, comm: &Communicator) -> &mut PendingOp {
        if let Self::Plain(plain) = self {
            let cell = std::mem::replace(&mut plain.cell, Cell::new());
            let native = Plain { cell, ..*plain }.into_native(comm);
            *self = Self::other(PendingOp::Native(native), None);
        }
        match self {
            Self::Other(other) => &mut other.op,
            Self::Plain(_) => unreachable!("it has just been made another"),
        }
    }

    /// The operation, if it is not plain: a plain one is pending.
    pub(crate) fn op(&self) -> Option<&PendingOp> {
        match self {
            Self::Plain(_) => None,
            Self::Other(other) => Some(&other.op),
        }
    }

    /// Proof that nothing works on its memory any more.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.op().and_then(PendingOp::ended)
    }

    /// The C name of the pending operation.
    pub(crate) fn operation(&self) -> &'static str {
        match self {
            Self::Plain(plain) => plain.role.operation,
            Self::Other(other) => other.op.operation(),
        }
    }

    /// Waits on the fast path: what status the words are, and the proof that the operation is
    /// complete; itself if that, or the error, is for [`wait`](PendingOp::wait).
    // Only the cell has an address.
    #[inline(always)]
    pub(crate) fn wait_fast(
        self,
        comm: &Communicator,
        words: &mut Words,
    ) -> Result<(Kind, Ended), Self> {
        let Plain {
            mut cell,
            role,
            capacity,
        } = match self {
            Self::Plain(plain) => plain,
            other => return Err(other),
        };
        let Some(library) = comm.fast_path(1) else {
            return Err(Self::plain(cell, role, capacity));
        };
        let recorded = comm.recorded(library, Call::of(record::WAIT));
        let outcome = wait_plain(&mut cell, role, capacity, &library.count_word, words);
        recorded.over();
        outcome.map_err(|code| Self::waited(library.request(cell, role, capacity), code, words))
    }

    /// The outcome of a wait that is more than a status. One that is pending after the failure of a
    /// rank is asked for again.
    #[cold]
    #[inline(never)]
    fn waited(mut native: Native, code: i32, words: &Words) -> Self {
        Self::of(match native.waited(code, words) {
            Ok(outcome) => PendingOp::Over(outcome.map(Completion::plain)),
            Err(_) => PendingOp::Native(native),
        })
    }
}

impl Plain {
    fn into_native(self, comm: &Communicator) -> Native {
        let count_word = match comm.backend() {
            Backend::Mpi(comm) => comm.count_word,
            // Threads have no plain requests.
            Backend::InProcess(_) => CountWord::default(),
        };
        Native::plain(self.cell, self.role, self.capacity, count_word)
    }
}
