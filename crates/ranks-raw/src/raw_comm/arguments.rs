//! The checks of arguments before an operation starts.

use std::ffi::c_void;
use std::sync::OnceLock;

use ranks_comm::backend::Backend;
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_cuda::Cuda;

use super::failure::Failing;
use crate::memory::device::on_device;
use crate::memory::elements::{Kind, PromisedMemory};
use crate::raw_comm::RawComm;

impl RawComm {
    /// So many bytes at an address.
    pub(super) fn side(
        &self,
        name: &'static str,
        address: *const c_void,
        bytes: usize,
    ) -> Result<PromisedMemory> {
        if bytes == 0 {
            return Ok(PromisedMemory::NONE);
        }
        if address.is_null() {
            let text = format!("null for {bytes} bytes");
            return Err(Error::new(ErrorKind::Argument, name, text));
        }
        let kind = match on_device(name, self.options().cuda, address)? {
            Some(context) => {
                let taken = are_devices_given(self);
                if !taken && !self.options().stage_device_memory {
                    return Err(not_taken(name, self));
                }
                Kind::Device { context, taken }
            }
            None => Kind::Host,
        };
        Ok(PromisedMemory::new(address, bytes, kind))
    }
}

#[cold]
fn not_taken(name: &'static str, raw: &RawComm) -> Error {
    let library = raw.comm().library();
    let text = format!(
        "the address is in the memory of a GPU, which {library} is not given; ask for \
         RawOptions::stage_device_memory, or for RawOptions::direct where the library takes such addresses"
    );
    Error::new(ErrorKind::Argument, name, text)
}

/// Returns `true` if memory of a GPU may be passed.
pub(crate) fn takes_device(raw: &RawComm) -> bool {
    let any = raw.options().cuda.or_else(Cuda::loaded).is_some();
    any && (raw.options().stage_device_memory || are_devices_given(raw))
}

/// Returns `true` if libmpi works on such memory itself.
fn are_devices_given(raw: &RawComm) -> bool {
    let over_mpi = matches!(raw.comm().backend(), Backend::Mpi(_));
    over_mpi && raw.places().are_given() && is_gpu_aware()
}

/// Returns `true` if the library says that it takes addresses of GPUs, or the environment says so
/// for it.
fn is_gpu_aware() -> bool {
    static AWARE: OnceLock<bool> = OnceLock::new();
    *AWARE.get_or_init(|| match std::env::var("RANKS_GPU_AWARE").as_deref() {
        Ok("1") => true,
        Ok("0") => false,
        _ => {
            let loaded = ranks_mpi_sys::loaded();
            loaded.and_then(ranks_mpi_sys::Loaded::takes_gpu_memory) == Some(true)
        }
    })
}

/// Returns `true` if a nonblocking reduction of libmpi reads what an address of a GPU leads to:
/// those of Open MPI combine on the host, though its messages and its blocking reductions take such
/// addresses.
pub(crate) fn combines_device_memory() -> bool {
    // Each reduction asks, and the answer is found in the text of the library's version.
    static COMBINES: OnceLock<bool> = OnceLock::new();
    *COMBINES
        .get_or_init(|| !ranks_mpi_sys::loaded().is_some_and(ranks_mpi_sys::Loaded::is_openmpi))
}

/// A tag as MPI has it. The largest is used by the communicator itself.
pub(crate) fn tag(name: &'static str, comm: &Communicator, tag: u32) -> Result<i32> {
    i32::try_from(tag)
        .ok()
        .filter(|number| *number < Failing::tag(comm))
        .ok_or_else(|| {
            let (library, last) = (comm.library(), Failing::tag(comm) - 1);
            let text = format!("tag {tag} is not usable; with {library} tags run from 0 to {last}");
            Error::new(ErrorKind::Tag, name, text)
        })
}

/// A color and a key as MPI has them.
pub(crate) fn color(
    name: &'static str,
    color: Option<u32>,
    key: u32,
) -> Result<(Option<i32>, i32)> {
    let number = |what: &str, number: u32| {
        i32::try_from(number).map_err(|_| {
            let text = format!(
                "{what} {number} is not usable; it may be up to {}",
                i32::MAX
            );
            Error::new(ErrorKind::Argument, name, text)
        })
    };
    let key = number("key", key)?;
    Ok((color.map(|color| number("color", color)).transpose()?, key))
}
