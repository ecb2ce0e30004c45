//! The report of a program at its end: for people, and in one line for machines.

use std::error::Error;
use std::fmt::Display;
use std::time::Instant;

use ranks::prelude::*;

/// The result of a whole program.
pub type Outcome<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A result, and the verdict on it.
#[derive(Debug, Clone)]
pub struct Report {
    /// The problem.
    title: String,
    /// The problem for machines, as `key=value`.
    problem: String,
    results: Vec<(String, String)>,
    verified: bool,
    seconds: f64,
}

impl Report {
    /// A report without results yet. `problem` is the title for machines, as `key=value`;
    /// `verified` is the same on every rank.
    #[must_use]
    pub fn new(title: String, problem: String, verified: bool, seconds: f64) -> Report {
        Report {
            title,
            problem,
            results: Vec::new(),
            verified,
            seconds,
        }
    }

    /// With one more result.
    #[must_use]
    pub fn with(mut self, name: impl Display, value: impl Display) -> Report {
        self.results.push((name.to_string(), value.to_string()));
        self
    }

    /// Returns `true` if the results are right.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verified
    }

    /// The result of that name.
    #[must_use]
    pub fn result(&self, name: &str) -> Option<&str> {
        let found = self.results.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Shows the report of the program `name` on rank 0.
    ///
    /// # Errors
    /// On every rank, if the results are not verified.
    #[expect(clippy::print_stdout, reason = "a program that reports to its user")]
    pub fn conclude(self, name: &str, world: &Communicator) -> Outcome<()> {
        let (ranks, library) = (world.size(), world.library());
        if world.rank() == 0 {
            println!("{}", self.title);
            println!("  {:<11} {library}, {ranks} ranks", "carried by");
            for (name, value) in &self.results {
                println!("  {name:<11} {value}");
            }
            println!("  {}", sentence(self.verified));
            println!(
                "result {name} {} ranks={ranks} verified={} seconds={:.6} library={library}",
                self.problem,
                if self.verified { "yes" } else { "no" },
                self.seconds
            );
        }
        if self.verified {
            Ok(())
        } else {
            Err(format!("{name}: {}", sentence(false)).into())
        }
    }
}

fn sentence(verified: bool) -> &'static str {
    if verified {
        "verified: the results are what they must be"
    } else {
        "NOT VERIFIED: the results are not what they must be"
    }
}

/// The result of `work`, and its seconds from when all ranks are there.
///
/// # Errors
/// Those of `work` and of the barrier.
pub fn timed<T>(world: &Communicator, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    world.barrier()?;
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64()))
}
