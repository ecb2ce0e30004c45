//! The questions that a communicator answers about its ranks.

use std::fmt::Debug;

use ranks_comm::{Communicator, Error, ErrorKind, Result, backend::Backend};
use ranks_launch::Domain;

use super::{Answer, Carrier, Policy, Topology, bind};
use crate::Collectives;
use crate::agreement::{CallSignature, all_ready};
use crate::arguments::proven::Proven;
use crate::operation::varying::allgatherv::allgatherv;

/// The places of the ranks of a communicator.
pub trait Topologies {
    /// Every rank tells where it runs, and the lowest rank of each machine what that is.
    /// Collective.
    ///
    /// ```
    /// use ranks::collectives::Topologies;
    ///
    /// # fn where_am_i(world: &ranks::Communicator) -> ranks::Result<()> {
    /// let topology = world.topology()?;
    /// if world.rank() == 0 {
    ///     eprintln!("{topology}");
    /// }
    /// let threads = topology.recommended_threads();
    /// assert!(threads >= 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of the library.
    fn topology(&self) -> Result<Topology>;

    /// One communicator for each part of the machines that ranks are bound to, in the order of
    /// ranks; `None` on ranks that are bound to no single part of this kind. All ranks pass the
    /// same kind. Collective.
    ///
    /// Which part that is, is found out from what the kernel tells of CPUs, the same way over every
    /// library; what the library itself knows of hardware is asked for by
    /// [`split_type`](Communicator::split_type). For [`Domain::Gpu`] it is the one GPU that a
    /// rank's environment lets it see.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_split`).
    fn split_by(&self, domain: Domain) -> Result<Option<Communicator>>;

    /// Binds the thread that calls, and those that it starts later, to a part of its machine, and
    /// tells where all ranks are then. All ranks pass the same policy. Collective.
    ///
    /// Ranks of a host that may run on the same CPUs are dealt among its parts in blocks, in the
    /// order of their local ranks. A rank whose CPUs are its own already, or of which no such part
    /// is known, stays as it is.
    ///
    /// # Errors
    /// [`Library`](ErrorKind::Library) if the kernel refuses; what the library reports.
    fn bind(&self, policy: Policy) -> Result<Topology>;
}

impl Topologies for Communicator {
    fn topology(&self) -> Result<Topology> {
        all_ready(self, CallSignature::of("Topologies::topology"), Ok(()))?;
        find_out(self)
    }

    fn split_by(&self, domain: Domain) -> Result<Option<Communicator>> {
        all_ready(
            self,
            CallSignature::of("Topologies::split_by"),
            Ok(Equal(domain)),
        )?;
        let topology = find_out(self)?;
        self.split(topology.color(domain), 0)
    }

    fn bind(&self, policy: Policy) -> Result<Topology> {
        const OPERATION: &str = "sched_setaffinity";
        all_ready(
            self,
            CallSignature::of("Topologies::bind"),
            Ok(Equal(policy)),
        )?;
        let topology = find_out(self)?;
        let bound = match bind::cpus(&topology, policy) {
            Some(cpus) => cpus.bind_this_thread().map_err(|error| {
                let text = format_args!(
                    "the kernel does not bind rank {} to CPUs {cpus}: {error}",
                    self.rank()
                );
                Error::new(ErrorKind::Library, OPERATION, text)
            }),
            None => Ok(()),
        };
        // The others wait for this rank's answer, whatever became of it.
        let after = find_out(self);
        bound.and(after)
    }
}

/// An argument that all ranks pass alike.
struct Equal<A>(A);

impl<A: Debug> Proven for Equal<A> {
    fn argument(&self) -> Option<&dyn Debug> {
        Some(&self.0)
    }
}

/// Tells all ranks where this one is.
fn find_out(comm: &Communicator) -> Result<Topology> {
    let answer = Answer::here(carrier(comm));
    let mut keys = vec![[0; 2]; comm.size()];
    comm.allgather(&[answer.keys()], &mut keys)?;
    let answer = answer.without_what_others_say(comm.rank(), &keys);
    // A rank that cannot say where it is says nothing.
    let bytes = postcard::to_stdvec(&answer).unwrap_or_default();
    let answers = allgatherv(comm, &bytes)?;
    let answers: Vec<&[u8]> = answers.iter_blocks().collect();
    Ok(Topology::of(comm.rank(), &keys, &answers))
}

fn carrier(comm: &Communicator) -> Carrier {
    let file = match comm.backend() {
        Backend::Mpi(_) => {
            ranks_mpi_sys::loaded().map(|loaded| loaded.path().display().to_string())
        }
        Backend::InProcess(_) => None,
    };
    Carrier {
        name: comm.library().to_owned(),
        standard: comm.standard(),
        file,
        launcher: None,
    }
}

impl Topology {
    /// A number for the part that this rank is bound to: the lowest rank that is bound to the same.
    fn color(&self, domain: Domain) -> Option<i32> {
        let of = |rank: usize| Some((self.ranks.get(rank)?.host?, self.part(rank, domain)?));
        let mine = of(self.rank)?;
        let here = self.here()?.ranks.iter().copied();
        let first = here
            .into_iter()
            .find(|rank| of(*rank).as_ref() == Some(&mine))?;
        i32::try_from(first).ok()
    }
}
