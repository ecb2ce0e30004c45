//! The machine as the kernel shows it to this process: CPUs, memories, limits, GPUs.

pub(crate) mod control_groups;
pub(crate) mod files;
#[cfg(feature = "hosts")]
mod host;
mod meminfo;
#[cfg(test)]
mod testing;

pub use control_groups::ControlGroups;
#[cfg(feature = "hosts")]
pub use host::{Cpu, CpuSet, Domain, Gpu, Host, NumaNode, Processors};
pub use meminfo::Meminfo;
