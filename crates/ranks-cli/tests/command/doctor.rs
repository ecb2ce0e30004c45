//! What `ranks doctor` says where there is no MPI, or none that can be opened.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::run::is_gone;
use crate::{Scratch, bare, said};

/// The variables of MPICH's launcher for its second rank of two.
const UNDER_MPIEXEC: [(&str, &str); 4] = [
    ("PMI_FD", "9"),
    ("PMI_RANK", "1"),
    ("PMI_SIZE", "2"),
    ("MPI_LOCALRANKID", "1"),
];

/// The report of a machine where nothing is installed, and no MPI is wanted.
fn without_mpi() -> Command {
    let mut command = bare();
    command.arg("doctor").env("RANKS_BACKEND", "inprocess");
    command
}

#[test]
fn a_bare_machine() {
    let report = said(bare().arg("doctor"));
    report.is_trouble(
        &[
            "no MPI library is found",
            "ranks are threads of one process",
        ],
        &[
            "apt-get install",
            "pip install mpich",
            "module load",
            "RANKS_MPI=/path/to",
        ],
    );
    report.tells(&[
        "used       none",
        "started    not started by a launcher",
        "so         ranks are threads of one process",
        "libmpi-of-nobody.so.12: cannot open shared object file",
        "collectives                 yes         no",
        "/dev/shm",
        "libcuda.so.1",
    ]);
}

/// A report that nobody could read was a success.
#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    for arguments in [&[][..], &["--json"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let mut doctor = without_mpi();
        doctor
            .args(arguments)
            .stdout(full.unwrap())
            .stderr(Stdio::piped());
        let output = doctor.spawn().unwrap().wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("standard output: "), "{errors}");
    }
}

#[test]
fn nothing_is_wrong_where_no_mpi_is_wanted() {
    let report = said(without_mpi().arg("--run"));
    assert_eq!(report.status, Some(0), "{}", report.text);
    assert!(
        report.text.starts_with("nothing is wrong here\n"),
        "{}",
        report.text
    );
    report.tells(&[
        "2 ranks on in process",
        "world      2 ranks, by no launcher",
        "threads    MPI_THREAD_MULTIPLE",
        "tags       0 to ",
        "clock      the same on all ranks (MPI_WTIME_IS_GLOBAL)",
        "where      2 ranks on 1 host, in process",
    ]);
    report.repeats("  pass  ", 15);
}

#[test]
fn a_linker_script_that_is_named() {
    let scratch = Scratch::new("script");
    let script = scratch.put("lib/libmpi.so", "INPUT(libmpi.so.12)\n");
    let library = scratch.put("lib/libmpi.so.12", "\u{7f}ELF");
    let report = said(bare().arg("doctor").env("RANKS_MPI", &script));
    report.is_trouble(
        &[
            &script.display().to_string(),
            "it is text, as the linker scripts that only compilers understand",
        ],
        &[&format!("RANKS_MPI={}", library.display())],
    );
    report.tells(&["(for compilers only)"]);
}

#[test]
fn a_folder_with_nothing_but_a_linker_script() {
    let scratch = Scratch::new("folder");
    let script = scratch.put("lib/libmpi.so", "INPUT(libmpi.so.12)\n");
    let report = said(bare().arg("doctor").env("RANKS_MPI", scratch.path()));
    report.is_trouble(
        &[
            "no MPI library lies in this folder",
            &format!("{} is a linker script", script.display()),
        ],
        &["name the prefix of an MPI"],
    );
}

#[test]
fn a_linker_script_on_the_search_path() {
    let scratch = Scratch::new("path");
    let script = scratch.put("libmpi.so", "/* a script */\nINPUT(libmpi.so.40)\n");
    let library = scratch.put("libmpi.so.40", "\u{7f}ELF");
    let report = said(bare().arg("doctor").env("LD_LIBRARY_PATH", scratch.path()));
    report.is_trouble(
        &[
            &format!("{} is a linker script", script.display()),
            "no MPI library is found",
        ],
        &[&format!("RANKS_MPI={}", library.display())],
    );
}

