//! The tests inside of their job, on its first node: ranks that say where they are, by each who may
//! start them; by the first who can, the tests on ranks over the nodes, and programs to measure.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use ranks_harness::place::{self, Place};
use ranks_harness::table::aligned;
use ranks_harness::tally::{Cell, Failure, Row, Tally};
use ranks_harness::{faults, suites};
use ranks_launch::{Family, Installation, Job};

use super::super::slurm::By;
use super::super::suites::{Part, Run};
use super::super::verdict::{End, Expected, Mark, faults as faults_of};
use super::matrix::said;
use super::plan::Plan;
use crate::Outcome;

/// What tests are told by variables: the launcher of Open MPI passes on what is named to it.
const OF_TESTS: [&str; 3] = ["RANKS_TEST_REPORT", "RANKS_TEST_NP", "CARGO_MANIFEST_DIR"];

/// How long `ranks doctor` may look around, in seconds.
const LOOK: &str = "120";

/// Does all that the folder of the job says, on its hosts.
pub(crate) fn main(folder: &Path, hosts: &[String]) -> Outcome {
    let mut plan = Plan::read(folder)?;
    if hosts.len() != plan.nodes {
        let (asked, given) = (plan.nodes, hosts.join(" "));
        let why = format!(
            "{asked} nodes were asked for, and given were: {given}; PBS may want --directive '-l place=scatter'"
        );
        return Err(why.into());
    }
    let binaries: Vec<_> = plan.binaries.drain(..).map(Into::into).collect();
    let (choice, layouts) = (plan.choice(), plan.layouts());
    let run = Run {
        arguments: &choice,
        layouts: &layouts,
        tests: &suites::tests(&binaries)?,
        faults: &faults::known()?,
    };
    let started = plan.by.iter().map(|by| format!("by {by}"));
    let mut tally = Tally {
        columns: started
            .chain(layouts.iter().map(|layout| layout.text()))
            .collect(),
        ..Tally::default()
    };
    let inside = Inside {
        plan: &plan,
        folder,
        hosts,
    };
    inside.note("versions", &said(&["uname", "-a"]))?;
    inside.note("versions", &said(&["ldd", "--version"]))?;
    if plan.by.contains(&By::Srun) {
        inside.note("versions", &said(&["srun", "--mpi=list"]))?;
    }
    let mut measured = Vec::new();
    for place in &place::places(&plan.mpi)? {
        let row = inside.on(place, &run, &mut measured, &mut tally);
        tally.rows.push(row);
        // Time may be up before all is done.
        fs::write(folder.join("table"), inside.table(&tally, &measured))?;
    }
    let well = tally.total.failed == 0 && tally.total.passed > 0;
    Ok(if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What is the same for all MPIs.
struct Inside<'a> {
    plan: &'a Plan,
    folder: &'a Path,
    hosts: &'a [String],
}

impl Inside<'_> {
    /// All on one MPI: the line of the table, and what was measured.
    fn on(
        &self,
        place: &Place,
        run: &Run<'_>,
        measured: &mut Vec<Vec<String>>,
        tally: &mut Tally,
    ) -> Row {
        let mut row = Row::of(place);
        let failure = |test: &str, why: String, details: String| Failure {
            place: place.name.clone(),
            test: test.to_owned(),
            why,
            details,
        };
        let installation = match &place.installation {
            Ok(installation) => installation,
            Err(why) => {
                tally.fail(failure("(all)", why.clone(), String::new()));
                row.cells = Err(why.clone());
                return row;
            }
        };
        if let Err(why) = self.look(installation) {
            tally.fail(failure("(doctor)", why, String::new()));
        }
        let may_hang_at_end = run
            .faults
            .iter()
            .any(|fault| fault.test == faults::END && fault.is_of(place.library()));
        let mut works = None;
        let mut started = Vec::new();
        for &by in &self.plan.by {
            let mut cell = Cell::default();
            match self.places(installation, by, may_hang_at_end) {
                Ok(()) => {
                    cell.passed = 1;
                    works = works.or(Some(by));
                }
                Err((why, details)) => {
                    cell.failed = 1;
                    let test = format!("(ranks started by {by})");
                    tally.failures.push(failure(&test, why, details));
                }
            }
            tally.total += cell;
            started.push(cell);
        }
        let Some(by) = works else {
            let name = &place.name;
            let line = format!("{name}: tests on ranks, as nobody can start them");
            tally.left_out.push(line);
            row.cells = Ok(started);
            return row;
        };
        let of_tests = run.on(place, |part, tally| Ok(self.tests(part, by, tally)), tally);
        row.library = of_tests.library;
        row.cells = of_tests.cells.map(|cells| [started, cells].concat());
        let mut line = vec![place.name.clone(), by.to_string()];
        for words in &self.plan.bench {
            line.push(
                self.measure(installation, by, words)
                    .unwrap_or_else(|(why, details)| {
                        tally.fail(failure(&name_of(words), why, details));
                        "FAILED".to_owned()
                    }),
            );
        }
        measured.push(line);
        row
    }

    /// What the command `ranks doctor` says on the first node, and what the launcher calls itself.
    fn look(&self, installation: &Installation) -> Result<(), String> {
        let library = installation.library.display().to_string();
        let (choice, ranks) = (format!("RANKS_MPI={library}"), self.plan.ranks.display());
        let doctor = [
            "timeout",
            LOOK,
            "env",
            &choice,
            &ranks.to_string(),
            "doctor",
        ];
        self.note(&format!("{}.doctor", installation.name), &said(&doctor))?;
        let launcher = installation.launcher.display().to_string();
        self.note("versions", &said(&[&launcher, "--version"]))
    }

    /// A job over all nodes whose ranks say where they are.
    fn places(
        &self,
        installation: &Installation,
        by: By,
        may_hang_at_end: bool,
    ) -> Result<(), (String, String)> {
        let ended = self.job(installation, by, &self.plan.job)?;
        let expected = Expected {
            hosts: self.plan.nodes,
            ranks_per_host: self.plan.ppn,
            bytes: 0,
            most: None,
            may_hang_at_end,
        };
        let faults = faults_of(
            expected,
            ended.end,
            &Mark::all(&ended.output),
            &BTreeMap::new(),
        );
        if faults.is_empty() {
            return Ok(());
        }
        Err((faults.join("; "), ended.last_lines))
    }

    /// The tests on ranks of one layout.
    fn tests(&self, part: &Part<'_>, by: By, tally: &mut Tally) -> (Cell, Option<String>) {
        let installation = part.installation;
        let hosts = &self.hosts[..part.layout.hosts];
        let launch = |ranks: usize| match by {
            By::Srun => installation.srun(ranks, hosts),
            By::Flux => installation.flux_run(ranks, hosts),
            By::Mpiexec => {
                let mut command = installation.command_on(ranks, hosts);
                if installation.family == Family::OpenMpi {
                    command.args(OF_TESTS.iter().flat_map(|name| ["-x", name]));
                }
                command
            }
        };
        part.tests(&launch, self.folder, tally)
    }

    /// How long a program took, as it says itself or else from its start to its end.
    fn measure(
        &self,
        installation: &Installation,
        by: By,
        words: &[String],
    ) -> Result<String, (String, String)> {
        let ended = self.job(installation, by, words)?;
        if ended.end != End::Itself(0) {
            return Err((ended.told(), ended.last_lines));
        }
        let result = ended
            .output
            .lines()
            .find(|line| line.starts_with("result "));
        let seconds = result.and_then(|line| {
            let mut words = line.split_whitespace();
            words
                .find_map(|word| word.strip_prefix("seconds="))?
                .parse()
                .ok()
        });
        Ok(format!("{:.6}", seconds.unwrap_or(ended.seconds)))
    }

    /// A job over all nodes; what its ranks write is kept.
    fn job(
        &self,
        installation: &Installation,
        by: By,
        words: &[String],
    ) -> Result<Ended, (String, String)> {
        let failed = |why: String| (why, String::new());
        let (program, rest) = words
            .split_first()
            .ok_or_else(|| failed("no program is named".to_owned()))?;
        let outcome = Job::new(program)
            .args(rest)
            .on(installation.clone())
            .started_by(by.starter())
            .ranks(self.plan.nodes * self.plan.ppn)
            .hosts(self.hosts.to_vec())
            .timeout(self.plan.deadline)
            .run()
            .map_err(|error| failed(error.to_string()))?;
        let (mut output, mut all) = (String::new(), format!("{}\n", words.join(" ")));
        for of_rank in &outcome.output {
            output.push_str(&of_rank.stdout);
            for (stream, text) in [("", &of_rank.stdout), (" (stderr)", &of_rank.stderr)] {
                for line in text.lines() {
                    all.push_str(&format!("rank {}{stream}: {line}\n", of_rank.rank));
                }
            }
        }
        all.push_str(&outcome.launcher.stdout);
        all.push_str(&outcome.launcher.stderr);
        let code = outcome.status.and_then(|status| status.code());
        let ended = Ended {
            end: match outcome.timed_out {
                true => End::Late,
                false => End::Itself(code.unwrap_or(-1)),
            },
            output,
            seconds: outcome.elapsed.as_secs_f64(),
            last_lines: outcome.to_string(),
        };
        all.push_str(&format!("{}\n\n", ended.told()));
        self.note(&format!("{}.{by}", installation.name), &all)
            .map_err(failed)?;
        Ok(ended)
    }

    /// Appends to a file of the folder.
    fn note(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        let opened = fs::File::options().append(true).create(true).open(&path);
        opened
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// All that is known by now.
    fn table(&self, tally: &Tally, measured: &[Vec<String>]) -> String {
        let Plan { nodes, ppn, .. } = self.plan;
        let mut lines = vec![vec!["MPI".to_owned(), "by".to_owned()]];
        lines[0].extend(self.plan.bench.iter().map(|words| name_of(words)));
        lines.extend(measured.iter().cloned());
        format!(
            "{}\nseconds on {nodes} nodes x {ppn} ranks:\n{}\n{}\n",
            tally.table(),
            aligned(&lines),
            tally.last_line()
        )
    }
}

/// A job that has ended.
struct Ended {
    end: End,
    /// What all ranks have written on standard output.
    output: String,
    seconds: f64,
    last_lines: String,
}

impl Ended {
    fn told(&self) -> String {
        let how = match self.end {
            End::Itself(code) => format!("the launcher returned {code}"),
            End::Late | End::Lost => "the deadline ended it".to_owned(),
        };
        format!("{how} after {:.2} s", self.seconds)
    }
}

/// A program and its arguments, as a table has it.
fn name_of(words: &[String]) -> String {
    let mut words = words.iter();
    let program = words.next().map(Path::new).and_then(Path::file_name);
    let program = program.unwrap_or_default().to_string_lossy().into_owned();
    let words: Vec<String> = std::iter::once(program).chain(words.cloned()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_without_its_folder() {
        let words = ["/w/target/nas_cg".to_owned(), "W".to_owned()];
        assert_eq!(name_of(&words), "nas_cg W");
    }
}
