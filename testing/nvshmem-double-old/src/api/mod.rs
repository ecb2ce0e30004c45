//! The functions that are exported.

#[path = "../../../nvshmem-double/src/api/amo.rs"]
mod amo;
#[path = "../../../nvshmem-double/src/api/collectives.rs"]
mod collectives;
#[path = "../../../nvshmem-double/src/api/life.rs"]
mod life;
#[path = "../../../nvshmem-double/src/api/memory.rs"]
mod memory;
#[path = "../../../nvshmem-double/src/api/modules.rs"]
mod modules;
#[path = "../../../nvshmem-double/src/api/order.rs"]
mod order;
#[path = "../../../nvshmem-double/src/api/rma.rs"]
mod rma;
#[path = "../../../nvshmem-double/src/api/signals.rs"]
mod signals;
#[path = "../../../nvshmem-double/src/api/teams.rs"]
mod teams;
#[path = "../../../nvshmem-double/src/api/test_hooks.rs"]
mod test_hooks;
#[path = "../../../nvshmem-double/src/api/typed.rs"]
mod typed;
