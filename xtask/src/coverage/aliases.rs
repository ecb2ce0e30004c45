//! The C names that items of the safe crates are found by: `#[doc(alias = "MPI_Send")]`.

use std::collections::BTreeSet;

use crate::tidy::code::{self, Blank, strip};
use crate::tidy::tree::{Tree, crate_of};

/// A C name and the item that has it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Alias {
    pub(crate) name: String,
    /// The item, with the type or trait that it belongs to: `Communicator::send`.
    pub(crate) item: String,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// Every alias in the sources of the crates that are not bindings.
pub(crate) fn aliases(tree: &Tree) -> Vec<Alias> {
    let safe = |path: &str| {
        path.contains("/src/") && crate_of(path).is_some_and(|name| !name.ends_with("-sys"))
    };
    let found = tree.rust().filter(|(path, _)| safe(path));
    let found = found.flat_map(|(path, text)| in_file(path, text));
    let (rows, mut declared): (Vec<Alias>, Vec<Alias>) =
        found.partition(|alias| alias.item.ends_with(':'));
    let by_hand: BTreeSet<String> = declared.iter().map(|alias| alias.item.clone()).collect();
    for row in rows {
        let items = of_traits(tree, &row).filter(|item| !by_hand.contains(item));
        declared.extend(items.map(|item| Alias {
            name: row.name.clone(),
            item,
            path: row.path.clone(),
            line: row.line,
        }));
    }
    declared
}

/// The methods that a row of a table, `igather: …`, is made into: those of that name in traits of
/// the crate, by the list of its public items.
fn of_traits<'t>(tree: &'t Tree, row: &'t Alias) -> impl Iterator<Item = String> + 't {
    let name = crate_of(&row.path).unwrap_or_default();
    let list = tree.text(&format!("docs/api/{name}.txt"));
    list.unwrap_or_default().lines().filter_map(|line| {
        let (path, _) = line.strip_prefix("pub fn ")?.split_once(['<', '('])?;
        let [_, owner, method] = path.split("::").collect::<Vec<_>>()[..] else {
            return None;
        };
        (row.item.strip_suffix(':') == Some(method)).then(|| format!("{owner}::{method}"))
    })
}

/// Those of one file; of a row of a table, the item has its colon.
fn in_file(path: &str, text: &str) -> Vec<Alias> {
    let mut found = Vec::new();
    let mut pending: Vec<(usize, String)> = Vec::new();
    let mut owner: Option<String> = None;
    for (number, line) in code::lines(&strip(text, Blank::Comments)) {
        if line.starts_with('}') {
            owner = None;
        }
        let trimmed = line.trim();
        if let Some(arguments) = trimmed.strip_prefix("#[doc(alias") {
            pending.extend(
                arguments
                    .split('"')
                    .skip(1)
                    .step_by(2)
                    .map(|name| (number, name.to_owned())),
            );
            continue;
        }
        if trimmed.is_empty() || trimmed.starts_with("#[") {
            continue;
        }
        if !pending.is_empty() {
            let item = item(trimmed).unwrap_or(trimmed);
            let item = match &owner {
                Some(owner) => format!("{owner}::{item}"),
                None if trimmed.starts_with(&format!("{item}:")) => format!("{item}:"),
                None => item.to_owned(),
            };
            let alias = |(line, name)| Alias {
                name,
                item: item.clone(),
                path: path.to_owned(),
                line,
            };
            found.extend(pending.drain(..).map(alias));
        }
        if !line.starts_with(' ') && line.ends_with('{') {
            owner = owner_of(line);
        }
    }
    found
}

/// The type, trait or enum whose body a line at the margin opens.
fn owner_of(line: &str) -> Option<String> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    let named = if let Some(rest) = line.strip_prefix("impl") {
        let rest = if rest.starts_with('<') {
            &rest[code::bracketed(rest, ['<', '>'])?..]
        } else {
            rest
        };
        rest.split(" for ").last()?.trim()
    } else {
        line.strip_prefix("trait ")
            .or_else(|| line.strip_prefix("enum "))?
    };
    let name: String = named
        .chars()
        .take_while(|&c| c.is_alphanumeric() || "_:".contains(c))
        .collect();
    let name = name.trim_end_matches(':').rsplit("::").next()?.to_owned();
    (!name.is_empty()).then_some(name)
}

