//! The driver against tests that fail on purpose: its reports, and that nothing is left behind.
//!
//! The tests in `fixture` are ignored; the driver, which names them, runs them as ranks of jobs of
//! this very binary.

#![allow(
    clippy::print_stdout,
    reason = "the driver is to show what ranks print"
)]

use std::process::Command;
use std::time::{Duration, Instant};

use ranks_test::driver::{Binary, Case, KnownFault, Ran, Suite, Verdict};

mod fixture {
    use ranks_comm::Communicator;

    /// The last rank, which is the one that misbehaves.
    fn is_last(world: &Communicator) -> bool {
        world.rank() + 1 == world.size()
    }

    /// Waits for a message that nobody sends, for as long as the job lives.
    fn wait_for_ever(world: &Communicator) {
        println!("rank {} waits", world.rank());
        while world.iprobe(0, 99).is_ok_and(|found| found.is_none()) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        std::thread::sleep(std::time::Duration::from_secs(600));
    }

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn a_passes(world: Communicator) {
        println!("what a passing test prints");
        assert!(world.rank() < world.size());
    }

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn b_panics_on_the_last_rank(world: Communicator) {
        assert!(!is_last(&world), "the last rank gives up");
        if world.size() > 2 {
            wait_for_ever(&world);
        }
    }

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn c_returns_an_error_on_all_ranks(world: Communicator) -> Result<(), String> {
        Err(format!("nothing works on {} ranks", world.size()))
    }

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn d_passes_after_failures(_world: Communicator) {}

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn e_crashes_on_the_last_rank(world: Communicator) {
        println!("about to crash");
        if is_last(&world) {
            std::process::abort();
        }
        wait_for_ever(&world);
    }

    #[ranks_test::ranks(1, 2, 3, timeout = 3)]
    #[ignore = "run by the tests of the driver"]
    fn f_hangs_on_the_last_rank(world: Communicator) {
        if is_last(&world) {
            println!("hung here");
            wait_for_ever(&world);
        }
    }

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn g_ends_the_process(_world: Communicator) {
        println!("leaving early");
        std::process::exit(0);
    }

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn h_is_a_known_fault(_world: Communicator) {
        panic!("is not to be run");
    }

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn i_passes_at_the_end(_world: Communicator) {}

    #[ranks_test::ranks(1, 2, 3)]
    #[ignore = "run by the tests of the driver"]
    fn j_forgets_its_communicator(world: Communicator) {
        std::mem::forget(world);
    }
}

fn this_binary() -> Binary {
    Binary {
        name: "driver".to_owned(),
        path: std::env::current_exe().expect("a test knows its binary"),
        folder: None,
        environment: Vec::new(),
        runner: Vec::new(),
    }
}

const FIXTURES: [&str; 9] = [
    "a_passes",
    "b_panics_on_the_last_rank",
    "c_returns_an_error_on_all_ranks",
    "d_passes_after_failures",
    "e_crashes_on_the_last_rank",
    "f_hangs_on_the_last_rank",
    "g_ends_the_process",
    "h_is_a_known_fault",
    "i_passes_at_the_end",
];

/// Runs all of the fixtures on so many ranks.
fn run_fixtures(ranks: usize, launch: &dyn Fn(usize) -> Command) -> Ran {
    let cases: Vec<Case> = FIXTURES
        .iter()
        .map(|name| {
            Case::parse(&format!("fixture::{name}::np{ranks}")).expect("the name is a case")
        })
        .collect();
    let fault = KnownFault {
        test: "fixture::h_is_a_known_fault".to_owned(),
        reason: "it is for this test".to_owned(),
        ..KnownFault::default()
    };
    let mut heard = Vec::new();
    let ran = Suite {
        binary: &this_binary(),
        cases: &cases,
        ranks,
        faults: &[&fault],
        launch,
        folder: None,
    }
    .run(&mut |report| heard.push(report.clone()))
    .expect("the driver runs");
    assert_eq!(heard, ran.reports);
    ran
}

