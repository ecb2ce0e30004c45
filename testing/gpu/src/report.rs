//! What came of each case.

use std::fmt;
use std::time::Instant;

/// What a case has seen, or why it did not see it.
pub(crate) type Outcome = Result<Seen, Box<dyn std::error::Error + Send + Sync>>;

/// What a case comes to unless it fails.
#[derive(Debug)]
pub(crate) enum Seen {
    /// All was as it should be; with what is worth telling.
    Well(String),
    /// The library here has none of it, as its release or the machine says.
    NotHere(String),
}

/// All was as it should be.
pub(crate) fn well() -> Outcome {
    Ok(Seen::Well(String::new()))
}

/// An error with this text unless `holds`.
pub(crate) fn ensure(
    holds: bool,
    otherwise: impl FnOnce() -> String,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if holds {
        Ok(())
    } else {
        Err(otherwise().into())
    }
}

/// The cases so far, counted.
#[derive(Debug, Default)]
pub(crate) struct Report {
    well: usize,
    failed: usize,
    not_here: usize,
}

impl Report {
    /// Runs a case and says what came of it.
    pub(crate) fn run(&mut self, name: &str, case: impl FnOnce() -> Outcome) {
        let began = Instant::now();
        let outcome = case();
        self.tell(name, began, outcome);
    }

    /// Says what came of a case that began then.
    pub(crate) fn tell(&mut self, name: &str, began: Instant, outcome: Outcome) {
        let milliseconds = began.elapsed().as_millis();
        match outcome {
            Ok(Seen::Well(detail)) => {
                self.well += 1;
                let line = format!("ok        {name} ({milliseconds} ms) {detail}");
                println!("{}", line.trim_end());
            }
            Ok(Seen::NotHere(why)) => {
                self.not_here += 1;
                println!("not here  {name}: {why}");
            }
            Err(error) => {
                self.failed += 1;
                println!("FAILED    {name} ({milliseconds} ms): {error}");
            }
        }
    }

    pub(crate) fn all_well(&self) -> bool {
        self.failed == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            well,
            failed,
            not_here,
        } = self;
        write!(f, "{well} ok, {failed} failed, {not_here} not here")
    }
}
