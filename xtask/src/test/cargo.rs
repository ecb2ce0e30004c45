//! `cargo test`: run and counted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};

use ranks_harness::suites::cargo_test;
use ranks_harness::tally::{Cell, Failure};
use ranks_test::driver::Case;

use super::{huge, libraries};

/// The outcome of `cargo test`.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) all: Cell,
    /// Those of `all` that are tests on ranks in process, by the number of ranks.
    pub(super) in_process: Vec<(usize, Cell)>,
    pub(super) failures: Vec<Failure>,
    /// Tests that were ignored because they take much memory, and how many gigabytes each.
    pub(super) huge: BTreeMap<String, u64>,
    /// Tests that were ignored because they need a library for GPUs.
    pub(super) libraries: libraries::Needing,
}

/// The reasons of ignored tests that run all the same, elsewhere: on the MPIs, or started by
/// another test.
const RUN_ELSEWHERE: [&str; 2] = ["needs an MPI", "run by "];

/// The package whose examples of documentation are the programs of README and guide.
const GUIDE: &str = "ranks-guide";

/// Runs `cargo test` on the packages, or on the whole workspace, lets the user see it, and counts;
/// its commands are prepared first, and `words` are for libtest.
pub(super) fn test(
    packages: &[String],
    words: &[&str],
    quick: bool,
    prepare: impl Fn(&mut Command),
) -> Result<Counted, String> {
    let mut counter = Counter::default();
    let mut failed = None;
    for mut command in commands(packages, quick) {
        prepare(&mut command);
        let status = follow(command, words, &mut counter)?;
        if !status.success() {
            failed.get_or_insert(status.to_string());
        }
    }
    Ok(counter.end(failed.is_none(), &failed.unwrap_or_default()))
}

/// Has cargo leave out examples of the documentation, and the packages whose tests are whole jobs,
/// or are for emulated hosts or GPUs.
pub(super) fn be_quick(cargo: &mut Command, packages: &[String]) {
    cargo.arg("--tests");
    if packages.is_empty() {
        cargo.args(
            ["ranks-jobs", "ranks-cluster", "ranks-gpu"].map(|name| format!("--exclude={name}")),
        );
    }
}

/// The commands that test these packages; if it is to be `quick`, without the examples of the
/// documentation, each of which is a program of its own.
///
/// The programs of the guide communicate: they run on one rank, as all examples do, and once more
/// on two.
fn commands(packages: &[String], quick: bool) -> Vec<Command> {
    let mut all = cargo_test(packages);
    if quick {
        be_quick(&mut all, packages);
        return vec![all];
    }
    if !packages.is_empty() && !packages.iter().any(|package| package == GUIDE) {
        return vec![all];
    }
    let mut guide = cargo_test(&[GUIDE.to_owned()]);
    guide.arg("--doc").env("RANKS_NP", "2");
    vec![all, guide]
}

/// Runs one `cargo test` to its end, and counts what it prints.
fn follow(
    mut command: Command,
    words: &[&str],
    counter: &mut Counter,
) -> Result<ExitStatus, String> {
    command
        .args(["--no-fail-fast", "--"])
        .args(words)
        .env_remove("RANKS_TEST_MPI")
        .stdout(Stdio::piped());
    let failed = |error: std::io::Error| format!("cargo test: {error}");
    let mut child = command.spawn().map_err(failed)?;
    if let Some(output) = child.stdout.take() {
        let mut user = std::io::stdout();
        each_line(output, |line| {
            counter.line(line);
            writeln!(user, "{line}")
        })
        .map_err(failed)?;
    }
    child.wait().map_err(failed)
}

/// The lines of what a process prints, whatever bytes they hold.
fn each_line(
    from: impl Read,
    mut with: impl FnMut(&str) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        with(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']))?;
        line.clear();
    }
    Ok(())
}

/// Reads what libtest prints.
#[derive(Default)]
struct Counter {
    counted: Counted,
    /// Binaries that have said how many tests they run, and not yet how that went.
    running: usize,
    /// The output of the binary that runs now.
    text: String,
    failed: BTreeSet<String>,
    /// The outputs of those that failed.
    details: BTreeMap<String, String>,
    elsewhere: usize,
    /// Tests that passed, and said that they could not test anything here.
    left_out: usize,
}

