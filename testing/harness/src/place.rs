//! The MPIs of the matrix: those that are here, and those that should be.

use std::num::NonZero;
use std::path::Path;
use std::process::Command;

use ranks_launch::{Family, Installation};
use ranks_test::driver::Library;

use crate::mpi;

/// What every run on all MPIs is to cover.
const MATRIX: [&str; 11] = [
    "mpich-3.4.3",
    "mpich-4.1.3",
    "mpich-4.2.3",
    "mpich-4.3.2",
    "mpich-5.0.2",
    "mpich-5.0.2-abi",
    "openmpi-4.1.8",
    "openmpi-5.0.11",
    "impi-2021.19.0",
    "debian-mpich",
    "debian-openmpi",
];

/// An MPI to run on.
#[derive(Debug)]
pub struct Place {
    /// As `cargo xtask mpi` names it.
    pub name: String,
    /// Which ABI the library has: `standard`, `mpich` or `openmpi`.
    pub abi: &'static str,
    library: &'static str,
    version: String,
    /// Set if an emulator runs its ranks.
    emulated: bool,
    /// Where it is, or why it is not.
    pub installation: Result<Installation, String>,
}

/// The MPIs of another processor that its tests are to cover.
const EMULATED: [&str; 3] = ["mpich-5.0.2", "mpich-5.0.2-abi", "openmpi-5.0.11"];

/// QEMU 7.2 has no `process_vm_readv`, by which libraries copy from the memory of another rank.
/// Open MPI's launcher, which is not emulated, sends ranks what they are to know instead of sharing
/// it in memory. All takes longer.
pub const EMULATION: [(&str, &str); 5] = [
    ("MPIR_CVAR_CH4_CMA_ENABLE", "0"),
    ("UCX_TLS", "^cma"),
    ("OMPI_MCA_smsc", "^cma"),
    ("PMIX_MCA_gds", "hash"),
    ("RANKS_TEST_TIMEOUT", "600"),
];

/// Open MPI's libfabric looks for interfaces for a second, in every `MPI_Init` of 5.0.11 and every
/// `MPI_Finalize` of 4.1.8. On one machine no message goes by it. Debian's Open MPI, which is
/// quicker, and jobs over several hosts choose by themselves.
const WITHOUT_LIBFABRIC: [(&str, &str); 2] = [("OMPI_MCA_btl", "^ofi"), ("OMPI_MCA_mtl", "^ofi")];

/// MPICH before 4.1 has no `MPIR_CVAR_ENABLE_HEAVY_YIELD`: where there are fewer cores than ranks,
/// each message to a rank without a core is a slice of time.
const NEVER_YIELDING: [&str; 2] = ["mpich-3.4.3", "debian-mpich"];

/// One release of a minor version between others that are tried in full: two ranks and three are
/// what such differ by, and jobs end as on its neighbours.
const BETWEEN_OTHERS: [&str; 2] = ["mpich-4.1.3", "mpich-4.2.3"];

impl Place {
    /// Returns `true` if a run on all MPIs tries so many ranks here.
    pub fn tries(&self, ranks: usize) -> bool {
        match ranks {
            2 => true,
            3 => !self.emulated,
            _ => !self.emulated && !self.is_between_others(),
        }
    }

    /// Returns `true` if its neighbours among the releases are tried in full.
    pub fn is_between_others(&self) -> bool {
        BETWEEN_OTHERS.contains(&self.name.as_str())
    }

    /// That of an installation which is here.
    pub fn of(installation: Installation) -> Place {
        let standard = installation
            .library
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("libmpi_abi"));
        let (library, own) = match installation.family {
            Family::OpenMpi => ("openmpi", "openmpi"),
            Family::Intel => ("impi", "mpich"),
            _ => ("mpich", "mpich"),
        };
        Place {
            name: installation.name.clone(),
            abi: if standard { "standard" } else { own },
            library,
            version: version(&installation),
            emulated: false,
            installation: Ok(installation),
        }
    }

    fn missing(name: &str, why: String) -> Place {
        Place {
            name: name.to_owned(),
            abi: "",
            library: "",
            version: String::new(),
            emulated: false,
            installation: Err(why),
        }
    }

    /// What jobs here are to have in their environment, beside what is set there already.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = self.library == "openmpi" && !self.name.starts_with("debian-");
        let variables = WITHOUT_LIBFABRIC.iter().filter(move |_| own);
        let emulation = EMULATION.iter().filter(|_| self.emulated);
        let variables = variables.chain(emulation).copied();
        variables.filter(|(name, _)| std::env::var_os(name).is_none())
    }

    /// Returns `true` if so many ranks have fewer cores, and those that wait keep theirs from the
    /// others.
    pub fn is_short_of_cores(&self, ranks: usize) -> bool {
        ranks > cores() && NEVER_YIELDING.contains(&self.name.as_str())
    }

    /// The same where they are on several hosts: Intel MPI polls its connections without a pause.
    pub fn is_short_of_cores_over_hosts(&self, ranks: usize) -> bool {
        ranks > cores() && self.keeps_cores()
    }

    /// Returns `true` if ranks that wait may keep their cores from other jobs.
    pub fn keeps_cores(&self) -> bool {
        self.library == "impi" || NEVER_YIELDING.contains(&self.name.as_str())
    }

    /// As known faults go by it.
    pub fn library(&self) -> Library<'_> {
        Library {
            name: self.library,
            version: &self.version,
            abi: self.abi,
        }
    }
}

