//! The limits, read from `gates.toml`.

use serde::Deserialize;

/// The limits of calls, and where they are known to cost more.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gates {
    gate: Vec<Gate>,
    pub(super) single: Vec<Single>,
    #[serde(default)]
    exception: Vec<Exception>,
    pub(super) heap: Vec<HeapGate>,
    /// The functions that have no row, which a test compares with those that the crates call.
    #[serde(default)]
    #[cfg_attr(not(test), allow(dead_code, reason = "a test reads it"))]
    pub(super) without: Vec<Without>,
}

/// Functions of MPI that communicate, of which no row is counted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code, reason = "a test reads it"))]
pub(super) struct Without {
    pub(super) functions: Vec<String>,
    pub(super) reason: String,
}

/// The limit of an operation of the symmetric heap above C.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeapGate {
    pub(super) call: String,
    pub(super) added: f64,
}

impl HeapGate {
    /// Returns `true` if it costs no more.
    pub(super) fn holds(&self, c: f64, ours: f64) -> bool {
        ours - c <= tolerated(self.added)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gate {
    call: String,
    standard: Option<f64>,
    shims: Option<f64>,
    total: Option<f64>,
    /// Set if libraries may have no such call: it is not counted then.
    #[serde(default)]
    optional: bool,
}

/// The allowance of calls at `MPI_THREAD_SINGLE`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Single {
    pub(super) calls: Vec<String>,
    pub(super) more: f64,
    pub(super) reason: String,
}

/// The level at which the thread is looked at.
pub(super) const SINGLE: &str = "single";

/// A gate that is missed knowingly.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exception {
    calls: Vec<String>,
    on: Vec<String>,
    limit: f64,
    pub(super) reason: String,
}

/// A limit in instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// Above what C needs.
    Added(f64),
    /// Altogether.
    Total(f64),
}

/// The verdict on a count.
#[derive(Debug)]
pub(super) enum Verdict<'a> {
    /// Within it.
    Passed,
    /// Above it, and within what an exception allows.
    Excepted(&'a Exception),
    /// Above both.
    Missed,
}

/// The most that passes a limit. The same sources are compiled a little differently in each folder,
/// by whose name crates are told apart; and counts are means over many calls, in which a library
/// may do something now and then.
fn tolerated(limit: f64) -> f64 {
    limit + 3.0 + limit / 50.0
}

impl Gates {
    /// The gates of this workspace.
    ///
    /// # Errors
    /// A sentence if `gates.toml` cannot be read as such.
    pub(super) fn read() -> Result<Self, String> {
        toml::from_str(include_str!("gates.toml")).map_err(|error| format!("gates.toml: {error}"))
    }

