//! No library, half a library, or none where one was named: an error that lists what was tried and
//! says what to do.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ranks_launch::{Installation, Job, Outcome};

use super::{
    LIMIT, PROGRAM, assert_failed_soon, named, run_in_spite_of_hydra, scratch, shared_library,
};

/// A name under which MPI libraries are found, by the dynamic linker too.
const NAMES: [&str; 6] = [
    "libmpi.so.12",
    "libmpich.so.12",
    "libmpi.so.40",
    "libmpi_abi.so.1",
    "libmpi_abi.so.0",
    "libmpi_cray.so.12",
];

/// A file that compilers take for a library and the dynamic linker does not.
const LINKER_SCRIPT: &str = "/* GNU ld script: use the shared library, which lies elsewhere, and what it needs */\n\
                             INPUT ( /usr/lib/mpi/libmpi.so.12 AS_NEEDED ( /usr/lib/mpi/libpmi.so.1 ) )\n";

/// The program alone, with no variables but these.
pub(super) fn alone(variables: &[(&str, &str)]) -> Outcome {
    let pairs = variables
        .iter()
        .map(|(name, value)| OsString::from(format!("{name}={value}")));
    let job = Job::new("env")
        .args(["-i"])
        .args(pairs)
        .args([PROGRAM, "world"])
        .timeout(LIMIT);
    job.run().unwrap()
}

/// The program with `RANKS_MPI` set to `value`.
enum Started<'a> {
    /// By nobody, and told to use MPI.
    Alone,
    /// By the launcher of an MPI, as two ranks.
    By(&'a Installation),
}

impl Started<'_> {
    fn name(&self) -> &str {
        match self {
            Started::Alone => "alone",
            Started::By(installation) => &installation.name,
        }
    }

    /// Starts it, and insists that every rank that speaks says all of `expected`.
    #[track_caller]
    fn refuses(&self, value: &Path, expected: &[&str]) {
        let name = format!("{}, RANKS_MPI={}", self.name(), value.display());
        let outcome = match self {
            Started::Alone => alone(&[
                ("RANKS_BACKEND", "mpi"),
                ("RANKS_MPI", &value.to_string_lossy()),
            ]),
            Started::By(installation) => {
                let installation = Installation {
                    library: value.to_path_buf(),
                    ..(*installation).clone()
                };
                run_in_spite_of_hydra(&super::job(&["world"]).on(installation).ranks(2))
            }
        };
        assert_failed_soon(&name, &outcome);
        let mut heard = 0;
        // A launcher ends the other ranks when one has ended, also in the middle of what they say.
        let is_whole = |said: &str| !matches!(said.trim_end(), "" | "Error:");
        for output in outcome.output.iter().filter(|one| is_whole(&one.stderr)) {
            heard += 1;
            for text in expected {
                let said = &output.stderr;
                assert!(said.contains(text), "{name}: no {text:?} in {outcome}");
            }
            if let Started::By(_) = self {
                let started = format!("mpiexec as rank {} of 2", output.rank);
                let said = &output.stderr;
                assert!(said.contains(&started), "{name}: no {started:?}: {outcome}");
            }
        }
        assert!(heard > 0, "{name}: nothing was said: {outcome}");
    }
}

/// Every way to name what is no library.
fn what_is_no_library(started: &Started<'_>) {
    let folder = scratch(&format!("no-library-{}", started.name()));
    let there = "name the file of a libmpi, the prefix of an MPI, or a family: mpich, openmpi, intel, cray, abi";
    started.refuses(
        &folder.join("libmpi.so.12"),
        &["there is no such file or folder", there],
    );
    started.refuses(&folder, &["no MPI library lies in this folder"]);
    started.refuses(
        Path::new("mpih"),
        &["is no file, no family (mpich, openmpi, intel, cray, abi) and no installation"],
    );

    let script = folder.join("libmpi.so");
    fs::write(&script, LINKER_SCRIPT).unwrap();
    started.refuses(
        &script,
        &[
            "this file is no library",
            "linker scripts that only compilers understand",
        ],
    );
    fs::write(folder.join("libmpi.so.12"), b"\x7fELF").unwrap();
    let instead = format!("did you mean {}?", folder.join("libmpi.so.12").display());
    started.refuses(&script, &[&instead]);
    // Begins as a library and is none: the dynamic linker's own words.
    started.refuses(
        &folder.join("libmpi.so.12"),
        &[
            "no MPI library could be loaded; tried",
            "file too short",
            "$RANKS_MPI",
        ],
    );
    started.refuses(
        &libc(),
        &["it is no complete MPI library: it has no MPI_Init_thread"],
    );
    started.refuses(
        &shared_library("half_mpi"),
        &["it is no complete MPI library: it has no MPI_Finalize"],
    );
    fs::remove_dir_all(folder).unwrap();
}

