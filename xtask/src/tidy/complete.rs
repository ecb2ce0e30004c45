//! The umbrella leaves nothing out: what is public at the root of a crate below it has a place
//! there. At its own root there are few traits.

use std::collections::BTreeSet;

use super::code;
use super::finding::Finding;
use super::tree::{Tree, crate_of};

const UMBRELLA: &str = "crates/ranks/src/lib.rs";

/// Crates that are no part of it, besides the bindings: what starts jobs and tests programs, and
/// what others stand on.
const BESIDE: [&str; 9] = [
    "ranks",
    "ranks-cli",
    "ranks-launch",
    "ranks-load",
    "ranks-macros",
    "ranks-numr",
    "ranks-test",
    "ranks-test-macros",
    "ranks-trace",
];

/// So many traits may be at its root. Others are in modules, and in the prelude.
const MOST_TRAITS: usize = 12;

/// Traits that come from elsewhere.
const OF_OTHERS: [&str; 2] = ["Pod", "Zeroable"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let umbrella = exports(tree.code_of(UMBRELLA).unwrap_or_default());
    let named: BTreeSet<&str> = umbrella.iter().map(|export| export.path.as_str()).collect();
    let mut findings = Vec::new();
    let roots = tree.code().filter_map(|(path, code)| {
        let name = crate_of(path).filter(|name| is_below(name))?;
        (path == format!("crates/{name}/src/lib.rs")).then_some((path, name, code))
    });
    for (path, name, code) in roots {
        let krate = name.replace('-', "_");
        if named.contains(krate.as_str()) || named.contains(format!("{krate}::*").as_str()) {
            continue;
        }
        let items = exports(code).into_iter().filter(|export| export.is_at_root);
        for export in items {
            // By itself, or with all of the module that it is or comes from.
            let module = export
                .path
                .rsplit_once("::")
                .map_or("", |(module, _)| module);
            let places = [
                format!("{krate}::{}", export.name),
                format!("{krate}::{}::*", export.name),
                format!("{krate}::{module}::*"),
            ];
            if !places.iter().any(|place| named.contains(place.as_str())) {
                findings.push(Finding::new(
                    path,
                    export.line,
                    format!("the umbrella does not have `{}` of {name}", export.name),
                    format!("name it in the module of {UMBRELLA} that it belongs to"),
                ));
            }
        }
    }
    findings.extend(too_many_traits(tree, &umbrella));
    findings
}

/// Returns `true` if the umbrella is to have what the crate of a folder offers.
fn is_below(name: &str) -> bool {
    !BESIDE.contains(&name) && !name.ends_with("-sys")
}

fn too_many_traits(tree: &Tree, umbrella: &[Export]) -> Option<Finding> {
    let mut traits: BTreeSet<String> = OF_OTHERS.map(str::to_owned).into();
    for (_, code) in tree.code().filter(|(path, _)| crate_of(path).is_some()) {
        let declared = code::lines(code).filter_map(|(_, line)| declared(line, &["trait"]));
        traits.extend(declared.map(str::to_owned));
    }
    let at_root = umbrella.iter().filter(|export| export.is_at_root);
    let of_all = at_root.clone().filter_map(|export| {
        let krate = export.path.strip_suffix("::*")?.replace('_', "-");
        tree.code_of(&format!("crates/{krate}/src/lib.rs"))
    });
    let of_all = of_all.flat_map(exports).filter(|export| export.is_at_root);
    let names: BTreeSet<String> = of_all
        .chain(at_root.cloned())
        .map(|export| export.name)
        .collect();
    let count = names.intersection(&traits).count();
    (count > MOST_TRAITS).then(|| {
        Finding::new(
            UMBRELLA,
            0,
            format!("{count} traits are at the root; {MOST_TRAITS} is the limit"),
            "leave them to their modules and the prelude",
        )
    })
}

/// Something that a root offers.
#[derive(Debug, Clone)]
struct Export {
    name: String,
    /// The path that it comes from, as `pub use` has it.
    path: String,
    /// Else it is in a module.
    is_at_root: bool,
    line: usize,
}

/// The names that a file offers and does not hide: by `pub use`, or declared.
fn exports(code: &str) -> Vec<Export> {
    const ITEMS: [&str; 8] = [
        "mod", "fn", "struct", "enum", "trait", "type", "const", "static",
    ];
    let mut found = Vec::new();
    let mut attributes = String::new();
    let mut lines = code::lines(code);
    while let Some((number, line)) = lines.next() {
        let item = line.trim_start();
        if item.starts_with("#[") {
            attributes.push_str(item);
            continue;
        }
        let is_hidden = attributes.contains("doc(hidden)") || attributes.contains("cfg(fuzzing)");
        if !item.is_empty() {
            attributes.clear();
        }
        let is_at_root = item.len() == line.len();
        let mut add = |name: &str, path: &str| {
            if !is_hidden {
                found.push(Export {
                    name: name.to_owned(),
                    path: path.to_owned(),
                    is_at_root,
                    line: number,
                });
            }
        };
        if let Some(first) = item.strip_prefix("pub use ") {
            let mut names = first.to_owned();
            while !names.contains(';') {
                let Some((_, more)) = lines.next() else { break };
                names.push_str(more.trim());
            }
            each_name("", names.trim_end_matches(';'), &mut add);
        } else if let Some(name) = declared(item, &ITEMS) {
            add(name, name);
        }
    }
    found
}