    /// The calls with a gate, in the order of the file.
    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        self.gate.iter().map(|gate| gate.call.as_str())
    }

    /// Returns `true` if a library may have no such call.
    pub(super) fn is_optional(&self, call: &str) -> bool {
        self.gate
            .iter()
            .any(|gate| gate.call == call && gate.optional)
    }

    /// The limit of `call` at `level` on a library of the standard ABI or one behind shims.
    pub(super) fn limit(&self, call: &str, level: &str, standard: bool) -> Option<Limit> {
        let gate = self.gate.iter().find(|gate| gate.call == call)?;
        let added = if standard { gate.standard } else { gate.shims };
        let added = added.map(|added| Limit::Added(added + self.more(level, call)));
        gate.total.map(Limit::Total).or(added)
    }

    /// The allowance of `call` at `level`.
    fn more(&self, level: &str, call: &str) -> f64 {
        let named =
            |single: &&Single| level == SINGLE && single.calls.iter().any(|name| name == call);
        let named = self.single.iter().filter(named);
        named.map(|single| single.more).sum()
    }

    /// The verdict on a call that needs `c` instructions in C and `ours` here.
    pub(super) fn judge(
        &self,
        call: &str,
        mpi: &str,
        level: &str,
        limit: Limit,
        c: f64,
        ours: f64,
    ) -> Verdict<'_> {
        let (cost, limit) = match limit {
            Limit::Added(limit) => (ours - c, limit),
            Limit::Total(limit) => (ours, limit),
        };
        if cost <= tolerated(limit) {
            return Verdict::Passed;
        }
        let exception = self.exception.iter().find(|exception| {
            exception.calls.iter().any(|name| name == call)
                && exception
                    .on
                    .iter()
                    .any(|start| mpi.starts_with(start.as_str()))
        });
        match exception {
            Some(exception) if cost <= tolerated(exception.limit + self.more(level, call)) => {
                Verdict::Excepted(exception)
            }
            _ => Verdict::Missed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATES: &str = "[[gate]]\ncall = 'barrier'\nstandard = 8\nshims = 15\n\
                         [[gate]]\ncall = 'rank'\ntotal = 5\n\
                         [[single]]\ncalls = ['barrier']\nmore = 6\nreason = 'it looks'\n\
                         [[exception]]\ncalls = ['barrier']\non = ['slow-']\nlimit = 100\nreason = 'it must'\n\
                         [[heap]]\ncall = 'put_on_stream'\nadded = 40\n";

    #[test]
    fn a_count_within_its_limit_passes_and_one_above_it_does_not() {
        let gates: Gates = toml::from_str(GATES).unwrap();
        let standard = gates.limit("barrier", "multiple", true).unwrap();
        assert_eq!(standard, Limit::Added(8.0));
        assert!(matches!(
            gates.judge("barrier", "m", "multiple", standard, 60.0, 71.0),
            Verdict::Passed
        ));
        assert!(matches!(
            gates.judge("barrier", "m", "multiple", standard, 60.0, 72.0),
            Verdict::Missed
        ));
        let shims = gates.limit("barrier", "multiple", false).unwrap();
        assert!(matches!(
            gates.judge("barrier", "m", "multiple", shims, 60.0, 78.0),
            Verdict::Passed
        ));
    }

    #[test]
    fn a_total_does_not_count_what_c_needs() {
        let gates: Gates = toml::from_str(GATES).unwrap();
        let limit = gates.limit("rank", "multiple", false).unwrap();
        assert!(matches!(
            gates.judge("rank", "m", "multiple", limit, 60.0, 8.0),
            Verdict::Passed
        ));
        assert!(matches!(
            gates.judge("rank", "m", "multiple", limit, 60.0, 9.0),
            Verdict::Missed
        ));
    }

    #[test]
    fn an_exception_has_a_limit_of_its_own() {
        let gates: Gates = toml::from_str(GATES).unwrap();
        let limit = gates.limit("barrier", "multiple", true).unwrap();
        assert!(matches!(
            gates.judge("barrier", "slow-1", "multiple", limit, 0.0, 99.0),
            Verdict::Excepted(_)
        ));
        assert!(matches!(
            gates.judge("barrier", "slow-1", "multiple", limit, 0.0, 106.0),
            Verdict::Missed
        ));
        assert!(matches!(
            gates.judge("barrier", "fast-1", "multiple", limit, 0.0, 99.0),
            Verdict::Missed
        ));
    }

    #[test]
    fn single_allows_more_to_the_calls_that_are_named() {
        let gates: Gates = toml::from_str(GATES).unwrap();
        assert_eq!(
            gates.limit("barrier", SINGLE, true),
            Some(Limit::Added(14.0))
        );
        assert_eq!(gates.limit("rank", SINGLE, true), Some(Limit::Total(5.0)));
        let limit = gates.limit("barrier", SINGLE, true).unwrap();
        assert!(matches!(
            gates.judge("barrier", "slow-1", SINGLE, limit, 0.0, 106.0),
            Verdict::Excepted(_)
        ));
        assert!(matches!(
            gates.judge("barrier", "slow-1", SINGLE, limit, 0.0, 112.0),
            Verdict::Missed
        ));
    }

    #[test]
    fn the_file_is_read_and_every_gate_has_a_limit_for_both() {
        let gates = Gates::read().unwrap();
        for call in gates.calls() {
            assert!(
                gates.limit(call, SINGLE, true).is_some()
                    && gates.limit(call, "multiple", false).is_some(),
                "{call}"
            );
        }
        assert!(
            gates
                .exception
                .iter()
                .all(|exception| !exception.reason.is_empty())
        );
    }
}
