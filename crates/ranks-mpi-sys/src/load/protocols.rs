//! By which protocols of launchers a library can find its ranks, as far as that is seen before it
//! is initialised.

use std::ffi::{CStr, CString};
use std::path::Path;

use ranks_load::Library;

use super::open_mpi::open_mpi_version;

/// The components of Open MPI 4 for PMI-1 and PMI-2, in releases that were built with them.
const OF_PMI: [&str; 2] = ["mca_pmix_s1", "mca_pmix_s2"];

/// One that every Open MPI 4 has: where it is the others are, too.
const ALWAYS: &str = "mca_pmix_isolated";

/// The folders of Open MPI's components, seen from the folder of the library.
const FOLDERS: [&str; 3] = ["openmpi", "openmpi3", "openmpi/lib/openmpi3"];

/// Returns `true` if a library of MPICH itself was built with one for PMIx.
pub(crate) fn mpich_has_pmix(library: &Library) -> bool {
    library.own_symbol(c"PMIx_Init").is_some()
}

/// Returns whether an Open MPI may understand PMI-1 or PMI-2: release 5 gave them up, and up to
/// then there is a component for each.
pub(crate) fn open_mpi_may_have_pmi(library: &Library, name: &str, file: &Path) -> bool {
    match open_mpi_version(name).map(|[major, ..]| major) {
        Some(5..) => false,
        Some(4) => {
            let symbol = |component: &str| CString::new(format!("{component}_component")).ok();
            let within = |component: &str| {
                let symbol = symbol(component);
                symbol.is_some_and(|symbol: CString| has(library, &symbol))
            };
            may_have_pmi(within) && folders(file).all(may_have_pmi)
        }
        _ => true,
    }
}

fn has(library: &Library, symbol: &CStr) -> bool {
    library.own_symbol(symbol).is_some()
}

/// For each folder with components: whether it has one.
fn folders(file: &Path) -> impl Iterator<Item = impl Fn(&str) -> bool> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    FOLDERS.into_iter().map(move |folder| {
        let folder = file.with_file_name(folder);
        move |component: &str| folder.join(format!("{component}.so")).is_file()
    })
}

/// Returns `true` if a place for components may have those for PMI: it has, or it is not where
/// components are.
fn may_have_pmi(has: impl Fn(&str) -> bool) -> bool {
    !has(ALWAYS) || OF_PMI.into_iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_components_are_one_is_missed() {
        let among =
            |list: &'static [&'static str]| move |component: &str| list.contains(&component);
        assert!(may_have_pmi(among(&[])));
        assert!(!may_have_pmi(among(&[ALWAYS])));
        assert!(may_have_pmi(among(&[ALWAYS, "mca_pmix_s2"])));
    }
}
