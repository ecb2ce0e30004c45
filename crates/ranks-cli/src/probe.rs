//! Questions to libraries, each asked in a process of its own: a library stays in the process that
//! has opened it, and may end it.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use ranks_load::Candidate;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// The mark before the answer; libraries write to standard output as well.
const MARK: &str = "ranks-probe:";
/// The time limit of an answer; a library on a slow file system takes seconds.
const LIMIT: Duration = Duration::from_secs(20);
/// The most that is read of what a library writes, in bytes.
const MOST: u64 = 64 << 20;

/// The question.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Asks a file which MPI it is.
    Mpi {
        /// The file, or a name for the dynamic linker.
        file: PathBuf,
    },
    /// Asks a library whether it takes memory of GPUs.
    GpuMemory {
        /// The file.
        file: PathBuf,
    },
    /// Looks for a CUDA driver.
    Cuda,
    /// Looks for an NCCL.
    Nccl,
    /// Looks for an NVSHMEM.
    Nvshmem,
}

/// An MPI library that can be opened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Mpi {
    /// Product and version in short.
    pub(crate) name: String,
    /// The library's own words, their first line.
    pub(crate) version: String,
    /// The version of the standard that it reports.
    pub(crate) standard: (i32, i32),
    /// Its ABI.
    pub(crate) abi: String,
    /// The word of the family of its launcher, if known.
    pub(crate) family: Option<String>,
    /// The file that it came from.
    pub(crate) path: PathBuf,
    /// The number of the standard's functions that it has.
    pub(crate) functions: usize,
    /// The number of the standard's functions with large counts (`_c`) that it has.
    pub(crate) large_counts: usize,
    /// The functions of [`ASKED`] that it has.
    pub(crate) has: Vec<String>,
    /// Set if it was in the process before: preloaded.
    pub(crate) preloaded: bool,
    /// Set if it may find its ranks by PMIx.
    pub(crate) may_use_pmix: bool,
    /// Set if it may find its ranks by PMI-1 or PMI-2.
    pub(crate) may_use_pmi: bool,
}

/// The functions that features depend on.
pub(crate) const ASKED: [&str; 11] = [
    "MPI_Send",
    "MPI_Comm_split",
    "MPI_Allreduce",
    "MPI_Iallreduce",
    "MPI_Op_create",
    "MPI_Allreduce_init",
    "MPI_Neighbor_allgather",
    "MPI_Psend_init",
    "MPI_Send_c",
    "MPI_Put",
    "MPI_Win_allocate_shared",
];

/// A library for GPUs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GpuLibrary {
    /// Its version.
    pub(crate) version: String,
    /// The file.
    pub(crate) path: PathBuf,
    /// The devices that it sees.
    pub(crate) devices: Vec<String>,
    /// Of each, the others whose memory it can reach itself.
    pub(crate) reaches: Vec<Vec<usize>>,
}

/// The MPI that the file is, or the dynamic linker's or our reason why it does not serve. Each file
/// is asked once.
pub(crate) fn mpi(file: &Path) -> Result<Mpi, String> {
    static ANSWERS: Mutex<BTreeMap<PathBuf, Result<Mpi, String>>> = Mutex::new(BTreeMap::new());
    let answers = || ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = answers().get(file) {
        return answer.clone();
    }
    let answer = ask(&["mpi".as_ref(), file.as_os_str()]);
    answers().insert(file.to_path_buf(), answer.clone());
    answer
}

/// Asks the library whether it takes memory of GPUs; `None` if it cannot be asked.
pub(crate) fn gpu_memory(file: &Path) -> Result<Option<bool>, String> {
    ask(&["gpu-memory".as_ref(), file.as_os_str()])
}

/// `cuda`, `nccl` or `nvshmem`; an error has every path that was tried.
pub(crate) fn gpu_library(which: &str) -> Result<GpuLibrary, String> {
    ask(&[which.as_ref()])
}

fn ask<T: DeserializeOwned>(what: &[&OsStr]) -> Result<T, String> {
    let me = std::env::current_exe().map_err(|error| format!("this program is gone: {error}"))?;
    answer(Command::new(me).arg("probe").args(what))
}

fn answer<T: DeserializeOwned>(command: &mut Command) -> Result<T, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("no process could be started to ask it: {error}"))?;
    let stdout = child.stdout.take();
    let (tell, told) = mpsc::channel();
    let reading = thread::Builder::new().spawn(move || {
        // The receiver is gone when the answer comes too late.
        let _ = tell.send(stdout.and_then(read));
    });
    let told = match reading {
        Ok(_) => told.recv_timeout(LIMIT),
        Err(error) => {
            end(&mut child);
            return Err(format!("no thread could be started to ask it: {error}"));
        }
    };
    // What it still does comes after the answer, or without an end.
    let status = end(&mut child);
    let answer = told.map_err(|_| format!("opening it takes longer than {LIMIT:?}"))?;
    let answer = answer.ok_or_else(|| match status {
        Some(status) => format!("opening it ends the process ({status})"),
        None => "opening it ends the process".to_owned(),
    })?;
    serde_json::from_slice(&answer).map_err(|error| error.to_string())?
}

/// The answer in what a library and the process that is asked write: a line of its own. A library
/// may write anything, and more than a pipe holds; what it has started may never end it.
fn read(stdout: ChildStdout) -> Option<Vec<u8>> {
    let lines = BufReader::new(stdout.take(MOST)).split(b'\n');
    let answer = |line: Vec<u8>| Some(line.strip_prefix(MARK.as_bytes())?.to_vec());
    lines.map_while(Result::ok).find_map(answer)
}

