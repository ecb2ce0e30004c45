//! The types that a test on ranks may return.

use std::fmt::Display;

/// The result of a test function: nothing, or a `Result` whose error can be shown.
pub trait Outcome: 'static {
    /// Returns nothing, or the reason of the failure as a text.
    ///
    /// # Errors
    /// The text of the function's own error.
    fn into_result(self) -> Result<(), String>;
}

impl Outcome for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Display + 'static> Outcome for Result<(), E> {
    fn into_result(self) -> Result<(), String> {
        // The alternate form: some error types show their causes in it.
        self.map_err(|error| format!("returned an error: {error:#}"))
    }
}
