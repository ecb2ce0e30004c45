//! Facts about a runtime.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ranks_launch::{Allocation, Environment};

use crate::call::thread_level::ThreadLevel;

/// The transport of the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Backend {
    /// The value of `RANKS_BACKEND` (`mpi` or `inprocess`); if it is not set, MPI under a launcher,
    /// else in process.
    #[default]
    Auto,
    /// An MPI library, even without a launcher (as a singleton, a job of one rank); an error where
    /// the environment tells of other processes that no launcher has started, as in a pod.
    Mpi,
    /// Threads of this process.
    InProcess,
}

/// Facts about the runtime, for reports and for decisions: the library, the thread level, the
/// number of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub(crate) backend: Backend,
    pub(crate) library: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) standard: Option<(i32, i32)>,
    pub(crate) thread_level: ThreadLevel,
    pub(crate) launcher: Option<String>,
    pub(crate) receives: String,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Facts {
    /// [`Backend::Mpi`] or [`Backend::InProcess`].
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The library's name and version, such as `Open MPI 5.0.11`, or `in process`.
    #[doc(alias = "MPI_Get_library_version")]
    #[must_use]
    pub fn library(&self) -> &str {
        &self.library
    }

    /// The file that was opened; `None` in process.
    #[must_use]
    pub fn library_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The version of the MPI standard that the library reports; `None` in process.
    #[doc(alias = "MPI_Get_version")]
    #[must_use]
    pub fn standard(&self) -> Option<(i32, i32)> {
        self.standard
    }

    /// The thread level that was granted. If it is lower than [`ThreadLevel::Multiple`], every call
    /// checks it.
    #[doc(alias = "MPI_Query_thread")]
    #[must_use]
    pub fn thread_level(&self) -> ThreadLevel {
        self.thread_level
    }

    /// The launcher that started this process, such as `Open MPI's mpiexec`.
    #[must_use]
    pub fn launcher(&self) -> Option<&str> {
        self.launcher.as_deref()
    }

    /// A line about a program that no launcher has started in a batch job of several hosts:
    /// `alone on one of the 2 hosts of Slurm job 18`. All its ranks are on that one, which may be
    /// meant so or not.
    #[must_use]
    pub fn alone(&self) -> Option<&str> {
        static ALONE: OnceLock<Option<String>> = OnceLock::new();
        let find = || Allocation::detect()?.alone(&Environment::detect());
        ALONE.get_or_init(find).as_deref()
    }

    /// The way in which messages are received, so that none is written past its slice: `posted` to
    /// the library, or `claimed` (by a matched probe), which costs more; and the facts about the
    /// library that decided it.
    #[must_use]
    pub fn receives(&self) -> &str {
        &self.receives
    }

    /// This rank in the world.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The size of the world.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {} on {}", self.rank, self.size, self.library)?;
        if let Some(path) = &self.path {
            write!(f, " ({})", path.display())?;
        }
        write!(f, ", {}", self.thread_level)?;
        if let Some(launcher) = &self.launcher {
            write!(f, ", started by {launcher}")?;
        }
        if let Some(alone) = self.alone() {
            write!(f, ", {alone}")?;
        }
        write!(f, "; receives are {}", self.receives)
    }
}
