//! `ranks doctor --run`: this program as a job.

use std::error::Error;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ranks_launch::{Count, Installation, Job, Outcome, Starter};
use serde::Serialize;

use crate::choice;
use crate::doctor::self_test::{DONE, MARK};
use crate::run::system;

use super::finding::Finding;

/// The time limit of the ranks.
const LIMIT: Duration = Duration::from_secs(60);

/// The results of the ranks.
#[derive(Debug, Serialize)]
pub(super) struct TestRun {
    pub(super) ranks: usize,
    /// The MPI, or `in process`.
    pub(super) on: String,
    /// Facts from the ranks about the library, about the launcher, and about where they are.
    pub(super) facts: Vec<(String, String)>,
    pub(super) cases: Vec<Case>,
    pub(super) milliseconds: u128,
    /// The reason why not all of it was done.
    pub(super) failure: Option<String>,
}

/// One thing that the ranks did together.
#[derive(Debug, Serialize)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) passed: bool,
    pub(super) microseconds: f64,
}

impl TestRun {
    pub(super) fn make(ranks: usize) -> TestRun {
        let failed = |on: &str, why: String| TestRun {
            ranks,
            on: on.to_owned(),
            facts: Vec::new(),
            cases: Vec::new(),
            milliseconds: 0,
            failure: Some(why),
        };
        let installation = match choice::choose(None, None) {
            Ok(choice) => choice.installation(),
            Err(why) => return failed("no MPI", why),
        };
        let on = installation
            .as_ref()
            .map_or("in process".to_owned(), |mpi| mpi.name.clone());
        match Self::outcome(ranks, installation) {
            Ok(outcome) => Self::of(ranks, on, &outcome),
            Err(error) => failed(&on, error.to_string()),
        }
    }

    /// The end of the job. A signal ends it with all of its processes, and then this process.
    fn outcome(
        ranks: usize,
        installation: Option<Installation>,
    ) -> Result<Outcome, Box<dyn Error>> {
        let starter = Starter::detect();
        let hosts = installation.as_ref().map(|mpi| starter.hosts(mpi.family));
        let job = Job::new(std::env::current_exe()?)
            .args(["self-test"])
            .started_by(starter)
            .hosts(hosts.unwrap_or_default())
            .on(installation)
            .ranks(ranks)
            .timeout(LIMIT);
        let signalled = system::watch_signals()?;
        let signal = || signalled.load(Ordering::Relaxed);
        let outcome = job.start()?.wait_unless(|| signal() != 0);
        if signal() != 0 {
            system::end_by(signal())?;
        }
        Ok(outcome)
    }

    fn of(ranks: usize, on: String, outcome: &Outcome) -> TestRun {
        let lines = || {
            let outputs = outcome.output.iter();
            outputs
                .flat_map(|output| output.stdout.lines())
                .filter_map(|line| line.trim().strip_prefix(MARK))
        };
        let done = lines().filter(|line| line.trim() == DONE).count();
        let failure = (!outcome.success() || done != ranks).then(|| {
            format!(
                "{done} of {} came to the end; {outcome}",
                Count(ranks, "rank")
            )
        });
        TestRun {
            ranks,
            on,
            facts: lines().filter_map(fact).collect(),
            cases: lines().filter_map(Case::read).collect(),
            milliseconds: outcome.elapsed.as_millis(),
            failure,
        }
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut list = Vec::new();
        let (ranks, on) = (Count(self.ranks, "rank"), &self.on);
        if let Some(failure) = &self.failure {
            list.push(Finding::trouble(
                format!("{ranks} on {on} did not end well: {failure}"),
                "see what is said above and by the ranks; another MPI: RANKS_MPI=NAME; without one: RANKS_BACKEND=inprocess",
            ));
        }
        for case in self.cases.iter().filter(|case| !case.passed) {
            list.push(Finding::trouble(
                format!("{}: the ranks on {on} got a wrong result", case.name),
                "use another release of this MPI, or another one: RANKS_MPI=NAME",
            ));
        }
        list
    }
}

/// Reads `fact tags: 0 to 7`.
fn fact(line: &str) -> Option<(String, String)> {
    let (name, fact) = line.trim().strip_prefix("fact ")?.split_once(": ")?;
    Some((name.to_owned(), fact.to_owned()))
}

impl Case {
    /// Reads `pass 12.3 ping`.
    fn read(line: &str) -> Option<Case> {
        let mut words = line.trim().splitn(3, ' ');
        let (verdict, took, name) = (words.next()?, words.next()?, words.next()?);
        Some(Case {
            name: name.to_owned(),
            passed: verdict == "pass",
            microseconds: took.parse().ok()?,
        })
    }
}
