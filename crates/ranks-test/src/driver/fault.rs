//! Known faults of MPI libraries: which test is not run on which library, and why.

use super::Case;

/// A test that a library is known to fail through no fault of the program.
///
/// Kept as data, so that the table of a test run can show it and so that it goes when the library
/// is mended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFault {
    /// The library by its name, without a version: `openmpi`, `mpich`, `impi`.
    pub library: String,
    /// `4.1.*`, `5.0.11` or `*`; a list is separated by commas.
    pub versions: String,
    /// The ABI that is affected, if only one is: `mpich`, `openmpi` or `standard`.
    pub abi: Option<String>,
    /// The path of the test's function, as libtest lists it without the number of ranks; a star at
    /// the end stands for any ending.
    pub test: String,
    /// The name of the binary, where two have a test of this path.
    pub binary: Option<String>,
    /// The numbers of ranks that are affected; all if empty.
    pub ranks: Vec<usize>,
    /// `true` if the library does so only where the ranks of a job are on several hosts.
    pub over_hosts: bool,
    /// A sentence that says what the library does.
    pub reason: String,
    /// The address where it was reported or is explained.
    pub link: String,
}

/// The library that tests run on, as far as faults go by it.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// Its name without a version: `openmpi`.
    pub name: &'a str,
    /// `5.0.11`.
    pub version: &'a str,
    /// `mpich`, `openmpi` or `standard`.
    pub abi: &'a str,
}

impl KnownFault {
    /// Returns `true` if the fault is one of this library.
    #[must_use]
    pub fn is_of(&self, library: Library<'_>) -> bool {
        self.library == library.name
            && self.abi.as_deref().is_none_or(|abi| abi == library.abi)
            && self
                .versions
                .split(',')
                .any(|pattern| matches(pattern.trim(), library.version))
    }

    /// Returns `true` if the fault is about this test.
    #[must_use]
    pub fn is_about(&self, binary: &str, case: &Case) -> bool {
        self.is_about_function(binary, case.function())
            && (self.ranks.is_empty() || self.ranks.contains(&case.ranks()))
    }

    /// Returns `true` if the fault is about a test of this path, on some number of ranks.
    #[must_use]
    pub fn is_about_function(&self, binary: &str, function: &str) -> bool {
        matches(&self.test, function) && self.binary.as_deref().is_none_or(|name| name == binary)
    }
}

/// Matches a pattern: `4.1.*` stands for all that begins with `4.1.`; a pattern without a star
/// matches itself alone.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => pattern == text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault() -> KnownFault {
        KnownFault {
            library: "openmpi".to_owned(),
            versions: "4.1.*, 5.0.11".to_owned(),
            test: "p2p::truncation".to_owned(),
            ..KnownFault::default()
        }
    }

    #[test]
    fn a_fault_is_of_the_library_and_versions_it_names() {
        let library = |name, version| Library {
            name,
            version,
            abi: "openmpi",
        };
        let fault = fault();
        assert!(fault.is_of(library("openmpi", "4.1.8")));
        assert!(fault.is_of(library("openmpi", "5.0.11")));
        assert!(!fault.is_of(library("openmpi", "4.10.0")));
        assert!(!fault.is_of(library("openmpi", "5.0.1")));
        assert!(!fault.is_of(library("mpich", "4.1.8")));
        let fault = KnownFault {
            abi: Some("standard".to_owned()),
            ..fault
        };
        assert!(!fault.is_of(library("openmpi", "4.1.8")));
    }

    #[test]
    fn a_fault_is_about_one_function_and_the_ranks_it_names() {
        let case = |name| Case::parse(name).unwrap();
        let mut fault = fault();
        assert!(fault.is_about("any", &case("p2p::truncation::np2")));
        assert!(!fault.is_about("any", &case("p2p::truncation_of_self::np2")));
        fault.ranks = vec![4];
        assert!(!fault.is_about("any", &case("p2p::truncation::np2")));
        assert!(fault.is_about("any", &case("p2p::truncation::np4")));
        fault.test = "p2p::*".to_owned();
        assert!(fault.is_about("any", &case("p2p::truncation_of_self::np4")));
        assert!(!fault.is_about("any", &case("collectives::truncation::np4")));
        fault.binary = Some("comm".to_owned());
        assert!(!fault.is_about("any", &case("p2p::truncation::np4")));
    }
}
