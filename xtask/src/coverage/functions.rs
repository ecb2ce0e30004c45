//! The functions of the standard, read from the generated tables of `ranks-mpi-sys`.

use crate::tidy::tree::Tree;

/// One function of MPI.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The group that it belongs to, in the words of the generator.
    pub(crate) family: String,
    /// The version of the standard that brought it; "3.1" stands for that or any before.
    pub(crate) since: String,
}

const FOLDER: &str = "crates/ranks-mpi-sys/src/generated/functions/";
const FAMILY: &str = "//! Functions of MPI: ";

/// Every function, family by family, in the order of the tables.
pub(crate) fn functions(tree: &Tree) -> Vec<Function> {
    let mut functions = Vec::new();
    for (_, text) in tree.rust().filter(|(path, _)| path.starts_with(FOLDER)) {
        let family = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix(FAMILY));
        let Some(family) = family.map(|family| family.trim_end_matches('.')) else {
            continue;
        };
        functions.extend(text.lines().filter_map(|line| function(line, family)));
    }
    functions
}

/// The function of a line such as `    hot "3.1" MPI_Send(buf: ConstBuf, …) -> Code;`.
fn function(line: &str, family: &str) -> Option<Function> {
    let (class, rest) = line.strip_prefix("    ")?.split_once(" \"")?;
    let (since, rest) = rest.split_once("\" ")?;
    let (name, _) = rest.split_once('(')?;
    let is_class = class.starts_with(|c: char| c.is_ascii_lowercase()) && !class.contains(' ');
    (is_class && name.starts_with("MPI_")).then(|| Function {
        name: name.to_owned(),
        family: family.to_owned(),
        since: since.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read() {
        let text = "//! Functions of MPI: one-sided communication.\n\nfunctions! {\n\
                    \x20   /// `int MPI_Put(…)` (MPI 3.1 or earlier)\n\
                    \x20   shim \"3.1\" MPI_Put(a: X) -> Code;\n\
                    \x20   large(MPI_Put) \"4.0\" MPI_Put_c(a: X) -> Code;\n}\n";
        let found = functions(&Tree::of(&[
            (&format!("{FOLDER}rma.rs"), text),
            (&format!("{FOLDER}mod.rs"), "//! Other.\n"),
        ]));
        let expected = |name: &str, since: &str| Function {
            name: name.into(),
            family: "one-sided communication".into(),
            since: since.into(),
        };
        assert_eq!(
            found,
            [expected("MPI_Put", "3.1"), expected("MPI_Put_c", "4.0")]
        );
    }

    #[test]
    fn this_workspace_has_the_functions_of_the_standard() {
        assert_eq!(functions(&Tree::of_workspace().unwrap()).len(), 664);
    }
}
