//! Processes that are PEs of a symmetric heap or ranks of NCCL, one for each of the machine's
//! devices. NVSHMEM begins once in a process, so each case has its own.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ranks_bootstrap::{TcpStore, TcpStoreOptions};
use ranks_nccl::{NcclCommunicator, NcclOptions};
use ranks_nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};

use crate::machine::shares;
use crate::ranks::LIMIT;
use crate::report::{Outcome, Seen};

/// How long a case may take in all.
const CASE_LIMIT: Duration = Duration::from_secs(180);
/// Says to a process which case it is to do.
const CASE: &str = "RANKS_GPU_CASE";
/// Says to a process which GPU it has.
const DEVICE: &str = "RANKS_GPU_DEVICE";
/// What a process says first of what it has seen.
const WELL: &str = "seen: ";
const NOT_HERE: &str = "not here: ";

/// What lets several PEs share a GPU: no multicast, which refuses a device twice; nothing of a
/// network; small pieces of memory.
const SHARED: [(&str, &str); 6] = [
    ("NVSHMEM_DISABLE_NVLS", "1"),
    ("NVSHMEM_DISABLE_NCCL", "1"),
    ("NVSHMEM_REMOTE_TRANSPORT", "none"),
    ("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo"),
    ("NVSHMEM_CUMEM_GRANULARITY", "2097152"),
    ("NVSHMEM_CPU_AFFINITY", "OFF"),
];

/// A case that all processes do at once.
pub(crate) type Case = (&'static str, Work);

/// The work of a process, on a symmetric heap or on a communicator.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Heap(fn(&Nvshmem<'_>) -> Outcome),
    Nccl(fn(NcclCommunicator) -> Outcome),
}

/// Does one case if this process was begun for it: its outcome, for the process that has begun it.
pub(crate) fn if_inside(cases: &[&[Case]]) -> Option<Outcome> {
    let name = std::env::var(CASE).ok()?;
    Some(inside(cases, &name))
}

#[allow(clippy::print_stdout, reason = "this is what the first process reads")]
fn inside(cases: &[&[Case]], name: &str) -> Outcome {
    let mut all = cases.iter().copied().flatten();
    let case = all.find(|(known, _)| *known == name);
    let (_, work) = case.ok_or("there is no such case")?;
    let store = TcpStoreOptions::from_env()?.time_limit(LIMIT).connect()?;
    let device = std::env::var(DEVICE)?.parse()?;
    let seen = match work {
        Work::Heap(case) => {
            let pe = begin(&store, device)?;
            let seen = case(&pe)?;
            pe.finalize()?;
            seen
        }
        Work::Nccl(case) => {
            let options = NcclOptions::new().time_limit(LIMIT);
            case(NcclCommunicator::new(&store, device, &options)?)?
        }
    };
    match &seen {
        Seen::Well(detail) => println!("{WELL}{detail}"),
        Seen::NotHere(why) => println!("{NOT_HERE}{why}"),
    }
    Ok(seen)
}

fn begin(store: &TcpStore, device: usize) -> Result<Nvshmem<'_>, Box<dyn Error + Send + Sync>> {
    let options = NvshmemOptions::new()
        .backend(HeapBackend::Library)
        .device(device)
        .time_limit(LIMIT);
    Ok(Nvshmem::init(store, &options)?)
}

/// The processes of this program: a GPU for each.
pub(crate) struct Processes<'a> {
    devices: &'a [usize],
    /// The control program of MPS that was started, with its folder.
    mps: Option<(Command, PathBuf)>,
}

impl<'a> Processes<'a> {
    /// With several of them on a GPU, it starts MPS, if that is here.
    pub(crate) fn new(devices: &'a [usize]) -> Self {
        let mps = if shares(devices) { start_mps() } else { None };
        Self { devices, mps }
    }