#[test]
fn a_library_that_cannot_be_opened() {
    let scratch = Scratch::new("broken");
    let library = scratch.put("lib/libmpi.so.12", "\u{7f}ELF and nothing else");
    let report = said(bare().arg("doctor").env("RANKS_MPI", &library));
    report.is_trouble(
        &[
            "no MPI library can be opened",
            &library.display().to_string(),
            "file too short",
        ],
        &["RANKS_MPI=/path/to"],
    );
}

/// It was to be installed with what it lacks.
#[test]
fn a_library_for_another_processor() {
    let scratch = Scratch::new("processor");
    let of_none = "\u{7f}ELF\u{2}\u{1}\u{1}\0\0\0\0\0\0\0\0\0\u{3}\0\u{7f}\u{7f}";
    let library = scratch.put("lib/libmpi.so.12", of_none);
    let report = said(bare().arg("doctor").env("RANKS_MPI", &library));
    report.is_trouble(
        &["no MPI library can be opened", "for another processor"],
        &["install one for this processor", "RANKS_MPI=/path/to"],
    );
}

#[test]
fn a_launcher_that_says_nonsense() {
    let mut command = bare();
    command
        .arg("doctor")
        .envs([("PMI_FD", "9"), ("PMI_RANK", "x"), ("PMI_SIZE", "2")]);
    let report = said(&mut command);
    report.tells(&[
        "NOTE     the environment variable PMI_RANK is set to \"x\"",
        "remedy   unset PMI_RANK",
    ]);
}

/// Ranks were told to be threads, and such a program ends with an error.
#[test]
fn a_launcher_and_no_library() {
    said(bare().arg("doctor").envs(UNDER_MPIEXEC)).is_trouble(
        &[
            "started by MPICH's mpiexec as rank 1 of 2, and no MPI library is found",
            "such a program ends with an error",
        ],
        &["in a container: bind its prefix", "RANKS_MPI=/path/to"],
    );
}

#[test]
fn the_report_as_json() {
    let report = said(without_mpi().args(["--json", "--run", "-n", "3"]));
    assert_eq!(report.status, Some(0), "{}{}", report.text, report.errors);
    let value: serde_json::Value = serde_json::from_str(&report.text).unwrap();
    assert_eq!(
        value["findings"].as_array().map(Vec::len),
        Some(0),
        "{value}"
    );
    assert_eq!(value["run"]["ranks"], 3);
    assert_eq!(value["run"]["cases"].as_array().map(Vec::len), Some(15));
    assert!(value["machine"]["shared_memory"]["free"].as_u64() > Some(0));
    assert!(
        value["mpi"]["tried"][0]["answer"]["Err"].is_string(),
        "{value}"
    );
    assert_eq!(value["features"][0]["on"][0], "yes");
}

/// It told of the library that programs would open, and they opened none, or did not start.
#[test]
fn what_ranks_would_be_is_told_as_programs_decide_it() {
    let told = |backend: &str| {
        let mut command = bare();
        command.arg("doctor").envs(UNDER_MPIEXEC);
        said(command.env("RANKS_BACKEND", backend))
    };
    told("auto").tells(&["so         ranks are processes, over MPI"]);
    told("inprocess").tells(&[
        "so         started by MPICH's mpiexec as rank 1 of 2, but RANKS_BACKEND=inprocess makes each",
    ]);
}

