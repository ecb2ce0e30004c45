//! The memory that a backend can work on.

/// Memory that a backend can work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takes {
    /// Memory of the host.
    pub host: bool,
    /// Memory of a GPU.
    pub device: bool,
}
