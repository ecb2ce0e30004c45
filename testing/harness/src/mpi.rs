//! The MPIs that are here: those of the machine, and those below `target/mpi`.

use std::path::PathBuf;

use ranks_launch::Installation;

use crate::{wheels, workspace};

/// Where the provisioned MPIs lie: always in the workspace, so that every target folder shares
/// them.
pub fn folder() -> PathBuf {
    workspace::root().join("target").join("mpi")
}

/// The MPIs to run on: those that `select` names, or all that are here.
///
/// # Errors
/// A sentence when one that was named is not here.
pub fn matrix(select: &[String]) -> Result<Vec<Installation>, String> {
    let mut here = Installation::all(Some(&folder()));
    if select.is_empty() {
        // Some are brought for their headers alone, though they would run.
        here.retain(|installation| {
            wheels::named(&installation.name).is_none_or(|wheel| wheel.runs)
        });
        return Ok(here);
    }
    let find = |name: &String| {
        let found = here.iter().find(|installation| installation.name == *name);
        found
            .cloned()
            .ok_or_else(|| match wheels::named(name).filter(|wheel| wheel.runs) {
                Some(wheel) => format!(
                    "{name} is not here: cargo xtask mpi install {}",
                    wheel.folder
                ),
                None => {
                    let names: Vec<&str> = here
                        .iter()
                        .map(|installation| installation.name.as_str())
                        .collect();
                    format!("no MPI is named {name}; here are: {}", names.join(", "))
                }
            })
    };
    select.iter().map(find).collect()
}