/// Nothing was wrong, and programs that were started so were refused.
#[test]
fn what_refuses_programs_was_told_and_not_found_wrong() {
    let torchrun: &[_] = &[
        ("TORCHELASTIC_RUN_ID", "none"),
        ("RANK", "1"),
        ("WORLD_SIZE", "4"),
    ];
    for (variables, what, remedy) in [
        (
            &[("JOB_COMPLETION_INDEX", "1")][..],
            "pod 1 of an Indexed Job (JOB_COMPLETION_INDEX)",
            "start one job with mpiexec",
        ),
        (
            torchrun,
            "started by torchrun as rank 1 of 4: that makes no job of an MPI",
            "start one job with mpiexec",
        ),
        (
            &[("RANKS_BACKEND", "tcp")],
            "RANKS_BACKEND is `tcp`",
            "it must be `mpi`, `inprocess` or `auto`",
        ),
    ] {
        let mut command = bare();
        let report = said(command.arg("doctor").envs(variables.iter().copied()));
        report.is_trouble(&[what], &[remedy]);
    }
}

/// Its launcher went on, and what that had started.
#[test]
fn a_signal_ends_the_ranks_of_the_test_as_well() {
    let scratch = Scratch::new("signal");
    scratch.mpi("mpich-9", "libmpi.so.12");
    let pids = scratch.path().join("pids");
    let start = format!(
        "setsid sleep 100 & echo $$ $! >{0}.new; mv {0}.new {0}; wait",
        pids.display()
    );
    scratch.script("mpich-9/bin/mpiexec", &start);
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut command = bare();
        command
            .args(["doctor", "--run"])
            .env("PATH", "/usr/bin:/bin")
            .env("RANKS_MPI_DIR", scratch.path())
            .env("RANKS_MPI", "mpich-9");
        let mut doctor = command.stdout(Stdio::null()).spawn().unwrap();
        while !pids.exists() {
            assert_eq!(doctor.try_wait().unwrap(), None);
            thread::sleep(Duration::from_millis(5));
        }
        kill(Pid::from_raw(i32::try_from(doctor.id()).unwrap()), signal).unwrap();
        assert_eq!(doctor.wait().unwrap().signal(), Some(signal as i32));
        for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
            assert!(is_gone(pid), "{signal}: {pid}");
        }
        fs::remove_file(&pids).unwrap();
    }
}

/// Ranks were said to be threads, and programs did not start.
#[test]
fn where_an_mpi_is_missing_no_program_starts() {
    let used = |variables: &[(&str, &str)]| {
        let mut command = bare();
        let report = said(command.arg("doctor").envs(variables.iter().copied()));
        assert_eq!(
            report.text.contains("ranks are threads"),
            variables.contains(&("RANKS_BACKEND", "inprocess")),
            "{}",
            report.text
        );
        let used = |line: &str| line.trim().strip_prefix("used       ").map(str::to_owned);
        report.text.lines().find_map(used).unwrap()
    };
    let missing = ("RANKS_MPI", "/nothere");
    assert_eq!(used(&[missing]), "none: no program starts");
    assert_eq!(used(&[("RANKS_BACKEND", "mpi")]), "none: no program starts");
    let threads = [missing, ("RANKS_BACKEND", "inprocess")];
    assert_eq!(used(&threads), "none: ranks are threads of one process");
}

/// A unit was refused, and no value at all.
#[test]
fn a_check_limit_with_a_unit_or_without_a_value_is_no_trouble() {
    for value in ["30s", "0.5", ""] {
        let report = said(without_mpi().env("RANKS_CHECK_LIMIT", value));
        assert!(
            !report.text.contains("RANKS_CHECK_LIMIT is"),
            "{}",
            report.text
        );
    }
}

#[test]
fn variables_that_nothing_reads_are_told_with_the_one_that_is_meant() {
    let variables = [("RANKS_TIMEOUTS", "3s"), ("RANKS_PER_NODE", "8")];
    said(without_mpi().envs(variables)).tells(&[
        "RANKS_TIMEOUTS is set, which ranks does not read",
        "did you mean RANKS_TIMEOUT?",
        "RANKS_PER_NODE is set, which ranks does not read",
    ]);
}

