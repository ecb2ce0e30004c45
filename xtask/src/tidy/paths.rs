//! Paths in ARCHITECTURE.md and links of pages, which must exist.

use super::code;
use super::finding::Finding;
use super::tree::Tree;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// Ends of names that are files' even without a folder before them.
const FILES: [&str; 5] = [".rs", ".md", ".toml", ".txt", ".yml"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = architecture(tree);
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        findings.extend(links(tree, path, text));
    }
    findings
}

fn architecture(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(ARCHITECTURE) else {
        return vec![Finding::new(
            ARCHITECTURE,
            0,
            "the page is missing",
            "say there what lies where, and why",
        )];
    };
    let mut findings = Vec::new();
    let mut fenced = false;
    for (number, line) in code::lines(text) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        // In a sentence paths stand between backticks; in a listing they are what looks like one at
        // first sight.
        let spans: Vec<&str> = if fenced {
            vec![line]
        } else {
            line.split('`').skip(1).step_by(2).collect()
        };
        let words = spans.into_iter().flat_map(str::split_whitespace);
        for word in words.filter(|word| is_path(word) && (!fenced || is_plainly_path(tree, word))) {
            if !exists(tree, word) {
                let fix = "name where it is now, or take it out";
                findings.push(Finding::new(
                    ARCHITECTURE,
                    number,
                    format!("there is no {word}"),
                    fix,
                ));
            }
        }
    }
    findings
}

/// Returns `true` if a word is meant as a path in this tree: no pattern, no URL, no path of a
/// machine, nothing that is built.
fn is_path(word: &str) -> bool {
    let plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let path = word.contains('/') && word.chars().any(|c| c.is_ascii_alphabetic())
        || FILES
            .iter()
            .any(|end| word.ends_with(end) && word.len() > end.len());
    plain
        && path
        && !word.starts_with(['/', '.'])
        && !word.contains("//")
        && !word.starts_with("target/")
}

/// Returns `true` if a word among words is a path: by its end, or by the folder that it begins
/// with.
fn is_plainly_path(tree: &Tree, word: &str) -> bool {
    let first = word.split('/').next().unwrap_or(word);
    let top = |path: &str| path.split('/').next() == Some(first);
    word.ends_with('/') || FILES.iter().any(|end| word.ends_with(end)) || tree.paths().any(top)
}

/// Returns `true` if a file or folder of the tree has that path, or ends with it.
fn exists(tree: &Tree, word: &str) -> bool {
    let wanted = format!("/{}/", word.trim_end_matches('/'));
    tree.paths()
        .any(|path| format!("/{path}/").contains(&wanted))
}

/// Relative links of a page that lead nowhere.
fn links(tree: &Tree, page: &str, text: &str) -> Vec<Finding> {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    for (number, line) in code::lines(text) {
        for target in line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next())
        {
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = resolve(folder, target);
            let folder_of_files = format!("{path}/");
            if !tree
                .paths()
                .any(|file| file == path || file.starts_with(&folder_of_files))
            {
                findings.push(Finding::new(
                    page,
                    number,
                    format!("the link leads to {path}, which is not there"),
                    "correct it",
                ));
            }
        }
    }
    findings
}

/// `target` seen from `folder`, from the root of the tree.
fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(page: &str) -> Tree {
        Tree::of(&[
            (ARCHITECTURE, page),
            ("crates/a/src/mpi/send.rs", ""),
            ("docs/guide/x.md", "[up](../../ARCHITECTURE.md)\n"),
        ])
    }

    #[test]
    fn what_exists_is_in_order() {
        let page = "`crates/a/src/`, `mpi/send.rs`, `send.rs`, `/dev/shm`, `target/mpi`, docs/none, `a::b`\n\
                    ```\ncrates/a    the crate and/or more\n  src/mpi/  calls\n```\n[guide](docs/guide/x.md#top) [out](https://x.org/y)\n";
        assert_eq!(check(&tree(page)), []);
    }

    #[test]
    fn what_does_not_exist_is_found() {
        for page in [
            "\n`crates/b/src/`\n",
            "\nsee `recv.rs`\n",
            "```\nmpi/recv.rs  receives\n```\n",
            "\n[guide](docs/y.md)\n",
        ] {
            let found = check(&tree(page));
            assert_eq!((found.len(), found[0].line), (1, 2), "{page}");
        }
        assert_eq!(check(&Tree::default()).len(), 1, "a missing page");
    }
}
