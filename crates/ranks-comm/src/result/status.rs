//! Statuses: source, tag and length of a message that arrived.

use std::fmt;
use std::sync::OnceLock;

use super::error::{self, Result};

/// The status of a receive or a probe.
///
/// Kept as the MPI library wrote it and decoded on demand, so that a receive whose status nobody
/// reads pays nothing.
///
/// MPI 5.0 §3.2.5 (`MPI_Status`).
#[doc(alias = "MPI_Status")]
#[doc(alias = "MPI_STATUS_IGNORE")]
#[doc(alias = "MPI_STATUSES_IGNORE")]
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Status {
    /// First field: `Result<Status>` has an error where the first word is, and overlapping fields
    /// are copied word by word.
    kind: Kind,
    /// The content, by kind: a flat struct, since an enum over a status costs copies in every
    /// receive.
    words: Words,
}

/// Words enough for the status of any MPI library.
///
/// A call has the library write them at their final address: they are larger than all else that it
/// handles, and a [`Status`] is made of them once, at the end, on the fast path and on the slow
/// one.
pub(crate) type Words = [u64; 4];

/// Empty status words.
pub(crate) const EMPTY_STATUS: Words = [0; 4];

/// A word and not an enum: `Result<Status>` would use a value that an enum leaves free, and every
/// `?` would look there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind(u64);

impl Kind {
    /// No message; the words have no meaning.
    pub(crate) const NULL: Self = Self(0);
    /// The words are the library's own.
    pub(crate) const MPI: Self = Self(1);
    /// The words are source, tag and length in bytes.
    const DECODED: Self = Self(2);
    /// A cancelled operation; the words have no meaning.
    const CANCELLED: Self = Self(3);
}

/// The reading of statuses that a library has written.
pub(crate) struct Reader {
    /// The source of the message; `None` if it is null.
    pub(crate) source: fn(&Words) -> Option<usize>,
    /// The tag of the message; `None` if the source is null.
    pub(crate) tag: fn(&Words) -> Option<i32>,
    /// The length of the message; an error if the library does not tell, or must not be called any
    /// more.
    pub(crate) bytes: fn(&'static str, &Words) -> Result<usize>,
}

static READER: OnceLock<Reader> = OnceLock::new();

/// Sets what reads the statuses of the library; once, before it writes any.
pub(crate) fn read_by(reader: Reader) {
    READER.get_or_init(|| reader);
}

impl Status {
    /// A status of words that a library has written, or that [`into_parts`](Self::into_parts)
    /// returned.
    #[inline(always)]
    pub(crate) fn new(kind: Kind, words: Words) -> Self {
        Self { kind, words }
    }

    /// The status that a library has written of an operation that failed; null if it wrote none.
    pub(crate) fn of_failed(words: &Words) -> Self {
        let kind = match *words {
            EMPTY_STATUS => Kind::NULL,
            _ => Kind::MPI,
        };
        Self::new(kind, *words)
    }

    /// Puts the words where a library would have written its own.
    pub(crate) fn into_parts(self, words: &mut Words) -> Kind {
        *words = self.words;
        self.kind
    }

    pub(crate) fn local(source: usize, tag: i32, bytes: usize) -> Self {
        let words = [
            source as u64,
            u64::try_from(tag).unwrap_or(u64::MAX),
            bytes as u64,
            0,
        ];
        Self::new(Kind::DECODED, words)
    }

    /// The status of a receive from [`Source::Null`](crate::Source::Null).
    pub(crate) fn null() -> Self {
        Self::new(Kind::NULL, EMPTY_STATUS)
    }

    /// Returns `true` if there is no message, and the operation was not cancelled.
    pub(crate) fn is_null(&self) -> bool {
        self.kind == Kind::NULL
    }

    /// The status of a cancelled operation.
    pub(crate) fn cancelled() -> Self {
        Self::new(Kind::CANCELLED, EMPTY_STATUS)
    }

