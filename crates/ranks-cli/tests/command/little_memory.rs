//! A `/dev/shm` as containers have it: on Linux, where whoever runs the tests may mount things for
//! themselves.

use std::process::Command;

use crate::{RANKS, said};

#[test]
fn a_small_shared_memory() {
    let Some(mut command) = with_little_memory() else {
        println!("left out: nothing may be mounted here, so that /dev/shm stays as large as it is");
        return;
    };
    command
        .args([RANKS, "doctor"])
        .env("RANKS_BACKEND", "inprocess");
    said(&mut command).is_trouble(
        &["/dev/shm has 64.0 MiB and 64.0 MiB free"],
        &["docker run --shm-size=", "mount -o remount,size="],
    );
}

/// Runs what is appended to it with a `/dev/shm` of 64 MiB.
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
