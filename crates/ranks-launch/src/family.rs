//! The families of MPI: which libraries and launchers belong together.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A family of MPI libraries.
///
/// The family tells which launchers start a library: everything that descends from MPICH starts
/// under any Hydra, Open MPI starts under its own daemons only. How a library is *called* is
/// another question, which is answered by its symbols, not by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// MPICH itself, MVAPICH, and all others that keep its launch protocol.
    Mpich,
    /// Intel MPI.
    Intel,
    /// HPE Cray MPICH.
    Cray,
    /// Open MPI and the libraries built on it, such as Spectrum MPI.
    OpenMpi,
}

impl Family {
    /// All families, in the order in which they are preferred when nothing else decides.
    pub(crate) const ALL: [Family; 4] =
        [Family::Mpich, Family::Intel, Family::Cray, Family::OpenMpi];

    /// Returns `true` if a launcher of one starts a library of the other as one job.
    pub fn starts(self, other: Family) -> bool {
        (self == Family::OpenMpi) == (other == Family::OpenMpi)
    }

    /// The family that the text of `MPI_Get_library_version` tells of; `None` when it is not a
    /// known text.
    ///
    /// Good for a message and for the question of the launcher. It is no way to tell how a library
    /// is to be called: two libraries of one product with different interfaces give the same text.
    pub fn from_version_text(text: &str) -> Option<Family> {
        const TEXTS: [(&str, Family); 8] = [
            ("Intel(R) MPI Library", Family::Intel),
            ("CRAY MPICH", Family::Cray),
            ("Open MPI v", Family::OpenMpi),
            ("Spectrum MPI", Family::OpenMpi),
            ("MVAPICH", Family::Mpich),
            ("MPICH Version:", Family::Mpich),
            ("MPICH2 Version:", Family::Mpich),
            ("MPICH", Family::Mpich),
        ];
        TEXTS
            .iter()
            .find(|(part, _)| text.contains(part))
            .map(|&(_, family)| family)
    }

    /// The family that a launcher or a daemon of one belongs to, where the name of its file tells;
    /// links are not followed.
    pub fn of_launcher(file: &Path) -> Option<Family> {
        let name = file.file_name()?.to_string_lossy();
        let open_mpi = ["orte", "prte", "ompi"]
            .iter()
            .any(|part| name.starts_with(part))
            || name.contains("openmpi");
        let hydra = name.contains("hydra") || name.contains("mpich");
        if open_mpi {
            Some(Family::OpenMpi)
        } else if hydra {
            Some(Family::Mpich)
        } else {
            None
        }
    }

    /// The plugin by whose protocol `srun --mpi=…` lets its ranks find each other: with another one
    /// each rank is alone, and succeeds.
    pub fn slurm_plugin(self) -> &'static str {
        match self {
            Family::OpenMpi => "pmix",
            Family::Cray => "cray_shasta",
            Family::Mpich | Family::Intel => "pmi2",
        }
    }

    /// The word that `RANKS_MPI` takes for it.
    pub fn word(self) -> &'static str {
        match self {
            Family::Mpich => "mpich",
            Family::Intel => "intel",
            Family::Cray => "cray",
            Family::OpenMpi => "openmpi",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Mpich => "MPICH",
            Family::Intel => "Intel MPI",
            Family::Cray => "Cray MPICH",
            Family::OpenMpi => "Open MPI",
        })
    }
}

impl FromStr for Family {
    type Err = ();

    /// Reads a family's word as users write it, in any case.
    fn from_str(word: &str) -> Result<Family, ()> {
        match word.to_ascii_lowercase().as_str() {
            "mpich" => Ok(Family::Mpich),
            "intel" | "impi" | "intelmpi" | "intel-mpi" => Ok(Family::Intel),
            "cray" | "cray-mpich" => Ok(Family::Cray),
            "openmpi" | "open-mpi" | "ompi" => Ok(Family::OpenMpi),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_texts_tell_the_family() {
        for (text, family) in [
            (
                "MPICH Version:      5.0.2\nMPICH Release date: x",
                Some(Family::Mpich),
            ),
            (
                "Intel(R) MPI Library 2021.19 for Linux* OS\n",
                Some(Family::Intel),
            ),
            (
                "Open MPI v5.0.11, package: Open MPI a@b Distribution",
                Some(Family::OpenMpi),
            ),
            (
                "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)",
                Some(Family::Cray),
            ),
            ("MVAPICH Version      :       3.0", Some(Family::Mpich)),
            ("something else", None),
            ("", None),
        ] {
            assert_eq!(Family::from_version_text(text), family, "{text}");
        }
    }

    #[test]
    fn only_open_mpi_stands_alone() {
        for one in Family::ALL {
            for other in Family::ALL {
                let both = (one == Family::OpenMpi) == (other == Family::OpenMpi);
                assert_eq!(one.starts(other), both, "{one} {other}");
            }
        }
    }

    #[test]
    fn a_family_is_read_back_from_its_word() {
        for family in Family::ALL {
            assert_eq!(family.word().parse(), Ok(family));
        }
        assert_eq!("OpenMPI".parse(), Ok(Family::OpenMpi));
        assert_eq!("libmpi".parse::<Family>(), Err(()));
    }
}
