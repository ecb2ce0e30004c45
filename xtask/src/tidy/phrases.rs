//! Phrases that say nothing, or say what the standards have another word for.

use super::code;
use super::finding::Finding;
use super::tree::{Tree, is_generated};

/// Each phrase with what to write in its place; nothing where it can go.
const PHRASES: [(&str, &str); 27] = [
    ("non-blocking", "nonblocking, as MPI has it"),
    ("time-out", "time limit, or: timed out"),
    ("e.g.", "such as"),
    ("i.e.", "that is"),
    ("etc.", "and its like"),
    ("in order to", "to"),
    ("utilise", "use"),
    ("utilize", "use"),
    ("leverage", "use"),
    ("under the hood", "the thing that does it"),
    ("simply", ""),
    ("easily", ""),
    ("obviously", ""),
    ("of course", ""),
    ("please", ""),
    ("note that", ""),
    ("out of the box", ""),
    ("just works", "what works, and where"),
    ("seamless", "what works, and where"),
    ("effortless", "what it takes"),
    ("blazing", "a figure"),
    ("lightning-fast", "a figure"),
    ("zero-cost", "a figure"),
    ("powerful", "what it can do"),
    ("state of the art", "what it can do"),
    ("battle-tested", "what was run, and where"),
    ("production-ready", "what was run, and where"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_held(path)) {
        for (number, line) in code::lines(text) {
            let line = line.to_lowercase();
            for (phrase, instead) in PHRASES {
                if has(&line, phrase) {
                    let fix = match instead {
                        "" => "take it out".to_owned(),
                        _ => format!("write {instead}"),
                    };
                    findings.push(Finding::new(path, number, format!("`{phrase}`"), fix));
                }
            }
        }
    }
    findings
}

/// Sources of published crates, and pages.
fn is_held(path: &str) -> bool {
    let is_page = path.ends_with(".md") && !path.starts_with("testing/");
    let is_source = path.starts_with("crates/") && path.contains("/src/");
    (is_page || is_source) && !is_generated(path)
}

/// Returns `true` if a line has the phrase, and not as a part of longer words.
fn has(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + phrase.len()..].chars().next();
        let is_letter = |c: Option<char>| c.is_some_and(|c| c == '_' || c.is_alphabetic());
        !is_letter(before) && (phrase.ends_with('.') || !is_letter(after))
    })
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
    fn phrases_are_found_in_pages_and_sources() {
        assert_eq!(found("docs/a.md", "x\nIt Just works.\n"), [2]);
        let source = "/// A non-blocking send, e.g. of one element.\n";
        assert_eq!(found("crates/a/src/b.rs", source), [1, 1]);
        assert_eq!(found("crates/a/src/generated/b.rs", source), NONE);
        assert_eq!(found("testing/a/src/b.rs", source), NONE);
    }

    #[test]
    fn parts_of_longer_words_are_none() {
        assert_eq!(found("a.md", "displeased, please_wait, setc.\n"), NONE);
        assert_eq!(found("a.md", "displeased, please wait, etc.\n"), [1, 1]);
    }
}
