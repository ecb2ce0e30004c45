//! A communicator with one rank for each of the machine's devices, all in this process.

use std::error::Error;
use std::thread;
use std::time::Duration;

use ranks_nccl::{NcclCommunicator, NcclOptions};
use ranks_nccl_sys::Nccl;

use crate::machine::Machine;

/// How long anything may take that ends.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// All ranks of a communicator.
pub(crate) struct Ranks {
    pub(crate) all: Vec<NcclCommunicator>,
}

impl Ranks {
    pub(crate) fn new(
        machine: &Machine,
        nccl: &'static Nccl,
    ) -> Result<Ranks, Box<dyn Error + Send + Sync>> {
        let options = NcclOptions::new()
            .library(nccl)
            .cuda(machine.cuda)
            .time_limit(LIMIT);
        let all = NcclCommunicator::on_devices(&machine.devices, &options)?;
        Ok(Ranks { all })
    }

    pub(crate) fn size(&self) -> usize {
        self.all.len()
    }

    /// Does the same on every rank at once, each on a thread of its own; the first error of any.
    pub(crate) fn each<R: Send>(
        &self,
        work: impl Fn(&NcclCommunicator) -> Result<R, Box<dyn Error + Send + Sync>> + Sync,
    ) -> Result<Vec<R>, Box<dyn Error + Send + Sync>> {
        thread::scope(|scope| {
            let threads: Vec<_> = self
                .all
                .iter()
                .map(|comm| scope.spawn(|| work(comm)))
                .collect();
            threads
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|_| Err("a rank has panicked".into()))
                })
                .collect()
        })
    }
}