/// A shared library that every process here has and that is no MPI.
fn libc() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut files = maps
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    let libc = files.find(|file| file.contains("/libc.so") || file.contains("/libc-"));
    libc.map(PathBuf::from).unwrap()
}

#[test]
fn what_is_no_library_is_refused() {
    what_is_no_library(&Started::Alone);
}

#[test]
#[ignore = "needs an MPI"]
fn what_is_no_library_is_refused_under_a_launcher() {
    for installation in named() {
        what_is_no_library(&Started::By(&installation));
    }
}

/// A folder in which each name of an MPI library is a text: the dynamic linker looks there first,
/// and no further.
fn folder_of_texts(name: &str) -> PathBuf {
    let folder = scratch(name);
    for name in NAMES {
        fs::write(folder.join(name), LINKER_SCRIPT).unwrap();
    }
    folder
}

/// Every name was tried, with the dynamic linker's reason for each.
#[track_caller]
fn lists_all(outcome: &Outcome) {
    assert_failed_soon("no library", outcome);
    let said = &outcome.output[0].stderr;
    assert!(
        said.contains("no MPI library could be loaded; tried\n"),
        "{outcome}"
    );
    for name in NAMES {
        let line = said
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name} was not tried: {said}"));
        assert!(
            line.contains("invalid ELF header") && line.ends_with("[the dynamic linker's search]"),
            "{line}"
        );
    }
    assert!(
        said.contains("\nset RANKS_MPI to the file of a libmpi or to the prefix of an MPI\n"),
        "what to set is not said: {said}"
    );
}