/// Each fixture has the verdict that it should, and the reason names the rank.
fn check(ran: &Ran, ranks: usize) {
    let last = ranks - 1;
    let verdict = |name: &str| {
        let name = format!("fixture::{name}::np{ranks}");
        let mut reports = ran.reports.iter().filter(|report| report.test == name);
        let report = reports
            .next()
            .unwrap_or_else(|| panic!("no report of {name}: {ran:#?}"));
        assert_eq!(reports.next(), None, "two reports of {name}");
        report.verdict.clone()
    };
    let failed = |name: &str| match verdict(name) {
        Verdict::Failed { why, details } => (why, details),
        other => panic!("{name} should have failed: {other:?}"),
    };
    for name in ["a_passes", "d_passes_after_failures", "i_passes_at_the_end"] {
        assert_eq!(verdict(name), Verdict::Passed, "{name}");
    }

    let (why, details) = failed("b_panics_on_the_last_rank");
    assert!(
        why.starts_with(&format!("rank {last} panicked at ")),
        "{why}"
    );
    assert!(
        why.contains("driver.rs:") && why.contains("the last rank gives up"),
        "{why}"
    );
    assert!(details.contains("    | "), "{details}");
    assert!(!details.contains("what a passing test prints"), "{details}");

    let (why, _) = failed("c_returns_an_error_on_all_ranks");
    assert!(
        why.contains(&format!("nothing works on {ranks} ranks")),
        "{why}"
    );

    let (why, details) = failed("e_crashes_on_the_last_rank");
    assert!(
        why.starts_with("the job ended with ") && why.contains(&format!("rank {last} had not")),
        "{why}"
    );
    assert!(details.contains("    | about to crash"), "{details}");

    let (why, details) = failed("f_hangs_on_the_last_rank");
    assert!(why.starts_with("no end after 3 s: "), "{why}");
    assert!(
        why.contains(&format!("rank {last} had not ended it")),
        "{why}"
    );
    assert!(details.contains("    | hung here"), "{details}");
    if ranks > 1 {
        assert!(
            details.contains("rank 0") && details.contains("passed"),
            "{details}"
        );
    }

    let (why, details) = failed("g_ends_the_process");
    assert!(why.starts_with("the job ended with "), "{why}");
    assert!(details.contains("    | leaving early"), "{details}");

    assert!(matches!(verdict("h_is_a_known_fault"), Verdict::Known(_)));
    assert_eq!(ran.reports.len(), FIXTURES.len(), "{ran:#?}");
}

/// A rank whose communicator is forgotten has not ended MPI, however its process ends.
fn check_forgotten(ranks: usize, launch: &dyn Fn(usize) -> Command) {
    let name = format!("fixture::j_forgets_its_communicator::np{ranks}");
    let ran = Suite {
        binary: &this_binary(),
        cases: &[Case::parse(&name).expect("the name is a case")],
        ranks,
        faults: &[],
        launch,
        folder: None,
    };
    let ran = ran.run(&mut |_| ()).expect("the driver runs");
    let [test, end] = ran.reports.as_slice() else {
        panic!("the test, and the end of the job: {ran:#?}");
    };
    assert_eq!(test.verdict, Verdict::Passed);
    let Verdict::Failed { why, details } = &end.verdict else {
        panic!("{ran:#?}");
    };
    assert!(why.starts_with("all tests passed"), "{why}");
    assert!(details.contains("and not MPI"), "{details}");
    assert!(!details.contains("had ended MPI"), "{details}");
}

/// A job of one rank needs no MPI: the driver runs the binary itself, with the ranks in process.
fn alone(_ranks: usize) -> Command {
    let mut command = Command::new("env");
    command.arg("RANKS_BACKEND=inprocess");
    command
}

#[test]
fn each_failure_costs_its_own_test_only() {
    let ran = run_fixtures(1, &alone);
    check(&ran, 1);
    assert_eq!(ran.library.as_deref(), Some("in process"));
}

#[test]
fn a_communicator_that_is_forgotten_is_told_of() {
    check_forgotten(1, &alone);
}

