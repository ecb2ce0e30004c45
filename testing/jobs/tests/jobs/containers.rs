//! Ranks in containers: each in a root of its own that has the program, its C library and what is
//! bound into it. On Linux, where whoever runs the tests may mount things for themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_harness::root::Root;
use ranks_launch::{Family, Installation, Job, Outcome};

use super::{LIMIT, PROGRAM, assert_done, assert_failed_soon, named, said, scratch};

/// An image with the program and without any MPI.
struct Image {
    folder: PathBuf,
    root: Root,
}

impl Image {
    /// What its containers have of the machine unless they are told otherwise: with the kernel's
    /// folders `/tmp`, where launchers have their sockets, and the names of hosts, as Docker and
    /// Apptainer give them, among which MPICH 3.4 looks for its own.
    fn new(name: &str) -> Self {
        let folder = scratch(name);
        let root = Root::new(folder.join("root")).with(Path::new(PROGRAM));
        let root = root.and_then(|root| root.with(Path::new("/usr/bin/env")));
        Self {
            root: ["/tmp", "/etc/hosts"]
                .into_iter()
                .fold(root.unwrap(), |root, at| root.bind(at, at)),
            folder,
        }
    }

    /// The root with the prefix of an MPI at a place, and what its library needs besides.
    fn with_mpi(&self, mpi: &Installation, at: &Path) -> Root {
        let root = self.root.clone().bind(prefix(mpi), at);
        let ldd = Command::new("ldd").arg(&mpi.library).output().unwrap();
        let said = String::from_utf8(ldd.stdout).unwrap();
        let libraries = said.split_whitespace().filter(|word| word.starts_with('/'));
        // What was bound before has left an empty file.
        let there = |file: &str| {
            let file = fs::metadata(self.folder.join("root").join(&file[1..]));
            file.is_ok_and(|file| file.len() > 0)
        };
        libraries
            .filter(|file| !there(file) && !Path::new(file).starts_with(prefix(mpi)))
            .fold(root, |root, file| root.bind(file, file))
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn prefix(mpi: &Installation) -> &Path {
    mpi.launcher.parent().and_then(Path::parent).unwrap()
}

/// Two ranks, each in a container of its own, by the machine's launcher; with variables that are
/// set in the containers alone. `None` where there can be no containers.
fn run(root: &Root, on: &Installation, variables: &[String], words: &[&str]) -> Option<Outcome> {
    let Some(enter) = root.command() else {
        println!("left out: nothing may be mounted here, and so there are no containers");
        return None;
    };
    let job = Job::new(enter.get_program())
        .args(enter.get_args())
        .args(["/usr/bin/env"])
        .args(variables)
        .args([PROGRAM])
        .args(words)
        .env("RUST_BACKTRACE", "0")
        .timeout(LIMIT);
    Some(job.on(on.clone()).ranks(2).run().unwrap())
}

/// The MPIs that are named and lie in a folder of their own. One among the system's libraries
/// cannot be bound without those.
fn bindable() -> impl Iterator<Item = Installation> {
    named()
        .into_iter()
        .filter(|mpi| prefix(mpi) != Path::new("/usr"))
}

#[track_caller]
fn assert_one_world(name: &str, outcome: &Outcome) {
    assert_done(name, outcome);
    for rank in 0..2 {
        let said = format!("rank {rank} of 2 on ");
        let by = outcome.output.iter();
        let by = by.filter(|output| output.stdout.contains(&said)).count();
        assert_eq!(by, 1, "{name}, {said}: {outcome}");
    }
}

#[test]
#[ignore = "needs an MPI"]
fn ranks_of_an_mpi_that_is_bound_are_one_world() {
    let image = Image::new("bound");
    for mpi in bindable() {
        let root = image.with_mpi(&mpi, prefix(&mpi));
        let Some(outcome) = run(&root, &mpi, &[], &["world"]) else {
            return;
        };
        assert_one_world(&mpi.name, &outcome);
        // Messages of 4 MiB, and windows of the node.
        for words in [&["hosts"][..], &["shared-windows", "after-the-end"]] {
            assert_done(&mpi.name, &run(&root, &mpi, &[], words).unwrap());
        }
    }
}

#[test]
#[ignore = "needs an MPI"]
fn an_mpi_that_is_bound_elsewhere_is_named() {
    let image = Image::new("elsewhere");
    for mpi in bindable() {
        let at = Path::new("/opt/mpi");
        let library = mpi.library.strip_prefix(prefix(&mpi)).unwrap();
        let mut variables = vec![format!("RANKS_MPI={}", at.join(library).display())];
        match mpi.family {
            Family::OpenMpi => variables.push(format!("OPAL_PREFIX={}", at.display())),
            Family::Intel => variables.push(format!("I_MPI_ROOT={}", at.display())),
            _ => {}
        }
        let root = image.with_mpi(&mpi, at);
        let Some(outcome) = run(&root, &mpi, &variables, &["world"]) else {
            return;
        };
        assert_one_world(&mpi.name, &outcome);
    }
}

#[test]
#[ignore = "needs an MPI"]
fn an_mpi_that_is_not_bound_is_an_error_of_each_rank() {
    let image = Image::new("unbound");
    for mpi in bindable() {
        for variables in [vec![], vec!["-u".to_owned(), "RANKS_MPI".to_owned()]] {
            let Some(outcome) = run(&image.root, &mpi, &variables, &["world"]) else {
                return;
            };
            assert_failed_soon(&mpi.name, &outcome);
            let said = said(&outcome);
            assert!(said.contains("mpiexec as rank"), "{}: {outcome}", mpi.name);
            assert!(
                !format!("{outcome}").contains(" of 1 "),
                "{}: {outcome}",
                mpi.name
            );
        }
    }
}
