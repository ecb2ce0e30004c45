//! `ranks run --fault-tolerant`: a rank is killed, and the others go on.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, raise};
use ranks::prelude::*;
use ranks_launch::Installation;

use crate::on_mpi::{named, own_folder, with};
use crate::run::with_launchers;
use crate::{Failure, Said, Scratch, said};

/// Names a folder where this program is the job.
const JOB: &str = "RANKS_CLI_TEST_SURVIVING";

/// The job: rank 1 is killed, and each of the others leaves a file when it has gone on without it.
/// It is a test so that this program can be started as it.
#[test]
fn job() {
    if let Some(folder) = std::env::var_os(JOB) {
        ranks::run(|world| lose_one(&world, Path::new(&folder))).unwrap();
    }
}

fn lose_one(world: &Communicator, folder: &Path) -> Result<(), Failure> {
    world.barrier()?;
    if world.rank() == 1 {
        raise(Signal::SIGKILL)?;
    }
    match world.barrier() {
        Err(error) if error.kind().is_loss() => {}
        other => return Err(format!("a barrier without rank 1: {other:?}").into()),
    }
    world.revoke()?;
    let left = world.shrink()?.quorum()?;
    let sum = left.allreduce_one(world.rank(), Sum)?;
    let file = folder.join(format!("rank-{}", world.rank()));
    Ok(fs::write(file, sum.to_string())?)
}

/// The job on so many ranks.
fn run(installation: &Installation, folder: &OsStr) -> Said {
    let program = std::env::current_exe().unwrap();
    let mut command = with(installation, own_folder(installation));
    command
        .args(["run", "-n", "4", "--mpi", &installation.name])
        .args(["--fault-tolerant", "--time-limit", "60s"])
        .arg(program)
        .args(["--exact", "surviving::job", "--nocapture"])
        .env(JOB, folder);
    said(&mut command)
}

#[test]
#[ignore = "needs an MPI"]
fn ranks_go_on_where_the_launcher_lets_them_and_elsewhere_nothing_starts() {
    for installation in named() {
        let name = &installation.name;
        let scratch = Scratch::new(&format!("surviving-{name}"));
        let job = run(&installation, scratch.path().as_os_str());
        let whole = format!("{name}: {}{}", job.text, job.errors);
        let files = fs::read_dir(scratch.path()).unwrap();
        if installation.fault_tolerance().is_none() {
            assert_eq!(job.status, Some(1), "{whole}");
            job.complains(&["ends a job of which a rank dies"]);
            assert_eq!(files.count(), 0, "{whole}");
            continue;
        }
        assert_eq!(files.count(), 3, "{whole}");
        for rank in [0, 2, 3] {
            let file = scratch.path().join(format!("rank-{rank}"));
            assert_eq!(fs::read_to_string(file).unwrap(), "5", "{whole}");
        }
    }
}

/// Of those that had died, only the first was named.
#[test]
fn every_rank_that_a_job_has_gone_on_without_is_named() {
    let scratch = Scratch::new("lost");
    let mut command = with_launchers(&scratch);
    let start = "while [ \"${1##*/}\" != ranks ]; do shift; done
        for rank in 0 1 2; do OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 \"$@\"; done
        exit 0";
    scratch.script("openmpi-9/bin/mpiexec", start);
    scratch.script("openmpi-9/bin/prterun", "exit 1");
    let die = "test $OMPI_COMM_WORLD_RANK = 1 || kill -9 $$";
    command.args(["run", "-n", "3", "--mpi", "openmpi-9"]);
    let job = said(command.args(["--fault-tolerant", "sh", "-c", die]));
    assert_eq!(job.status, Some(0), "{}{}", job.text, job.errors);
    for rank in [0, 2] {
        let told = format!("ranks: rank {rank}: killed by signal 9 (SIGKILL)\n");
        job.complains(&[&told]);
    }
}
