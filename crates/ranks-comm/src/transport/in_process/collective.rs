//! Identity of a collective call among threads: the messages and rounds of its ranks carry it, so
//! that ranks that call something else get an error, and never each other's data.

use std::any::TypeId;
use std::fmt;

use super::comm::Comm;
use super::mailbox::Envelope;
use super::payload::Payload;
use crate::data::raw_slice::{Element, NUMBERS};
use crate::result::{Error, ErrorKind, Result};

/// A collective call of a rank.
#[derive(Debug, Clone, Copy)]
pub struct Collective {
    operation: &'static str,
    element: Element,
    /// Index of the element among [`NUMBERS`], from 1; 0 for what is not told apart.
    kind: u8,
    /// Number among the nonblocking ones of its rank; 0 for a blocking one.
    number: i32,
}

impl Collective {
    /// A blocking call of that C name for elements of `T`.
    #[must_use]
    #[inline]
    pub fn of<T: 'static>(operation: &'static str) -> Self {
        let own = TypeId::of::<T>();
        let number = NUMBERS.iter().zip(1..).find(|((_, of), _)| of() == own);
        Self {
            operation,
            element: Element::of::<T>(),
            kind: number.map_or(0, |(_, kind)| kind),
            number: 0,
        }
    }

    /// A blocking call of that C name, whose messages are its own.
    pub(crate) fn named(operation: &'static str) -> Self {
        Self::of::<u8>(operation)
    }

    /// The same, nonblocking: the next one of this rank.
    #[must_use]
    pub fn begun(self, comm: &Comm) -> Self {
        Self {
            number: comm.next_number(),
            ..self
        }
    }

    /// The C name.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Bytes of an element.
    #[must_use]
    pub fn width(&self) -> usize {
        self.element.width
    }

    /// The kind of its elements as a number; two that are not 0 must be equal.
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// The name of elements of that kind.
    #[must_use]
    pub fn name_of(kind: u8) -> Option<&'static str> {
        let index = usize::from(kind).checked_sub(1)?;
        NUMBERS.get(index).map(|&(name, _)| name)
    }

    pub(super) fn number(&self) -> i32 {
        self.number
    }

    /// A message of it.
    pub(super) fn message(&self, source: usize, payload: Payload) -> Envelope {
        Envelope {
            source,
            tag: self.number,
            payload,
            element: self.element,
            collective: Some((self.operation, self.kind)),
            receipt: None,
        }
    }

    /// Compares it with the call that a message of `source` belongs to.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`].
    #[inline]
    pub(super) fn is_that_of(
        &self,
        source: usize,
        theirs: Option<(&'static str, u8)>,
    ) -> Result<()> {
        let (operation, kind) = theirs.unwrap_or((self.operation, self.kind));
        let same_type = kind == self.kind || kind == 0 || self.kind == 0;
        if same_type && operation == self.operation {
            return Ok(());
        }
        Err(self.differs(source, operation, kind))
    }

    #[cold]
    fn differs(&self, source: usize, operation: &'static str, kind: u8) -> Error {
        let detail = format_args!(
            "collective calls are mismatched: rank {source} calls {}, this rank {}; all ranks must call the same, in the \
             same order, with elements of one type",
            Named(operation, kind),
            Named(self.operation, self.kind)
        );
        Error::new(ErrorKind::Mismatch, self.operation, detail)
    }
}

/// A call with the type of its elements, where it is told apart.
struct Named(&'static str, u8);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(operation, kind) = *self;
        match Collective::name_of(kind) {
            Some(element) => write!(f, "{operation} of {element}"),
            None => f.write_str(operation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_apart_and_bytes_are_not() {
        let call = Collective::of::<f64>("MPI_Bcast");
        let theirs = |operation, kind| call.is_that_of(1, Some((operation, kind)));
        assert!(theirs("MPI_Bcast", Collective::of::<f64>("").kind()).is_ok());
        assert!(theirs("MPI_Bcast", Collective::of::<[u64; 2]>("").kind()).is_ok());
        let error = theirs("MPI_Bcast", Collective::of::<u64>("").kind()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = error.to_string();
        assert!(
            text.contains("rank 1 calls MPI_Bcast of u64, this rank MPI_Bcast of f64"),
            "{text}"
        );
        let text = theirs("MPI_Gather", 0).unwrap_err().to_string();
        assert!(
            text.contains("rank 1 calls MPI_Gather, this rank MPI_Bcast of f64"),
            "{text}"
        );
    }
}
