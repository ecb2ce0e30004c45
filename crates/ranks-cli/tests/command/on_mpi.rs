//! The command where there is an MPI.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_launch::{Family, Installation};

use crate::{RANKS, Said, Scratch, said};

/// The folder of MPIs that tests run on.
fn provisioned() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi")
}

/// The MPIs that `RANKS_TEST_MPI` names.
pub(crate) fn named() -> Vec<Installation> {
    let names = std::env::var("RANKS_TEST_MPI").unwrap_or_default();
    let all = Installation::all(Some(&provisioned()));
    let chosen: Vec<Installation> = all
        .into_iter()
        .filter(|found| names == "all" || names.split(',').any(|name| name.trim() == found.name))
        .collect();
    assert!(
        !chosen.is_empty(),
        "this needs an MPI: name one in RANKS_TEST_MPI, or `all`"
    );
    chosen
}

/// The command with this MPI chosen, and its launcher the first in `PATH`.
pub(crate) fn with(installation: &Installation, folder: &Path) -> Command {
    let mut command = Command::new(RANKS);
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .env("RANKS_MPI_DIR", provisioned())
        .env("RANKS_MPI", &installation.name)
        .env("PATH", format!("{}:{path}", folder.display()));
    command
}

pub(crate) fn own_folder(installation: &Installation) -> &Path {
    installation.launcher.parent().unwrap()
}

#[test]
#[ignore = "needs an MPI"]
fn ranks_come_up_and_the_report_names_their_mpi() {
    for installation in named() {
        let name = &installation.name;
        let mut command = with(&installation, own_folder(&installation));
        let report = said(command.args(["doctor", "--run", "-n", "2"]));
        let whole = format!("{name}: {}{}", report.text, report.errors);
        assert_eq!(report.text.matches("  pass  ").count(), 15, "{whole}");
        assert!(!report.text.contains("FAIL"), "{whole}");
        let product = match installation.family {
            Family::OpenMpi => "Open MPI",
            Family::Intel => "Intel MPI",
            _ => "MPICH",
        };
        report.tells(&[
            "2 ranks, by",
            "which started 2\n",
            "MPI_THREAD_MULTIPLE",
            "(MPI_TAG_UB)",
            "(MPI_WTIME_IS_GLOBAL)",
            "  receives   ",
            "where      2 ranks on 1 host, ",
            &format!("2 ranks on {name}"),
            &format!("(of {name})"),
            &format!("used       {product} "),
        ]);
    }
}

/// It was said not to be there, since the linker's words about what it needs are the same.
#[test]
#[ignore = "needs an MPI"]
fn a_library_without_those_that_it_needs() {
    for installation in named() {
        let name = &installation.name;
        let scratch = Scratch::new(&format!("lacks-{name}"));
        let library = scratch
            .path()
            .join(installation.library.file_name().unwrap());
        fs::copy(&installation.library, &library).unwrap();
        let report = said(
            with(&installation, Path::new("/nonexistent"))
                .arg("doctor")
                .env("RANKS_MPI", &library),
        );
        // Others need none, or find them among the system's.
        let needs = name.starts_with("openmpi-5");
        if !needs && !report.text.contains("no MPI library can be opened") {
            continue;
        }
        let file = library.display().to_string();
        report.is_trouble(
            &["no MPI library can be opened", &file],
            &[
                "install what it lacks (in a container: bind it; `ldd ",
                &file,
            ],
        );
    }
}

/// The first word of each line of a report, without notes and what goes on with the line before.
fn labels(report: &str) -> BTreeSet<&str> {
    let lines = report.lines().filter(|line| !line.starts_with("   "));
    let words = lines.filter_map(|line| line.split_whitespace().next());
    words
        .filter(|word| !["$", "NOTE", "…"].contains(word))
        .collect()
}

