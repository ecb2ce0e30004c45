//! Going on after the loss of a process (ULFM): functions and error classes that are in no standard
//! yet.
//!
//! They are called as those of the standard are, with the handles of the standard. That a library
//! exports them does not mean that they work: MPICH and Intel MPI do, and then wait for ever where
//! a process is gone. [`KEY`] is how Open MPI says whether they do.

use std::ffi::{c_int, c_void};

use crate::Family;
use crate::abi::Abi;
use crate::abi::kinds::*;
use crate::abi::mpich::Mpich;
use crate::abi::openmpi::OpenMpi;
use crate::fill::*;
use crate::function::{Function, Returned};
use crate::slot::Slot;
use crate::types::*;

functions! {
    /// `int MPIX_Comm_revoke(MPI_Comm comm)`
    shim "with ULFM" MPIX_Comm_revoke(comm: Comm) -> Code;
    /// `int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag)`
    shim "with ULFM" MPIX_Comm_is_revoked(comm: Comm, flag: Same<*mut c_int>) -> Code;
    /// `int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm)`
    shim "with ULFM" MPIX_Comm_shrink(comm: Comm, newcomm: OutComm) -> Code;
    /// `int MPIX_Comm_agree(MPI_Comm comm, int *flag)`
    shim "with ULFM" MPIX_Comm_agree(comm: Comm, flag: Same<*mut c_int>) -> Code;
    /// `int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgroup)`
    shim "with ULFM" MPIX_Comm_get_failed(comm: Comm, failedgroup: OutGroup) -> Code;
    /// `int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked)`
    shim "with ULFM" MPIX_Comm_ack_failed(comm: Comm, num_to_ack: Same<c_int>, num_acked: Same<*mut c_int>) -> Code;
}

/// The meaning of an error class for the loss of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// A process that takes part in the operation has failed (`MPIX_ERR_PROC_FAILED`).
    Failed,
    /// One has failed that may have been meant by `MPI_ANY_SOURCE`
    /// (`MPIX_ERR_PROC_FAILED_PENDING`).
    Pending,
    /// The communicator has been revoked (`MPIX_ERR_REVOKED`).
    Revoked,
}

/// A number of an extension: its name in C, and what it is in each family; `cargo xtask abi-check`
/// compares them with headers.
struct Number {
    name: &'static str,
    mpich: Option<c_int>,
    openmpi: Option<c_int>,
}

macro_rules! numbers {
    ($($name:ident: $standard:ident, $mpich:expr, $openmpi:expr;)*) => {
        &[$(Number { name: stringify!($name), mpich: $mpich, openmpi: $openmpi }),*]
    };
}

const NUMBERS: &[Number] = numbers! {
    MPI_ERR_PROC_FAILED: None, None, Some(75);
    MPI_ERR_PROC_FAILED_PENDING: None, None, Some(76);
    MPI_ERR_REVOKED: None, None, Some(77);
    MPI_FT: None, None, Some(12);
    MPIX_ERR_PROC_FAILED: None, Some(101), None;
    MPIX_ERR_PROC_FAILED_PENDING: None, Some(102), None;
    MPIX_ERR_REVOKED: None, Some(103), None;
};

/// The meaning of `class`, an error class as `MPI_Error_class` gives it here, for the loss of
/// processes. Such classes are no constants of the standard, and keep the library's number.
#[cold]
pub fn loss(class: c_int) -> Option<Loss> {
    let number_in = |number: &Number| match crate::load::family() {
        Family::Standard => None,
        Family::Mpich => number.mpich,
        Family::OpenMpi => number.openmpi,
    };
    let of_class = |number: &&Number| number_in(number) == Some(class);
    let number = NUMBERS.iter().find(of_class)?;
    match number.name.split_once("_ERR_")?.1 {
        "PROC_FAILED" => Some(Loss::Failed),
        "PROC_FAILED_PENDING" => Some(Loss::Pending),
        "REVOKED" => Some(Loss::Revoked),
        _ => None,
    }
}

/// The key of an attribute of `MPI_COMM_WORLD` in Open MPI, for
/// [`MPI_Comm_get_attr`](crate::MPI_Comm_get_attr()): the address of an int that says whether the
/// job was started so that it can go on after the loss of a process. Only where nothing is
/// [`not_exported`], because an older library gives the same key to a user.
pub const KEY: c_int = 12 + OpenMpi::KEYVAL_SHIFT;

/// The functions of this module that the loaded library does not export; none before
/// [`load()`](crate::load()).
pub fn not_exported() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS
        .iter()
        .filter(|function| !function.is_in_library())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_that_of_the_checked_table() {
        let known = NUMBERS.iter().find(|number| number.name == "MPI_FT");
        assert_eq!(
            known.and_then(|number| number.openmpi),
            Some(KEY - OpenMpi::KEYVAL_SHIFT)
        );
    }

    #[test]
    fn the_codes_of_absent_functions_are_of_no_other() {
        for function in FUNCTIONS {
            let code = crate::function::absent_code(function.name());
            let missing = crate::missing(code).map(Function::name);
            assert_eq!(missing, Some(function.name()));
        }
    }
}
