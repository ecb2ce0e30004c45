//! The launchers and ranks that recorded environments of real launchers are taken for.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use ranks_launch::{Environment, Ground, Launcher, Pmi};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The variables of a file.
struct Recorded(HashMap<String, String>);

impl Recorded {
    fn read(file: &str) -> Recorded {
        let path = fixtures().join(file);
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.split_once('='));
        Recorded(
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }

    fn environment(&self) -> Environment {
        Environment::from_vars(|name| self.0.get(name).cloned())
    }

    /// The ground of a program that is started so, with `RANKS_BACKEND` as given, or the error.
    fn ground(&self, backend: Option<&str>) -> Result<Ground, String> {
        let ground = Ground::from_vars(|name| match name {
            "RANKS_BACKEND" => backend.map(str::to_owned),
            _ => self.0.get(name).cloned(),
        });
        ground.map_err(|error| error.to_string())
    }
}

fn recorded(file: &str) -> Environment {
    Recorded::read(file).environment()
}

type Place = (Option<usize>, Option<usize>, Option<usize>, Option<usize>);

fn place(environment: &Environment) -> Place {
    (
        environment.rank,
        environment.size,
        environment.local_rank,
        environment.local_size,
    )
}

/// The launchers under which a program runs over MPI, by the beginning of the names of the files,
/// and how much each tells of: the rank, the size, the rank on the node, the size there. All
/// started four ranks on two nodes.
const JOBS: [(&str, Launcher, usize); 18] = [
    ("launcher_env/hydra_mpich402", Launcher::Hydra, 4),
    ("launcher_env/hydra_mpich502", Launcher::Hydra, 4),
    ("launcher_env/hydra_impi2021.19", Launcher::IntelHydra, 4),
    ("launcher_env/orte_ompi414", Launcher::Orte, 4),
    ("launcher_env/prrte_ompi5011", Launcher::Prrte, 4),
    ("launcher_env/prterun_prrte", Launcher::Pmix, 1),
    ("launcher_env/jsrun_manual", Launcher::Jsm, 4),
    ("launcher_env/mpirun_rsh_manual", Launcher::MpirunRsh, 4),
    (
        "launcher_env/mpirun_rsh_early_manual",
        Launcher::MpirunRsh,
        2,
    ),
    ("launcher_env/pals_manual", Launcher::Pals, 4),
    ("launcher_env/flux_manual", Launcher::Flux, 3),
    ("launcher_env/sge_mpirun_manual", Launcher::Orte, 4),
    ("launcher_env/mpi_operator_manual", Launcher::Orte, 4),
    (
        "launcher_env/srun_cray_manual",
        Launcher::Slurm(Pmi::Cray),
        3,
    ),
    ("slurm_env/srun_N2_tpn2_pmi2", Launcher::Slurm(Pmi::Pmi2), 3),
    ("slurm_env/srun_N2_tpn2_pmix", Launcher::Slurm(Pmi::Pmix), 3),
    ("slurm_env/sbatch_N2_tpn2", Launcher::Slurm(Pmi::None), 3),
    ("slurm_env/mpiexec_in_salloc_ompi5", Launcher::Prrte, 4),
];

/// The environments of processes that are, or may be, some of several and can make no job of it:
/// the launcher, and what the error says.
const REFUSED: [(&str, Option<Launcher>, &str); 5] = [
    (
        "launcher_env/torchrun_manual.rank1.env",
        Some(Launcher::Torchrun),
        "started by torchrun as rank 1 of 4: that makes no job of an MPI",
    ),
    (
        "launcher_env/pytorch_job_manual.rank1.env",
        None,
        "RANK=1, WORLD_SIZE=4 and MASTER_ADDR say that this is one of 4 processes",
    ),
    (
        "launcher_env/kubernetes_indexed_manual.pod1.env",
        None,
        "pod 1 of an Indexed Job (JOB_COMPLETION_INDEX), which does not say of how many",
    ),
    (
        "launcher_env/mpi_operator_manual.launcher.env",
        None,
        "launcher pod of Kubernetes' MPI Operator",
    ),
    (
        "launcher_env/sge_manual.shell.env",
        None,
        "2 hosts with 4 slots to this job, but the program was started without a launcher",
    ),
];

/// The files of a job's ranks, with the ranks.
fn ranks_of(job: &str) -> Vec<(String, usize)> {
    let files = (0..4).map(|rank| (format!("{job}.rank{rank}.env"), rank));
    files
        .filter(|(file, _)| fixtures().join(file).is_file())
        .collect()
}

