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
                .map(|which| {
                    let asking = thread::Builder::new();
                    asking.spawn_scoped(scope, move || probe::gpu_library(which))
                })
                .map(|asked| match asked {
                    Ok(asked) => asked.join().unwrap_or_else(gone),
                    Err(error) => Err(format!("no thread could be started to ask it: {error}")),
                })
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
        let mut list = self.named_in_vain(|variable| std::env::var(variable).ok());
        if self.devices().is_empty() || !list.is_empty() {
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

    /// The libraries that variables name and that cannot be used.
    fn named_in_vain(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
        let named = [
            ("RANKS_CUDA", &self.cuda, "libcuda.so.1"),
            ("RANKS_NCCL", &self.nccl, "libnccl.so.2"),
            ("RANKS_NVSHMEM", &self.nvshmem, "libnvshmem_host.so.3"),
        ];
        let finding = |(name, library, usual): (&str, &Result<GpuLibrary, String>, &str)| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            let reason = library.as_ref().err()?;
            let mark = format!(" [${name}]");
            let tried = reason.lines().find_map(|line| line.strip_suffix(&mark));
            // A driver without devices is what a login node has.
            if self.devices().is_empty() && tried.is_some_and(|tried| tried.contains("cuInit: ")) {
                return None;
            }
            let tried = tried.map(|tried| tried.trim().trim_start_matches(&value).trim());
            let reason = tried.or_else(|| reason.split(';').next());
            let reason = reason.unwrap_or_default();
            Some(Finding::trouble(
                format!("{name} is {value}, which cannot be used: {reason}"),
                format!("name the file of a {usual}, or unset it"),
            ))
        };
        named.into_iter().filter_map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_named_must_serve_unless_it_only_lacks_devices() {
        let gpus = |reason: &str, present: &[&str]| Gpus {
            present: present.iter().map(|&gpu| gpu.to_owned()).collect(),
            cuda: Err(format!(
                "no CUDA driver could be loaded; tried\n  /d  {reason} [$RANKS_CUDA]"
            )),
            nccl: Err("/n is no NCCL library: it has no x; set RANKS_NCCL to one".to_owned()),
            nvshmem: Err("nobody asked".to_owned()),
            mpi_takes_memory: None,
        };
        let told = |gpus: Gpus, values: [(&str, &str); 1]| {
            let value = |name: &str| {
                let value = values.iter().find(|value| value.0 == name);
                value.map(|value| value.1.to_owned())
            };
            let findings = gpus.named_in_vain(value).into_iter();
            findings.map(|finding| finding.what).collect::<Vec<_>>()
        };
        let without = "cuInit: no device (CUDA_ERROR_NO_DEVICE, code 100)";
        let cuda = [("RANKS_CUDA", "/d")];
        assert_eq!(
            told(gpus("it has no cuInit", &[]), cuda),
            ["RANKS_CUDA is /d, which cannot be used: it has no cuInit"]
        );
        assert_eq!(told(gpus(without, &[]), cuda), [""; 0]);
        assert_eq!(told(gpus(without, &["H100"]), cuda).len(), 1);
        assert_eq!(
            told(gpus("", &[]), [("RANKS_NCCL", "/n")]),
            ["RANKS_NCCL is /n, which cannot be used: /n is no NCCL library: it has no x"]
        );
        assert_eq!(told(gpus("", &[]), [("RANKS_NVSHMEM", "")]), [""; 0]);
    }
}
