//! The table of launchers: by which variables each is known and where it says who a rank is.

use std::cell::RefCell;

use crate::environment::Malformed;
use crate::environment::launcher::Launcher;

#[cfg(all(fuzzing, feature = "jobs"))]
pub(crate) use inherited::inherited;
#[cfg(feature = "jobs")]
pub(crate) use inherited::outside_of_job;
pub(crate) use slurm::step as slurm_step;

mod flux;
mod hydra;
#[cfg(feature = "jobs")]
mod inherited;
mod jsm;
mod mpirun_rsh;
mod open_mpi;
mod pals;
mod pmi;
mod slurm;
mod torchrun;

/// The rules for one launcher: each list of variables is tried in order, the first that is set
/// counts.
pub(crate) struct Rule {
    /// The launcher that this is about.
    pub(crate) launcher: Launcher,
    /// Returns `true` if this launcher started the process, seen from its variables.
    pub(crate) applies: fn(&Variables<'_>) -> bool,
    /// Rank in the job, from 0.
    pub(crate) rank: &'static [&'static str],
    /// Ranks in the job.
    pub(crate) size: &'static [&'static str],
    /// Rank among those of this node, from 0.
    pub(crate) local_rank: &'static [&'static str],
    /// Ranks of the job on this node.
    pub(crate) local_size: &'static [&'static str],
    /// A name of the job, equal on all its ranks.
    pub(crate) job: &'static [&'static str],
}

/// Every rule; where several apply, the first is right unless a launcher was started inside a job
/// of another.
///
/// The launchers of an MPI come before the schedulers, because they run inside of them: under
/// `mpiexec` in a Slurm allocation Slurm's variables describe the step of the daemons, not the
/// ranks.
pub(crate) const RULES: [&Rule; 15] = [
    &jsm::JSM,
    &open_mpi::PRRTE,
    &open_mpi::ORTE,
    &hydra::INTEL,
    &hydra::HYDRA,
    &mpirun_rsh::MPIRUN_RSH,
    &slurm::CRAY,
    &slurm::PMI2,
    &slurm::PMIX,
    &flux::FLUX,
    &pals::PALS,
    &slurm::NONE,
    &pmi::PMIX,
    &pmi::PMI,
    &torchrun::TORCHRUN,
];

/// The variables of a process, read through a function; it remembers the ones that made no sense.
pub(crate) struct Variables<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    malformed: RefCell<Vec<Malformed>>,
}

impl<'a> Variables<'a> {
    pub(crate) fn new(read: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Variables {
            read,
            malformed: RefCell::default(),
        }
    }

    /// The value of one, if it is set to anything but blanks.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        (self.read)(name).filter(|value| !value.trim().is_empty())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// The first of `names` that is set.
    pub(crate) fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    /// The first of `names` that is set, as a number; one that is set to something else counts as
    /// malformed and as not set.
    pub(crate) fn number(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| {
            let value = self.text(name)?;
            let number = value.trim().parse().ok();
            if number.is_none() {
                self.note(name, &value, "is not a whole number from 0");
            }
            number
        })
    }

    pub(crate) fn note(&self, name: &str, value: &str, what: &'static str) {
        let found = Malformed {
            variable: name.to_owned(),
            value: value.to_owned(),
            what,
        };
        let mut list = self.malformed.borrow_mut();
        if !list.contains(&found) {
            list.push(found);
        }
    }

    pub(crate) fn into_malformed(self) -> Vec<Malformed> {
        self.malformed.into_inner()
    }
}
