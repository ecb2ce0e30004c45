//! What the parts of the program return, and how they insist.

/// What a part found wrong.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How a part went.
pub(crate) type Outcome = Result<(), Failure>;

/// Insists that an operation failed, and in this way.
pub(crate) fn refused<T>(
    what: &str,
    result: ranks::Result<T>,
    kind: ranks::ErrorKind,
) -> ranks::Result<(), String> {
    match result {
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => Err(format!(
            "{what} should fail as {kind:?} and fails as {:?}: {error}",
            error.kind()
        )),
        Ok(_) => Err(format!("{what} should fail as {kind:?} and succeeds")),
    }
}
