//! The tests of one binary on one MPI and one number of ranks: one job after another until each has
//! a verdict.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use super::folder::Folder;
use super::job::Job;
use super::records::{END_OF_JOB, Records};
use super::{Binary, Case, DriverError, KnownFault, Report, Verdict};

/// The time limit from the start of a job, or from the end of a test, to the beginning of the next.
const START_LIMIT: Duration = Duration::from_secs(120);

/// The time limit from the end of the last test to the end of the job.
const END_LIMIT: Duration = Duration::from_secs(60);

/// The time limit from a rank's failure to the end of the job that it ends itself.
const FAILED_LIMIT: Duration = Duration::from_secs(10);

/// The interval at which the records are read.
const TICK: Duration = Duration::from_millis(10);

/// Tests of one binary that run on one MPI and one number of ranks.
pub struct Suite<'a> {
    /// The binary that holds the tests.
    pub binary: &'a Binary,
    /// The tests, all for this number of ranks.
    pub cases: &'a [Case],
    /// The number of ranks of a job.
    pub ranks: usize,
    /// The faults of this MPI; their tests are reported and not run.
    pub faults: &'a [&'a KnownFault],
    /// A command that starts a job of so many ranks of the MPI; the program and its arguments are
    /// added to it.
    pub launch: &'a dyn Fn(usize) -> Command,
    /// The folder in which ranks record what they do; all hosts of a job must see it. The system's
    /// folder for temporary files if none is named.
    pub folder: Option<&'a Path>,
}

impl std::fmt::Debug for Suite<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Suite")
            .field("binary", &self.binary.name)
            .field("cases", &self.cases.len())
            .field("ranks", &self.ranks)
            .finish_non_exhaustive()
    }
}

/// The results of a suite.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// The reports: one for each test, in the order in which they ended, and more under names in
    /// brackets for failures outside of tests.
    pub reports: Vec<Report>,
    /// The library's own description of itself, if any rank came as far as to ask for it.
    pub library: Option<String>,
}

/// The reason why the watch over a job ended.
enum End {
    /// The launcher ended by itself.
    Itself(ExitStatus),
    /// The driver ended it, for this reason.
    Forced(String),
}

