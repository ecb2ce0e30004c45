//! The attempts to load a library, and the reason why each failed.

use std::fmt;

use crate::Candidate;

/// A candidate that did not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The candidate that was tried.
    pub candidate: Candidate,
    /// The dynamic linker's own message, or the caller's reason for refusing the library.
    pub reason: String,
}

/// No candidate could be loaded. The text lists every one with its own reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct LoadError {
    what: &'static str,
    attempts: Vec<Attempt>,
}

impl LoadError {
    pub(crate) fn new(what: &'static str, attempts: Vec<Attempt>) -> Self {
        LoadError { what, attempts }
    }

    /// The error of a caller that refuses, for `reason`, a library that is in the process already.
    pub fn refused(what: &'static str, reason: impl Into<String>) -> Self {
        let candidate =
            Candidate::new("(in the process already)", "it was loaded by somebody else");
        LoadError {
            what,
            attempts: vec![Attempt {
                candidate,
                reason: reason.into(),
            }],
        }
    }

    /// Every attempt, in the order in which they were made.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} could be loaded", self.what)?;
        if self.attempts.is_empty() {
            return f.write_str(": there was nothing to try");
        }
        f.write_str("; tried")?;
        let width = self
            .attempts
            .iter()
            .map(|a| a.candidate.file.as_os_str().len())
            .max()
            .unwrap_or(0);
        for Attempt { candidate, reason } in &self.attempts {
            write!(
                f,
                "\n  {:width$}  {reason} [{}]",
                candidate.file.display(),
                candidate.why
            )?;
        }
        Ok(())
    }
}