/// The name of a public item of one of these kinds that a line declares.
fn declared<'a>(line: &'a str, kinds: &[&str]) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let (kind, rest) = rest.split_once(' ')?;
    if !kinds.contains(&kind) {
        return None;
    }
    code::words(rest).next()
}

/// Gives each name that the tree of a `use` brings, with the path that it stands for.
fn each_name(before: &str, tree: &str, add: &mut impl FnMut(&str, &str)) {
    let tree = tree.trim();
    if let Some((stem, branches)) = tree.split_once('{') {
        let stem = format!("{before}{stem}");
        let branches = branches.strip_suffix('}').unwrap_or(branches);
        let mut depth = 0_usize;
        let branches = branches.split(|c| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            c == ',' && depth == 0
        });
        for branch in branches.filter(|branch| !branch.trim().is_empty()) {
            each_name(&stem, branch, add);
        }
        return;
    }
    let (path, name) = tree.split_once(" as ").unwrap_or((tree, tree));
    let path = format!("{before}{path}");
    let path = path.trim_end_matches("::self");
    let name = name.rsplit("::").next().unwrap_or(name);
    let name = match name {
        "self" => path.rsplit("::").next().unwrap_or(path),
        _ => name,
    };
    add(name, path);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: (&str, &str) = (
        "crates/ranks-part/src/lib.rs",
        "mod one;\n#[doc(hidden)]\npub mod backend;\n#[cfg(fuzzing)]\n#[doc(hidden)]\npub mod fuzzing;\n\
         /// M.\npub mod more;\npub use one::{A, b};\n\n/// T.\npub unsafe trait Trait: Sized {}\npub(crate) fn f() {}\n",
    );

    fn found(umbrella: &str) -> Vec<String> {
        let findings = check(&Tree::of(&[(UMBRELLA, umbrella), PART]));
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn an_umbrella_with_everything_is_in_order() {
        for umbrella in [
            "pub use ranks_part as part;\n",
            "pub use ranks_part::more::*;\npub use ranks_part::{Trait, one::*};\n",
            "/// P.\npub mod part {\n    pub use ranks_part::*;\n}\n",
            "pub use ranks_part::{A, more};\npub mod traits {\n    #[cfg(feature = \"x\")]\n    pub use ranks_part::{\n        \
             Trait,\n        b as c,\n    };\n}\n",
        ] {
            assert!(found(umbrella).is_empty(), "{umbrella}");
        }
    }

    #[test]
    fn what_the_umbrella_did_not_have_is_found() {
        let left_out =
            found("pub use ranks_part::{A, b};\n#[doc(hidden)]\npub use ranks_part::Trait;\n");
        assert_eq!(
            left_out,
            [
                "the umbrella does not have `more` of ranks-part",
                "the umbrella does not have `Trait` of ranks-part",
            ]
        );
        assert_eq!(found("").len(), 4);
    }

    #[test]
    fn a_crate_beside_the_umbrella_need_not_be_in_it() {
        for name in ["ranks-cli", "ranks-part-sys"] {
            let path = format!("crates/{name}/src/lib.rs");
            assert_eq!(check(&Tree::of(&[(&path, "pub fn f() {}\n")])), []);
        }
    }

    #[test]
    fn more_traits_at_the_root_than_may_be_are_found() {
        let names = |count: usize| (0..count).map(|number| format!("T{number}"));
        let declared: String = names(13)
            .map(|name| format!("pub trait {name} {{}}\n"))
            .collect();
        let inside: String = names(13)
            .map(|name| format!("pub use one::{name};\n"))
            .collect();
        let named = |at_root: usize| {
            let roots: Vec<String> = names(at_root).collect();
            format!(
                "pub use ranks_part as part;\npub use ranks_part::{{{}, Other}};\n",
                roots.join(", ")
            )
        };
        let findings = |umbrella: &str| {
            let files = [
                (UMBRELLA, umbrella),
                ("crates/ranks-part/src/lib.rs", inside.as_str()),
                ("crates/ranks-part/src/one.rs", declared.as_str()),
            ];
            check(&Tree::of(&files)).len()
        };
        assert_eq!(findings(&named(12)), 0);
        assert_eq!(findings(&named(13)), 1);
        assert_eq!(findings("pub use ranks_part::*;\n"), 1);
    }

    #[test]
    fn names_are_those_of_the_tree_of_a_use() {
        let mut names = Vec::new();
        each_name(
            "",
            "a::{b, c::{self, D as E, f::*}, g}",
            &mut |name, path| {
                names.push(format!("{name}={path}"));
            },
        );
        assert_eq!(
            names,
            ["b=a::b", "c=a::c", "E=a::c::D", "*=a::c::f::*", "g=a::g"]
        );
    }
}