/// The guide shows the report of such a case.
#[test]
#[ignore = "needs an MPI"]
fn the_wrong_launcher() {
    let screen = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures/doctor.txt");
    let screen = fs::read_to_string(screen).unwrap();
    let screen = anstream::adapter::strip_str(&screen).to_string();
    for installation in named() {
        let name = &installation.name;
        let open_mpi = installation.family == Family::OpenMpi;
        let mut command = with(&installation, own_folder(&installation));
        command.arg("doctor");
        if open_mpi {
            command.envs([
                ("MPI_LOCALRANKID", "1"),
                ("PMI_RANK", "1"),
                ("PMI_SIZE", "4"),
            ]);
        } else {
            command.envs([
                ("OMPI_COMM_WORLD_RANK", "1"),
                ("OMPI_COMM_WORLD_SIZE", "4"),
                ("PMIX_RANK", "1"),
            ]);
        }
        let (launcher, other) = if open_mpi {
            ("MPICH's mpiexec", "RANKS_MPI=mpich")
        } else {
            ("Open MPI's mpiexec", "RANKS_MPI=openmpi")
        };
        println!("{name}");
        let report = said(&mut command);
        report.is_trouble(
            &[&format!(
                "started by {launcher} as rank 1 of 4, but the MPI loaded is"
            )],
            &[
                other,
                &format!("start the program with {}", installation.launcher.display()),
            ],
        );
        assert!(
            labels(&report.text).is_superset(&labels(&screen)),
            "not as in the guide: {}",
            report.text
        );
    }
}

/// Returns `true` if nothing is said against the library, which is so of those alone that may
/// understand PMIx: Intel MPI, and an MPICH that was built with it.
#[track_caller]
fn may_understand(report: &Said, installation: &Installation) -> bool {
    let is_silent = !report.text.contains("does not understand");
    let library = || fs::read(&installation.library).unwrap();
    let names_pmix = || library().windows(9).any(|name| name == b"PMIx_Init");
    let may = match installation.family {
        Family::OpenMpi => false,
        Family::Mpich => is_silent && names_pmix(),
        _ => true,
    };
    assert_eq!(is_silent, may, "{}", report.text);
    may
}

#[test]
#[ignore = "needs an MPI"]
fn the_wrong_plugin_of_srun() {
    for installation in named() {
        let (variable, offered) = if installation.family == Family::OpenMpi {
            ("PMI_RANK", "pmi2")
        } else {
            ("PMIX_RANK", "pmix")
        };
        let right = installation.family.slurm_plugin();
        let mut command = with(&installation, own_folder(&installation));
        command.arg("doctor").envs([
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_PROCID", "1"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            (variable, "1"),
        ]);
        println!("{}", installation.name);
        let report = said(&mut command);
        if may_understand(&report, &installation) {
            continue;
        }
        report.is_trouble(
            &[
                &format!("started by srun (--mpi={offered}) as rank 1 of 4"),
                "does not understand PMI",
            ],
            &[&format!("srun --mpi={right}")],
        );
    }
}

#[test]
#[ignore = "needs an MPI"]
fn a_launcher_with_another_protocol() {
    for installation in named() {
        let open_mpi = installation.family == Family::OpenMpi;
        let mut command = with(&installation, own_folder(&installation));
        command.arg("doctor");
        let (offered, other) = if open_mpi {
            command.envs([("PMI_FD", "9"), ("PMI_RANK", "1"), ("PMI_SIZE", "4")]);
            ("PMI", "or set RANKS_MPI to the MPI of this launcher")
        } else {
            command.envs([("PMIX_RANK", "1"), ("PMIX_NAMESPACE", "a job")]);
            ("PMIx", "such as RANKS_MPI=openmpi")
        };
        println!("{}", installation.name);
        let report = said(&mut command);
        if may_understand(&report, &installation) {
            continue;
        }
        report.is_trouble(
            &[
                &format!("started by a launcher that offers {offered} as rank 1"),
                &format!("does not understand {offered}"),
            ],
            &[
                other,
                &format!("that mpiexec is {}", installation.launcher.display()),
            ],
        );
    }
}

