//! A public function that calls C is found by its C name, in the docs of its crate:
//! `#[doc(alias = "MPI_Send")]`.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{self, words};
use super::finding::Finding;
use super::tree::{Tree, crate_of};
use crate::coverage::aliases::{Alias, aliases};
use crate::coverage::functions::functions;

/// A crate, and what it calls besides the functions that its methods are named after.
type Helpers = (&'static str, &'static [&'static str]);

/// Functions that are called to learn errors, to wait, to agree, to free, to ask.
const HELPERS: [Helpers; 3] = [
    (
        "ranks-collectives",
        &[
            "MPI_Cart_create",
            "MPI_Comm_free",
            "MPI_Request_free",
            "MPI_Start",
            "MPI_Type_commit",
            "MPI_Type_contiguous",
            "MPI_Type_free",
            "MPI_Wait",
        ],
    ),
    (
        "ranks-comm",
        &[
            "MPI_Allreduce",
            "MPI_Barrier",
            "MPI_Comm_get_errhandler",
            "MPI_Comm_set_errhandler",
            "MPI_Errhandler_free",
            "MPI_Error_string",
            "MPI_Finalized",
            "MPI_Get_elements_x",
            "MPI_Iallgather",
            "MPI_Iallreduce",
            "MPI_Ibarrier",
            "MPI_Initialized",
            "MPI_Is_thread_main",
        ],
    ),
    (
        "ranks-rma-window",
        &[
            "MPI_Alltoall",
            "MPI_Comm_dup",
            "MPI_Comm_free",
            "MPI_Comm_rank",
            "MPI_Comm_size",
            "MPI_Get_address",
            "MPI_Group_free",
            "MPI_Group_incl",
            "MPI_Iprobe",
            "MPI_Isend",
            "MPI_Recv",
            "MPI_Reduce_local",
            "MPI_Request_free",
            "MPI_Win_get_group",
            "MPI_Win_set_errhandler",
        ],
    ),
];

/// The file of the list of helpers, for those who have to change it.
const HERE: &str = "xtask/src/tidy/names.rs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    with_helpers(tree, &HELPERS)
}

fn with_helpers(tree: &Tree, helpers: &[Helpers]) -> Vec<Finding> {
    let functions: BTreeSet<String> = functions(tree)
        .into_iter()
        .map(|function| function.name)
        .collect();
    let aliases = aliases(tree);
    let mut findings = called(tree, &functions, &aliases, helpers);
    findings.extend(unknown(tree, &aliases));
    findings
}

/// Functions that the `mpi` folders call, with no public item of that name in the crate; and
/// helpers that are none.
fn called(
    tree: &Tree,
    functions: &BTreeSet<String>,
    aliases: &[Alias],
    helpers: &[Helpers],
) -> Vec<Finding> {
    // The first call of each function in each crate.
    let mut calls = BTreeMap::new();
    for (path, code) in tree
        .code()
        .filter(|(path, _)| path.contains("/src/") && path.contains("/mpi/"))
    {
        let Some(name) = crate_of(path) else { continue };
        for (line, code) in code::lines(code) {
            for word in words(code).filter(|word| functions.contains(*word)) {
                calls.entry((name, word.to_owned())).or_insert((path, line));
            }
        }
    }
    for alias in aliases {
        if let Some(name) = crate_of(&alias.path) {
            calls.remove(&(name, alias.name.clone()));
        }
    }
    let mut findings = Vec::new();
    for (name, helpers) in helpers {
        for helper in *helpers {
            if calls.remove(&(*name, (*helper).to_owned())).is_none() {
                let what =
                    format!("{helper} is no helper of {name}: it is not called, or has an alias");
                findings.push(Finding::new(HERE, 0, what, "take it out of the list"));
            }
        }
    }
    for ((name, word), (path, line)) in calls {
        let what = format!("{word} is called, and no public item of {name} has it as an alias");
        let fix = format!(
            "write #[doc(alias = \"{word}\")] above the function that comes to it, or list it in {HERE} if it only helps others"
        );
        findings.push(Finding::new(path, line, what, fix));
    }
    findings
}

/// Aliases that look like names of MPI and are none.
fn unknown(tree: &Tree, aliases: &[Alias]) -> Vec<Finding> {
    let sys = |path: &str| path.starts_with("crates/ranks-mpi-sys/src/");
    let known: BTreeSet<&str> = tree
        .rust()
        .filter(|(path, _)| sys(path))
        .flat_map(|(_, text)| words(text))
        .collect();
    let wrong = aliases
        .iter()
        .filter(|alias| alias.name.starts_with("MPI_") && !known.contains(alias.name.as_str()));
    let finding = |alias: &Alias| {
        let what = format!("there is no {} in MPI", alias.name);
        Finding::new(
            &alias.path,
            alias.line,
            what,
            "spell it as the standard does",
        )
    };
    wrong.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYS: (&str, &str) = (
        "crates/ranks-mpi-sys/src/generated/functions/pt2pt.rs",
        "//! Functions of MPI: point-to-point communication.\nfunctions! {\n    /// x\n    hot \"3.1\" MPI_Send(buf: ConstBuf) -> Code;\n}\n",
    );
    fn findings(helpers: &[Helpers], tree: &Tree) -> Vec<Finding> {
        with_helpers(tree, helpers)
    }

    const CALL: (&str, &str) = (
        "crates/ranks-comm/src/transport/mpi/send.rs",
        "\n    let code = unsafe { native::MPI_Send(buf) };\n",
    );

    #[test]
    fn a_call_without_an_alias_is_found() {
        let found = findings(&[], &Tree::of(&[SYS, CALL]));
        assert_eq!((found.len(), found[0].line), (1, 2), "{found:?}");
        let elsewhere = (
            "crates/ranks-rma-window/src/send.rs",
            "#[doc(alias = \"MPI_Send\")]\npub fn send() {}\n",
        );
        assert_eq!(
            findings(&[], &Tree::of(&[SYS, CALL, elsewhere])).len(),
            1,
            "an alias of another crate"
        );
    }

    #[test]
    fn a_call_with_an_alias_is_in_order() {
        let alias = (
            "crates/ranks-comm/src/p2p/send.rs",
            "#[doc(alias = \"MPI_Send\")]\npub fn send() {}\n",
        );
        assert_eq!(findings(&[], &Tree::of(&[SYS, CALL, alias])), []);
        let in_words = (
            "crates/ranks-comm/src/transport/mpi/send.rs",
            "// MPI_Send\nconst OPERATION: &str = \"MPI_Send\";\n",
        );
        assert_eq!(findings(&[], &Tree::of(&[SYS, in_words])), []);
    }

    #[test]
    fn an_alias_that_is_no_name_of_mpi_is_found() {
        let alias = (
            "crates/ranks-comm/src/p2p/send.rs",
            "\n#[doc(alias = \"MPI_Sned\")]\npub fn send() {}\n",
        );
        let found = findings(&[], &Tree::of(&[SYS, alias]));
        assert_eq!((found.len(), found[0].line), (1, 2));
    }

    #[test]
    fn a_helper_needs_no_alias_and_one_that_is_not_called_is_found() {
        let send: [Helpers; 1] = [("ranks-comm", &["MPI_Send"])];
        assert_eq!(findings(&send, &Tree::of(&[SYS, CALL])), []);
        let found = findings(&send, &Tree::of(&[SYS]));
        assert_eq!((found.len(), found[0].path.as_str()), (1, HERE));
    }
}
