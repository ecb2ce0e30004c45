//! Properties of a communicator.
#![allow(unsafe_code)]

use ranks_comm::{Error, ErrorKind, Result};

use crate::communicator::NcclCommunicator;

/// The last release whose properties do not have `hostRmaSupport`.
const NO_HOST_RMA: i32 = 22_903;

/// Properties of a communicator, as the library says them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NcclProperties {
    /// The number of this rank.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// The number of the GPU, as CUDA counts.
    pub device: usize,
    /// `true` if one-sided operations can be called from the host (`put`, `signal`).
    pub host_rma: bool,
    /// `true` if kernels can communicate by themselves.
    pub device_api: bool,
    /// `true` if the GPUs reach each other's memory by multicast.
    pub multimem: bool,
}

impl NcclCommunicator {
    /// The properties of the communicator.
    ///
    /// # Errors
    /// [`NotInLibrary`](ErrorKind::NotInLibrary) before NCCL 2.29; what NCCL reports.
    #[doc(alias = "ncclCommQueryProperties")]
    pub fn properties(&self) -> Result<NcclProperties> {
        const CALL: &str = "ncclCommQueryProperties";
        let nccl = self.shared().nccl();
        let mut native = nccl.comm_properties();
        self.shared().call(CALL, |table, comm| {
            let function = table.ncclCommQueryProperties?;
            // SAFETY: it writes one struct, as large as the struct itself says, to the address of
            // one.
            Some(unsafe { function(comm, &raw mut native) })
        })?;
        let number = |value: i32| {
            usize::try_from(value).map_err(|_| {
                let text = format_args!("the library gives {value} for a rank, a size or a device");
                Error::new(ErrorKind::Library, CALL, text)
            })
        };
        Ok(NcclProperties {
            rank: number(native.rank)?,
            size: number(native.nRanks)?,
            device: number(native.cudaDev)?,
            // 2.29.2 and 2.29.3 say nothing of it, and need what they call support of the device
            // API: symmetric memory.
            host_rma: native.hostRmaSupport
                || nccl.version() <= NO_HOST_RMA && native.deviceApiSupport,
            device_api: native.deviceApiSupport,
            multimem: native.multimemSupport,
        })
    }
}
