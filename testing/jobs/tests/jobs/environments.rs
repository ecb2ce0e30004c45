//! The program in the environment of each launcher, alone: one of four ranks that cannot find the
//! others. It fails, on whatever it runs, and never runs as a world of its own.

use std::fs;
use std::path::Path;
use std::thread;

use ranks_launch::{Environment, Job, Outcome};

use super::no_library::alone;
use super::{LIMIT, PROGRAM, assert_failed_soon, named};

/// A name that is no library's: there is no MPI.
const NO_MPI: (&str, &str) = ("RANKS_MPI", "libmpi-of-nobody.so.12");

/// An environment that a launcher has made: a file of ranks-launch's.
struct Recorded {
    name: String,
    variables: Vec<(String, String)>,
}

impl Recorded {
    /// One for each launcher: rank 1, or a process without a rank.
    fn all() -> Vec<Recorded> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../crates/ranks-launch/tests/fixtures/launcher_env");
        let mut all = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.contains(".rank") && !name.contains(".rank1.") {
                continue;
            }
            let text = fs::read_to_string(path).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let pairs = lines.filter_map(|line| line.split_once('='));
            let variables = pairs.map(|(name, value)| (name.into(), value.into()));
            let variables = variables.collect();
            all.push(Recorded { name, variables });
        }
        assert!(all.len() >= 19, "{}", all.len());
        all
    }

    fn environment(&self) -> Environment {
        let pairs = || self.variables.iter();
        Environment::from_vars(|asked| {
            let found = pairs().find(|(name, _)| name == asked);
            found.map(|(_, value)| value.clone())
        })
    }

    /// Runs the program so, with these variables besides.
    fn run(&self, more: &[(&str, &str)]) -> Outcome {
        let own = self.variables.iter();
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        let home = std::env::temp_dir().display().to_string();
        let basic = [("HOME", home.as_str()), ("PATH", "/usr/bin:/bin")];
        let all: Vec<_> = basic
            .into_iter()
            .chain(own)
            .chain(more.iter().copied())
            .collect();
        alone(&all)
    }

    /// The same, and it fails without having run a rank.
    fn fails(&self, more: &[(&str, &str)]) -> String {
        let name = format!("{} with {more:?}", self.name);
        let outcome = self.run(more);
        assert_failed_soon(&name, &outcome);
        assert!(
            !outcome.output[0].stdout.contains("rank "),
            "{name}: {outcome}"
        );
        outcome.output[0].stderr.clone()
    }
}

/// In process each of the four was a world of its own, and a success.
#[test]
fn no_launcher_makes_threads_of_each_of_its_processes() {
    for recorded in Recorded::all() {
        let environment = recorded.environment();
        let said = recorded.fails(&[NO_MPI]);
        let started = environment.to_string();
        let word = match environment.launcher {
            Some(_) => started.as_str(),
            None => "set RANKS_BACKEND=inprocess",
        };
        assert!(
            said.contains(word),
            "{}: no {word:?} in {said}",
            recorded.name
        );
        let asked = [NO_MPI, ("RANKS_BACKEND", "inprocess")];
        if said.contains("set RANKS_BACKEND=inprocess") {
            // It is what the error says for those that are to work on their own.
            let outcome = recorded.run(&asked);
            assert!(outcome.success(), "{}: {outcome}", recorded.name);
            continue;
        }
        let said = recorded.fails(&asked);
        for part in [
            started.as_str(),
            "makes each of these processes a world of its own",
        ] {
            assert!(
                said.contains(part),
                "{}: no {part:?} in {said}",
                recorded.name
            );
        }
    }
}

/// A library that is asked for, where no launcher says so, was one rank in each of the four.
#[test]
#[ignore = "needs an MPI"]
fn no_launcher_makes_a_world_of_each_of_its_processes() {
    let all = Recorded::all();
    for installation in named() {
        let library = installation.library.display().to_string();
        for some in all.chunks(4) {
            thread::scope(|scope| {
                for recorded in some {
                    let library = ("RANKS_MPI", library.as_str());
                    scope.spawn(move || recorded.fails(&[library, ("RANKS_BACKEND", "mpi")]));
                }
            });
        }
    }
}

/// It was a rank of its own in each pod.
#[test]
fn a_program_that_asks_for_mpi_itself_is_refused_in_a_pod() {
    let job = Job::new("env").args(["-i", "JOB_COMPLETION_INDEX=1", PROGRAM, "long-text"]);
    let outcome = job.timeout(LIMIT).run().unwrap();
    assert_failed_soon("a pod", &outcome);
    let said = &outcome.output[0].stderr;
    assert!(said.contains("pod 1 of an Indexed Job"), "{said}");
}

/// Each of torchrun's processes took itself for the one task that torchrun runs in.
#[test]
fn torchrun_in_a_task_of_slurm_makes_no_ranks_of_its_processes() {
    let torchrun = "TORCHELASTIC_RUN_ID=none RANK=1 WORLD_SIZE=4 \"$0\" world; exit $?";
    let task = [
        "SLURM_STEP_ID=0",
        "SLURM_PROCID=0",
        "SLURM_NTASKS=1",
        "PMI_RANK=0",
        "PMI_SIZE=1",
    ];
    let run = |shell: &[&str]| {
        let job = Job::new("env").args(["-i"]).args(task).args(shell);
        job.args([PROGRAM]).timeout(LIMIT).run().unwrap()
    };
    let outcome = run(&["sh", "-c", torchrun]);
    assert_failed_soon("torchrun", &outcome);
    let said = &outcome.output[0].stderr;
    let expected = "started by torchrun as rank 1 of 4: that makes no job of an MPI";
    assert!(said.contains(expected), "{said}");
    // A task that one of its processes has started is what it says.
    let within = [
        "TORCHELASTIC_RUN_ID=none",
        "RANK=1",
        "WORLD_SIZE=4",
        "RANKS_BACKEND=inprocess",
    ];
    let outcome = run(&[&within[..], &["sh", "-c", "\"$0\" world; exit $?"]].concat());
    assert!(outcome.success(), "{outcome}");
}
