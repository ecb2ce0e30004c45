//! Opens native libraries at run time, and is the one place in the workspace that does.
//!
//! A caller lists [`Candidate`]s in the order in which they are to be tried, each with the reason
//! why. [`Library::open`] takes the first that loads and that the caller accepts; if none does, the
//! [`LoadError`] holds every candidate with its own reason. Three rules follow from what native
//! libraries do:
//!
//! * **Nothing is ever unloaded.** Exit handlers, threads and component code live in the library.
//! * **Symbols are looked up in the global scope first** ([`Library::symbol`]), so that a preloaded
//!   profiling tool sees each call, exactly as in a program that was linked to the library.
//! * **A library that is in the process already is adopted** ([`Library::in_process`]), never
//!   opened again.
//!
//! [`Places`] lists the candidates of a library that comes with its vendor's own variables and
//! Python packages; [`function()`] turns the address of a symbol into a function.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("ranks is for targets with addresses of 64 bits");
#[cfg(target_endian = "big")]
compile_error!("ranks is for little-endian targets");

mod candidate;
mod error;
mod function;
mod library;
mod linker;
mod places;

pub use candidate::Candidate;
pub use error::{Attempt, LoadError};
pub use function::function;
pub use library::Library;
pub use places::Places;