#[test]
#[ignore = "needs an MPI"]
fn each_failure_costs_its_own_test_only_on_an_mpi() {
    let names = std::env::var("RANKS_TEST_MPI").expect("RANKS_TEST_MPI names MPIs");
    let folder = std::env::current_dir().expect("there is a folder");
    let provisioned = folder
        .ancestors()
        .map(|folder| folder.join("target/mpi"))
        .find(|folder| folder.is_dir());
    let known = ranks_launch::Installation::all(provisioned.as_deref());
    for name in names.split(',') {
        let installation = known
            .iter()
            .find(|mpi| mpi.name == name)
            .unwrap_or_else(|| panic!("no {name}"));
        // Most of the time they wait for limits, so they do that together.
        std::thread::scope(|scope| {
            for ranks in [1, 2, 3] {
                let fixtures = move || run_fixtures(ranks, &|ranks| installation.command(ranks));
                scope.spawn(move || {
                    check(&fixtures(), ranks);
                    check_forgotten(ranks, &|ranks| installation.command(ranks));
                });
            }
        });
    }
}

/// It could never run.
#[ranks_test::ranks(2, mpi_only)]
#[ignore = "needs an MPI, and to be asked for"]
#[case(7)]
fn an_ignored_test_runs_where_it_is_asked_for(world: ranks_comm::Communicator, size: usize) {
    assert_eq!(world.size() + 5, size);
}

#[test]
fn the_ignored_and_the_ordinary_are_not_listed() {
    let cases = this_binary().cases().expect("this is a test binary");
    assert_eq!(cases, []);
}

