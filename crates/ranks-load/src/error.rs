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

/// No candidate could be loaded. The text lists every one with its own reason, or has the reason
/// why this program can open no library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct LoadError {
    what: &'static str,
    nothing_opens: Option<&'static str>,
    attempts: Vec<Attempt>,
}

impl LoadError {
    pub(crate) fn new(what: &'static str, attempts: Vec<Attempt>) -> Self {
        LoadError {
            what,
            nothing_opens: None,
            attempts,
        }
    }

    /// The error of a program that can open no library, for the reason `why`.
    pub(crate) fn nothing_opens(what: &'static str, why: &'static str) -> Self {
        LoadError {
            what,
            nothing_opens: Some(why),
            attempts: Vec::new(),
        }
    }

    /// The error of a caller that refuses, for `reason`, a library that is in the process already.
    pub fn refused(what: &'static str, reason: impl Into<String>) -> Self {
        let candidate =
            Candidate::new("(in the process already)", "it was loaded by somebody else");
        let reason = reason.into();
        LoadError::new(what, vec![Attempt { candidate, reason }])
    }

    /// Every attempt, in the order in which they were made.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} could be loaded", self.what)?;
        if let Some(why) = self.nothing_opens {
            return write!(f, ": {why}");
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_opens_the_text_is_one_line() {
        let error = LoadError::nothing_opens("MPI library", "of the system");
        let text = "no MPI library could be loaded: of the system";
        assert_eq!(error.to_string(), text);
        assert!(error.attempts().is_empty());
    }
}
