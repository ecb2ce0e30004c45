//! The variables that a rank must not hand on when it starts a job of its own: launchers know their
//! ranks by them.

use std::ffi::OsStr;
use std::process::Command;

/// Names that end in `*` stand for every variable that begins so.
const INHERITED: [&str; 38] = [
    "PMI_*",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "HYDI_CONTROL_FD",
    "HYDRA_BSTRAP_*",
    "I_MPI_HYDRA_UUID",
    "OMPI_COMM_WORLD_*",
    "OMPI_WORLD_*",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_LIBDIR_LOC",
    "OMPI_VERSION",
    "OMPI_FILE_LOCATION",
    "OMPI_MCA_ess*",
    // Not all of its parameters: users set some themselves, and Kubernetes' MPI Operator names the
    // hosts by one.
    "OMPI_MCA_orte_app_num",
    "OMPI_MCA_orte_bound_at_launch",
    "OMPI_MCA_orte_ess_*",
    "OMPI_MCA_orte_hnp_uri",
    "OMPI_MCA_orte_jobfam_session_dir",
    "OMPI_MCA_orte_launch",
    "OMPI_MCA_orte_local_daemon_uri",
    "OMPI_MCA_orte_node_regex",
    "OMPI_MCA_orte_num_nodes",
    "OMPI_MCA_orte_precondition_transports",
    "OMPI_MCA_orte_top_session_dir",
    "OMPI_MCA_pmix",
    "OMPI_MCA_num_procs",
    "OPAL_PREFIX",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
    "PMIX_ID",
    "PMIX_PREFIX",
    "PMIX_SERVER_*",
    "PRTE_LAUNCHED",
    "PALS_*",
    "FLUX_TASK_*",
    "JSM_NAMESPACE_*",
    "MPIRUN_*",
    "MV2_COMM_WORLD_*",
];

/// A command to which nothing of the job is handed on that this process is a rank of.
pub(crate) fn outside_of_job(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let names: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .collect();
    for name in inherited(names.iter().map(String::as_str)) {
        command.env_remove(name);
    }
    command
}

/// The ones among `names` that belong to the job that this process is a rank of.
pub(crate) fn inherited<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let belongs = |name: &&str| {
        INHERITED
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == pattern,
            })
    };
    names.into_iter().filter(belongs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_marks_of_the_outer_job_go() {
        let names = [
            "PMI_RANK",
            "PATH",
            "OMPI_MCA_orte_launch",
            "OMPI_MCA_btl",
            "PMIX_SERVER_URI2",
            "RANKS_MPI",
            "OMPI_ALLOW_RUN_AS_ROOT",
        ];
        assert_eq!(
            inherited(names),
            ["PMI_RANK", "OMPI_MCA_orte_launch", "PMIX_SERVER_URI2"]
        );
    }

    /// `ranks run` in the launcher pod lost the file of hosts, and all ranks ran in that pod.
    #[test]
    fn parameters_of_the_mpi_operator_went_with_the_marks() {
        let names = |text: &'static str| {
            let names = text.lines().filter_map(|line| line.split_once('='));
            names.map(|(name, _)| name).collect::<Vec<_>>()
        };
        let pod = names(include_str!(
            "../../../tests/fixtures/launcher_env/mpi_operator_manual.launcher.env"
        ));
        assert!(pod.contains(&"OMPI_MCA_orte_default_hostfile"));
        assert!(inherited(pod).is_empty());
        let mut rank = names(include_str!(
            "../../../tests/fixtures/slurm_env/mpiexec_in_salloc_ompi4.rank1.env"
        ));
        let all = inherited(rank.iter().copied());
        rank.retain(|name| name.starts_with("OMPI_MCA_orte_") && !all.contains(name));
        // A folder that users may name.
        assert_eq!(rank, ["OMPI_MCA_orte_tmpdir_base"]);
    }
}
