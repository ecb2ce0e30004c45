//! Unsafe code is denied in every crate, and allowed again only where docs/safety.md says.

use std::collections::BTreeSet;

use super::code;
use super::finding::Finding;
use super::tree::{Tree, crate_of};

/// The page whose tables name the crates and modules with unsafe code.
const PAGE: &str = "docs/safety.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.text(PAGE) else {
        return vec![Finding::new(
            PAGE,
            0,
            "the page is missing",
            "list there the modules that hold unsafe code, and why",
        )];
    };
    let listed = listed(page);
    let mut findings = Vec::new();
    let crates: BTreeSet<&str> = tree.paths().filter_map(crate_of).collect();
    for name in crates {
        if listed
            .iter()
            .any(|(_, path)| *path == format!("crates/{name}/"))
        {
            continue;
        }
        let root = format!("crates/{name}/src/lib.rs");
        let root = if tree.text(&root).is_some() {
            root
        } else {
            format!("crates/{name}/src/main.rs")
        };
        let denies = tree
            .code_of(&root)
            .is_some_and(|code| attributes(code).any(|(_, level)| level != Level::Allow));
        if !denies {
            let fix =
                format!("write `#![deny(unsafe_code)]` there, or list crates/{name}/ in {PAGE}");
            findings.push(Finding::new(
                &root,
                1,
                "unsafe code is not denied at the root of the crate",
                fix,
            ));
        }
    }
    let mut opted_in = BTreeSet::new();
    for (path, code) in tree.code() {
        for (line, _) in attributes(code).filter(|&(_, level)| level == Level::Allow) {
            match listed.iter().find(|(_, listed)| covers(listed, path)) {
                Some((_, listed)) => {
                    opted_in.insert(*listed);
                }
                None => {
                    let fix = format!(
                        "do without, or list the module in {PAGE} with the facts that make it sound"
                    );
                    findings.push(Finding::new(
                        path,
                        line,
                        "unsafe code is allowed in a module that is not listed",
                        fix,
                    ));
                }
            }
        }
    }
    for (line, path) in listed {
        let is_crate = path
            .strip_prefix("crates/")
            .is_some_and(|rest| rest.trim_end_matches('/').split('/').count() == 1);
        let exists = tree.paths().any(|file| covers(path, file));
        if !exists || !is_crate && !opted_in.contains(path) {
            findings.push(Finding::new(
                PAGE,
                line,
                format!("{path} holds no unsafe code"),
                "take the line out",
            ));
        }
    }
    findings
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Deny,
    Allow,
}

/// The attributes that speak of unsafe code, with their lines; their lists may take several.
fn attributes(code: &str) -> impl Iterator<Item = (usize, Level)> + '_ {
    code.match_indices("unsafe_code").map(|(at, _)| {
        let before = &code[..at];
        let level = before
            .rfind('(')
            .map_or("", |list| before[..list].trim_end());
        let denies = level.ends_with("deny") || level.ends_with("forbid");
        let line = before.matches('\n').count() + 1;
        (line, if denies { Level::Deny } else { Level::Allow })
    })
}

/// The paths in the first column of the page's tables, with their lines.
fn listed(page: &str) -> Vec<(usize, &str)> {
    code::lines(page)
        .filter_map(|(number, line)| {
            let first = line.strip_prefix("| `")?.split('`').next()?;
            first.contains('/').then_some((number, first))
        })
        .collect()
}

/// Returns `true` if `listed`, a file or a folder with a `/` at the end, is or holds `file`.
fn covers(listed: &str, file: &str) -> bool {
    listed == file || listed.ends_with('/') && file.starts_with(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: (&str, &str) = ("crates/a/src/lib.rs", "//! A.\n#![deny(unsafe_code)]\n");

    #[test]
    fn what_is_listed_and_denied_is_in_order() {
        let tree = Tree::of(&[
            (
                PAGE,
                "| where | why |\n|---|---|\n| `crates/b/` | sys |\n| `crates/a/src/mpi/` | calls |\n",
            ),
            ROOT,
            ("crates/a/src/mpi/mod.rs", "#![allow(unsafe_code)]\n"),
            ("crates/b/src/lib.rs", "//! B.\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_root_that_does_not_deny_is_found() {
        let tree = Tree::of(&[
            (PAGE, ""),
            ("crates/a/src/lib.rs", "//! #![deny(unsafe_code)]\n"),
        ]);
        let found = check(&tree);
        assert_eq!(
            (found.len(), found[0].path.as_str()),
            (1, "crates/a/src/lib.rs")
        );
    }

    #[test]
    fn a_module_that_is_not_listed_is_found() {
        for attribute in [
            "#![allow(unsafe_code)]",
            "#[expect(unsafe_code, reason = \"x\")]",
            "#[cfg_attr(unix, allow(dead_code, unsafe_code))]",
        ] {
            let tree = Tree::of(&[(PAGE, ""), ROOT, ("crates/a/src/x.rs", attribute)]);
            let found = check(&tree);
            assert_eq!(
                (found.len(), found[0].path.as_str(), found[0].line),
                (1, "crates/a/src/x.rs", 1)
            );
        }
        let lines = "#![allow(\n    dead_code,\n    unsafe_code\n)]\n";
        let found = check(&Tree::of(&[(PAGE, ""), ROOT, ("crates/a/src/x.rs", lines)]));
        assert_eq!((found.len(), found[0].line), (1, 3));
    }

    #[test]
    fn a_line_with_nothing_behind_it_is_found() {
        let tree = Tree::of(&[(PAGE, "\n| `crates/a/src/gone.rs` | x |\n"), ROOT]);
        let found = check(&tree);
        assert_eq!(
            (found.len(), found[0].path.as_str(), found[0].line),
            (1, PAGE, 2)
        );
        assert_eq!(check(&Tree::of(&[ROOT])).len(), 1, "a missing page");
    }
}