#[test]
#[ignore = "needs an MPI"]
fn two_mpis_and_nothing_that_says_which() {
    for installation in named() {
        let scratch = Scratch::new(&format!("undecided-{}", installation.name));
        let (file, folder) = (
            &installation.library,
            installation.library.parent().unwrap(),
        );
        for name in ["one", "other"] {
            scratch.script(&format!("{name}/bin/mpiexec"), "exit 1");
            let lib = scratch.path().join(name).join("lib");
            // In a folder of the system there may be libraries of several MPIs; elsewhere they need
            // what lies beside them.
            if folder.starts_with("/usr") {
                fs::create_dir(&lib).unwrap();
                symlink(file, lib.join(file.file_name().unwrap())).unwrap();
            } else {
                symlink(folder, &lib).unwrap();
            }
        }
        let mut command = Command::new(RANKS);
        command
            .arg("doctor")
            .env_remove("RANKS_MPI")
            .env("RANKS_MPI_DIR", scratch.path())
            .env("LD_LIBRARY_PATH", folder)
            .env("PATH", "/nonexistent");
        println!("{}", installation.name);
        said(&mut command).is_trouble(
            &[
                "MPIs are installed: one",
                "neither RANKS_MPI nor a launcher says which",
            ],
            &["name one: RANKS_MPI="],
        );
        // It was advised where it was set.
        let chosen = said(command.env("RANKS_MPI", file));
        assert!(
            !chosen.text.contains("MPIs are installed"),
            "{}",
            chosen.text
        );
    }
}

#[test]
#[ignore = "needs an MPI"]
fn two_mpis() {
    for installation in named() {
        let scratch = Scratch::new(&format!("two-{}", installation.name));
        let (library, owner, word) = if installation.family == Family::OpenMpi {
            ("libmpi.so.12", "MPICH's", "RANKS_MPI=mpich")
        } else {
            ("libmpi.so.40", "Open MPI's", "RANKS_MPI=openmpi")
        };
        scratch.mpi("other", library);
        let folder = scratch.path().join("other/bin");
        let mut command = with(&installation, &folder);
        let in_path = folder.join("mpiexec");
        said(command.arg("doctor")).is_trouble(
            &[
                "two MPIs: ranks run and programs without a launcher (RANKS_BACKEND=mpi) take ",
                &format!("; mpiexec in PATH is {owner} ({})", in_path.display()),
            ],
            &[
                &format!("start programs with {}", installation.launcher.display()),
                word,
            ],
        );
    }
}

/// The library that is named after `mark` in what a command wrote, as the file behind its links.
fn library_after(mark: &str, said: &Said) -> PathBuf {
    let whole = format!("{}{}", said.text, said.errors);
    let line = said.text.lines().find_map(|line| line.split_once(mark));
    let (_, product) = line.unwrap_or_else(|| panic!("no {mark:?} in {whole}"));
    let (_, file) = product.split_once(" (").unwrap();
    fs::canonicalize(file.trim_end_matches(')')).unwrap()
}

/// The report and `RANKS_BACKEND=mpi` followed the dynamic linker, and `ranks run` the first
/// `mpiexec` in `PATH`.
#[test]
#[ignore = "needs an MPI"]
fn the_report_a_job_and_a_program_alone_named_different_libraries() {
    for installation in named() {
        let own = own_folder(&installation);
        let library = &installation.library;
        let (folder, prefix) = (library.parent().unwrap(), own.parent().unwrap());
        let usual = std::env::var("PATH").unwrap_or_default();
        let in_path = format!("{}:{usual}", own.display());
        // In the folders of the system there may be several MPIs, and the name that is tried first
        // is one's.
        let of_system = own.starts_with("/usr") || own.starts_with("/bin");
        let elsewhere = !of_system && !installation.name.ends_with("-abi");
        let rows: [(&str, &str, &Path, bool); 4] = [
            ("PATH", &in_path, own, elsewhere),
            ("LD_LIBRARY_PATH", &usual, folder, elsewhere),
            ("MPI_HOME", &usual, prefix, elsewhere),
            ("RANKS_MPI", &usual, library, true),
        ];
        for (variable, path, value, is_named) in rows {
            let start = |arguments: &[&str]| {
                let mut command = Command::new(RANKS);
                command.args(arguments);
                for other in ["RANKS_MPI", "MPI_HOME", "LD_LIBRARY_PATH"] {
                    command.env_remove(other);
                }
                command.env(variable, value).env("PATH", path);
                command
            };
            let row = format!("{} by {variable}", installation.name);
            let report = said(start(&["doctor", "--json"]).env("RANKS_MPI_DIR", provisioned()));
            let report: serde_json::Value = serde_json::from_str(&report.text).unwrap();
            let opened = |tried: &serde_json::Value| {
                let path = tried["answer"]["Ok"]["path"].as_str()?;
                Some(fs::canonicalize(path).unwrap())
            };
            let tried = report["mpi"]["tried"].as_array().unwrap();
            let told = tried.iter().find_map(opened).unwrap();
            let run = report["mpi"]["run"]["Ok"]["library"].as_str().unwrap();
            assert_eq!(fs::canonicalize(run).unwrap(), told, "{row}: ranks run");
            let alone = said(start(&["self-test"]).env("RANKS_BACKEND", "mpi"));
            assert_eq!(
                library_after("fact library: ", &alone),
                told,
                "{row}: alone"
            );
            let job = said(&mut start(&["run", "-n", "2", RANKS, "self-test"]));
            assert_eq!(library_after("fact library: ", &job), told, "{row}: a job");
            let world = "fact world: 2 ranks, by ";
            assert!(job.text.contains(world), "{row}: {}", job.text);
            if is_named {
                assert_eq!(told, fs::canonicalize(library).unwrap(), "{row}");
            }
        }
    }
}

