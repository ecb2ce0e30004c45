//! MPI libraries of this machine: their names, the candidates to be opened, their launchers.

pub(crate) mod candidates;
mod installation;
pub(crate) mod linker_script;
mod names;
mod system;

pub use candidates::{ConfigError, Search, candidates};
pub use installation::{
    Installation, NETWORK_ATOMICS, RDMA_PER_REQUEST, WITHOUT_RDMA, has_user_set,
};
pub use linker_script::LinkerScript;
pub use names::Preference;