/// Nothing was wrong, and no program started.
#[test]
fn settings_that_refuse_programs_are_trouble() {
    let wrong = [
        ("RANKS_NP", "abc", "it must be the number of in-process"),
        ("RANKS_TIMEOUT", "abc", "it must be how long"),
        ("RANKS_CHECK", "x", "it must be `collective`"),
        ("RANKS_CHECK_LIMIT", "x", "it must be how long ranks wait"),
        ("RANKS_DUMP", "/proc/x", "name a folder"),
        ("RANKS_TIMELINE", "/dev/null", "name a folder"),
        ("RANKS_STATS", "/proc/x", "name a file"),
        ("RANKS_DUMP_SIGNALS", "yes", "it must be `1`"),
    ];
    let told = |backend: &str| {
        let mut command = bare();
        command.arg("doctor").env("RANKS_BACKEND", backend);
        said(command.envs(wrong.map(|(name, value, _)| (name, value))))
    };
    let report = told("inprocess");
    for (name, value, remedy) in wrong {
        report.is_trouble(&[&format!("{name} is "), value], &[remedy]);
    }
    // Where ranks are processes, nobody reads it.
    let over_mpi = told("mpi").text;
    assert!(over_mpi.contains("TROUBLE  RANKS_TIMEOUT is"), "{over_mpi}");
    assert!(!over_mpi.contains("RANKS_NP"), "{over_mpi}");
}

/// Nothing was wrong there either.
#[test]
fn libraries_of_gpus_that_are_named_and_cannot_be_opened_are_trouble() {
    for (name, usual) in [
        ("RANKS_CUDA", "libcuda.so.1"),
        ("RANKS_NCCL", "libnccl.so.2"),
        ("RANKS_NVSHMEM", "libnvshmem_host.so.3"),
    ] {
        let report = said(without_mpi().env(name, "/nonexistent"));
        let what = format!("{name} is /nonexistent, which cannot be used: ");
        let remedy = format!("name the file of a {usual}, or unset it");
        report.is_trouble(&[&what], &[&remedy]);
    }
}

/// A job of Slurm of two hosts, as its batch script sees it.
const BATCH: [(&str, &str); 4] = [
    ("SLURM_JOB_ID", "18"),
    ("SLURM_JOB_NODELIST", "n[0-1]"),
    ("SLURM_PROCID", "0"),
    ("SLURM_NTASKS", "4"),
];

/// The line about it.
const ALONE: &str = "alone on one of the 2 hosts of Slurm job 18";

#[test]
fn a_batch_script_of_several_hosts_is_told_that_a_program_alone_is_on_one() {
    let report = said(without_mpi().envs(BATCH));
    let expected = format!("a program that no launcher starts has all its ranks here, {ALONE}");
    let start = "start one that is to use all of them with `srun --mpi=PLUGIN PROGRAM`";
    report.tells(&[&expected, start]);
    assert_eq!(report.status, Some(0), "{}", report.text);
}

/// Makes of this test a program that tells what it is.
const TELLS: &str = "RANKS_CLI_TEST_FACTS";

#[test]
fn a_program_alone_in_a_batch_script_tells_so() {
    if std::env::var_os(TELLS).is_some() {
        println!("{}", ranks::Runtime::builder().init().unwrap().facts());
        return;
    }
    let told = |variables: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "doctor::a_program_alone_in_a_batch_script_tells_so";
        command.args(["--exact", name, "--nocapture"]).env_clear();
        said(command.envs(variables.iter().copied()).env(TELLS, "1"))
    };
    let batch = told(&BATCH);
    batch.tells(&[ALONE, "rank 0 of 1 on in process"]);
    let pod = [
        ("RANK", "1"),
        ("WORLD_SIZE", "4"),
        ("MASTER_ADDR", "job-master-0"),
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
    ];
    let refused = told(&pod);
    assert_ne!(refused.status, Some(0), "{}", refused.text);
    refused.complains(&["this is one of 4 processes"]);
}
