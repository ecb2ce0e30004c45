//! Text is clean: no path of somebody's machine, no blank at the end of a line, no comment beyond
//! its column.

use super::code::{self, Blank, strip};
use super::finding::Finding;
use super::tree::{Tree, is_generated};

/// Folders that exist on the machines of those who write this, in pieces so that they are not found
/// here.
const MACHINES: [[&str; 2]; 4] = [
    ["/wo", "rk"],
    ["/ro", "ot"],
    ["/tmp/tar", "get"],
    ["/home/us", "er"],
];
/// Environments and outputs that were recorded elsewhere, and bytes that fuzzing begins with: they
/// stay as they are.
const RECORDED: [&str; 2] = ["/fixtures/", "fuzz/seeds/"];
/// The column at which comments wrap.
const COLUMN: usize = 100;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !is_recorded(path)) {
        for (line, content) in code::lines(text) {
            if let Some(folder) = MACHINES
                .map(|parts| parts.concat())
                .iter()
                .find(|folder| names(content, folder))
            {
                let fix = "name it relative to the workspace, or ask for it at run time";
                findings.push(Finding::new(
                    path,
                    line,
                    format!("{folder} is a folder of one machine"),
                    fix,
                ));
            }
            if content.ends_with([' ', '\t', '\r']) && !is_generated(path) {
                findings.push(Finding::new(
                    path,
                    line,
                    "the line ends with blanks",
                    "take them out",
                ));
            }
        }
        if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
            let what = "the file does not end with one end of line";
            findings.push(Finding::new(
                path,
                text.lines().count(),
                what,
                "end the last line, and add no empty one",
            ));
        }
    }
    for (path, text) in tree.rust().filter(|(path, _)| !is_generated(path)) {
        for line in beyond(text) {
            findings.push(Finding::new(
                path,
                line,
                format!("a comment goes beyond column {COLUMN}"),
                "wrap it",
            ));
        }
    }
    findings
}

/// The lines of comments that are too long and could be wrapped: prose, not tables or code.
fn beyond(text: &str) -> Vec<usize> {
    let mut is_code = false;
    let mut found = Vec::new();
    let uncommented = strip(text, Blank::Comments);
    for ((line, content), code) in code::lines(text).zip(uncommented.lines()) {
        let prose = content.trim_start().trim_start_matches(['/', '!']);
        let is_comment = content.trim_start().starts_with("//") && code.trim().is_empty();
        if is_comment && prose.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let prose = prose.trim_start();
        // The target of a link is one word.
        let words = prose.split_once("`]: ").map_or(prose, |(_, target)| target);
        let breaks = words.contains(' ') && !prose.starts_with(['|', '<', '`', '#']);
        if is_comment && !is_code && breaks && content.chars().count() > COLUMN {
            found.push(line);
        }
        is_code &= is_comment;
    }
    found
}

/// Returns `true` if `line` has the path `folder`, and not a longer name that it is part of.
fn names(line: &str, folder: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + folder.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

fn is_recorded(path: &str) -> bool {
    RECORDED.iter().any(|folder| path.contains(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn folders_of_a_machine_are_found() {
        let folder = MACHINES[0].concat();
        assert_eq!(found("a.md", &format!("x\nsee {folder}/main\n")), [2]);
        assert_eq!(found("a.md", &format!("at `{folder}`\n")), [1]);
        assert_eq!(
            found("a.md", &format!("crates{folder}space and {folder}space\n")),
            NONE
        );
        assert_eq!(
            found("crates/a/tests/fixtures/x.env", &format!("PWD={folder}\n")),
            NONE
        );
    }

    #[test]
    fn blanks_and_ends_are_found() {
        assert_eq!(found("a.md", "x \ny\n"), [1]);
        assert_eq!(found("a.md", "x\ny"), [2]);
        assert_eq!(found("a.md", "x\n\n"), [2]);
        assert_eq!(found("a.md", ""), NONE);
    }

    #[test]
    fn prose_wraps_and_tables_and_code_do_not() {
        let long = "word ".repeat(21);
        let long = long.trim_end();
        assert_eq!(found("a.rs", &format!("/// {long}\n")), [1]);
        assert_eq!(found("a.rs", &format!("// | {long} |\n")), NONE);
        let example = format!("//! ```\n//! {long}\n//! ```\n//! {long}\n");
        assert_eq!(found("a.rs", &example), [4]);
        assert_eq!(found("a.rs", &format!("let a = \"{long}\";\n")), NONE);
    }
}
