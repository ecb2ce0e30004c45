//! Communication for Rust on supercomputers: MPI found at run time, or in process.
//!
//! ```
//! use ranks::prelude::*;
//!
//! fn main() -> Result<()> {
//!     ranks::run(|world| {
//!         let mut sum = [0];
//!         world.allreduce(&[world.rank()], &mut sum, Sum)?;
//!         assert_eq!(sum[0], world.size() * (world.size() - 1) / 2);
//!         Ok(())
//!     })
//! }
//! ```
//!
//! This crate has no code of its own. It gathers [`ranks_comm`] and [`ranks_collectives`] under one name.

pub use ranks_collectives::{self, Collectives, Integer, Number, Op, ops};
pub use ranks_comm::{self, *};

/// What most programs need: `use ranks::prelude::*`.
pub mod prelude {
    pub use crate::ops::*;
    pub use crate::{Collectives, Communicator, Error, Result, Source, Tag, ops, run};
}