#[test]
fn a_test_that_is_not_there_has_failed() {
    let cases = [
        Case::parse("fixture::a_passes::np1").expect("a case"),
        Case::parse("fixture::is_not_there::np1").expect("a case"),
        Case::parse("fixture::neither_is_this::np1").expect("a case"),
    ];
    let began = Instant::now();
    let ran = Suite {
        binary: &this_binary(),
        cases: &cases,
        ranks: 1,
        faults: &[],
        launch: &alone,
        folder: None,
    }
    .run(&mut |_| ())
    .expect("the driver runs");
    let verdicts: Vec<bool> = ran
        .reports
        .iter()
        .map(|report| report.verdict == Verdict::Passed)
        .collect();
    assert_eq!(verdicts, [true, false, false], "{ran:#?}");
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_binary_is_run_by_its_runner() {
    let cases = [Case::parse("fixture::a_passes::np1").expect("a case")];
    let verdict = |runner: &str| {
        let binary = Binary {
            runner: vec![runner.into()],
            ..this_binary()
        };
        let suite = Suite {
            binary: &binary,
            cases: &cases,
            ranks: 1,
            faults: &[],
            launch: &alone,
            folder: None,
        };
        let ran = suite.run(&mut |_| ()).expect("the driver runs");
        (binary.cases().is_ok(), ran.reports[0].verdict.clone())
    };
    assert_eq!(verdict("env"), (true, Verdict::Passed));
    let (listed, ran) = verdict("false");
    assert!(!listed && matches!(ran, Verdict::Failed { .. }), "{ran:?}");
}

/// Each rank panicked, since no clock goes as far.
#[test]
fn a_test_may_take_as_long_as_there_are_seconds() {
    let limit = ("RANKS_TEST_TIMEOUT".to_owned(), u64::MAX.to_string());
    let ran = Suite {
        binary: &Binary {
            environment: vec![limit],
            ..this_binary()
        },
        cases: &[Case::parse("fixture::a_passes::np1").expect("a case")],
        ranks: 1,
        faults: &[],
        launch: &alone,
        folder: None,
    }
    .run(&mut |_| ())
    .expect("the driver runs");
    assert_eq!(ran.reports[0].verdict, Verdict::Passed, "{ran:#?}");
}

#[test]
fn a_launcher_that_ends_badly_is_a_failure_of_the_job() {
    let cases = [Case::parse("fixture::a_passes::np1").expect("a case")];
    let bad_end = |_: usize| {
        let mut command = Command::new("sh");
        command.args(["-c", "RANKS_BACKEND=inprocess \"$@\"; exit 3", "sh"]);
        command
    };
    let ran = Suite {
        binary: &this_binary(),
        cases: &cases,
        ranks: 1,
        faults: &[],
        launch: &bad_end,
        folder: None,
    }
    .run(&mut |_| ())
    .expect("the driver runs");
    assert_eq!(ran.reports.len(), 2, "{ran:#?}");
    assert_eq!(ran.reports[0].verdict, Verdict::Passed);
    assert_eq!(ran.reports[1].test, "(end of the job)");
    let Verdict::Failed { why, .. } = &ran.reports[1].verdict else {
        panic!("{ran:#?}");
    };
    assert!(
        why.ends_with("the launcher ended with exit status: 3"),
        "{why}"
    );
}

#[test]
fn a_launcher_that_starts_nothing_fails_all_tests_at_once() {
    let cases = ["a_passes", "d_passes_after_failures"]
        .map(|name| Case::parse(&format!("fixture::{name}::np1")).expect("a case"));
    let broken = |_: usize| {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'no such network' >&2; exit 7"]);
        command
    };
    let ran = Suite {
        binary: &this_binary(),
        cases: &cases,
        ranks: 1,
        faults: &[],
        launch: &broken,
        folder: None,
    }
    .run(&mut |_| ())
    .expect("the driver runs");
    assert_eq!(ran.reports.len(), 2);
    for report in &ran.reports {
        assert!(
            matches!(report.verdict, Verdict::Failed { .. }),
            "{report:?}"
        );
    }
    let Verdict::Failed { why, details } = &ran.reports[0].verdict else {
        panic!("{ran:#?}");
    };
    assert!(why.contains("exit status: 7"), "{why}");
    assert!(details.contains("    | no such network"), "{details}");
}

/// The output of libtest when it runs one fixture in process.
fn in_process(name: &str) -> String {
    let output = Command::new(this_binary().path)
        .args(["--ignored", "--exact", name])
        .output()
        .expect("this binary runs");
    assert!(!output.status.success(), "{name} should fail");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_failure_in_process_says_what_became_of_each_rank() {
    let text = in_process("fixture::b_panics_on_the_last_rank::np2");
    assert!(
        text.contains("np2 failed in process: a rank failed\n"),
        "{text}"
    );
    assert!(text.contains("  rank 0 passed\n"), "{text}");
    assert!(text.contains("  rank 1 panicked at "), "{text}");

    let text = in_process("fixture::c_returns_an_error_on_all_ranks::np3");
    let told = text
        .matches("returned an error: nothing works on 3 ranks")
        .count();
    assert_eq!(told, 3, "{text}");
}

/// It was a pass for who looks at the status, and the tests that followed did not run.
#[test]
fn a_test_that_ends_the_process_in_process_has_failed() {
    for name in ["np1", "np3"].map(|ranks| format!("fixture::g_ends_the_process::{ranks}")) {
        let mut alone = Command::new(this_binary().path);
        let output = alone.args(["--ignored", "--exact", &name]).output();
        let output = output.expect("this binary runs");
        assert_eq!(output.status.code(), Some(101), "{name}");
        let errors = String::from_utf8_lossy(&output.stderr);
        let told = format!("{name} failed in process: it has ended the process, by exit or abort");
        assert!(errors.contains(&told), "{errors}");
    }
}

#[test]
fn a_hang_in_process_ends_with_its_time() {
    let began = Instant::now();
    let text = in_process("fixture::f_hangs_on_the_last_rank::np3");
    assert!(
        text.contains("failed in process: no end after 3 s\n"),
        "{text}"
    );
    assert!(
        text.contains("  rank 0 passed\n  rank 1 passed\n  rank 2 has not ended\n"),
        "{text}"
    );
    assert!(began.elapsed() < Duration::from_secs(60));
}
