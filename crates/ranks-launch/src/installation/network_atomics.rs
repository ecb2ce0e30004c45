//! Open MPI 5 without what it computes wrong in windows over TCP; what that is says ranks-comm's module of the same name.

use std::process::Command;

use super::Installation;

/// The variable from which Open MPI reads whether the words of windows are combined by atomic operations of the network.
pub const NETWORK_ATOMICS: &str = "OMPI_MCA_osc_rdma_acc_use_amo";

impl Installation {
    /// Turns them off for a job, unless the user has said whether they should be on.
    pub(super) fn turn_off_network_atomics(&self, command: &mut Command) {
        if self.is_prrte() && std::env::var_os(NETWORK_ATOMICS).is_none() {
            command.env(NETWORK_ATOMICS, "0");
        }
    }
}
