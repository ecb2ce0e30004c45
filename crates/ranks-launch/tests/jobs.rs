//! Jobs: under a launcher made for the purpose, and under every real one that is found.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ranks_launch::{Family, Installation, Job, JobError, Outcome};

fn scratch(name: &str) -> PathBuf {
    let root =
        std::env::temp_dir().join(format!("ranks-launch-jobs-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::create_dir_all(root.join("lib")).unwrap();
    root
}

/// An MPICH whose launcher is this script; `$@` begins with `-n N -prepend-pattern P`.
fn with_launcher(root: &Path, script: &str) -> Installation {
    let launcher = root.join("bin/mpiexec");
    fs::write(&launcher, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join("lib/libmpi.so.12"), b"\x7fELF").unwrap();
    Installation::at(root, "mpich-0").pop().unwrap()
}

/// Processes whose command line has `word`.
fn running(word: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != std::process::id() && String::from_utf8_lossy(&line).contains(word)
    })
    .collect()
}

/// A word that is in the command line of no process but those of one test.
fn word(name: &str) -> String {
    format!("ranks-launch-{}-{name}", std::process::id())
}

#[test]
fn output_is_told_apart_and_the_status_kept() {
    let root = scratch("apart");
    let installation = with_launcher(
        &root,
        "printf '<ranks:rank:1>one\\nnoise\\n<ranks:rank:0>zero\\n'; printf '<ranks:rank:0>bad\\n' >&2; exit 3",
    );
    let outcome = Job::new("true").on(installation).ranks(2).run().unwrap();
    assert_eq!(outcome.status.and_then(|status| status.code()), Some(3));
    assert!(!outcome.success() && !outcome.timed_out);
    assert_eq!(
        (
            outcome.output[0].stdout.as_str(),
            outcome.output[0].stderr.as_str()
        ),
        ("zero\n", "bad\n")
    );
    assert_eq!(outcome.output[1].stdout, "one\n");
    assert_eq!(outcome.launcher.stdout, "noise\n");
    let text = outcome.to_string();
    assert!(
        text.contains("exit status: 3")
            && text.contains("rank 0 (stderr): bad")
            && text.contains("launcher: noise"),
        "{text}"
    );
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn arguments_and_variables_arrive() {
    let root = scratch("arguments");
    let installation = with_launcher(
        &root,
        "shift 4; echo \"<ranks:rank:0>$RANKS_MPI $FRUIT $*\"",
    );
    let job = Job::new("prog")
        .on(installation)
        .ranks(1)
        .args(["-n", "a b"])
        .env("FRUIT", "pear");
    let outcome = job.run().unwrap();
    let library = root.join("lib/libmpi.so.12");
    assert_eq!(
        outcome.output[0].stdout,
        format!("{} pear prog -n a b\n", library.display())
    );
    assert!(outcome.success());
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_job_in_time_leaves_nothing_even_what_left_its_session() {
    let root = scratch("left");
    let word = word("left");
    let installation = with_launcher(
        &root,
        &format!("setsid sh -c 'sleep 60; : {word}' >/dev/null 2>&1 & sleep 0.1; exit 0"),
    );
    let outcome = Job::new("true").on(installation).run().unwrap();
    assert!(outcome.success(), "{outcome}");
    assert_eq!(running(&word), [0; 0]);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn when_time_is_up_all_are_killed_and_the_last_lines_kept() {
    let root = scratch("late");
    let word = word("late");
    // Neither the launcher nor its children heed SIGTERM; one child has a session of its own, one
    // is an orphan.
    let script = format!(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 60; : {word}' & \
         (sh -c 'sleep 60; : {word}' &) ; echo '<ranks:rank:0>last words'; while :; do sleep 1; : {word}; done"
    );
    let installation = with_launcher(&root, &script);
    let outcome = Job::new("true")
        .on(installation)
        .timeout(Duration::from_millis(300))
        .run()
        .unwrap();
    assert!(outcome.timed_out && !outcome.success());
    assert!(
        outcome.elapsed < Duration::from_secs(6),
        "{:?}",
        outcome.elapsed
    );
    assert_eq!(outcome.output[0].stdout, "last words\n");
    assert!(
        outcome
            .to_string()
            .starts_with("killed after its 300ms were over"),
        "{outcome}"
    );
    assert_eq!(running(&word), [0; 0]);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_dropped_job_is_killed() {
    let root = scratch("dropped");
    let word = word("dropped");
    let installation = with_launcher(&root, &format!("sh -c 'sleep 60; : {word}'"));
    let job = Job::new("true").on(installation).start().unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    while running(&word).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_ne!(running(&word), [0; 0]);
    drop(job);
    assert_eq!(running(&word), [0; 0]);
    fs::remove_dir_all(root).unwrap();
}

/// It was a panic.
#[test]
fn a_time_limit_that_no_clock_reaches_is_none() {
    let outcome = Job::new("true").timeout(Duration::MAX).run().unwrap();
    assert!(outcome.success(), "{outcome}");
}

#[test]
fn the_thread_that_started_a_job_may_end() {
    let job = Job::new("sh").args(["-c", "sleep 0.3; echo done"]);
    let running = std::thread::spawn(move || job.start().unwrap())
        .join()
        .unwrap();
    let outcome = running.wait();
    assert!(outcome.success(), "{outcome}");
    assert_eq!(outcome.output[0].stdout, "done\n");
}

#[test]
fn much_output_blocks_nobody() {
    let outcome = Job::new("sh")
        .args(["-c", "yes 0123456789 | head -n 100000; echo end >&2"])
        .run()
        .unwrap();
    assert_eq!(outcome.output[0].stdout.len(), 1_100_000);
    assert_eq!(outcome.output[0].stderr, "end\n");
}

#[test]
fn without_an_mpi_ranks_are_threads_of_one_process() {
    let job = Job::new("sh")
        .ranks(3)
        .args(["-c", "echo $RANKS_NP ${PMI_RANK-none}"]);
    let outcome = job.run().unwrap();
    assert_eq!(outcome.output.len(), 1);
    assert_eq!(outcome.output[0].stdout, "3 none\n");
}

#[test]
fn what_cannot_start_is_named() {
    let error = Job::new("/no/such/program").run().unwrap_err();
    assert!(error.to_string().contains("/no/such/program"), "{error}");
    assert!(matches!(
        Job::new("true").ranks(0).run(),
        Err(JobError::NoRanks)
    ));
}

#[test]
fn a_machine_without_room_for_processes_is_told_of() {
    let source = std::io::Error::from(nix::errno::Errno::EAGAIN);
    let program = PathBuf::from("mpiexec");
    let text = JobError::Start { program, source }.to_string();
    assert!(text.starts_with("mpiexec could not be started: "), "{text}");
    assert!(text.ends_with("(ulimit -u, pids.max)"), "{text}");
}

/// The words behind it were started as another program.
#[test]
fn an_argument_that_launchers_do_not_hand_on_is_an_error() {
    let root = scratch("separator");
    let installation = with_launcher(&root, "exit 0");
    let job = Job::new("true").args(["a", ":", "b"]);
    assert!(job.run().unwrap().success());
    let refused = job.on(installation).run();
    assert!(matches!(refused, Err(JobError::Separator)), "{refused:?}");
    fs::remove_dir_all(root).unwrap();
}

/// Every MPI of this machine: those provisioned in the workspace, and the system's.
fn real() -> Vec<Installation> {
    let provisioned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi");
    let list = Installation::all(Some(&provisioned));
    if list.is_empty() {
        eprintln!("no MPI is installed here: only the launchers made for the purpose were tested");
    }
    // Both interfaces of one MPICH have one launcher.
    list.into_iter()
        .filter(|installation| !installation.name.ends_with("-abi"))
        .collect()
}

const WHO: &str = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}";

#[test]
fn real_launchers_label_every_line() {
    for installation in real() {
        let name = installation.name.clone();
        let script = format!(
            "printf \"out $0\\n\\nhalf\"; sleep 0.05; echo \" {WHO}\"; echo \"err {WHO} $RANKS_MPI\" >&2; printf end"
        );
        let library = installation.library.display().to_string();
        let job = Job::new("sh")
            .args(["-c", &script, "a b"])
            .on(installation)
            .ranks(3)
            .timeout(Duration::from_secs(60));
        let outcome = job.run().unwrap();
        assert!(outcome.success(), "{name}: {outcome}");
        assert_eq!(outcome.output.len(), 3, "{name}");
        for output in &outcome.output {
            let rank = output.rank;
            let text = output.stdout.trim_end_matches('\n');
            assert_eq!(
                text,
                format!("out a b\n\nhalf {rank}\nend"),
                "{name} rank {rank}: {outcome}"
            );
            assert_eq!(
                output.stderr,
                format!("err {rank} {library}\n"),
                "{name} rank {rank}: {outcome}"
            );
        }
    }
}

#[test]
fn real_launchers_are_killed_with_all_their_ranks() {
    // All of them wait most of the time: a few run side by side.
    let installations: Vec<_> = real().into_iter().collect();
    for few in installations.chunks(3) {
        std::thread::scope(|scope| {
            for installation in few {
                scope.spawn(|| is_killed_with_all_its_ranks(installation));
            }
        });
    }
}

fn is_killed_with_all_its_ranks(installation: &Installation) {
    let name = installation.name.clone();
    let word = word(&name);
    let script = format!("echo alive {WHO}; trap '' TERM; while :; do sleep 1; : {word}; done");
    let job = Job::new("sh")
        .args(["-c", &script])
        .on(installation.clone())
        .ranks(2);
    let alive = |outcome: &Outcome| {
        outcome
            .output
            .iter()
            .all(|output| output.stdout == format!("alive {}\n", output.rank))
    };
    // A busy machine may need long to start even this.
    let mut outcome = job.clone().timeout(Duration::from_secs(2)).run().unwrap();
    if !alive(&outcome) {
        outcome = job.timeout(Duration::from_secs(20)).run().unwrap();
    }
    assert!(alive(&outcome) && outcome.timed_out, "{name}: {outcome}");
    assert_eq!(running(&word), [0; 0], "{name}");
}

#[test]
fn a_launcher_that_is_killed_leaves_nothing_that_the_next_could_stumble_over() {
    let root = scratch("session");
    let file = root.join("folder");
    let tell = format!("printf %s \"$PMIX_SERVER_TMPDIR\" > {}", file.display());
    for installation in real() {
        let name = installation.name.clone();
        let is_prrte = installation.fault_tolerance().is_some();
        let job = Job::new("sh")
            .args([
                "-c",
                &format!("{tell}.part; mv {0}.part {0}; sleep 100", file.display()),
            ])
            .on(installation)
            .timeout(Duration::from_secs(60));
        let running = job.start().unwrap();
        while !file.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let launcher = i32::try_from(running.id()).unwrap();
        kill(Pid::from_raw(launcher), Signal::SIGKILL).unwrap();
        let outcome = running.wait();
        assert!(
            !outcome.success() && !outcome.timed_out,
            "{name}: {outcome}"
        );
        let session = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let of_job = session.contains(&format!("/ranks-{}.", std::process::id()));
        assert_eq!(of_job, is_prrte, "{name}: {session}");
        assert!(
            !of_job || !Path::new(&session).exists(),
            "{name}: {session}"
        );
    }
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_failing_rank_is_seen_in_the_status() {
    for installation in real() {
        let name = installation.name.clone();
        let script = format!("[ {WHO} = 1 ] && exit 7; exit 0");
        let job = Job::new("sh")
            .args(["-c", &script])
            .on(installation)
            .ranks(2)
            .timeout(Duration::from_secs(60));
        let outcome = job.run().unwrap();
        assert!(
            !outcome.success() && !outcome.timed_out,
            "{name}: {outcome}"
        );
    }
}

#[test]
fn real_launchers_are_recognised_by_their_ranks() {
    // The test itself is the program: started with this variable it tells what it sees.
    const TELL: &str = "RANKS_LAUNCH_TELL";
    if std::env::var_os(TELL).is_some() {
        let environment = ranks_launch::Environment::detect();
        let candidates = ranks_launch::candidates(&environment).unwrap();
        println!(
            "\nseen: {environment} {:?} {:?}",
            environment.local_rank, environment.local_size
        );
        println!("first: {}", candidates[0].file.display());
        return;
    }
    let me = std::env::current_exe().unwrap();
    for installation in real() {
        let (name, family, library) = (
            installation.name.clone(),
            installation.family,
            installation.library.clone(),
        );
        let job = Job::new("env")
            .args(["-u", "RANKS_MPI"])
            .args([me.as_os_str()])
            .args([
                "--exact",
                "real_launchers_are_recognised_by_their_ranks",
                "--nocapture",
            ])
            .env(TELL, "1")
            .on(installation)
            .ranks(2)
            .timeout(Duration::from_secs(60));
        let outcome = job.run().unwrap();
        assert!(outcome.success(), "{name}: {outcome}");
        let launcher = match family {
            Family::Intel => "Intel MPI's",
            Family::OpenMpi => "Open MPI's",
            _ => "MPICH's",
        };
        for output in &outcome.output {
            let seen = format!(
                "seen: started by {launcher} mpiexec as rank {} of 2 Some({}) Some(2)\n",
                output.rank, output.rank
            );
            assert!(output.stdout.contains(&seen), "{name}: {outcome}");
            let first = output
                .stdout
                .lines()
                .find_map(|line| line.strip_prefix("first: "))
                .unwrap();
            assert_eq!(
                fs::canonicalize(first).unwrap(),
                fs::canonicalize(&library).unwrap(),
                "{name}"
            );
        }
    }
}

#[test]
fn the_end_of_the_parent_ends_the_job() {
    const PARENT: &str = "RANKS_LAUNCH_PARENT";
    let word = word("orphan");
    if let Some(word) = std::env::var_os(PARENT) {
        let script = format!("while :; do sleep 1; : {}; done", word.to_string_lossy());
        let outcome = Job::new("sh").args(["-c", &script]).run();
        panic!("{outcome:?}");
    }
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_end_of_the_parent_ends_the_job"])
        .env(PARENT, &word)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while running(&word).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_ne!(running(&word), [0; 0]);
    parent.kill().unwrap();
    parent.wait().unwrap();
    while !running(&word).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(running(&word), [0; 0]);
}
