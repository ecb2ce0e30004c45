//! The standard library, as sources see it that are checked: its atomics and locks are loom's,
//! which tries every order of them that the language allows.

pub use std::*;

pub mod sync;
pub mod thread;

pub use sync::execution::check;