impl Suite<'_> {
    /// Runs all of the tests; `progress` hears of each as it ends.
    ///
    /// # Errors
    /// If no job can be started, or the records cannot be read; a job that ends badly is a report.
    pub fn run(&self, progress: &mut dyn FnMut(&Report)) -> Result<Ran, DriverError> {
        let mut ran = Ran::default();
        let mut levels: Vec<(&str, Vec<Case>)> = Vec::new();
        for case in self.cases {
            let fault = self
                .faults
                .iter()
                .find(|fault| fault.is_about(&self.binary.name, case));
            if let Some(fault) = fault {
                let verdict = Verdict::Known((*fault).clone());
                let report = Report::new(case.name(), verdict, Duration::ZERO);
                progress(&report);
                ran.reports.push(report);
                continue;
            }
            match levels
                .iter_mut()
                .find(|(level, _)| *level == case.threads())
            {
                Some((_, cases)) => cases.push(case.clone()),
                None => levels.push((case.threads(), vec![case.clone()])),
            }
        }
        for (_, mut pending) in levels {
            pending.sort();
            while !pending.is_empty() {
                let ended = self.job(&pending, progress)?;
                pending.retain(|case| {
                    ended
                        .reports
                        .iter()
                        .all(|report| report.test != case.name())
                });
                ran.reports.extend(ended.reports);
                ran.library = ended.library.or(ran.library);
            }
        }
        Ok(ran)
    }

    /// One job with these tests; it ends with the first that fails, and decides on one of them at
    /// least.
    fn job(&self, cases: &[Case], progress: &mut dyn FnMut(&Report)) -> Result<Ran, DriverError> {
        let parent = self
            .folder
            .map_or_else(std::env::temp_dir, Path::to_path_buf);
        let folder = Folder::below(&parent).map_err(|why| DriverError::Records {
            folder: parent,
            why,
        })?;
        let mut command = (self.launch)(self.ranks);
        command
            .args(self.binary.words())
            .envs(
                self.binary
                    .environment
                    .iter()
                    .map(|(key, value)| (key, value)),
            )
            .args([
                "--exact",
                "--nocapture",
                "--test-threads=1",
                "--include-ignored",
            ])
            .args(cases.iter().map(Case::name));
        if let Some(folder) = &self.binary.folder {
            command.current_dir(folder);
        }
        let mut records = Records::new(folder.path());
        let mut job = Job::start(command, self.ranks, folder.path())?;
        let mut reports = Vec::new();
        let mut last_end = Instant::now();
        let watched = self.watch(cases, &mut job, &mut records, &mut reports, &mut last_end);
        job.end();
        let end = watched?;
        // Records written between the last read and the end of the job count.
        follow(&mut records)?;
        self.passed(cases, &records, &mut reports, &mut last_end);
        self.conclude(cases, &end, &job, &records, &mut reports);
        reports.iter().for_each(progress);
        Ok(Ran {
            reports,
            library: records.library().map(str::to_owned),
        })
    }

    /// Follows the job to its end, and reports the tests that all ranks passed.
    fn watch(
        &self,
        cases: &[Case],
        job: &mut Job,
        records: &mut Records,
        reports: &mut Vec<Report>,
        last_end: &mut Instant,
    ) -> Result<End, DriverError> {
        loop {
            let ended = job.ended();
            follow(records)?;
            self.passed(cases, records, reports, last_end);
            if let Some(status) = ended {
                return Ok(End::Itself(status));
            }
            if let Some(reason) = self.overdue(cases.get(reports.len()), records, *last_end) {
                return Ok(End::Forced(reason));
            }
            std::thread::sleep(TICK);
        }
    }

    /// Reports the tests that all ranks have passed.
    fn passed(
        &self,
        cases: &[Case],
        records: &Records,
        reports: &mut Vec<Report>,
        last_end: &mut Instant,
    ) {
        while let Some(case) = cases.get(reports.len()) {
            if records.passed(case.name()) < self.ranks {
                break;
            }
            let began = records.began(case.name());
            let began = began.map_or(*last_end, |(since, _)| since);
            reports.push(Report::new(case.name(), Verdict::Passed, began.elapsed()));
            *last_end = Instant::now();
        }
    }

    /// The reason why the job must be ended now, if there is one; `case` is the test that is
    /// running.
    fn overdue(&self, case: Option<&Case>, records: &Records, last_end: Instant) -> Option<String> {
        if let Some(failed) = records.failed() {
            return (failed.elapsed() > FAILED_LIMIT)
                .then(|| "the job did not end after a rank had failed".to_owned());
        }
        let Some(case) = case else {
            let state = if records.finalized(self.ranks) {
                "all ranks have finalized"
            } else {
                "not all ranks have finalized"
            };
            return (last_end.elapsed() > END_LIMIT).then(|| {
                let limit = END_LIMIT.as_secs();
                format!("the job did not end within {limit} s after its last test: {state}")
            });
        };
        match records.began(case.name()) {
            Some((since, limit)) => (since.elapsed() > Duration::from_secs(limit)).then(|| {
                let silent = records.silent(case.name(), self.ranks);
                format!("no end after {limit} s: {silent}")
            }),
            None => (last_end.elapsed() > START_LIMIT).then(|| {
                let limit = START_LIMIT.as_secs();
                let silent = records.silent(case.name(), self.ranks);
                format!("no rank began it within {limit} s: {silent}")
            }),
        }
    }

    /// Decides on the first test that not all ranks passed, or on the end of the job if there is
    /// none.
    fn conclude(
        &self,
        cases: &[Case],
        end: &End,
        job: &Job,
        records: &Records,
        reports: &mut Vec<Report>,
    ) {
        let open = &cases[reports.len()..];
        let (test, why) = match (open.first(), end) {
            (None, End::Itself(status)) if status.success() && records.finalized(self.ranks) => {
                return;
            }
            (None, End::Itself(status)) if status.success() => (
                END_OF_JOB,
                "all tests passed, but not every rank came to the end of MPI: a test that keeps or forgets its communicator keeps MPI from it".to_owned(),
            ),
            (None, End::Itself(status)) => (
                END_OF_JOB,
                format!("all tests passed, and the launcher ended with {status}"),
            ),
            (None, End::Forced(reason)) => (END_OF_JOB, reason.clone()),
            (Some(case), _) => {
                let test = case.name();
                let why = match (records.first_failure(test), end) {
                    (Some(failure), _) => failure,
                    (None, End::Forced(reason)) => reason.clone(),
                    (None, End::Itself(status)) => {
                        let silent = records.silent(test, self.ranks);
                        format!("the job ended with {status}: {silent}")
                    }
                };
                (test, why)
            }
        };
        let details = format!("{}{}", records.describe(test), job.output());
        let time = records
            .began(test)
            .map_or(Duration::ZERO, |(since, _)| since.elapsed());
        let in_none = open
            .first()
            .is_some_and(|case| records.began(case.name()).is_none() && records.failed().is_none());
        let first = reports.is_empty();
        reports.push(Report::new(
            test,
            Verdict::Failed {
                why: why.clone(),
                details,
            },
            time,
        ));
        // A job that does not come to its first test, or that ends well without the rest, will do
        // so again.
        let well = matches!(end, End::Itself(status) if status.success());
        if in_none && (first || well) {
            for case in open.iter().skip(1) {
                let why = format!("was to run and did not: {why}");
                let verdict = Verdict::Failed {
                    why,
                    details: String::new(),
                };
                reports.push(Report::new(case.name(), verdict, Duration::ZERO));
            }
        }
    }
}

fn follow(records: &mut Records) -> Result<(), DriverError> {
    let followed = records.follow().map(drop);
    followed.map_err(|why| DriverError::Records {
        folder: records.folder().to_path_buf(),
        why,
    })
}