impl Counter {
    fn line(&mut self, line: &str) {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.running += 1;
            self.text.clear();
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.running = self.running.saturating_sub(1);
            let all = &mut self.counted.all;
            all.passed += number_before(rest, " passed");
            all.failed += number_before(rest, " failed");
            all.skipped += number_before(rest, " ignored");
            for test in &self.failed {
                let of_test = || output_of(&self.text, test);
                self.details.entry(test.clone()).or_insert_with(of_test);
            }
        } else if line.starts_with("NOT TESTED: ") {
            self.left_out += 1;
        } else if let Some(rest) = line.strip_prefix("test ")
            && let Some((name, verdict)) = rest.rsplit_once(" ... ")
        {
            self.verdict(name, verdict);
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn verdict(&mut self, name: &str, verdict: &str) {
        // "name - should panic ... ok"
        let name = name.trim_end_matches(" - should panic");
        let mut cell = Cell::default();
        if verdict == "ok" {
            cell.passed = 1;
        } else if verdict == "FAILED" {
            cell.failed = 1;
            self.failed.insert(name.to_owned());
        } else if let Some(reason) = verdict.strip_prefix("ignored, ") {
            if RUN_ELSEWHERE
                .iter()
                .any(|beginning| reason.starts_with(beginning))
            {
                self.elsewhere += 1;
                return;
            }
            if let Some(gigabytes) = huge::gigabytes(reason) {
                self.elsewhere += 1;
                self.counted.huge.insert(name.to_owned(), gigabytes);
                return;
            }
            if let Some(reason) = libraries::reason(reason) {
                self.elsewhere += 1;
                let names = self.counted.libraries.entry(reason).or_default();
                names.insert(name.to_owned());
                return;
            }
            cell.skipped = 1;
        }
        if let Some(case) = Case::parse(name).filter(Case::runs_in_process) {
            let rows = &mut self.counted.in_process;
            match rows.iter_mut().find(|(ranks, _)| *ranks == case.ranks()) {
                Some((_, sum)) => *sum += cell,
                None => rows.push((case.ranks(), cell)),
            }
        }
    }

    fn end(mut self, success: bool, status: &str) -> Counted {
        let counted = &mut self.counted;
        counted.all.skipped = counted.all.skipped.saturating_sub(self.elsewhere) + self.left_out;
        counted.all.passed = counted.all.passed.saturating_sub(self.left_out);
        let mut fail = |test: String, why: &str, details| {
            counted.failures.push(Failure {
                place: "cargo test".to_owned(),
                test,
                why: why.to_owned(),
                details,
            });
        };
        for test in self.failed {
            let details = self.details.remove(&test).unwrap_or_default();
            fail(test, "it printed:", details);
        }
        if self.running > 0 {
            fail(
                "(a test binary)".to_owned(),
                "it ended before its tests did: see the output above",
                String::new(),
            );
            counted.all.failed += self.running;
        } else if !success && counted.all.failed == 0 {
            fail(
                "(cargo)".to_owned(),
                &format!("cargo test ended with {status}"),
                String::new(),
            );
            counted.all.failed += 1;
        }
        self.counted
    }
}

/// The output of libtest about a test that failed.
pub(super) fn output_of(text: &str, test: &str) -> String {
    let begin = format!("---- {test} stdout ----");
    let lines = text.lines().skip_while(|line| *line != begin);
    let own = lines
        .enumerate()
        .take_while(|(at, line)| *at == 0 || !line.starts_with("---- ") && *line != "failures:");
    own.map(|(_, line)| format!("{line}\n")).collect()
}

/// The number before a word in "ok. 12 passed; 0 failed; …".
fn number_before(text: &str, word: &str) -> usize {
    text.find(word)
        .and_then(|end| text[..end].rsplit([' ', '.']).next()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str, success: bool) -> Counted {
        let mut counter = Counter::default();
        text.lines().for_each(|line| counter.line(line));
        counter.end(success, "exit status: 101")
    }

    const OUTPUT: &str = "
running 6 tests
test plain ... ok
test panics - should panic ... ok
test slow ... ignored
test ring::np1 ... ok
test ring::np4 ... FAILED
test names::np2_mpi ... ignored, needs an MPI

failures:

---- ring::np4 stdout ----
rank 3 waits

failures:
    ring::np4

test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn the_programs_of_the_guide_run_on_two_ranks_too() {
        let on_two = |packages: &[&str], quick| {
            let packages: Vec<String> = packages.iter().map(|&name| name.to_owned()).collect();
            let sets = |command: &Command| {
                let mut envs = command.get_envs();
                envs.any(|(name, value)| name == "RANKS_NP" && value == Some("2".as_ref()))
            };
            let commands = commands(&packages, quick);
            (
                commands.len(),
                commands.iter().filter(|command| sets(command)).count(),
            )
        };
        assert_eq!(on_two(&[], false), (2, 1));
        assert_eq!(on_two(&["ranks-guide"], false), (2, 1));
        assert_eq!(on_two(&["ranks-comm"], false), (1, 0));
        assert_eq!(on_two(&[], true), (1, 0));
    }

    #[test]
    fn the_counts_are_those_of_libtest_and_what_runs_elsewhere_is_not_skipped() {
        let counted = counted(OUTPUT, false);
        assert_eq!(
            counted.all,
            Cell {
                passed: 3,
                failed: 1,
                known: 0,
                skipped: 1
            }
        );
        assert_eq!(counted.in_process.len(), 2);
        assert_eq!(
            counted.in_process[0],
            (
                1,
                Cell {
                    passed: 1,
                    ..Cell::default()
                }
            )
        );
        assert_eq!(
            counted.in_process[1],
            (
                4,
                Cell {
                    failed: 1,
                    ..Cell::default()
                }
            )
        );
        assert_eq!(counted.failures.len(), 1);
        let Failure { test, details, .. } = &counted.failures[0];
        assert_eq!(test, "ring::np4");
        assert!(details.contains("\nrank 3 waits\n"), "{details}");
    }

    #[test]
    fn what_could_not_be_tested_here_is_skipped() {
        let output = "running 2 tests\ntest a ... ok\n\nNOT TESTED: b, as there is no Slurm here\ntest b ... ok\n\n\
                      test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let counted = counted(output, true);
        let one = Cell {
            passed: 1,
            skipped: 1,
            ..Cell::default()
        };
        assert_eq!(counted.all, one);
    }

    #[test]
    fn what_needs_a_library_is_not_skipped_but_noted() {
        let output = "
running 3 tests
test version ... ignored, needs an NCCL library
test other ... ignored, needs an NVSHMEM library
test plain ... ok

test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
        let counted = counted(output, true);
        assert_eq!(counted.all.skipped, 0);
        let noted: Vec<_> = counted.libraries.values().flatten().collect();
        assert_eq!(noted, ["version", "other"]);
    }

    #[test]
    fn what_takes_much_memory_is_not_skipped_but_noted() {
        let text = "running 1 test\ntest huge::a::np2 ... ignored, needs 9 GB of memory\n\n\
                    test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n";
        let counted = counted(text, true);
        assert_eq!(counted.all, Cell::default());
        assert_eq!(counted.huge.get("huge::a::np2"), Some(&9));
    }

    #[test]
    fn the_output_of_one_test_is_taken_out() {
        let text = "test a ... FAILED\n\nfailures:\n\n---- a stdout ----\nwhy\n---- b stdout ----\nother\n\nfailures:\n    a\n";
        assert_eq!(output_of(text, "a"), "---- a stdout ----\nwhy\n");
        assert_eq!(output_of(text, "b"), "---- b stdout ----\nother\n\n");
        assert_eq!(output_of(text, "c"), "");
    }

    #[test]
    fn a_binary_that_dies_is_a_failure() {
        let crashed = counted("running 2 tests\ntest plain ... ok\n", false);
        assert_eq!(crashed.all.failed, 1);
        let unbuilt = counted("", false);
        assert_eq!(unbuilt.all.failed, 1);
        assert_eq!(unbuilt.failures.len(), 1);
        assert_eq!(counted("", true).all, Cell::default());
    }
}
