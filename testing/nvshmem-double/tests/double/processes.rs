//! PEs as processes, from their start to their end.

use std::env;
use std::io::Read as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ranks_nvshmem_sys::*;

use crate::support::{ID, PE, PES, RELEASE, beside, open};

/// How long anything may take that is to happen.
const LONG: Duration = Duration::from_secs(60);

/// How a process has ended, and what it said.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) said: String,
}

/// A process that does not outlive the test.
struct Process {
    child: Child,
    said: Option<JoinHandle<String>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn wait(mut self, until: Instant) -> Ended {
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a process") {
                break status;
            }
            assert!(Instant::now() < until, "a PE does not end");
            thread::sleep(Duration::from_millis(2));
        };
        let said = self.said.take().expect("once").join().expect("a text");
        Ended { status, said }
    }
}

/// Runs a test on so many PEs of a release, with settings in their environment, to their ends.
pub(crate) fn run(test: &str, release: &str, pes: usize, settings: &[(&str, &str)]) -> Vec<Ended> {
    let library = open(release);
    let mut id = nvshmemx_uniqueid_t::zeroed();
    let get = library.table().nvshmemx_get_uniqueid.expect("it is there");
    // SAFETY: it writes the id there.
    assert_eq!(unsafe { get(&raw mut id) }, 0);
    let bytes = id.to_bytes().map(|byte| byte.to_string()).join(" ");
    let start = |pe: usize| {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        command
            .args([test, "--exact", "--nocapture"])
            .env(PE, pe.to_string())
            .env(PES, pes.to_string())
            .env(RELEASE, release)
            .env(ID, &bytes)
            .env("NVSHMEM_DOUBLE_CUDA", beside("libcuda_double.so"))
            .env("NVSHMEM_SYMMETRIC_SIZE", "1M")
            .env("NVSHMEM_DOUBLE_PATIENCE", "20")
            .envs(settings.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut text = child.stderr.take().expect("it has one");
        let said = thread::spawn(move || {
            let mut said = Vec::new();
            text.read_to_end(&mut said).expect("it says something");
            String::from_utf8_lossy(&said).into_owned()
        });
        Process {
            child,
            said: Some(said),
        }
    };
    let processes: Vec<Process> = (0..pes).map(start).collect();
    let until = Instant::now() + LONG;
    let wait = |process: Process| process.wait(until);
    processes.into_iter().map(wait).collect()
}

/// Runs a test on so many PEs, all of which are to be well.
pub(crate) fn all_well(test: &str, release: &str, pes: usize, settings: &[(&str, &str)]) {
    for (pe, ended) in run(test, release, pes, settings).iter().enumerate() {
        assert!(
            ended.status.success(),
            "PE {pe} of {pes} of {release}: {}\n{}",
            ended.status,
            ended.said
        );
    }
}
