//! Docs and errors begin with a noun or a verb, and not with a relative clause.

use super::code::{self, Blank, strip};
use super::finding::Finding;
use super::tree::{Tree, is_generated};

/// The words that begin a clause.
const CLAUSES: [&str; 8] = [
    "What", "Whether", "Which", "How", "Who", "Where", "When", "Why",
];
const FIX: &str = "begin with a noun or a verb";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| is_held(path)) {
        let mut previous = None;
        for (number, line) in code::lines(text) {
            let doc = doc(line);
            if let (None, Some(word)) = (previous, doc.and_then(clause)) {
                let what = format!("a doc comment begins with `{word}`");
                findings.push(Finding::new(path, number, what, FIX));
            }
            previous = doc;
        }
        let code = strip(text, Blank::Comments);
        for (number, line) in code::lines(code::before_tests(&code)) {
            if let Some(word) = clause_of_text(line) {
                let what = format!("a text begins with `{word}`");
                findings.push(Finding::new(path, number, what, FIX));
            }
        }
    }
    findings
}

/// The sources of published crates, without those that are generated.
fn is_held(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && !is_generated(path)
}

/// The text of a line of a doc comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))
}

/// The word that begins a clause at the beginning of `doc`.
fn clause(doc: &str) -> Option<&'static str> {
    let first = code::words(doc).next()?;
    CLAUSES.into_iter().find(|&word| word == first)
}

/// The word that begins a clause at the beginning of a text in a line of code, such as that of an
/// error, which begins in lower case. Reasons of attributes are for readers of the source.
fn clause_of_text(line: &str) -> Option<String> {
    if line.trim_start().starts_with("reason = ") {
        return None;
    }
    CLAUSES
        .into_iter()
        .map(str::to_lowercase)
        .find(|word| line.contains(&format!("\"{word} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn found(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&Tree::of(&[(path, text)]));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn docs_that_begin_with_a_clause_are_found() {
        let path = "crates/ranks-comm/src/a.rs";
        assert_eq!(
            found(path, "//! What it is.\n\n    /// Whether so.\n"),
            [1, 3]
        );
        assert_eq!(found(path, "/// Which one it is.\n"), [1]);
        let nouns = "//! The ranks.\n//! When they end.\n\n// Why.\n/// Whatever.\nfn what() {}\n";
        assert_eq!(found(path, nouns), NONE);
    }

    #[test]
    fn errors_that_begin_with_a_clause_are_found() {
        let path = "crates/ranks-comm/src/a.rs";
        let clause = "fn f() {\n    Error::new(kind, \"what was sent is too long\");\n}\n";
        assert_eq!(found(path, clause), [2]);
        let others = "#![allow(\n    dead_code,\n    reason = \"what it is\"\n)]\n// \"what it is\"\n\
                      const A: &str = \"a message is what it is\";\n#[cfg(test)]\nmod tests {\n    \
                      const B: &str = \"what it is\";\n}\n";
        assert_eq!(found(path, others), NONE);
    }

    #[test]
    fn docs_are_held_in_sources_that_are_written_by_hand() {
        let clause = "/// What it is.\n";
        for path in [
            "crates/ranks-comm/src/generated/a.rs",
            "crates/ranks-comm/tests/a.rs",
            "xtask/src/a.rs",
        ] {
            assert_eq!(found(path, clause), NONE, "{path}");
        }
    }
}
