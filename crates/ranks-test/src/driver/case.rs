//! One test on one number of ranks, as a test binary lists it.

use std::fmt;

/// A test of a binary that `#[ranks]` made: its libtest name ends in the number of ranks and what
/// must be known before it runs.
///
/// `p2p::ring_passes::np4`, `init::funneled_is_enough::np2_funneled`, `names::processor::np3_mpi`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    name: String,
    base: usize,
    ranks: usize,
    threads: &'static str,
    place: CasePlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CasePlace {
    Everywhere,
    Mpi,
    InProcess,
}

impl Case {
    /// Reads a name of libtest; nothing if the test is not one on ranks, or is not to run because
    /// it is ignored.
    #[must_use]
    pub fn parse(name: &str) -> Option<Case> {
        Self::asked_for(name).filter(|_| !name.ends_with("_mpi_ignored"))
    }

    /// Reads a name of libtest, of one that is ignored and was asked for too.
    pub(crate) fn asked_for(name: &str) -> Option<Case> {
        let (base, last) = name.rsplit_once("::")?;
        let mut words = last.split('_');
        let ranks = words.next()?.strip_prefix("np")?;
        if ranks.starts_with('0') || !ranks.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let ranks = ranks.parse().ok()?;
        let mut rest: Vec<&str> = words.collect();
        let threads = match rest.first() {
            Some(&"single") => "single",
            Some(&"funneled") => "funneled",
            Some(&"serialized") => "serialized",
            _ => "multiple",
        };
        if threads != "multiple" {
            rest.remove(0);
        }
        let place = match rest.as_slice() {
            [] => CasePlace::Everywhere,
            ["mpi"] | ["mpi", "ignored"] => CasePlace::Mpi,
            ["in", "process"] => CasePlace::InProcess,
            _ => return None,
        };
        Some(Case {
            name: name.to_owned(),
            base: base.len(),
            ranks,
            threads,
            place,
        })
    }

    /// The name that libtest has for it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path of the function, without the number of ranks.
    #[must_use]
    pub fn function(&self) -> &str {
        &self.name[..self.base]
    }

    /// The number of ranks that it runs on.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The thread level that it asks for; a process has one, so tests of different levels cannot
    /// share a job.
    #[must_use]
    pub fn threads(&self) -> &'static str {
        self.threads
    }

    /// Returns `true` if it has a meaning on an MPI.
    #[must_use]
    pub fn runs_on_mpi(&self) -> bool {
        self.place != CasePlace::InProcess
    }

    /// Returns `true` if it has a meaning in process.
    #[must_use]
    pub fn runs_in_process(&self) -> bool {
        self.place != CasePlace::Mpi
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_ranks_threads_and_place() {
        let case = Case::parse("p2p::ring::np12").unwrap();
        assert_eq!(
            (case.function(), case.ranks(), case.threads()),
            ("p2p::ring", 12, "multiple")
        );
        assert!(case.runs_on_mpi() && case.runs_in_process());

        let case = Case::parse("ring::np2_funneled_mpi").unwrap();
        assert_eq!(
            (case.function(), case.ranks(), case.threads()),
            ("ring", 2, "funneled")
        );
        assert!(case.runs_on_mpi() && !case.runs_in_process());

        let case = Case::parse("ring::np1_in_process").unwrap();
        assert!(!case.runs_on_mpi() && case.runs_in_process());
    }

    /// It could never run.
    #[test]
    fn an_ignored_test_is_one_on_ranks_if_it_is_asked_for() {
        let name = "ring::case_1::np2_single_mpi_ignored";
        assert_eq!(Case::parse(name), None);
        let case = Case::asked_for(name).unwrap();
        assert_eq!((case.name(), case.ranks()), (name, 2));
        assert!(case.runs_on_mpi() && !case.runs_in_process());
    }

    #[test]
    fn other_tests_are_not_taken_for_tests_on_ranks() {
        for name in [
            "np2",
            "ring::np",
            "ring::np0",
            "ring::np+2",
            "ring::np2_mpi_ignored",
            "ring::np2_of_three",
            "ring::input",
            "ring::np99999999999999999999999",
        ] {
            assert_eq!(Case::parse(name), None, "{name}");
        }
    }
}
