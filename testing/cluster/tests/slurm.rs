//! Jobs under a real Slurm on hosts of this machine's namespaces, and jobs that `cluster submit`
//! brings to a batch system.
//!
//! Where there is no Slurm, or no hosts can be made, these tests say so on standard output, where
//! `cargo xtask test` counts them as skipped.

#![allow(clippy::unwrap_used, reason = "a test ends where something is wrong")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ranks_launch::{Family, Installation};

mod common;

use common::{Held, by_srun, mpi, named, not_tested, program, ranks_cluster, said};

/// What the program says where the machine, and not the project, is at fault.
const REASONS: [&str; 4] = [
    "this process may not",
    "the limit in /proc/sys/user",
    "Slurm is not here",
    "ip (of iproute2) cannot be started",
];

/// Two hosts with Slurm, or nothing where there can be none.
fn held(test: &str) -> Option<Held> {
    Held::up(test, &["--slurm"], &REASONS)
}

fn environment(mpi: &Installation) -> String {
    format!("RANKS_MPI={}", mpi.library.display())
}

#[test]
fn ranks_are_where_slurm_put_them_by_srun_and_by_mpiexec() {
    let wanted: [&[&str]; 5] = [
        &["mpich-5"],
        // Not Debian's first: MPICH 4.0 may hang in MPI_Finalize over several hosts.
        &["mpich-4.3", "debian-mpich"],
        &["impi-"],
        &["openmpi-5"],
        &["debian-openmpi", "openmpi-4"],
    ];
    let here: Vec<String> = wanted
        .iter()
        .filter_map(|beginnings| Some(mpi(beginnings)?.name))
        .collect();
    if here.is_empty() {
        return not_tested("jobs under Slurm", "no MPI is here");
    }
    let program = program("ranks-jobs", "job-program");
    let bytes = (4 << 20).to_string();
    let job = [
        "slurm",
        "--mpi",
        &here.join(","),
        "--bytes",
        &bytes,
        "--",
        &program,
        "hosts",
    ];
    let (status, text) = said(ranks_cluster(&named("jobs"), &job));
    if REASONS.iter().any(|reason| text.contains(reason)) {
        return not_tested("jobs under Slurm", &text);
    }
    let all = 2 * here.len();
    let last = format!("{all} of {all} jobs ran under Slurm over 2 hosts");
    assert!(text.contains(&last), "{text}");
    assert_eq!(status, Some(0), "{text}");
    // Whoever started them, the launcher is known, and in an allocation it is not taken for Slurm.
    // One that was run once more may have come so far the first time.
    let again = text.matches(", run once more: ").count();
    let count = |part: &str, jobs: usize| {
        let there = text.matches(part).count();
        assert!((jobs..=jobs + again).contains(&there), "{part}: {text}");
    };
    count("started by srun (--mpi=", here.len());
    count("'s mpiexec\n", here.len());
    count("4 ranks on 2 hosts, ", all);
    count("n0: 2 ranks, ", all);
    count("n1: 2 ranks, ", all);
}

#[test]
fn a_plugin_that_the_mpi_does_not_understand_is_an_error_of_every_rank() {
    let cases = [
        (
            mpi(&["debian-mpich", "mpich-4.3"]),
            "pmix",
            "use srun --mpi=pmi2",
        ),
        (mpi(&["mpich-5"]), "pmix", "use srun --mpi=pmi2"),
        (mpi(&["mpich-5"]), "none", "use srun --mpi=pmi2"),
        (mpi(&["openmpi-5"]), "pmi2", "use srun --mpi=pmix"),
        (mpi(&["openmpi-5"]), "none", "use srun --mpi=pmix"),
        (
            mpi(&["debian-openmpi", "openmpi-4"]),
            "pmi2",
            "use srun --mpi=pmix",
        ),
    ];
    let Some(cluster) = held("plugins") else {
        return;
    };
    let program = program("ranks-jobs", "job-program");
    for (mpi, plugin, advice) in cases {
        let Some(mpi) = mpi else { continue };
        let plugin = format!("--mpi={plugin}");
        let (status, text) = cluster.on_first(&[
            "env",
            &environment(&mpi),
            "srun",
            "-N2",
            "--ntasks-per-node=2",
            &plugin,
            &program,
            "world",
        ]);
        let name = format!("{} by srun {plugin}", mpi.name);
        assert_ne!(status, Some(0), "{name}: {text}");
        assert!(!text.contains("done"), "{name}: a rank ran: {text}");
        for rank in 0..4 {
            let error = |line: &str| {
                line.contains(&format!(" as rank {rank} of 4, ")) && line.contains(advice)
            };
            assert!(text.lines().any(error), "{name}: rank {rank}: {text}");
        }
    }
}

