//! Errors of the driver, or found before it is called.

use std::fmt;
use std::path::Path;

use ranks_load::LoadError;

/// Result of the fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of a call.
///
/// The text begins with the C name of the call and ends with the driver that was asked. `Debug`
/// gives the same text, because that is what `main` prints of an `Err`.
#[derive(thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Details>);

/// The kinds of failure that a program may want to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no CUDA driver here, or none that finds a device.
    NotAvailable,
    /// The device, or the host, has less memory than was asked for.
    OutOfMemory,
    /// Two lengths that must agree do not.
    Length,
    /// An argument that cannot be used: a device that is not there, a range beyond the end, things
    /// of two drivers together.
    Argument,
    /// A time limit passed.
    TimedOut,
    /// The driver reported a failure.
    Driver,
}

#[derive(Debug, thiserror::Error)]
enum Details {
    #[error("{0}")]
    Load(#[source] LoadError),
    #[error("{call}: {text} ({name}, code {code}; {driver})")]
    Driver {
        call: &'static str,
        code: i32,
        name: String,
        text: String,
        driver: String,
    },
    #[error("{call}: {text}")]
    Refused {
        kind: ErrorKind,
        call: &'static str,
        text: String,
    },
}

impl Error {
    /// No driver could be opened.
    pub(crate) fn load(error: LoadError) -> Self {
        Error(Box::new(Details::Load(error)))
    }

    /// Creates the error of a code that the driver returned.
    pub(crate) fn driver(
        call: &'static str,
        code: i32,
        (name, text): (String, String),
        (version, path): (i32, &Path),
    ) -> Self {
        Error(Box::new(Details::Driver {
            call,
            code,
            name,
            text,
            driver: format!("driver {}, {}", version_text(version), path.display()),
        }))
    }

    /// An error that was seen before the driver was asked.
    #[cold]
    pub(crate) fn refused(kind: ErrorKind, call: &'static str, text: fmt::Arguments<'_>) -> Self {
        Error(Box::new(Details::Refused {
            kind,
            call,
            text: text.to_string(),
        }))
    }

    /// Kind of the failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &*self.0 {
            Details::Load(_) => ErrorKind::NotAvailable,
            Details::Driver { code, .. } if *code == crate::table::OUT_OF_MEMORY => {
                ErrorKind::OutOfMemory
            }
            Details::Driver { .. } => ErrorKind::Driver,
            Details::Refused { kind, .. } => *kind,
        }
    }

    /// The C name of the call that failed, or that was not made: `cuMemAlloc_v2`.
    #[must_use]
    pub fn call(&self) -> &'static str {
        match &*self.0 {
            Details::Load(_) => "cuInit",
            Details::Driver { call, .. } | Details::Refused { call, .. } => call,
        }
    }

    /// The driver's own code, if it was asked.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match &*self.0 {
            Details::Driver { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The driver's name of the code: `CUDA_ERROR_OUT_OF_MEMORY`.
    #[must_use]
    #[doc(alias = "cuGetErrorName")]
    #[doc(alias = "cuGetErrorString")]
    pub fn name(&self) -> Option<&str> {
        match &*self.0 {
            Details::Driver { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Every file that was tried, if no driver could be opened.
    #[must_use]
    pub fn attempts(&self) -> Option<&LoadError> {
        match &*self.0 {
            Details::Load(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `13000` as a person writes it: `13.0`.
pub(crate) fn version_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_people_write_them() {
        assert_eq!(version_text(13000), "13.0");
        assert_eq!(version_text(12080), "12.8");
    }

    #[test]
    fn a_failure_of_the_driver_says_all_there_is() {
        let words = ("CUDA_ERROR_OUT_OF_MEMORY".into(), "out of memory".into());
        let error = Error::driver(
            "cuMemAlloc_v2",
            2,
            words,
            (12080, Path::new("/x/libcuda.so.1")),
        );
        assert_eq!(
            error.to_string(),
            "cuMemAlloc_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY, code 2; driver 12.8, /x/libcuda.so.1)"
        );
        assert_eq!(
            (error.kind(), error.call(), error.code()),
            (ErrorKind::OutOfMemory, "cuMemAlloc_v2", Some(2))
        );
        assert_eq!(error.name(), Some("CUDA_ERROR_OUT_OF_MEMORY"));
        assert!(error.attempts().is_none());
    }
}
