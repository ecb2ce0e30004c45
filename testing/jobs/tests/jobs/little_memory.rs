//! A node with less shared memory than a job asks for: on Linux, where whoever runs the tests may
//! mount things for themselves.

use std::process::Command;

use super::{assert_done, job, named};

/// Set in the process whose `/dev/shm` is small.
const INSIDE: &str = "RANKS_TEST_LITTLE_MEMORY";

#[test]
#[ignore = "needs an MPI"]
fn more_than_there_is_is_refused_to_all_ranks() {
    const NAME: &str = "little_memory::more_than_there_is_is_refused_to_all_ranks";
    if std::env::var_os(INSIDE).is_some() {
        return asked_for_too_much();
    }
    let Some(mut inside) = with_little_memory() else {
        println!("left out: nothing may be mounted here, so that /dev/shm stays as large as it is");
        return;
    };
    inside
        .arg(std::env::current_exe().unwrap())
        .args(["--include-ignored", "--exact", NAME])
        .env(INSIDE, "1");
    let output = inside.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

/// Runs what is appended to it with a `/dev/shm` of 64 MiB, the size that containers give it.
fn with_little_memory() -> Option<Command> {
    const MOUNT: &str = "mount -t tmpfs -o size=64m tmpfs /dev/shm && exec \"$@\"";
    let command = |of: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(of).args(["sh", "-c", MOUNT, "sh"]);
        command
    };
    // Root may do it at once, others where they may be root of a name space of their own.
    [&["-m"][..], &["-r", "-m"]].into_iter().find_map(|of| {
        let tried = command(of).arg("true").output();
        tried
            .is_ok_and(|tried| tried.status.success())
            .then(|| command(of))
    })
}

fn asked_for_too_much() {
    for installation in named() {
        let name = installation.name.clone();
        // 256 MiB, of all ranks together.
        let each = (256 << 20) / 4;
        let job = job(&["little-memory", &each.to_string()])
            .on(installation)
            .ranks(4);
        let outcome = job.run().unwrap();
        assert_done(&name, &outcome);
        for output in &outcome.output {
            let said = &output.stdout;
            for part in [
                "MPI_Win_allocate_shared: ",
                "(256.2 MiB)",
                "/dev/shm has ",
                "--shm-size",
            ] {
                assert!(
                    said.contains(part),
                    "{name}, rank {}: {outcome}",
                    output.rank
                );
            }
        }
    }
}