/// The version, which the launcher tells where the name does not.
fn version(installation: &Installation) -> String {
    if let Some(version) = &installation.version {
        return version.clone();
    }
    let mut command = Command::new(&installation.launcher);
    command.arg("--version");
    command.envs(installation.env.iter().map(|(name, value)| (name, value)));
    let text = command.output().map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    version_in(&text).unwrap_or_default()
}

/// The first word of numbers with dots between them.
fn version_in(text: &str) -> Option<String> {
    text.split_whitespace()
        .find(|word| {
            word.contains('.')
                && word
                    .split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .map(str::to_owned)
}

/// The MPIs to run on: those that are named, or all that are here and all that should be.
///
/// # Errors
/// A sentence if the machine cannot be looked through.
pub fn places(names: &[String]) -> Result<Vec<Place>, String> {
    if names == ["none"] {
        return Ok(Vec::new());
    }
    if names.is_empty() {
        let here = mpi::matrix(&[])?;
        let known = |name: &str| here.iter().any(|installation| installation.name == name);
        let missing: Vec<Place> = MATRIX
            .into_iter()
            .filter(|name| !known(name))
            .map(|name| Place::missing(name, missing(name)))
            .collect();
        return Ok(here.into_iter().map(Place::of).chain(missing).collect());
    }
    let named = |name: &String| match mpi::matrix(std::slice::from_ref(name)) {
        Ok(found) => found.into_iter().map(Place::of).collect(),
        Err(why) => vec![Place::missing(name, why)],
    };
    Ok(names.iter().flat_map(named).collect())
}

/// The MPIs below `folder`, of another processor, that are named or are to be covered: each with
/// the launcher of the same MPI for this one, whose ranks need not be of its own kind.
///
/// # Errors
/// A sentence if the machine cannot be looked through.
pub fn emulated(names: &[String], folder: &Path) -> Result<Vec<Place>, String> {
    let there = Installation::below(folder);
    let names = if names.is_empty() {
        EMULATED.map(str::to_owned).to_vec()
    } else {
        names.to_vec()
    };
    let mut found = places(&names)?;
    for place in &mut found {
        let other = there.iter().find(|other| other.name == place.name);
        place.emulated = true;
        match (&mut place.installation, other) {
            (Ok(here), Some(other)) => here.library.clone_from(&other.library),
            (Err(_), _) => {}
            (here, None) => {
                *here = Err(format!("{} is not in {}", place.name, folder.display()));
            }
        }
    }
    Ok(found)
}

/// The number of cores that this machine has.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn missing(name: &str) -> String {
    if name.starts_with("debian-") {
        return format!("{name} is not here: apt-get install mpich openmpi-bin libopenmpi3");
    }
    let wheel = name.trim_end_matches("-abi");
    format!("{name} is not here: cargo xtask mpi install {wheel}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_what_launchers_print() {
        let found = |text| version_in(text);
        assert_eq!(
            found("mpiexec (OpenRTE) 4.1.4\n\nReport bugs").as_deref(),
            Some("4.1.4")
        );
        assert_eq!(
            found("HYDRA build details:\n    Version:       4.0.2\n").as_deref(),
            Some("4.0.2")
        );
        assert_eq!(found("no number. 4. .1 x.y"), None);
    }

    #[test]
    fn one_that_should_be_here_and_is_not_says_how_to_get_it() {
        let why = missing("mpich-5.0.2-abi");
        assert!(why.ends_with("install mpich-5.0.2"), "{why}");
        let places = places(&["mpich-0.0".to_owned()]).unwrap();
        assert!(places[0].installation.is_err());
    }

    #[test]
    fn an_emulated_mpi_needs_a_library_of_its_own_and_runs_on_two_ranks() {
        let places = emulated(&[], Path::new("/nowhere")).unwrap();
        assert_eq!(places.len(), EMULATED.len());
        for place in places {
            assert!(place.installation.is_err());
            assert!(place.tries(2) && !place.tries(1) && !place.tries(3));
            let set: Vec<&str> = place.environment().map(|(name, _)| name).collect();
            let all =
                |(name, _): &(&str, &str)| set.contains(name) || std::env::var_os(name).is_some();
            assert!(EMULATION.iter().all(all), "{set:?}");
        }
    }
}