#[test]
fn ranks_run_starts_ranks_by_srun_in_an_allocation() {
    let chosen = [
        mpi(&["mpich-5", "debian-mpich"]),
        mpi(&["debian-openmpi", "openmpi-"]),
    ];
    let Some(cluster) = held("run") else {
        return;
    };
    let (ranks, program) = (
        program("ranks-cli", "ranks"),
        program("ranks-jobs", "job-program"),
    );
    let folder = format!("RANKS_MPI_DIR={}", ranks_harness::mpi::folder().display());
    let allocation = [
        "env",
        &folder,
        "salloc",
        "--quiet",
        "-N2",
        "--ntasks-per-node=2",
        &ranks,
        "run",
    ];
    for mpi in chosen.into_iter().flatten() {
        let run = |more: &[&str]| {
            let words = [
                allocation.as_slice(),
                &["--mpi", &mpi.name],
                more,
                &[&program, "hosts"],
            ];
            let (status, text) = by_srun(&mpi, || cluster.on_first(&words.concat()));
            assert_eq!(status, Some(0), "{}: {text}", mpi.name);
            text
        };
        let text = run(&["-n", "4"]);
        let plugin = if mpi.family == Family::OpenMpi {
            "pmix"
        } else {
            "pmi2"
        };
        assert!(
            text.contains(&format!("started by srun (--mpi={plugin})")),
            "{text}"
        );
        for line in [
            "[1] rank 1 of 4, host 0 of 2",
            "[3] rank 3 of 4, host 1 of 2",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
        let text = run(&["-n", "2", "--host", "n1"]);
        assert!(text.contains("n1: 2 ranks"), "{text}");
        assert!(text.contains("[1] rank 1 of 2, host 0 of 1\n"), "{text}");
    }
}

#[test]
fn ranks_run_starts_ranks_inside_of_a_step() {
    let chosen = [
        mpi(&["mpich-5", "debian-mpich"]),
        mpi(&["openmpi-5", "debian-openmpi"]),
        mpi(&["impi-"]),
    ];
    let Some(cluster) = held("step") else {
        return;
    };
    let (ranks, program) = (
        program("ranks-cli", "ranks"),
        program("ranks-jobs", "job-program"),
    );
    let folder = format!("RANKS_MPI_DIR={}", ranks_harness::mpi::folder().display());
    // What `srun --pty` makes, without its terminal: the first task works, and the step holds both
    // hosts.
    let first = [
        "env",
        &folder,
        "srun",
        "-N2",
        "-n2",
        "sh",
        "-c",
        "[ $SLURM_PROCID = 1 ] || exec \"$0\" \"$@\"",
        &ranks,
    ];
    for mpi in chosen.into_iter().flatten() {
        let job = [
            "run",
            "-n",
            "2",
            "--time-limit",
            "60s",
            "--mpi",
            &mpi.name,
            &program,
            "hosts",
        ];
        let job = [first.as_slice(), &job].concat();
        let (status, text) = by_srun(&mpi, || cluster.on_first(&job));
        assert_eq!(status, Some(0), "{}: {text}", mpi.name);
        assert!(
            text.contains("[1] rank 1 of 2, host "),
            "{}: {text}",
            mpi.name
        );
    }
    let (_, text) = cluster.on_first(&[first.as_slice(), &["doctor"]].concat());
    for part in [
        "this is a task of step 0 of Slurm",
        "export SLURM_OVERLAP=1",
        "srun --overlap --mpi=",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_batch_job_brings_back_what_came_of_it() {
    let Some(mpi) = mpi(&["mpich-5", "debian-mpich", "mpich-"]) else {
        return not_tested("cluster submit", "no MPICH is here");
    };
    let Some(cluster) = held("submit") else {
        return;
    };
    let program = program("ranks-jobs", "job-program");
    let submit = |program: &[&str]| {
        let first = [
            env!("CARGO_BIN_EXE_ranks-cluster"),
            "submit",
            "--mpi",
            &mpi.name,
            "--",
        ];
        cluster.on_first(&[first.as_slice(), program].concat())
    };
    let (status, text) = submit(&[&program, "hosts"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("2 of 2 jobs ran"), "{text}");
    assert_eq!(text.matches("4 ranks on 2 nodes").count(), 2, "{text}");
    let (status, text) = submit(&["/bin/false"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("0 of 2 jobs ran") && text.contains("0 of 4 ranks said"),
        "{text}"
    );
}

/// A test of this workspace, which a run of all its tests has built, over two nodes, and a program
/// to measure, in one job.
#[test]
fn a_batch_job_runs_tests_and_what_came_of_them_is_packed() {
    let Some(mpi) = mpi(&["mpich-5", "debian-mpich", "mpich-"]) else {
        return not_tested("cluster submit --test", "no MPICH is here");
    };
    let Some(cluster) = held("submit-test") else {
        return;
    };
    let measured = format!("{} world", program("ranks-jobs", "job-program"));
    let (status, text) = cluster.on_first(&[
        env!("CARGO_BIN_EXE_ranks-cluster"),
        "submit",
        "--test",
        "--offline",
        "--mpi",
        &mpi.name,
        "--bench",
        &measured,
        "--",
        "messages_of_one_sender_do_not_overtake",
    ]);
    assert_eq!(status, Some(0), "{text}");
    // By srun, by mpiexec, and the test on four ranks.
    let last = |line| line == "3 passed, 0 failed";
    assert!(text.lines().any(last), "{text}");
    let archive = text
        .lines()
        .find_map(|line| line.strip_suffix(" has all of it"));
    let archive = Path::new(archive.unwrap());
    let folder = archive.to_str().unwrap().strip_suffix(".tar.gz").unwrap();
    let folder = Path::new(folder);
    let tar = |how: &[&str]| {
        let mut tar = std::process::Command::new("tar");
        tar.args(how).arg("--file").arg(archive);
        let (status, text) = said(tar);
        assert_eq!(status, Some(0), "{text}");
        text
    };
    let table = tar(&["--extract", "--to-stdout", "--wildcards", "*/table"]);
    assert!(text.contains(&table), "{table}{text}");
    let row = table.lines().find(|line| line.starts_with(&mpi.name));
    assert_eq!(row.unwrap().matches("1 ok").count(), 3, "{table}");
    assert!(table.contains("job-program world"), "{table}");
    let listed = tar(&["--list"]);
    let of_mpi = ["doctor", "srun", "mpiexec"].map(|end| format!("{}.{end}", mpi.name));
    let names = ["log", "script", "versions"].map(str::to_owned);
    let names = names.into_iter().chain(of_mpi);
    for name in names {
        let ends = |line: &str| line.ends_with(&format!("/{name}"));
        assert!(listed.lines().any(ends), "{name}: {listed}");
        let length = fs::metadata(folder.join(&name)).unwrap().len();
        assert!(length > 0, "{name}");
    }
    fs::remove_dir_all(folder).unwrap();
    fs::remove_file(archive).unwrap();
}

/// A PBS of one node, this one: its `qsub` starts the script at once.
fn pbs(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    let here = folder.display();
    let qsub = format!(
        "#!/bin/sh\nprintf 'localhost\\nlocalhost\\n' > {here}/nodes\n\
         PBS_JOBID=7.fake PBS_NODEFILE={here}/nodes bash \"$1\" > {here}/output 2>&1 < /dev/null &\necho 7.fake\n"
    );
    let qstat =
        "#!/bin/sh\necho 'Job id  Name User Time Use S Queue'\necho '7.fake ranks me 0 R short'\n";
    for (name, text) in [("qsub", qsub.as_str()), ("qstat", qstat)] {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_batch_job_of_pbs_runs_on_the_nodes_that_it_was_given() {
    let Some(mpi) = mpi(&["debian-mpich", "mpich-"]) else {
        return not_tested("cluster submit to PBS", "no MPICH is here");
    };
    let folder: PathBuf = std::env::temp_dir().join(format!("ranks-pbs-{}", std::process::id()));
    pbs(&folder);
    let program = program("ranks-jobs", "job-program");
    let mut command = ranks_cluster(
        "pbs",
        &[
            "submit", "--system", "pbs", "--nodes", "1", "--mpi", &mpi.name,
        ],
    );
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::iter::once(folder.clone()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).unwrap());
    let (status, text) = said({
        command.args(["--", &program, "hosts"]);
        command
    });
    let output = fs::read_to_string(folder.join("output")).unwrap_or_default();
    assert_eq!(status, Some(0), "{text} {output}");
    assert!(text.contains("job 7.fake"), "{text}");
    assert!(
        text.contains("2 ranks on 1 nodes") && text.contains("1 of 1 jobs ran"),
        "{text}"
    );
    fs::remove_dir_all(folder).unwrap();
}
