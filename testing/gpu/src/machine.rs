//! The driver, the GPUs, the NCCL and the NVSHMEM of this machine.

use std::error::Error;
use std::fmt;

use ranks_cuda::{Context, Cuda};
use ranks_nccl_sys::Nccl;
use ranks_nvshmem_sys::NvshmemLibrary;

/// What there is to run on.
pub(crate) struct Machine {
    pub(crate) cuda: Cuda,
    /// Or why there is none.
    pub(crate) nccl: Result<&'static Nccl, String>,
    /// The same.
    pub(crate) nvshmem: Result<&'static NvshmemLibrary, String>,
    /// One for each rank.
    pub(crate) devices: Vec<usize>,
    /// Of the first of them.
    pub(crate) context: Context,
    names: Vec<String>,
}

impl Machine {
    pub(crate) fn find(devices: &[usize]) -> Result<Machine, Box<dyn Error>> {
        let cuda = Cuda::load()?;
        if cuda.device_count()? == 0 {
            return Err("the CUDA driver finds no GPU; CUDA_VISIBLE_DEVICES may hide it".into());
        }
        let mut names = Vec::new();
        for &device in devices {
            names.push(format!("GPU {device} ({})", cuda.device(device)?.name()?));
        }
        let first = devices.first().copied().unwrap_or(0);
        Ok(Machine {
            cuda,
            nccl: Nccl::load().map_err(|error| error.to_string()),
            nvshmem: NvshmemLibrary::load().map_err(|error| error.to_string()),
            devices: devices.to_vec(),
            context: cuda.device(first)?.context()?,
            names,
        })
    }
}

/// The release that lets ranks share a GPU.
const SHARES: i32 = 23_000;

impl Machine {
    /// The NCCL, or why there is none that makes a communicator of these devices.
    pub(crate) fn nccl_of_all(&self) -> Result<&'static Nccl, String> {
        let nccl = self.nccl.clone()?;
        if !shares(&self.devices) || nccl.version() >= SHARES {
            return Ok(nccl);
        }
        let version = nccl.version_text();
        Err(format!(
            "NCCL {version} has one rank on a GPU; from 2.30 on there may be more"
        ))
    }
}

/// Returns `true` if a GPU is named twice.
pub(crate) fn shares(devices: &[usize]) -> bool {
    let sharer = |index: usize| devices[..index].contains(&devices[index]);
    (1..devices.len()).any(sharer)
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, driver) = (self.cuda.version(), self.cuda.path().display());
        writeln!(
            f,
            "CUDA driver {}.{} ({driver})",
            version / 1000,
            version % 1000 / 10
        )?;
        match &self.nccl {
            Ok(library) => {
                let (version, path) = (library.version_text(), library.path().display());
                writeln!(f, "NCCL {version} ({path})")?;
            }
            Err(_) => writeln!(f, "no NCCL")?,
        }
        match &self.nvshmem {
            Ok(library) => {
                let path = library.path().display();
                writeln!(f, "NVSHMEM {} ({path})", library.version())?;
            }
            Err(_) => writeln!(f, "no NVSHMEM")?,
        }
        let names = self.names.join(", ");
        write!(f, "{} ranks on {names}", self.devices.len())
    }
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn a_gpu_that_is_named_twice_is_shared() {
        assert!(shares(&[0, 1, 0]));
        assert!(!shares(&[2, 1, 0]) && !shares(&[]));
    }
}
