//! GPUs, and the libraries for them.

use std::thread;

use ranks_launch::{Count, Host};
use serde::Serialize;

use crate::probe::{self, GpuLibrary, Mpi};

use super::finding::Finding;

/// GPUs and their libraries; an error lists every path that was tried.
#[derive(Debug, Serialize)]
pub(super) struct Gpus {
    /// GPUs that the kernel's driver shows.
    present: Vec<String>,
    pub(super) cuda: Result<GpuLibrary, String>,
    pub(super) nccl: Result<GpuLibrary, String>,
    pub(super) nvshmem: Result<GpuLibrary, String>,
    /// The MPI's answer whether it takes memory of GPUs, asked before it is initialised; `None` if
    /// it has no way to say so, an error if it ends a process that asks so early, as MPICH does.
    pub(super) mpi_takes_memory: Option<Result<Option<bool>, String>>,
}

impl Gpus {
    pub(super) fn look(host: &Host, mpi: Option<&Mpi>) -> Gpus {
        let present = host.gpus.iter();
        let present = present
            .map(|gpu| format!("{} ({})", gpu.model, gpu.bus))
            .collect();
        let [cuda, nccl, nvshmem] = thread::scope(|scope| {
            let gone = |_| Err("the thread that asked it ended".to_owned());
            ["cuda", "nccl", "nvshmem"]
                .map(|which| scope.spawn(move || probe::gpu_library(which)))
                .map(|asked| asked.join().unwrap_or_else(gone))
        });
        Gpus {
            present,
            cuda,
            nccl,
            nvshmem,
            mpi_takes_memory: mpi.map(|mpi| probe::gpu_memory(&mpi.path)),
        }
    }

    /// The libraries with their names.
    pub(super) fn libraries(&self) -> [(&'static str, &Result<GpuLibrary, String>); 3] {
        [
            ("CUDA driver", &self.cuda),
            ("NCCL", &self.nccl),
            ("NVSHMEM", &self.nvshmem),
        ]
    }

    /// The GPUs that are there, as the driver or else the kernel names them.
    pub(super) fn devices(&self) -> &[String] {
        match &self.cuda {
            Ok(cuda) if !cuda.devices.is_empty() => &cuda.devices,
            _ => &self.present,
        }
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut list = Vec::new();
        if self.devices().is_empty() {
            return list;
        }
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let gpus = Count(self.devices().len(), "GPU");
        if let Err(reason) = &self.cuda {
            list.push(Finding::trouble(
                format!("{gpus} here, and the CUDA driver cannot be used: {}", first(reason)),
                "install the driver's libcuda.so.1 of the kernel module's version (containers: --gpus all), or name it: RANKS_CUDA=…",
            ));
        } else if self.nccl.is_err() {
            list.push(Finding::note(
                format!("{gpus} here, and no NCCL is found"),
                "pip install nvidia-nccl-cu12, or name it: RANKS_NCCL=/path/to/libnccl.so.2",
            ));
        }
        list
    }
}
