//! `testing/known-faults.toml`: which test is not run on which library, and why.

use ranks_launch::Installation;
use ranks_test::driver::{Binary, Case, KnownFault};
use serde::Deserialize;

use crate::place::Place;
use crate::workspace;

/// The test of an entry that is about how jobs end, after all of their tests; such an end is
/// counted where it is met.
pub const END: &str = "(end of the job)";

/// The test of an entry that is about jobs that a host runs at the same time: any of them may meet
/// it. One that fails is run once more, alone.
pub const BESIDE_OTHERS: &str = "(jobs beside others)";

/// The text that a job prints which has met a fault that any job may meet, for an entry whose test
/// is `(jobs that print "…")`. One that has failed and printed it is run once more, alone.
pub fn printed(fault: &KnownFault) -> Option<&str> {
    let test = fault.test.strip_prefix("(jobs that print \"")?;
    test.strip_suffix("\")")
}

/// The test of an entry that is about jobs over several hosts that Slurm starts itself: any of them
/// may meet it. One that fails is run once more.
pub const BY_SRUN: &str = "(ranks started by srun)";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    fault: Vec<Fault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    library: String,
    versions: String,
    abi: Option<String>,
    test: String,
    binary: Option<String>,
    #[serde(default)]
    ranks: Vec<usize>,
    #[serde(default)]
    over_hosts: bool,
    reason: String,
    link: String,
}

/// The faults of libraries that are known.
///
/// # Errors
/// As [`read`].
pub fn known() -> Result<Vec<KnownFault>, String> {
    read("known-faults.toml")
}

/// The faults in a file of the folder `testing`.
///
/// # Errors
/// A sentence if it cannot be read, or does not say what it has to.
pub fn read(file: &str) -> Result<Vec<KnownFault>, String> {
    let path = workspace::root().join("testing").join(file);
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The fault that a job may meet because `srun` starts its ranks.
///
/// # Errors
/// As [`read`].
pub fn by_srun(installation: &Installation) -> Result<Option<KnownFault>, String> {
    let place = Place::of(installation.clone());
    let meets = |fault: &KnownFault| fault.test == BY_SRUN && fault.is_of(place.library());
    Ok(known()?.into_iter().find(meets))
}

fn parse(text: &str) -> Result<Vec<KnownFault>, String> {
    let document: Document = toml::from_str(text).map_err(|error| error.to_string())?;
    let faults = document.fault.into_iter().map(|fault| KnownFault {
        library: fault.library,
        versions: fault.versions,
        abi: fault.abi,
        test: fault.test,
        binary: fault.binary,
        ranks: fault.ranks,
        over_hosts: fault.over_hosts,
        reason: fault.reason,
        link: fault.link,
    });
    Ok(faults.collect())
}

/// The faults that are about no test of these, on ranks or as jobs of their own: their tests have
/// been renamed or removed.
pub fn about_nothing<'a>(
    faults: &'a [KnownFault],
    on_ranks: &[(Binary, Vec<Case>)],
    jobs: &[(Binary, Vec<String>)],
) -> Vec<&'a KnownFault> {
    let about_one = |fault: &&KnownFault| {
        let is_about = |binary: &Binary, case: &Case| fault.is_about(&binary.name, case);
        let is_about_job =
            |binary: &Binary, name: &String| fault.is_about_function(&binary.name, name);
        on_ranks
            .iter()
            .any(|(binary, cases)| cases.iter().any(|case| is_about(binary, case)))
            || jobs
                .iter()
                .any(|(binary, names)| names.iter().any(|name| is_about_job(binary, name)))
    };
    let of_jobs = [END, BESIDE_OTHERS, BY_SRUN];
    let is_about_tests =
        |fault: &&KnownFault| !of_jobs.contains(&&*fault.test) && printed(fault).is_none();
    faults
        .iter()
        .filter(is_about_tests)
        .filter(|fault| !about_one(fault))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_this_workspace_can_be_read() {
        for fault in known().unwrap() {
            assert!(
                !fault.reason.is_empty() && !fault.link.is_empty(),
                "{fault:?}"
            );
        }
    }

    #[test]
    fn a_fault_needs_its_reason_and_a_misspelt_key_is_an_error() {
        let fault = "[[fault]]\nlibrary = \"mpich\"\nversions = \"*\"\ntest = \"a::b\"\n";
        assert!(parse(fault).unwrap_err().contains("reason"));
        let whole = format!("{fault}reason = \"r\"\nlink = \"l\"\n");
        assert_eq!(parse(&whole).unwrap()[0].test, "a::b");
        assert!(parse(&format!("{whole}rank = [4]\n")).is_err());
    }

    #[test]
    fn a_fault_about_no_test_is_found() {
        let faults = parse(
            "[[fault]]\nlibrary = \"mpich\"\nversions = \"*\"\ntest = \"a::b\"\nreason = \"r\"\nlink = \"l\"\n",
        )
        .unwrap();
        let binary = Binary {
            name: "x".to_owned(),
            path: "/x".into(),
            folder: None,
            environment: Vec::new(),
            runner: Vec::new(),
        };
        let cases = |name: &str| vec![(binary.clone(), vec![Case::parse(name).unwrap()])];
        assert_eq!(about_nothing(&faults, &cases("a::b::np2"), &[]).len(), 0);
        assert_eq!(about_nothing(&faults, &cases("a::c::np2"), &[]).len(), 1);
        let jobs = vec![(binary.clone(), vec!["a::b".to_owned()])];
        assert_eq!(about_nothing(&faults, &[], &jobs).len(), 0);
        for test in [END, "(jobs that print \"SIGPIPE\")"] {
            let of_jobs = KnownFault {
                test: test.to_owned(),
                ..faults[0].clone()
            };
            assert_eq!(about_nothing(&[of_jobs], &[], &[]).len(), 0);
        }
    }
}
