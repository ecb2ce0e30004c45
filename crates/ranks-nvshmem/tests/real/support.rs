//! The library, the double of the driver, and processes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ranks_bootstrap::{TcpStore, TcpStoreOptions};
use ranks_cuda::Cuda;
use ranks_nvshmem_sys::NvshmemLibrary;

/// How long anything may take that is to end well: no test waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Says to a process that it is to do a test, and as which rank.
pub(crate) const INSIDE: &str = "RANKS_NVSHMEM_TEST_INSIDE";

/// Where rank 0 serves.
const PORT: &str = "RANKS_NVSHMEM_TEST_PORT";

/// What stands before the port in what rank 0 prints.
const AT: &str = "served at port ";

/// What a process says when its part is done.
pub(crate) const DONE: &str = "the part came to its end";

/// No device, whatever the machine has, and no network but its own.
pub(crate) const ALONE: [(&str, &str); 3] = [
    ("CUDA_VISIBLE_DEVICES", ""),
    ("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo"),
    ("NVSHMEM_REMOTE_TRANSPORT", "none"),
];

/// The library that whoever runs the ignored tests names.
pub(crate) fn real() -> String {
    std::env::var("RANKS_NVSHMEM").expect("RANKS_NVSHMEM names a libnvshmem_host.so.3")
}

/// That library, open.
pub(crate) fn library() -> &'static NvshmemLibrary {
    NvshmemLibrary::load().unwrap()
}

/// The state of the library.
pub(crate) fn status() -> i32 {
    let status = library().table().nvshmemx_init_status.unwrap();
    // SAFETY: it may be asked at any time.
    unsafe { status() }
}

/// The number of PEs that the library has found.
pub(crate) fn n_pes() -> usize {
    let n_pes = library().table().nvshmem_n_pes.unwrap();
    // SAFETY: it may be asked at any time.
    usize::try_from(unsafe { n_pes() }).unwrap()
}

/// The double of the driver, which has GPUs.
pub(crate) fn driver() -> Cuda {
    let here = std::env::current_exe().unwrap();
    let file = here.parent().unwrap().join("libcuda_double.so");
    // SAFETY: nothing happens when the double is loaded, and its functions do what the driver's do.
    unsafe { Cuda::open(file) }.unwrap()
}

#[allow(
    clippy::print_stdout,
    reason = "this is what the parent process looks for"
)]
fn say(text: &str) {
    println!("{text}");
}

pub(crate) fn done() {
    say(DONE);
}

/// Where the processes of a test meet.
pub(crate) fn store(rank: usize, size: usize) -> TcpStore {
    let port = std::env::var(PORT).map_or(0, |port| port.parse().unwrap());
    let options = TcpStoreOptions::new("127.0.0.1", port, rank, size).time_limit(LONG);
    let store = options.connect().unwrap();
    if rank == 0 {
        say(&format!("{AT}{}", store.port()));
    }
    store
}

/// Does a test in so many processes.
pub(crate) fn processes(test: &str, size: usize, body: impl FnOnce(usize)) {
    if let Ok(rank) = std::env::var(INSIDE) {
        body(rank.parse().unwrap());
        return done();
    }
    let mut first = again(test, 0, None);
    let mut said = BufReader::new(first.stdout.take().unwrap()).lines();
    let port = said.find_map(|line| Some(line.unwrap().split_once(AT)?.1.to_owned()));
    let others = (1..size).map(|rank| again(test, rank, port.as_deref()));
    let mut all: Vec<Child> = std::iter::once(first).chain(others).collect();
    let running = wait(&mut all);
    let mut complaints = String::new();
    let rest: Vec<String> = said.map_while(Result::ok).collect();
    for (rank, child) in all.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let said = match rank {
            0 => rest.join("\n"),
            _ => String::from_utf8_lossy(&output.stdout).into_owned(),
        };
        if !output.status.success() || !said.contains(DONE) {
            let errors = String::from_utf8_lossy(&output.stderr);
            complaints += &format!("process {rank}: {}\n{said}{errors}\n", output.status);
        }
    }
    assert!(!running, "it took too long\n{complaints}");
    assert!(complaints.is_empty(), "{complaints}");
}

/// Waits for processes to end, and kills all of them if they do not in time.
fn wait(all: &mut [Child]) -> bool {
    let end = Instant::now() + 2 * LONG;
    let mut is_running = || {
        all.iter_mut()
            .any(|child| child.try_wait().unwrap().is_none())
    };
    let mut running = is_running();
    while running && Instant::now() < end {
        thread::sleep(Duration::from_millis(2));
        running = is_running();
    }
    for child in all.iter_mut().filter(|_| running) {
        // One that has ended meanwhile is as good as killed.
        let _ = child.kill();
    }
    running
}

/// Starts a test anew, in a process of its own.
fn again(test: &str, rank: usize, port: Option<&str>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(INSIDE, rank.to_string())
        .envs(ALONE)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(port) = port {
        command.env(PORT, port);
    }
    command.spawn().unwrap()
}
