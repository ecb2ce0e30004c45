//! Wrong results of Open MPI 5 in windows over TCP, without an error, and the setting that prevents
//! them.
//!
//! It combines up to 32 words by atomic operations of the network, which are messages there
//! (`btl_base_am_rdma.c`). Of 5.0.11, in C: `Band`, `Bor` and `Bxor` of 8 bytes use the value in
//! the window as the operand; `Land`, `Lor` and `Lxor` of 4 and 8 bytes do nothing, and return the
//! operand; `Min` and `Max` of unsigned numbers compare them as signed. With `osc_rdma_acc_use_amo`
//! off it compares and swaps instead, and all of that is right.

use std::sync::atomic::{AtomicBool, Ordering};

use ranks_launch::{Environment, NETWORK_ATOMICS};
use ranks_mpi_sys::Loaded;

use super::over_hosts::are_several;
use super::parameters;

static ARE_WRONG: AtomicBool = AtomicBool::new(false);

/// Turns them off where they may be wrong. Called before MPI is initialised, unless another part of
/// the program has done that.
pub(crate) fn turn_off(loaded: &Loaded, environment: &Environment, owner: bool) {
    if !(has_them(loaded.name()) && are_several(environment)) {
        return;
    }
    parameters::set(NETWORK_ATOMICS, "0", owner);
    ARE_WRONG.store(!parameters::is_off(NETWORK_ATOMICS), Ordering::Relaxed);
}

/// Returns `true` if words in windows of this job may be combined by atomic operations of the
/// network that are wrong.
pub fn network_atomics_are_wrong() -> bool {
    ARE_WRONG.load(Ordering::Relaxed)
}

/// Returns `true` if a library combines words by them over TCP: Open MPI from 5.0 on.
fn has_them(library: &str) -> bool {
    let version = library.strip_prefix("Open MPI ");
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_with_such_operations_are_known() {
        assert!(
            ["Open MPI 5.0.11", "Open MPI 5.1.0rc1", "Open MPI 6.0"]
                .into_iter()
                .all(has_them)
        );
        let others = [
            "Open MPI 4.1.8",
            "Open MPI",
            "MPICH 5.0.2",
            "Intel MPI 2021.19.0",
        ];
        assert!(!others.into_iter().any(has_them));
    }
}