    /// Does one case with all of them.
    pub(crate) fn run(&self, name: &str) -> Outcome {
        let server = TcpStoreOptions::new("127.0.0.1", 0, 0, 1).name("server");
        let server = server.connect()?;
        let mut children = Vec::new();
        for (rank, device) in self.devices.iter().enumerate() {
            let mut command = Command::new(std::env::current_exe()?);
            command
                .env(CASE, name)
                .env(DEVICE, device.to_string())
                .env("MASTER_ADDR", "127.0.0.1")
                .env("MASTER_PORT", server.port().to_string())
                .env("TORCHELASTIC_USE_AGENT_STORE", "True")
                .env("RANK", rank.to_string())
                .env("WORLD_SIZE", self.devices.len().to_string())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            if shares(self.devices) {
                let unset = |(name, _): &&(&str, &str)| std::env::var_os(name).is_none();
                command.envs(SHARED.iter().filter(unset).copied());
            }
            if let Some((_, folder)) = &self.mps {
                let sharers = self.devices.iter().filter(|other| *other == device);
                let percentage = 100 / sharers.count().max(1);
                command
                    .env("CUDA_MPS_PIPE_DIRECTORY", folder)
                    .env("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percentage.to_string());
            }
            children.push(command.spawn()?);
        }
        finish(children)
    }
}

/// The outcome on the first process, if all have ended well.
fn finish(mut children: Vec<Child>) -> Outcome {
    let end = Instant::now() + CASE_LIMIT;
    let mut running = true;
    while running && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
        running = false;
        for child in &mut children {
            running |= child.try_wait()?.is_none();
        }
    }
    let mut complaints = Vec::new();
    let mut seen = None;
    for (rank, mut child) in children.into_iter().enumerate() {
        if running {
            // One that has ended meanwhile is as good as killed.
            let _ = child.kill();
        }
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let of_case = said.lines().find_map(|line| {
            let well = line.strip_prefix(WELL).map(|text| Seen::Well(text.into()));
            let not_here = line.strip_prefix(NOT_HERE);
            well.or_else(|| not_here.map(|why| Seen::NotHere(why.into())))
        });
        match of_case {
            Some(of_case) if output.status.success() => {
                seen.get_or_insert(of_case);
            }
            _ => {
                let complained = String::from_utf8_lossy(&output.stderr);
                let last = complained.trim().lines().next_back().unwrap_or("");
                complaints.push(format!("rank {rank} ({}): {last}", output.status));
            }
        }
    }
    if running {
        complaints.insert(0, format!("it took longer than {CASE_LIMIT:?}"));
    }
    match seen {
        Some(seen) if complaints.is_empty() => Ok(seen),
        _ => Err(complaints.join("; ").into()),
    }
}

/// Starts MPS for the processes, with a folder of its own, if its control program is here and no
/// doubles take the place of GPUs.
fn start_mps() -> Option<(Command, PathBuf)> {
    const CONTROL: &str = "nvidia-cuda-mps-control";
    if std::env::var_os("RANKS_CUDA").is_some() {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("ranks-gpu-mps-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let variables: [(OsString, PathBuf); 2] = [
        ("CUDA_MPS_PIPE_DIRECTORY".into(), folder.clone()),
        ("CUDA_MPS_LOG_DIRECTORY".into(), folder.clone()),
    ];
    let mut start = Command::new(CONTROL);
    start.arg("-d").envs(variables.iter().cloned());
    if !start.status().is_ok_and(|status| status.success()) {
        return None;
    }
    let mut quit = Command::new(CONTROL);
    quit.envs(variables).stdin(Stdio::piped());
    Some((quit, folder))
}

impl Drop for Processes<'_> {
    fn drop(&mut self) {
        if let Some((quit, folder)) = &mut self.mps {
            // What is left of it ends with the machine's session.
            if let Ok(mut control) = quit.spawn() {
                if let Some(mut input) = control.stdin.take() {
                    let _ = input.write_all(b"quit\n");
                }
                let _ = control.wait();
            }
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
