//! Nothing waits outside of the one wait, which ends at the time limit and is seen by the watchdog.
//!
//! Who waits for other ranks looks by `ranks_comm::backend::look`, or for so long by
//! `Pause::until`, or rests in a mailbox. What passes time in another way is in `waits.toml`,
//! with the reason why it may; each line of it has something behind it.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{self, words};
use super::finding::Finding;
use super::table;
use super::tree::Tree;

/// Words that pass time.
const WAITS: [&str; 7] = [
    "sleep",
    "yield_now",
    "spin_loop",
    "park",
    "park_timeout",
    "Condvar",
    "recv_timeout",
];

/// The same by more than a word.
const LOOPS: [&str; 2] = ["Pause::default", "mpsc::channel"];

/// The file of the table, for those who have to change it.
const PATH: &str = "xtask/src/tidy/waits.toml";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let may: BTreeMap<String, String> = match table::read(tree, PATH) {
        Ok(may) => may,
        Err(finding) => return vec![finding],
    };
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for (path, code) in tree.code().filter(|(path, _)| is_of_a_library(path)) {
        let lines = code::lines(code::before_tests(code));
        for (number, line) in lines.filter(|(_, line)| !line.starts_with("use ")) {
            let word = words(line).find(|word| WAITS.contains(word));
            let Some(word) = word.or_else(|| LOOPS.into_iter().find(|part| line.contains(part)))
            else {
                continue;
            };
            let Some(place) = may.keys().find(|place| path.starts_with(*place)) else {
                let what = format!("`{word}`: a wait that no time limit ends and no watchdog sees");
                let fix = format!(
                    "wait by ranks_comm::backend::look within a call that was entered, or say in {PATH} why not"
                );
                findings.push(Finding::new(path, number, what, fix));
                continue;
            };
            used.insert(place);
        }
    }
    let idle = may.keys().filter(|place| !used.contains(place));
    findings.extend(idle.map(|place| {
        let fix = format!("take its line out of {PATH}");
        Finding::new(place, 0, "passes no time", fix)
    }));
    findings
}

fn is_of_a_library(path: &str) -> bool {
    path.starts_with("crates/")
        && path.contains("/src/")
        && !path.contains("/src/in_process/tests/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings about a file, and not about the table.
    fn found(path: &str, text: &str) -> Vec<usize> {
        let table = include_str!("waits.toml");
        let findings = check(&Tree::of(&[(PATH, table), (path, text)]));
        let here = findings
            .into_iter()
            .filter(|finding| finding.path == path && finding.line > 0);
        here.map(|finding| finding.line).collect()
    }

    #[test]
    fn a_wait_of_its_own_is_found() {
        let path = "crates/ranks-rma-window/src/shared_window/steps.rs";
        for waits in [
            "std::thread::sleep(SHORT);",
            "thread::yield_now();",
            "hint::spin_loop();",
            "let mut pause = Pause::default();",
            "changed: Condvar,",
            "let (sender, words) = mpsc::channel();",
            "std::thread::park();",
        ] {
            assert_eq!(
                found(path, &format!("fn f() {{\n    {waits}\n}}\n")),
                vec![2_usize],
                "{waits}"
            );
        }
    }

    #[test]
    fn the_wait_and_tests_and_words_are_none() {
        let path = "crates/ranks-rma-window/src/shared_window/steps.rs";
        let looks = "use std::sync::Condvar;\n// sleep\nbackend::look(|| Ok(None))?; Pause::until(limit, over)?; f(\"sleep\");\n\
                     #[cfg(test)]\nmod tests {\n    fn f() { thread::sleep(LONG); }\n}\n";
        assert!(found(path, looks).is_empty());
        let sleeps = "fn f() { thread::sleep(LONG); }\n";
        assert!(found("crates/ranks-comm/src/op/future.rs", sleeps).is_empty());
        assert!(found("crates/ranks-comm/tests/future.rs", sleeps).is_empty());
        assert!(found("xtask/src/run.rs", sleeps).is_empty());
    }

    #[test]
    fn a_line_of_the_table_with_nothing_behind_it_is_found() {
        let table = "'crates/a/src/b.rs' = 'c'\n'crates/a/src/d.rs' = 'e'\n";
        assert_eq!(check(&Tree::of(&[(PATH, table)])).len(), 2);
    }
}
