//! Agreement before a collective call whose arguments must be equal on all ranks.

use crate::call::call_description::CallDescription;
use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;
use crate::transport::join::Join;

impl Communicator {
    /// Joins the words of all ranks within `operation`, which has been entered; the error of one
    /// that refuses its call is told where ranks compare their calls. Collective.
    pub(crate) fn join(
        &self,
        operation: &'static str,
        refusal: Option<&Error>,
        words: [u64; 2],
        join: Join,
    ) -> Result<[u64; 2]> {
        self.compare_call(operation, refusal, || CallDescription::named(operation))?;
        match self.backend() {
            Backend::Mpi(comm) => comm.join(words, join),
            Backend::InProcess(comm) => comm.join(operation, words, join),
        }
    }

    /// Within `operation`, which has been entered, returns the arguments if those of all ranks have
    /// the same digest, and an error on every rank otherwise; one that refuses its arguments
    /// returns its own. Collective.
    pub(crate) fn agree_on<A>(
        &self,
        operation: &'static str,
        arguments: Result<A>,
        digest: impl FnOnce(&A) -> u64,
    ) -> Result<A> {
        let digest = arguments.as_ref().map(digest);
        let agreed = self.all_have(operation, digest);
        // This rank's own reason is more to the point than that a rank refuses.
        let arguments = arguments?;
        agreed.map(|()| arguments)
    }

    /// Returns an error unless all ranks have the same digest.
    fn all_have(&self, operation: &'static str, digest: Result<u64, &Error>) -> Result<()> {
        // No arguments have the words of a refusal.
        let words = digest.map_or([0; 2], |digest| [digest, !digest]);
        let [ones, zeros] = self.join(operation, digest.err(), words, Join::And)?;
        if ones == !zeros {
            return Ok(());
        }
        let why = "ranks passed different arguments; all must pass the same";
        Err(Error::new(ErrorKind::Argument, operation, why))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Backend, Builder, Communicator, Error};

    /// Each was recorded once for the agreement, and once more for itself.
    #[test]
    fn a_call_whose_arguments_are_agreed_on_is_one_call() {
        let run = |world: Communicator| {
            let ring = [(world.rank() + 1) % 2];
            let begun = || world.0.recorder.collectives.begun();
            let mut calls = vec![begun()];
            drop(world.create(&world.group()?)?);
            calls.push(begun());
            drop(world.cart_create(&[2], &[true], false)?);
            calls.push(begun());
            drop(world.dist_graph_create_adjacent(&ring, None, &ring, None, false)?);
            calls.push(begun());
            assert!(
                calls.windows(2).all(|two| two[1] == two[0] + 1),
                "{calls:?}"
            );
            Ok::<(), Error>(())
        };
        let builder = Builder::default().backend(Backend::InProcess);
        builder.ranks(2).run(run).unwrap();
    }
}