    /// Returns `true` if the operation was cancelled: there is no message, and nothing was written.
    ///
    /// MPI 5.0 §3.8.4 (`MPI_Test_cancelled`).
    #[doc(alias = "MPI_Test_cancelled")]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.kind == Kind::CANCELLED
    }

    /// The rank that sent the message, `None` if the source was
    /// [`Source::Null`](crate::Source::Null).
    #[must_use]
    pub fn source(&self) -> Option<usize> {
        match self.kind {
            Kind::MPI => (READER.get()?.source)(&self.words),
            Kind::DECODED => usize::try_from(self.words[0]).ok(),
            _ => None,
        }
    }

    /// The tag of the message, `None` if the source was [`Source::Null`](crate::Source::Null).
    #[must_use]
    pub fn tag(&self) -> Option<i32> {
        match self.kind {
            Kind::MPI => (READER.get()?.tag)(&self.words),
            Kind::DECODED => i32::try_from(self.words[1]).ok(),
            _ => None,
        }
    }

    /// The length of the message in bytes.
    ///
    /// Some libraries must be called for it; after the runtime has ended they cannot be, and the
    /// result is 0.
    #[doc(alias = "MPI_Get_elements")]
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self.kind {
            Kind::MPI => self.count_bytes("MPI_Get_elements").unwrap_or(0),
            Kind::DECODED => usize::try_from(self.words[2]).unwrap_or(0),
            _ => 0,
        }
    }

    /// The length in bytes of a message whose status a library has written.
    fn count_bytes(&self, operation: &'static str) -> Result<usize> {
        let read = |reader: &Reader| (reader.bytes)(operation, &self.words);
        READER.get().map_or(Ok(0), read)
    }

    /// The length of the message in elements of `T`.
    ///
    /// # Errors
    /// [`ErrorKind::Type`](crate::ErrorKind::Type) if the message is not a whole number of them;
    /// [`ErrorKind::Finalized`](crate::ErrorKind::Finalized) if the library would have to be called
    /// for the length and the runtime has ended.
    ///
    /// MPI 5.0 §3.2.5 (`MPI_Get_count`).
    #[doc(alias = "MPI_Get_count")]
    pub fn count<T>(&self) -> Result<usize> {
        const OPERATION: &str = "MPI_Get_count";
        const { can_be_counted::<T>() };
        let bytes = match self.kind {
            Kind::MPI => self.count_bytes(OPERATION)?,
            _ => self.bytes(),
        };
        whole::<T>(bytes).ok_or_else(|| {
            let element = std::any::type_name::<T>();
            error::not_whole(OPERATION, bytes, size_of::<T>(), element)
        })
    }
}

/// Keeps elements without bytes, which nobody could count where they arrive, out of messages: their
/// type fails to compile.
pub(crate) const fn can_be_counted<T>() {
    assert!(
        size_of::<T>() > 0,
        "elements without bytes cannot be counted where a message of them arrives; send their number"
    );
}

/// The number of elements of `T` in `bytes` bytes; `None` if that is not a whole number.
#[inline]
pub(crate) fn whole<T>(bytes: usize) -> Option<usize> {
    let width = size_of::<T>();
    bytes.is_multiple_of(width).then(|| bytes / width)
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status")
            .field("source", &self.source())
            .field("tag", &self.tag())
            .field("bytes", &self.bytes())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ErrorKind;

    #[test]
    fn whole_numbers_only() {
        assert_eq!(whole::<u64>(16), Some(2));
        assert_eq!(whole::<u64>(17), None);
        assert_eq!(whole::<[u8; 3]>(9), Some(3));
    }

    #[test]
    fn counts_whole_elements_only() {
        let status = Status::local(2, 7, 24);
        assert_eq!((status.source(), status.tag()), (Some(2), Some(7)));
        assert_eq!(status.count::<f64>().unwrap(), 3);
        let error = Status::local(2, 7, 25).count::<f64>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Type);
    }

    #[test]
    fn nobody_sends_nothing() {
        let status = Status::null();
        assert_eq!(
            (status.source(), status.tag(), status.bytes()),
            (None, None, 0)
        );
    }
}
