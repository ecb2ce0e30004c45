//! The launchers that can be told apart.

use std::fmt;

use crate::family::Family;

/// The program that started the ranks of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Launcher {
    /// `mpiexec` of MPICH and of its descendants.
    Hydra,
    /// `mpiexec` of Intel MPI.
    IntelHydra,
    /// `mpiexec` of Open MPI up to 4.1.
    Orte,
    /// `mpiexec` of Open MPI from 5.0, and `prterun`.
    Prrte,
    /// Slurm's `srun`, with the protocol that its `--mpi` chose.
    Slurm(Pmi),
    /// HPE Cray's `mpiexec` or `aprun`.
    Pals,
    /// `flux run`.
    Flux,
    /// `jsrun` of IBM's Job Step Manager, inside of LSF.
    Jsm,
    /// `mpirun_rsh` of MVAPICH.
    MpirunRsh,
    /// Some launcher that offers PMIx, such as PRRTE's `prterun`.
    Pmix,
    /// Some launcher that offers PMI-1 or PMI-2.
    Pmi,
    /// PyTorch's `torchrun`, whose processes make no job of an MPI.
    Torchrun,
}

/// The protocol by which `srun` lets the ranks of an MPI find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pmi {
    /// `--mpi=pmi2`: MPICH and Intel MPI understand it.
    Pmi2,
    /// `--mpi=pmix`: Open MPI understands it.
    Pmix,
    /// `--mpi=cray_shasta`: Cray MPICH understands it.
    Cray,
    /// `--mpi=none`, or a protocol that leaves no trace in the environment.
    None,
}

impl Launcher {
    /// The only family that this launcher starts as one job; `None` when it is not bound to one.
    pub fn family(self) -> Option<Family> {
        match self {
            Launcher::Hydra => Some(Family::Mpich),
            Launcher::IntelHydra => Some(Family::Intel),
            Launcher::Orte | Launcher::Prrte => Some(Family::OpenMpi),
            Launcher::Slurm(_)
            | Launcher::Pals
            | Launcher::Flux
            | Launcher::Jsm
            | Launcher::MpirunRsh
            | Launcher::Pmix
            | Launcher::Pmi
            | Launcher::Torchrun => None,
        }
    }

    /// The family that is tried first under this launcher, sure or likely.
    pub fn likely_family(self) -> Option<Family> {
        self.family().or(match self {
            Launcher::Slurm(Pmi::Pmi2) | Launcher::MpirunRsh | Launcher::Pmi => Some(Family::Mpich),
            Launcher::Slurm(Pmi::Pmix) | Launcher::Jsm | Launcher::Pmix => Some(Family::OpenMpi),
            Launcher::Slurm(Pmi::Cray) | Launcher::Pals => Some(Family::Cray),
            _ => None,
        })
    }
}

impl fmt::Display for Launcher {
    /// The launcher in words that follow "started by".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Launcher::Hydra => "MPICH's mpiexec",
            Launcher::IntelHydra => "Intel MPI's mpiexec",
            Launcher::Orte | Launcher::Prrte => "Open MPI's mpiexec",
            Launcher::Slurm(Pmi::Pmi2) => "srun (--mpi=pmi2)",
            Launcher::Slurm(Pmi::Pmix) => "srun (--mpi=pmix)",
            Launcher::Slurm(Pmi::Cray) => "srun (--mpi=cray_shasta)",
            Launcher::Slurm(Pmi::None) => "srun (without PMI, as with --mpi=none)",
            Launcher::Pals => "Cray's mpiexec",
            Launcher::Flux => "flux run",
            Launcher::Jsm => "jsrun",
            Launcher::MpirunRsh => "mpirun_rsh",
            Launcher::Pmix => "a launcher that offers PMIx",
            Launcher::Pmi => "a launcher that offers PMI",
            Launcher::Torchrun => "torchrun",
        })
    }
}
