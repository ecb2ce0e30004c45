//! The words behind `ranks run`: its options, the program, and what that gets.

use crate::on_mpi::{named, own_folder, with};
use crate::run::{in_process, with_launchers};
use crate::{Scratch, bare, said};

/// Of those that were said to do, 0 was refused as well.
#[test]
fn a_number_of_ranks_that_cannot_be_is_an_error() {
    for number in ["0", "99999999999"] {
        let job = said(in_process().args(["-n", number, "echo"]));
        job.complains(&[&format!("{number} is not in 1..2147483648")]);
    }
}

/// All memory was asked for, for what each rank would write.
#[test]
fn a_report_of_too_many_ranks_is_refused() {
    for number in ["0", "65537", "2000000000"] {
        let report = said(bare().args(["doctor", "--run", "-n", number]));
        assert_eq!((report.status, report.text.as_str()), (Some(2), ""));
        report.complains(&[&format!("{number} is not in 1..=65536")]);
    }
}

/// A variable that is not set made them: another MPI was taken, or a launcher told of a host
/// without a name.
#[test]
fn an_option_without_a_value_is_an_error() {
    for options in [["--mpi", ""], ["--host", ""], ["--host", "a,,b"]] {
        let job = said(bare().arg("run").args(options).arg("echo"));
        assert_eq!(
            (job.status, job.text.as_str()),
            (Some(2), ""),
            "{options:?}"
        );
        let told = format!("a value is required for '{} <", options[0]);
        job.complains(&[&told]);
    }
    let job = said(in_process().arg(""));
    job.complains(&["the name of the program is empty"]);
}

/// It was started as a program.
#[test]
fn an_option_that_is_not_known_is_an_error() {
    for (option, named) in [
        ("-np", "'--ranks <RANKS>'"),
        ("--hosts", "'--hosts'"),
        ("--timelimit", "'--timelimit'"),
        ("-x", "'-x'"),
    ] {
        let job = said(in_process().args([option, "2", "echo"]));
        assert_eq!((job.status, job.text.as_str()), (Some(2), ""), "{option}");
        assert!(job.errors.contains(named), "{option}: {}", job.errors);
    }
    for number in ["-n3", "-n=3"] {
        let print = "echo $RANKS_NP \"$@\"";
        let job = said(in_process().args([number, "sh", "-c", print, "-n", "-x", "--", "a"]));
        assert_eq!(job.text, "3 -x -- a\n", "{}", job.errors);
    }
    let job = said(in_process().args(["--", "-x"]));
    assert_eq!(job.status, Some(127), "{}", job.errors);
}

/// The ranks said so, of the variable, when they had started.
#[test]
fn an_option_that_ranks_would_refuse_is_an_error_before_they_start() {
    let job = said(in_process().args(["--timeout", "3x", "echo"]));
    assert_eq!((job.status, job.text.as_str()), (Some(2), ""));
    job.complains(&["invalid value '3x' for '--timeout <TIME>': `x` is no unit"]);
    let scratch = Scratch::new("no-such-mpi");
    for (name, told) in [
        ("nope", "ranks: --mpi nope is no file, no family"),
        ("/no/such", "ranks: --mpi /no/such: there is no such file"),
    ] {
        let job = said(with_launchers(&scratch).args(["run", "--mpi", name, "echo"]));
        job.complains(&[told]);
        assert!(!job.errors.contains("RANKS_MPI="), "{}", job.errors);
    }
}

/// It was advised to give the time limit that was given.
#[test]
fn a_failed_job_is_advised_of_options_that_it_did_not_have() {
    let dump = "with --dump DIR its ranks write what they have called last";
    let timeout = "with --timeout 1m no wait is for ever";
    for (options, advice) in [
        (&[][..], format!("ranks: {dump}, {timeout}\n")),
        (&["--timeout", "1s"], format!("ranks: {dump}\n")),
        (&["--dump", "none"], format!("ranks: {timeout}\n")),
        (&["--timeout", "1s", "--dump", "none"], String::new()),
    ] {
        let scratch = Scratch::new("advice");
        let mut command = with_launchers(&scratch);
        scratch.script("openmpi-9/bin/mpiexec", "exit 3");
        command.args(["run", "--mpi", "openmpi-9"]).args(options);
        let job = said(command.arg("program"));
        assert_eq!((job.status, job.errors), (Some(3), advice), "{options:?}");
    }
}

/// The words behind it were started as another program.
#[test]
fn an_argument_that_launchers_do_not_hand_on_is_an_error() {
    let scratch = Scratch::new("separator");
    let mut command = with_launchers(&scratch);
    command.args(["run", "--mpi", "mpich-9", "--host", "a", "program", ":"]);
    let job = said(&mut command);
    assert_eq!((job.status, job.text.as_str()), (Some(1), ""));
    let told = "ranks: the program has an argument `:`, which launchers";
    job.complains(&[told]);
    let job = said(in_process().args(["printf", "%s.", "a", ":", "b"]));
    assert_eq!(job.text, "a.:.b.", "{}", job.errors);
}

/// Launchers took what followed a `:` for another program.
#[test]
#[ignore = "needs an MPI"]
fn a_program_gets_its_arguments() {
    for installation in named() {
        let name = &installation.name;
        let mut command = with(&installation, own_folder(&installation));
        command.args([
            "run",
            "-n",
            "2",
            "--mpi",
            name,
            "printf",
            "%s.%s.%s.%s.%s\n",
        ]);
        let job = said(command.args([":", "-n", "::", "--", ""]));
        let whole = format!("{name}: {}{}", job.text, job.errors);
        assert_eq!(job.status, Some(0), "{whole}");
        for rank in 0..2 {
            let line = format!("[{rank}] :.-n.::.--.\n");
            assert!(job.text.contains(&line), "{whole}");
        }
    }
}
