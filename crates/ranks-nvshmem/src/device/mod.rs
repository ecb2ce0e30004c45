//! The heap in the sight of kernels: addresses of its elements, and modules that put and get.

pub(crate) mod code;
pub(crate) mod view;