/// Of the numbers to 2000 about a half arrived from Open MPI 4, with status 0; of all bytes, 135.
#[test]
#[ignore = "needs an MPI"]
fn output_arrives_whole() {
    let scratch = Scratch::new("whole");
    let file = scratch.path().join("numbers");
    let numbers: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    // A line more, of the bytes that are not its end.
    let bytes = (0..=u8::MAX).filter(|&byte| byte != b'\n');
    let bytes: Vec<u8> = numbers.bytes().chain(bytes).chain([b'\n']).collect();
    fs::write(&file, &bytes).unwrap();
    for installation in named() {
        let name = &installation.name;
        let mut command = with(&installation, own_folder(&installation));
        command.args(["run", "-n", "3", "--mpi", name, "cat"]);
        let output = command.arg(&file).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {errors}");
        for rank in 0..3 {
            let label = format!("[{rank}] ");
            let lines = output.stdout.split_inclusive(|&byte| byte == b'\n');
            let lines = lines.filter_map(|line| line.strip_prefix(label.as_bytes()));
            let arrived: Vec<u8> = lines.flatten().copied().collect();
            assert!(arrived == bytes, "{name}, {rank}: {} bytes", arrived.len());
        }
    }
}

#[test]
#[ignore = "needs an MPI"]
fn output_bears_the_rank_and_the_status_is_the_programs() {
    for installation in named() {
        let name = &installation.name;
        let mut command = with(&installation, own_folder(&installation));
        command.args(["run", "-n", "2", "--mpi", name, RANKS, "self-test"]);
        let job = said(&mut command);
        let whole = format!("{name}: {}{}", job.text, job.errors);
        assert_eq!(job.status, Some(0), "{whole}");
        for rank in 0..2 {
            let last = format!("[{rank}] ranks-self-test: done\n");
            assert!(job.text.contains(&last), "{whole}");
        }
        let mut command = with(&installation, own_folder(&installation));
        command.args(["run", "-n", "1", "--mpi", name, "sh", "-c", "exit 3"]);
        let job = said(&mut command);
        assert_eq!(job.status, Some(3), "{name}: {}{}", job.text, job.errors);
    }
}

/// Options were named that cannot help.
#[test]
#[ignore = "needs an MPI"]
fn a_program_that_cannot_be_started_is_named_alone() {
    for installation in named() {
        let name = &installation.name;
        let mut command = with(&installation, own_folder(&installation));
        command.args(["run", "-n", "1", "--mpi", name, "/nonexistent/program"]);
        let job = said(&mut command);
        let whole = format!("{name}: {}{}", job.text, job.errors);
        assert_eq!(job.status, Some(127), "{whole}");
        let told = "/nonexistent/program could not be started";
        assert!(whole.contains(told) && !whole.contains("--dump"), "{whole}");
    }
}