#[test]
fn where_no_library_loads_all_that_were_tried_are_listed() {
    let folder = folder_of_texts("texts-alone");
    let path = folder.display().to_string();
    lists_all(&alone(&[
        ("RANKS_BACKEND", "mpi"),
        ("LD_LIBRARY_PATH", &path),
    ]));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn under_a_launcher_mpi_is_needed() {
    let folder = folder_of_texts("texts-launcher");
    let path = folder.display().to_string();
    let slurm = [
        ("SLURM_PROCID", "1"),
        ("SLURM_NTASKS", "4"),
        ("SLURM_JOB_ID", "7"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_STEP_NODELIST", "n1"),
        ("PMI_RANK", "1"),
        ("PMI_SIZE", "4"),
        ("LD_LIBRARY_PATH", &path),
    ];
    let outcome = alone(&slurm);
    lists_all(&outcome);
    let said = &outcome.output[0].stderr;
    assert!(
        said.contains("as rank 1 of 4, so an MPI library is needed)"),
        "{said}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_variable_that_leads_nowhere_is_listed() {
    let folder = folder_of_texts("texts-home");
    let path = folder.display().to_string();
    let variables = [
        ("RANKS_BACKEND", "mpi"),
        ("LD_LIBRARY_PATH", &path),
        ("MPI_HOME", "/no/such/prefix"),
    ];
    let outcome = alone(&variables);
    lists_all(&outcome);
    let said = &outcome.output[0].stderr;
    assert!(
        said.contains("/no/such/prefix/lib/") && said.contains("[$MPI_HOME]"),
        "{said}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_backend_that_is_not_known_is_refused() {
    let outcome = alone(&[("RANKS_BACKEND", "tcp")]);
    assert_failed_soon("RANKS_BACKEND=tcp", &outcome);
    let said = &outcome.output[0].stderr;
    assert!(
        said.contains("RANKS_BACKEND is `tcp`; it must be `mpi`, `inprocess` or `auto`"),
        "{said}"
    );
}

/// It ran in process, as if nothing had been said.
#[test]
fn an_mpi_that_is_not_there_is_refused_without_a_launcher_too() {
    let outcome = alone(&[("RANKS_MPI", "/nonexistent")]);
    assert_failed_soon("RANKS_MPI=/nonexistent", &outcome);
    let said = &outcome.output[0].stderr;
    for part in [
        "RANKS_MPI=/nonexistent: there is no such file or folder",
        "ranks would be threads of this process, without that MPI",
        "unset RANKS_MPI, or set RANKS_BACKEND=inprocess",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    let outcome = alone(&[
        ("RANKS_MPI", "/nonexistent"),
        ("RANKS_BACKEND", "inprocess"),
    ]);
    assert!(outcome.success(), "{outcome}");
}

/// It ran in process, as if nothing had been said.
#[test]
fn a_library_that_is_no_mpi_is_refused_without_a_launcher_too() {
    let outcome = alone(&[("RANKS_MPI", "libc.so.6")]);
    assert_failed_soon("RANKS_MPI=libc.so.6", &outcome);
    let said = &outcome.output[0].stderr;
    for part in [
        "RANKS_MPI=libc.so.6: /",
        "libc.so.6 is a library, but no MPI: it has no MPI_Init",
        "unset RANKS_MPI, or set RANKS_BACKEND=inprocess",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    // One that the dynamic linker alone may find is not looked for.
    let outcome = alone(&[("RANKS_MPI", "libmpi-of-nobody.so.12")]);
    assert!(outcome.success(), "{outcome}");
}

/// A list that ends in a colon led there.
#[test]
fn a_word_was_opened_from_the_current_folder_by_an_empty_entry() {
    let folder = scratch("here");
    fs::write(folder.join("libmpi.so.12"), b"\x7fELF").unwrap();
    let variables = [
        "RANKS_BACKEND=mpi",
        "RANKS_MPI=libmpi.so.12",
        "LD_LIBRARY_PATH=/nonexistent:",
    ];
    let job = Job::new("env").args(["-i"]).args(variables);
    let job = job.args(["sh", "-c", "cd \"$1\" && exec \"$0\" world", PROGRAM]);
    let job = job.args([folder.as_os_str()]).timeout(LIMIT);
    let outcome = job.run().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_failed_soon("a word", &outcome);
    let said = &outcome.output[0].stderr;
    let expected = "would open the one in the folder that each rank starts in, by the entry \"\" of LD_LIBRARY_PATH";
    assert!(said.contains(expected), "{said}");
}

/// It was looked for in the folder of each rank. Who wants no MPI is not kept from working by it.
#[test]
fn a_relative_prefix_was_looked_for_in_the_current_folder() {
    let outcome = alone(&[("MPI_HOME", "mpi"), ("RANKS_BACKEND", "mpi")]);
    assert_failed_soon("MPI_HOME=mpi", &outcome);
    let said = &outcome.output[0].stderr;
    assert!(said.contains("MPI_HOME=mpi is relative"), "{said}");
    assert!(said.contains("from the root: MPI_HOME=/"), "{said}");
    let outcome = alone(&[("MPI_HOME", "mpi")]);
    assert!(outcome.success(), "{outcome}");
}

/// Each pod was a world of its own, and a success.
#[test]
fn a_program_alone_in_a_pod_of_several_is_refused() {
    for (name, value) in [
        ("JOB_COMPLETION_INDEX", "1"),
        ("K_MPI_JOB_ROLE", "launcher"),
    ] {
        let outcome = alone(&[(name, value)]);
        assert_failed_soon(name, &outcome);
        let said = &outcome.output[0].stderr;
        for part in [name, "mpiexec", "set RANKS_BACKEND=inprocess"] {
            assert!(said.contains(part), "no {part:?} in {said}");
        }
        let outcome = alone(&[(name, value), ("RANKS_BACKEND", "inprocess")]);
        assert!(outcome.success(), "{outcome}");
    }
}

/// It was told at the end, when what was to be written was lost.
#[test]
fn what_cannot_be_written_is_told_at_the_start() {
    let folder = scratch("unwritable");
    let file = folder.join("file");
    fs::write(&file, "").unwrap();
    let dumps = file.join("dumps").display().to_string();
    for name in ["RANKS_DUMP", "RANKS_TIMELINE"] {
        let outcome = alone(&[(name, &dumps)]);
        assert_failed_soon(name, &outcome);
        let said = &outcome.output[0].stderr;
        let expected = format!("{name} is {dumps}, where nothing can be written: ");
        assert!(said.contains(&expected), "{said}");
        assert_eq!(outcome.output[0].stdout, "", "it ran: {outcome}");
    }
    let outcome = alone(&[("RANKS_STATS", &dumps)]);
    assert_failed_soon("RANKS_STATS", &outcome);
    let said = &outcome.output[0].stderr;
    let expected = format!("RANKS_STATS is {dumps}, which cannot be written: ");
    assert!(said.contains(&expected), "{said}");
    fs::remove_dir_all(folder).unwrap();
}
