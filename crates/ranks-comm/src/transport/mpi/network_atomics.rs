//! Wrong results of Open MPI in windows, without an error.
//!
//! It combines up to 32 words by atomic operations of its transports (`osc_rdma_accumulate.c`):
//! over TCP those are messages, and within a host those of shared memory, in windows of memory that
//! it has not allocated. Of 4.1.4, 4.1.8, 5.0.9 and 5.0.11, in C as well: `Land`, `Lor` and `Lxor`
//! of 4 and 8 bytes do nothing, and return the operand, and `Min` and `Max` of unsigned numbers
//! compare them as signed. From 5.0 on `Band`, `Bor` and `Bxor` of 8 bytes use the value in the
//! window as the operand.
//!
//! With `osc_rdma_acc_use_amo` off it compares and swaps instead, and all of that is right. This is
//! set for jobs on several hosts alone: within a host 5.0 may then wait for ever where several
//! ranks accumulate.

use std::sync::OnceLock;

use ranks_launch::{Environment, NETWORK_ATOMICS};
use ranks_mpi_sys::{Loaded, open_mpi_version};

use super::over_hosts::are_several;
use super::parameters;

/// Operations on the words of a window that are computed wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongAtomics {
    /// None.
    None,
    /// Logical ones, and extremes of unsigned numbers.
    Logical,
    /// These, and bitwise ones.
    Bitwise,
}

/// Those of windows in memory of the program's, and in memory that the library has allocated.
static OF_JOB: OnceLock<[WrongAtomics; 2]> = OnceLock::new();

/// Finds out which there are, and turns them off in a job on several hosts. Called before MPI is
/// initialised, unless another part of the program has done that.
pub(crate) fn find_out(loaded: &Loaded, environment: &Environment, owner: bool) {
    let wrong = of_library(loaded.name());
    let are_over_hosts = wrong == WrongAtomics::Bitwise && are_several(environment);
    if are_over_hosts {
        parameters::set(NETWORK_ATOMICS, "0", owner);
    }
    if !parameters::is_off(NETWORK_ATOMICS) {
        let allocated = if are_over_hosts {
            wrong
        } else {
            WrongAtomics::None
        };
        // MPI is initialised once.
        let _ = OF_JOB.set([wrong, allocated]);
    }
}

/// Returns the operations that are wrong in a window of memory that the library has `allocated`, or
/// of other memory.
pub fn wrong_atomics(allocated: bool) -> WrongAtomics {
    let of_job = OF_JOB.get();
    of_job.map_or(WrongAtomics::None, |of| of[usize::from(allocated)])
}

fn of_library(name: &str) -> WrongAtomics {
    match open_mpi_version(name).map(|[major, ..]| major) {
        None => WrongAtomics::None,
        Some(..5) => WrongAtomics::Logical,
        Some(5..) => WrongAtomics::Bitwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_with_such_operations_are_known() {
        for name in ["Open MPI 5.0.11", "Open MPI 5.1.0rc1", "Open MPI 6.0"] {
            assert_eq!(of_library(name), WrongAtomics::Bitwise);
        }
        assert_eq!(of_library("Open MPI 4.1.8"), WrongAtomics::Logical);
        for name in ["Open MPI", "MPICH 5.0.2", "Intel MPI 2021.19.0"] {
            assert_eq!(of_library(name), WrongAtomics::None);
        }
    }
}
