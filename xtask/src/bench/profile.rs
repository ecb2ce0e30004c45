//! Running a program under callgrind and reading how many instructions each of its profiles has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::succeeded;
use crate::package::empty;

/// The profile of an empty loop: what counting itself costs.
const EMPTY: &str = "empty";

/// Instructions per call, by the name of the call; the loop's own are subtracted.
pub(super) type Counts = BTreeMap<String, f64>;

/// The output of a program, and the costs of its calls.
pub(super) struct Counted {
    pub(super) library: String,
    pub(super) counts: Counts,
}

/// Whether there is a valgrind.
///
/// # Errors
/// The advice if there is none.
pub(super) fn valgrind() -> Result<(), String> {
    let found = succeeded(Command::new("valgrind").arg("--version"));
    found.map(drop).map_err(|_| {
        "instructions are counted with callgrind, and there is no valgrind here: \
         apt install valgrind on Debian and Ubuntu, dnf install valgrind valgrind-devel on Fedora"
            .into()
    })
}

/// Runs `program level calls` under callgrind. `folder` is emptied first and keeps the profiles for
/// `callgrind_annotate`.
///
/// # Errors
/// A text with what the program said if it failed or left no profiles.
pub(super) fn count(
    program: &Path,
    level: &str,
    calls: u32,
    environment: &[(String, String)],
    folder: &Path,
) -> Result<Counted, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    empty(folder).map_err(failed)?;
    let output = Command::new("valgrind")
        .args(["-q", "--tool=callgrind", "--instr-atstart=no"])
        .arg(format!(
            "--callgrind-out-file={}",
            folder.join("profile").display()
        ))
        .arg(program)
        .args([level, &calls.to_string()])
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{} ended with {}:\n{said}{complaint}",
            program.display(),
            output.status
        ));
    }
    let mut totals = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let text = fs::read_to_string(entry.map_err(failed)?.path()).map_err(failed)?;
        if let Some((name, count)) = total(&text) {
            note(&mut totals, name, count);
        }
    }
    let counts = per_call(&totals, calls).ok_or_else(|| {
        format!(
            "{} left no profile of an empty loop; on this processor it cannot",
            program.display()
        )
    })?;
    Ok(Counted {
        library: library(&said),
        counts,
    })
}

/// The first line that a program printed, with single blanks.
fn library(said: &str) -> String {
    let first = said.lines().next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name and the instructions of one profile; `None` for the one that callgrind writes at the
/// end.
fn total(profile: &str) -> Option<(String, u64)> {
    let after = |start: &str| profile.lines().find_map(|line| line.strip_prefix(start));
    let name = after("desc: Trigger: Client Request: ")?;
    let total = after("totals: ")?.trim().parse().ok()?;
    Some((name.trim().to_owned(), total))
}

/// Keeps the least count of each name: a program counts again once it has all the room it needs.
fn note(totals: &mut BTreeMap<String, u64>, name: String, count: u64) {
    let least = totals.entry(name).or_insert(count);
    *least = count.min(*least);
}

/// Per call, less the empty loop; `None` without one.
fn per_call(totals: &BTreeMap<String, u64>, calls: u32) -> Option<Counts> {
    // Counts are far below 2⁵³.
    let each = |total: u64| total as f64 / f64::from(calls);
    let empty = each(*totals.get(EMPTY)?);
    let others = totals.iter().filter(|(name, _)| *name != EMPTY);
    Some(
        others
            .map(|(name, &total)| (name.clone(), each(total) - empty))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_tells_its_name_and_its_total() {
        let profile = "version: 1\ndesc: Trigger: Client Request: barrier\nevents: Ir\nfn=(1)\n1 5\ntotals: 68000\n";
        assert_eq!(total(profile), Some(("barrier".into(), 68_000)));
        assert_eq!(
            total("desc: Trigger: Program termination\ntotals: 5\n"),
            None
        );
    }

    #[test]
    fn of_two_counts_the_least_is_kept_in_whichever_order_they_are_read() {
        for counts in [[7, 5], [5, 7]] {
            let mut totals = BTreeMap::new();
            for count in counts {
                note(&mut totals, "put".to_owned(), count);
            }
            assert_eq!(totals["put"], 5);
        }
    }

    #[test]
    fn the_empty_loop_is_subtracted() {
        let totals = BTreeMap::from([("empty".into(), 5_000), ("barrier".into(), 73_000)]);
        assert_eq!(
            per_call(&totals, 1000),
            Some(BTreeMap::from([("barrier".into(), 68.0)]))
        );
        assert_eq!(per_call(&BTreeMap::new(), 1000), None);
    }
}