/// Ends a process, unless it has ended itself, and reaps it.
fn end(child: &mut Child) -> Option<ExitStatus> {
    let _ = child.kill();
    child.wait().ok()
}

/// The process that is asked.
pub(crate) fn main(arguments: &Arguments) -> Outcome {
    let answer = match &arguments.what {
        What::Mpi { file } => serde_json::to_string(&open_mpi(file)),
        What::GpuMemory { file } => serde_json::to_string(&takes_gpu_memory(file)),
        What::Cuda => serde_json::to_string(&cuda()),
        What::Nccl => serde_json::to_string(&nccl()),
        What::Nvshmem => serde_json::to_string(&nvshmem()),
    }?;
    println!("\n{MARK}{answer}");
    Ok(ExitCode::SUCCESS)
}

fn load(file: &Path) -> Result<&'static ranks_mpi_sys::Loaded, String> {
    let candidate = Candidate::new(file, "it was asked for");
    // SAFETY: this process was started to open the file, which its user has named or installed, and
    // does nothing else.
    unsafe { ranks_mpi_sys::load(&[candidate]) }.map_err(|error| {
        let attempt = error.attempts().first();
        attempt.map_or_else(|| error.to_string(), |attempt| attempt.reason.clone())
    })
}

fn takes_gpu_memory(file: &Path) -> Result<Option<bool>, String> {
    Ok(load(file)?.takes_gpu_memory())
}

fn open_mpi(file: &Path) -> Result<Mpi, String> {
    let loaded = load(file)?;
    let present = || ranks_mpi_sys::functions().filter(|function| function.is_in_library());
    let has = |name: &&str| ranks_mpi_sys::function(name).is_some_and(|f| f.is_in_library());
    Ok(Mpi {
        name: loaded.name().to_owned(),
        version: loaded.version_text().to_owned(),
        standard: loaded.standard(),
        abi: loaded.family().name().to_owned(),
        family: ranks_launch::Family::from_version_text(loaded.version_text())
            .map(|family| family.word().to_owned()),
        path: loaded.path().to_owned(),
        functions: present().count(),
        large_counts: present().filter(|f| f.name().ends_with("_c")).count(),
        has: ASKED
            .iter()
            .filter(|name| has(name))
            .map(|name| (*name).to_owned())
            .collect(),
        preloaded: loaded.adopted(),
        may_use_pmix: loaded.may_use_pmix(),
        may_use_pmi: loaded.may_use_pmi(),
    })
}

fn cuda() -> Result<GpuLibrary, String> {
    let cuda = ranks_cuda::Cuda::load().map_err(|error| error.to_string())?;
    let count = cuda.device_count().map_err(|error| error.to_string())?;
    let name = |ordinal| {
        let name = cuda.device(ordinal).and_then(|device| device.name());
        name.unwrap_or_else(|error| error.to_string())
    };
    let reaches = |from: usize| {
        let reaches = |to: &usize| {
            let pair = cuda
                .device(from)
                .and_then(|one| Ok((one, cuda.device(*to)?)));
            *to != from
                && pair
                    .and_then(|(one, other)| one.can_access(other))
                    .unwrap_or(false)
        };
        (0..count).filter(reaches).collect()
    };
    let version = cuda.version();
    Ok(GpuLibrary {
        version: format!("{}.{}", version / 1000, version % 1000 / 10),
        path: cuda.path().to_owned(),
        devices: (0..count).map(name).collect(),
        reaches: (0..count).map(reaches).collect(),
    })
}

fn nccl() -> Result<GpuLibrary, String> {
    let nccl = ranks_nccl_sys::Nccl::load().map_err(|error| error.to_string())?;
    Ok(GpuLibrary {
        version: nccl.version_text(),
        path: nccl.path().to_owned(),
        devices: Vec::new(),
        reaches: Vec::new(),
    })
}

fn nvshmem() -> Result<GpuLibrary, String> {
    let library = ranks_nvshmem_sys::NvshmemLibrary::load().map_err(|error| error.to_string())?;
    Ok(GpuLibrary {
        version: library.version_text(),
        path: library.path().to_owned(),
        devices: Vec::new(),
        reaches: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_library_that_wrote_more_than_a_pipe_holds_was_said_to_take_too_long() {
        let script = format!("yes | head -c 200000; printf '\\n{MARK}{{\"Ok\":7}}\\n'");
        let answer = answer::<u8>(Command::new("sh").args(["-c", &script]));
        assert_eq!(answer, Ok(7));
    }

    /// The answer was not taken before all output had ended, nor beside bytes that are no text.
    #[test]
    fn a_library_that_starts_a_process_or_writes_bytes_was_waited_for_or_refused() {
        let began = Instant::now();
        for noise in ["sleep 100 &", "printf '\\377\\n';"] {
            let script = format!("{noise} printf '\\n{MARK}{{\"Ok\":7}}\\n'");
            let answer = answer::<u8>(Command::new("sh").args(["-c", &script]));
            assert_eq!(answer, Ok(7), "{noise}");
        }
        assert!(began.elapsed() < LIMIT);
        let answer = answer::<u8>(Command::new("sh").args(["-c", "exit 3"]));
        assert_eq!(
            answer,
            Err("opening it ends the process (exit status: 3)".to_owned())
        );
    }
}
