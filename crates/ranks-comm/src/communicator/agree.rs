//! Agreement before a collective call whose arguments must be equal on all ranks.

use crate::call::call_description::CallDescription;
use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::join::Join;

impl Communicator {
    /// Joins the words of all ranks; the error of one that refuses its call is told where ranks
    /// compare their calls. Collective.
    pub(crate) fn join(
        &self,
        operation: &'static str,
        refusal: Option<&Error>,
        words: [u64; 2],
        join: Join,
    ) -> Result<[u64; 2]> {
        let compare =
            || self.compare_call(operation, refusal, || CallDescription::named(operation));
        self.dispatch(
            operation,
            |comm| {
                compare()?;
                comm.join(words, join)
            },
            |comm| {
                compare()?;
                comm.join(words, join)
            },
        )
    }

    /// Returns the arguments if those of all ranks have the same digest, and an error on every rank
    /// otherwise; one that refuses its arguments returns its own. Collective.
    pub(crate) fn agree_on<A>(
        &self,
        operation: &'static str,
        arguments: Result<A>,
        digest: impl FnOnce(&A) -> u64,
    ) -> Result<A> {
        // No arguments have the words of a refusal.
        let words = arguments.as_ref().map_or([0; 2], |arguments| {
            let digest = digest(arguments);
            [digest, !digest]
        });
        let joined = self.join(operation, arguments.as_ref().err(), words, Join::And);
        // This rank's own reason is more to the point than that a rank refuses.
        let arguments = arguments?;
        let [ones, zeros] = joined?;
        if ones == !zeros {
            return Ok(arguments);
        }
        Err(Error::new(
            ErrorKind::Argument,
            operation,
            "ranks passed different arguments; all must pass the same",
        ))
    }
}
