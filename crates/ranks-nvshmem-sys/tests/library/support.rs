//! Processes in which tests happen.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use ranks_nvshmem_sys::NvshmemLibrary;

/// Says to a process that it is one in which a test happens, and what it is there.
const INSIDE: &str = "RANKS_NVSHMEM_SYS_TEST_INSIDE";

/// The library for a process that is to find it without `RANKS_NVSHMEM`.
pub(crate) const FILE: &str = "RANKS_NVSHMEM_SYS_TEST_FILE";

/// What a test prints last.
const END: &str = "came to its end";

/// How long a process may take.
const LONG: Duration = Duration::from_secs(30);

/// What a process came to.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) said: String,
    pub(crate) errors: String,
}

/// Starts the test anew in a process of its own, as `what`, without the variables by which an
/// NVSHMEM is found but those given.
pub(crate) fn again(test: &str, what: &str, variables: &[(&str, &str)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(INSIDE, what)
        // No device, whatever the machine has, and no network but its own.
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo")
        .env("NVSHMEM_REMOTE_TRANSPORT", "none")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for variable in [
        "RANKS_NVSHMEM",
        "NVSHMEM_HOME",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
    ] {
        command.env_remove(variable);
    }
    command.envs(variables.iter().copied()).spawn().unwrap()
}

/// Waits for a process, and kills it if it does not end in time.
pub(crate) fn ended(mut child: Child) -> Ended {
    let mut errors = child.stderr.take().unwrap();
    let errors = thread::spawn(move || {
        let mut text = Vec::new();
        errors.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut said = child.stdout.take();
    let said = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(said) = &mut said {
            said.read_to_end(&mut text).unwrap();
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let end = Instant::now() + LONG;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        thread::sleep(Duration::from_millis(2));
    };
    Ended {
        status,
        said: said.join().unwrap(),
        errors: errors.join().unwrap(),
    }
}

/// The first line that a process prints with this beginning, without it. The rest of what it prints
/// is read and forgotten.
pub(crate) fn line_of(child: &mut Child, beginning: &'static str) -> String {
    let said = BufReader::new(child.stdout.take().unwrap());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in said.lines().map_while(Result::ok) {
            if let Some((_, rest)) = line.split_once(beginning) {
                // Nobody waits any more when the time is over.
                let _ = sender.send(rest.to_owned());
            }
        }
    });
    receiver.recv_timeout(LONG).unwrap()
}

/// What this process is, if it is one in which a test happens.
pub(crate) fn part() -> Option<String> {
    std::env::var(INSIDE).ok()
}

/// Returns `true` if this process is one in which a test is to happen; if not it has happened in
/// another, and went well.
pub(crate) fn inside(test: &str, variables: &[(&str, &str)]) -> bool {
    if part().is_some() {
        return true;
    }
    let ended = ended(again(test, "", variables));
    assert!(
        ended.status.success() && ended.said.contains(END),
        "{}\n{}{}",
        ended.status,
        ended.said,
        ended.errors
    );
    false
}

/// Says that a test was done, by this process.
pub(crate) fn end() {
    say(END);
}

#[allow(
    clippy::print_stdout,
    reason = "this is what the parent process looks for"
)]
pub(crate) fn say(text: &str) {
    println!("{text}");
}

/// The library that whoever runs the ignored tests names.
pub(crate) fn real() -> String {
    let named = std::env::var("RANKS_NVSHMEM").or_else(|_| std::env::var(FILE));
    named.expect("RANKS_NVSHMEM names a libnvshmem_host.so.3")
}

/// That library, open.
pub(crate) fn library() -> &'static NvshmemLibrary {
    NvshmemLibrary::load().unwrap()
}

/// The state of the library.
pub(crate) fn status() -> i32 {
    // SAFETY: it may be asked at any time.
    unsafe { library().table().nvshmemx_init_status.unwrap()() }
}
