//! The modules at the top of a crate are layers: code uses its own layer and those below.

use std::collections::BTreeMap;

use super::code::{before_tests, is_word, words};
use super::finding::Finding;
use super::table;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let table = match table::of(tree) {
        Ok(table) => table,
        Err(finding) => return vec![finding],
    };
    let mut findings = Vec::new();
    for (name, row) in table.iter().filter(|(_, row)| !row.layers.is_empty()) {
        let root = format!("crates/{name}/src/");
        let exports = tree
            .code_of(&format!("{root}lib.rs"))
            .map(exports)
            .unwrap_or_default();
        let layer_of = |name: &str| row.layers.iter().position(|layer| layer == name);
        for (path, code) in tree.code() {
            let Some(modules) = path.strip_prefix(&root).map(modules) else {
                continue;
            };
            let Some(first) = modules.first() else {
                continue;
            };
            let Some(own) = layer_of(first) else {
                let fix = "say in the table of crates which layer it is";
                findings.push(Finding::new(path, 0, "it is in no layer", fix));
                continue;
            };
            for (line, name) in uses(before_tests(code), modules.len()) {
                let defined = exports.get(name.as_str()).unwrap_or(&name);
                if layer_of(defined).is_some_and(|other| other > own) {
                    let what = format!("`{first}` uses `{defined}`, which is above it");
                    let fix =
                        "move what both need down, or pass it in through a trait of the lower one";
                    findings.push(Finding::new(path, line, what, fix));
                }
            }
        }
    }
    findings
}

/// The module path of a file below `src/`; empty for the root.
fn modules(path: &str) -> Vec<&str> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/')
        .filter(|name| !matches!(*name, "lib" | "main"))
        .collect()
}

/// The names that code takes from the root of its crate, with their lines, in a module of that
/// depth.
fn uses(code: &str, depth: usize) -> Vec<(usize, String)> {
    let to_root = "super::".repeat(depth);
    let mut found = Vec::new();
    for prefix in ["crate::", to_root.as_str()] {
        for (at, _) in code.match_indices(prefix) {
            let line = code[..at].matches('\n').count() + 1;
            let rest = &code[at + prefix.len()..];
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(group) => names_of(group),
                None => rest.split(|c: char| !is_word(c)).take(1).collect(),
            };
            found.extend(names.into_iter().map(|name| (line, name.to_owned())));
        }
    }
    found
}

/// The first name of each part of a group, from behind its brace.
fn names_of(group: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let mut names = Vec::new();
    let mut begins = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let part = group[begins..at].trim_start();
                names.extend(part.split(|c: char| !is_word(c)).take(1));
                begins = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// The names that the root of a crate re-exports, and the layer of each.
fn exports(code: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in code.split(';') {
        let Some((_, path)) = statement.split_once("pub use ") else {
            continue;
        };
        let layer = path.split("::").next().unwrap_or_default().trim();
        let last = path.rsplit("::").next().unwrap_or_default();
        for name in words(last) {
            exports.insert(name.to_owned(), layer.to_owned());
        }
    }
    exports
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let lib = "pub use runtime::{\n    Builder,\n    Runtime,\n};\npub use result::Error;\n";
        let table = "[ranks-comm]\nlayers = ['result', 'call', 'runtime']\n";
        let tree = Tree::of(&[
            (table::PATH, table),
            ("crates/ranks-comm/src/lib.rs", lib),
            (path, text),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn what_is_above_is_found_however_it_is_named() {
        let path = "crates/ranks-comm/src/call/limit.rs";
        let above = ["`call` uses `runtime`, which is above it"];
        assert_eq!(found(path, "use crate::runtime::Builder;"), above);
        assert_eq!(
            found(
                path,
                "use crate::{\n    result::{Error, Result},\n    runtime,\n};"
            ),
            above
        );
        assert_eq!(found(path, "fn f(_: crate::Builder) {}"), above);
        assert_eq!(found(path, "use super::super::runtime::Builder;"), above);
        let layer = "crates/ranks-comm/src/call/mod.rs";
        assert_eq!(found(layer, "use super::runtime::Builder;"), above);
    }

    #[test]
    fn what_is_below_is_fine_and_so_are_comments_and_tests() {
        let path = "crates/ranks-comm/src/call/limit.rs";
        let fine = "use crate::result::Error;\nuse crate::call::record;\n/// [`run`](crate::runtime::run)\n\
                    #[cfg(test)]\nmod tests {\n    use crate::runtime::Runtime;\n}\n";
        assert!(found(path, fine).is_empty());
        assert!(
            found(
                "crates/ranks-comm/src/runtime/mod.rs",
                "use crate::call::limit;"
            )
            .is_empty()
        );
    }

    #[test]
    fn a_new_folder_needs_a_place() {
        assert_eq!(
            found("crates/ranks-comm/src/new/mod.rs", ""),
            ["it is in no layer"]
        );
    }
}
