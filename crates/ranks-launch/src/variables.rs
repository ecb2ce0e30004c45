//! The environment variables that ranks reads.

use std::env;

/// Those that users set: `docs/guide/environment.md` has the meaning of each.
pub const VARIABLES: [&str; 17] = [
    "RANKS_BACKEND",
    "RANKS_CHECK",
    "RANKS_CHECK_LIMIT",
    "RANKS_CUDA",
    "RANKS_DUMP",
    "RANKS_DUMP_SIGNALS",
    "RANKS_GPU_AWARE",
    "RANKS_MPI",
    "RANKS_NCCL",
    "RANKS_NP",
    "RANKS_NVSHMEM",
    "RANKS_STATS",
    "RANKS_STORE_SECRET",
    "RANKS_TEST_MPI",
    "RANKS_TEST_TIMEOUT",
    "RANKS_TIMELINE",
    "RANKS_TIMEOUT",
];

/// The beginnings of those that jobs and tests of ranks set themselves.
const OWN: [&str; 4] = ["RANKS_JOB", "RANKS_LAUNCH_", "RANKS_MPI_DIR", "RANKS_TEST_"];

/// A variable that begins with `RANKS_`, and that nobody reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVariable {
    /// The name.
    pub name: String,
    /// The known name that it is like, if it is a letter or two away from one.
    pub meant: Option<&'static str>,
}

impl UnknownVariable {
    /// All that are set, by their names.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let mut all: Vec<Self> = names.filter_map(Self::of).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    fn of(name: String) -> Option<Self> {
        let rest = name.strip_prefix("RANKS_")?;
        if VARIABLES.contains(&&*name) || OWN.iter().any(|own| name.starts_with(own)) {
            return None;
        }
        // Of short ones that a program has for itself, some are two letters away.
        let most = if rest.len() <= 4 { 1 } else { 2 };
        let near = VARIABLES.map(|known| (distance(&name, known), known));
        let near = near.into_iter().filter(|(distance, _)| *distance <= most);
        let meant = near.min().map(|(_, known)| known);
        Some(Self { name, meant })
    }
}

/// The number of letters to insert, leave out or replace to make one of the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_like_a_known_one_is_meant_for_it() {
        let meant = |name: &str| UnknownVariable::of(name.to_owned()).map(|one| one.meant);
        assert_eq!(meant("RANKS_TIMEOUTS"), Some(Some("RANKS_TIMEOUT")));
        assert_eq!(meant("RANKS_TIMEOTU"), Some(Some("RANKS_TIMEOUT")));
        assert_eq!(meant("RANKS_CHECKS"), Some(Some("RANKS_CHECK")));
        assert_eq!(meant("RANKS_N"), Some(Some("RANKS_NP")));
        for other in ["RANKS_PER_NODE", "RANKS_PE", "RANKS_"] {
            assert_eq!(meant(other), Some(None), "{other}");
        }
        for known in VARIABLES
            .into_iter()
            .chain(["RANKS_TEST_NP", "RANKS_JOB", "PATH"])
        {
            assert_eq!(meant(known), None, "{known}");
        }
    }
}
