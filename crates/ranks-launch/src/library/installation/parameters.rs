//! Parameters of Open MPI, which are set unless the user has set them. Why they are is said in
//! ranks-comm's `mpi/overruns.rs` and `mpi/network_atomics.rs`.

use std::env;

use crate::machine::files;

/// The variable from which Open MPI reads whether the words of windows are combined by atomic
/// operations of its transports.
pub const NETWORK_ATOMICS: &str = "OMPI_MCA_osc_rdma_acc_use_amo";

/// The variable from which Open MPI reads by how many ways a message is read or written remotely at
/// a time; by none, with 0.
pub const RDMA_PER_REQUEST: &str = "OMPI_MCA_pml_ob1_max_rdma_per_request";

/// The variables that are set, with their values, where nothing is read or written remotely: how
/// many fragments of a message may be on their way, by default three; and up to which length a
/// message passes through shared memory in one, by default less than 4 KiB by its header.
pub const WITHOUT_RDMA: [(&str, &str); 2] = [
    ("OMPI_MCA_pml_ob1_send_pipeline_depth", "64"),
    (EAGER_LIMIT, "4352"),
];

/// The variable of the transport in shared memory, by the name that all versions know.
const EAGER_LIMIT: &str = "OMPI_MCA_btl_vader_eager_limit";

/// Its name since version 5.
const EAGER_LIMIT_SINCE_5: &str = "OMPI_MCA_btl_sm_eager_limit";

/// Returns `true` if the user has set the parameter of a variable: in the environment, which
/// launchers put their arguments into, or in the user's own file of parameters. The environment
/// comes before files.
pub fn has_user_set(variable: &str) -> bool {
    if variable == EAGER_LIMIT && has_user_set(EAGER_LIMIT_SINCE_5) {
        return true;
    }
    if env::var_os(variable).is_some() {
        return true;
    }
    let file = env::home_dir().map(|home| home.join(".openmpi/mca-params.conf"));
    let text = file.and_then(|file| files::read(&file));
    text.is_some_and(|text| is_in(&text, variable))
}

/// Returns `true` if a file of parameters has the one of a variable.
fn is_in(text: &str, variable: &str) -> bool {
    let mut settings = text.lines().filter_map(|line| line.split_once('='));
    settings.any(|(name, _)| variable.strip_prefix("OMPI_MCA_") == Some(name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_parameters_has_a_name_on_each_line() {
        let text =
            "# pml_ob1_max_rdma_per_request = 1\n\n btl = ^ofi\npml_ob1_max_rdma_per_request=2\n";
        assert!(is_in(text, RDMA_PER_REQUEST));
        assert!(!is_in(text, NETWORK_ATOMICS));
        assert!(!is_in(&text[..40], RDMA_PER_REQUEST));
    }
}
