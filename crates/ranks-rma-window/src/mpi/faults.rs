//! Faults of a library that its windows are kept from.

use ranks_comm::backend::{WrongAtomics, wrong_atomics};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::open_mpi_version;

/// Those of a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Faults {
    /// True if the library can swap words, see [`swaps_words`].
    pub(super) swaps_words: bool,
    /// Number of elements that are got and accumulated rightly at once, see [`got_at_once`].
    pub(super) got_at_once: usize,
    /// Operations that are computed wrong.
    pub(super) wrong_atomics: WrongAtomics,
}

impl Faults {
    /// Those of a window in memory that the library has `allocated`, or in other memory.
    pub(super) fn of(allocated: bool) -> Self {
        let library = sys::loaded().map_or("", |loaded| loaded.name());
        Self {
            swaps_words: swaps_words(library),
            got_at_once: if allocated {
                usize::MAX
            } else {
                got_at_once(library)
            },
            wrong_atomics: wrong_atomics(allocated),
        }
    }
}

/// Returns true if `MPI_Compare_and_swap` of 8 bytes works: Open MPI up to 4.1.4 follows a null
/// pointer there (<https://github.com/open-mpi/ompi/issues/7967>,
/// <https://github.com/open-mpi/ompi/issues/11349>).
fn swaps_words(library: &str) -> bool {
    open_mpi_version(library).is_none_or(|version| version >= [4, 1, 5])
}

/// Number of elements, of memory that is not the library's, which `MPI_Get_accumulate` gets rightly
/// at once: Open MPI 4.1.4 goes by pieces of 512, and gives no values of a last one that is short;
/// 4.1.8 does.
fn got_at_once(library: &str) -> usize {
    match open_mpi_version(library) {
        Some(version) if version < [4, 1, 8] => 512,
        _ => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_swap_words_are_known() {
        let swap = [
            "MPICH 3.4.3",
            "Open MPI 4.1.5",
            "Open MPI 4.1.8",
            "Open MPI 5.0.11",
        ];
        assert!(swap.into_iter().all(swaps_words));
        let do_not = ["Open MPI 4.1.4", "Open MPI 4.0.7", "Open MPI 3.1"];
        assert!(!do_not.into_iter().any(swaps_words));
        assert_eq!(do_not.map(got_at_once), [512; 3]);
        for library in ["Open MPI 4.1.8", "Open MPI 5.0.11", "MPICH 4.0.2"] {
            assert_eq!(got_at_once(library), usize::MAX);
        }
    }
}
