//! A file is one concept: beyond 500 lines it asks for a split, beyond 800 it is refused.

use super::finding::Finding;
use super::tree::{Tree, is_generated};

const LONG: usize = 500;
const TOO_LONG: usize = 800;
/// Files that are written by hand, by the ends of their names.
const WRITTEN: [&str; 7] = [".rs", ".c", ".h", ".cpp", ".py", ".sh", ".yml"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let too_long = sizes(tree).filter(|&(_, lines)| lines > TOO_LONG);
    let finding = |(path, lines)| {
        Finding::new(
            path,
            0,
            format!("{lines} lines; {TOO_LONG} is the limit"),
            "split it by concept, a file each",
        )
    };
    too_long.map(finding).collect()
}

/// A remark on files that are long, and not too long.
pub(super) fn advice(tree: &Tree) -> Vec<String> {
    let long = sizes(tree).filter(|&(_, lines)| lines > LONG && lines <= TOO_LONG);
    long.map(|(path, lines)| format!("{path} has {lines} lines: is it one concept?"))
        .collect()
}

fn sizes(tree: &Tree) -> impl Iterator<Item = (&str, usize)> {
    let written = |path: &str| !is_generated(path) && WRITTEN.iter().any(|end| path.ends_with(end));
    tree.texts()
        .filter(move |(path, _)| written(path))
        .map(|(path, text)| (path, text.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_advised_and_too_long_ones_refused() {
        let (short, long, too_long) = ("x\n".repeat(500), "x\n".repeat(501), "x\n".repeat(801));
        let tree = Tree::of(&[
            ("a/short.rs", &short),
            ("a/long.rs", &long),
            ("a/too_long.rs", &too_long),
            ("a/generated/types.rs", &too_long),
            ("Cargo.lock", &too_long),
        ]);
        let found = check(&tree);
        assert_eq!((found.len(), found[0].path.as_str()), (1, "a/too_long.rs"));
        assert_eq!(
            advice(&tree),
            ["a/long.rs has 501 lines: is it one concept?"]
        );
    }
}
