//! Each promise of docs/safety.md has a test behind it: what its table names in the last column are
//! functions of this tree.

use super::code;
use super::finding::Finding;
use super::tree::Tree;

const PAGE: &str = "docs/safety.md";
/// The head of the table.
const HEAD: &str = "| promise | mechanism | test |";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let page = tree.text(PAGE).unwrap_or_default();
    let mut rows = code::lines(page)
        .skip_while(|(_, line)| *line != HEAD)
        .skip(2)
        .take_while(|(_, line)| line.starts_with('|'))
        .peekable();
    if rows.peek().is_none() {
        let fix = format!("write {HEAD}");
        return vec![Finding::new(PAGE, 0, "there is no table of promises", fix)];
    }
    let mut findings = Vec::new();
    for (number, row) in rows {
        let tests = row.trim_end_matches('|').rsplit('|').next();
        let mut tests = tests
            .unwrap_or_default()
            .split('`')
            .skip(1)
            .step_by(2)
            .peekable();
        if tests.peek().is_none() {
            let what = "a promise without a test";
            findings.push(Finding::new(PAGE, number, what, "name one, or take it out"));
        }
        for test in tests.filter(|test| !is_function(tree, test)) {
            let what = format!("there is no test {test}");
            findings.push(Finding::new(PAGE, number, what, "name the one that is"));
        }
    }
    findings
}

/// Returns `true` if a file has a function of that name.
fn is_function(tree: &Tree, name: &str) -> bool {
    let (open, generic) = (format!("fn {name}("), format!("fn {name}<"));
    tree.rust()
        .any(|(_, text)| text.contains(&open) || text.contains(&generic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &str) -> Vec<usize> {
        let page = format!("{HEAD}\n|---|---|---|\n{rows}\nno row\n");
        let tree = Tree::of(&[(PAGE, &page), ("crates/a/tests/b.rs", "fn is_there() {}")]);
        check(&tree).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn promises_have_tests_that_are_there() {
        assert!(found("| a | `b.rs` | `is_there` |").is_empty());
        assert_eq!(found("| a | b | `is_there` |\n| c | d | `gone` |"), [4]);
        assert_eq!(found("| a | `is_there` | by hand |"), [3]);
        assert_eq!(found(""), [0]);
    }
}