/// No environment makes n silent worlds of one rank each.
#[test]
fn every_launcher_makes_one_job_or_an_error() {
    let mut seen = BTreeSet::new();
    for (job, launcher, told) in JOBS {
        let ranks = ranks_of(job);
        assert!(!ranks.is_empty(), "{job}");
        for (file, rank) in ranks {
            let recorded = Recorded::read(&file);
            let environment = recorded.environment();
            assert_eq!(environment.launcher, Some(launcher), "{file}");
            let known = |which: usize, number| (which < told).then_some(number);
            let wanted = (known(0, rank), known(1, 4), known(2, rank % 2), known(3, 2));
            assert_eq!(place(&environment), wanted, "{file}");
            assert_eq!(environment.malformed, [], "{file}");
            for backend in [None, Some("mpi")] {
                assert_eq!(recorded.ground(backend), Ok(Ground::Mpi), "{file}");
            }
            let error = recorded.ground(Some("inprocess")).unwrap_err();
            assert!(error.contains("unset RANKS_BACKEND"), "{file}: {error}");
            seen.insert(file);
        }
    }
    for (file, launcher, told) in REFUSED {
        let recorded = Recorded::read(file);
        assert_eq!(recorded.environment().launcher, launcher, "{file}");
        for backend in [None, Some("mpi")] {
            let error = recorded.ground(backend).unwrap_err();
            for part in [told, "mpiexec", "set RANKS_BACKEND=inprocess"] {
                assert!(error.contains(part), "{file}: no {part:?} in {error}");
            }
        }
        let asked = recorded.ground(Some("inprocess"));
        assert_eq!(asked, Ok(Ground::InProcess), "{file}");
        seen.insert(file.to_owned());
    }
    for entry in fs::read_dir(fixtures().join("launcher_env")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let file = format!("launcher_env/{name}");
        assert!(seen.contains(&file), "no outcome is stated for {file}");
        let text = fs::read_to_string(fixtures().join(&file)).unwrap();
        let says = text.lines().next().unwrap();
        assert_eq!(
            says.contains("NOT recorded"),
            name.contains("_manual"),
            "{file}"
        );
    }
}

#[test]
fn mpiexec_inside_an_allocation_is_mpiexec() {
    // Slurm's own variables say rank 1 of 2 here: they are about the step of the daemons.
    for (name, launcher) in [
        ("mpich4", Launcher::Hydra),
        ("mpich5", Launcher::Hydra),
        // This recording has no variable that only Intel's launcher sets.
        ("impi", Launcher::Hydra),
        ("ompi4", Launcher::Orte),
        ("ompi5", Launcher::Prrte),
    ] {
        let environment = recorded(&format!("slurm_env/mpiexec_in_salloc_{name}.rank3.env"));
        assert_eq!(environment.launcher, Some(launcher), "{name}");
        assert_eq!(
            place(&environment),
            (Some(3), Some(4), Some(1), Some(2)),
            "{name}"
        );
    }
}

#[test]
fn steps_of_srun_by_protocol() {
    for (file, pmi, place_wanted) in [
        (
            "srun_N2_tpn2_pmi2.rank3",
            Pmi::Pmi2,
            (Some(3), Some(4), Some(1), None),
        ),
        (
            "srun_N2_tpn2_pmix.rank3",
            Pmi::Pmix,
            (Some(3), Some(4), Some(1), None),
        ),
        (
            "sbatch_N2_tpn2.rank1",
            Pmi::None,
            (Some(1), Some(4), Some(1), None),
        ),
        (
            "srun_het.rank3",
            Pmi::None,
            (Some(3), Some(4), Some(0), None),
        ),
        (
            "sbatch_substep.rank1",
            Pmi::None,
            (Some(1), Some(2), Some(1), None),
        ),
    ] {
        let environment = recorded(&format!("slurm_env/{file}.env"));
        assert_eq!(environment.launcher, Some(Launcher::Slurm(pmi)), "{file}");
        assert_eq!(place(&environment), place_wanted, "{file}");
        assert!(environment.job.is_some(), "{file}");
    }
    let environment = recorded("slurm_env/srun_N4_n13_block.rank12.env");
    assert_eq!((environment.rank, environment.size), (Some(12), Some(13)));
}

#[test]
fn scripts_and_shells_of_slurm_are_not_ranks() {
    for file in [
        "sbatch_N2_tpn2.batch",
        "sbatch_het.batch",
        "sbatch_array.task1",
        "salloc_N2_tpn2_mem.shell",
        // One task without PMI is a place to work in.
        "srun_n1.rank0",
    ] {
        assert_eq!(
            recorded(&format!("slurm_env/{file}.env")),
            Environment::default(),
            "{file}"
        );
    }
}