/// The name of the item that a line declares; a variant's is its first word.
fn item(line: &str) -> Option<&str> {
    const KEYWORDS: [&str; 8] = [
        "fn", "struct", "enum", "trait", "type", "const", "static", "mod",
    ];
    let mut words = code::words(line)
        .skip_while(|word| ["pub", "crate", "super", "unsafe", "async"].contains(word));
    let first = words.next()?;
    if !KEYWORDS.contains(&first) {
        return Some(first);
    }
    let second = words.next()?;
    // `const fn name`
    if second == "fn" {
        words.next()
    } else {
        Some(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<(String, String, usize)> {
        let found = aliases(&Tree::of(&[("crates/ranks-comm/src/x.rs", text)]));
        found
            .into_iter()
            .map(|alias| (alias.name, alias.item, alias.line))
            .collect()
    }

    fn expected(name: &str, item: &str, line: usize) -> (String, String, usize) {
        (name.into(), item.into(), line)
    }

    #[test]
    fn a_method_is_named_with_its_type() {
        let text = "impl<'a, T: Pod> Window<'a, T> {\n    /// Puts.\n    #[doc(alias = \"MPI_Put\")]\n    #[doc(alias = \"MPI_Put_c\")]\n    #[inline]\n    pub fn put(&self) {}\n}\n";
        assert_eq!(
            items(text),
            [
                expected("MPI_Put", "Window::put", 3),
                expected("MPI_Put_c", "Window::put", 4)
            ]
        );
        let of_trait = "pub trait Collectives: Sealed {\n    #[doc(alias(\"MPI_Bcast\", \"MPI_Bcast_c\"))]\n    fn bcast(&self);\n}\n";
        assert_eq!(
            items(of_trait)[1],
            expected("MPI_Bcast_c", "Collectives::bcast", 2)
        );
        let for_type = "impl Collectives for Communicator {\n    #[doc(alias = \"MPI_Barrier\")]\n    fn barrier(&self) {}\n}\n";
        assert_eq!(
            items(for_type)[0],
            expected("MPI_Barrier", "Communicator::barrier", 2)
        );
    }

    #[test]
    fn other_items_are_named_alone() {
        let text = "impl X {\n    pub fn f() {}\n}\n#[doc(alias = \"MPI_Comm_compare\")]\n#[derive(Debug)]\npub enum Comparison {\n    #[doc(alias = \"MPI_IDENT\")]\n    Identical,\n}\n#[doc(alias = \"MPI_Init\")]\npub const fn init() {}\n";
        let all = [
            expected("MPI_Comm_compare", "Comparison", 4),
            expected("MPI_IDENT", "Comparison::Identical", 7),
            expected("MPI_Init", "init", 10),
        ];
        assert_eq!(items(text), all);
    }

    #[test]
    fn a_row_is_a_method_of_each_trait_that_has_it_but_by_hand() {
        let table = "macro_rules! table {\n    ($form:ident) => {\n        #[doc(alias(\"MPI_Igather\"))]\n        igather: \"6.12.3\";\n";
        let by_hand =
            "pub trait Other {\n    #[doc(alias = \"MPI_Igather\")]\n    fn igather(&self);\n}\n";
        let list = "pub trait ranks_comm::A: Sealed\npub fn ranks_comm::A::igather<S>(&self, S)\npub fn ranks_comm::B::igather(&self)\npub fn ranks_comm::B::igatherv(&self)\npub fn ranks_comm::Other::igather(&self)\npub fn other::a::C::igather(&self)\n";
        let found = aliases(&Tree::of(&[
            ("crates/ranks-comm/src/x.rs", table),
            ("crates/ranks-comm/src/y.rs", by_hand),
            ("docs/api/ranks-comm.txt", list),
        ]));
        let items: Vec<&str> = found.iter().map(|alias| &*alias.item).collect();
        assert_eq!(items, ["Other::igather", "A::igather", "B::igather"]);
    }

    #[test]
    fn bindings_and_comments_do_not_count() {
        assert_eq!(
            items("// #[doc(alias = \"MPI_Put\")]\npub fn put() {}\n"),
            []
        );
        let sys = Tree::of(&[(
            "crates/ranks-mpi-sys/src/x.rs",
            "#[doc(alias = \"MPI_Put\")]\npub fn put() {}\n",
        )]);
        assert_eq!(aliases(&sys), []);
    }
}
