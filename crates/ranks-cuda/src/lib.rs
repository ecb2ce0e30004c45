//! The part of the CUDA driver that communication needs, found at run time: devices, contexts,
//! streams, events, memory.
//!
//! [`Cuda::load`] finds the driver, as an error if there is none; a [`Context`] makes the rest. The
//! traits [`Stream`], [`DeviceSlice`] and [`DeviceSliceMut`] are what communication takes: this
//! crate's types implement them, and others can.
//!
//! An enqueued operation is an [`Enqueued`] that owns its buffers until the device is done with
//! them. Nothing here panics on what a driver answers, and no `drop` waits for pending work.
//!
//! ```no_run
//! use ranks::cuda::{Cuda, Stream};
//!
//! # fn main() -> ranks::cuda::Result<()> {
//! let context = Cuda::load()?.device(0)?.context()?;
//! let stream = context.stream()?;
//! let mut host = context.pinned::<f32>(1024)?;
//! host.fill(1.0);
//! let copy = stream.upload(host, context.alloc::<f32>(1024)?)?;
//! let (_host, device) = copy.wait()?;
//! assert_eq!(device.to_vec()?, vec![1.0; 1024]);
//! # Ok(())
//! # }
//! ```

mod aside;
mod context;
mod copies;
#[cfg(feature = "cudarc")]
mod cudarc;
mod device;
mod device_vec;
mod driver;
mod enqueued;
mod error;
mod event;
#[cfg(test)]
mod fake;
mod memory;
mod module;
mod pause;
mod pinned;
mod stream;
mod table;

pub use context::{Context, Entered};
pub use device::Device;
pub use device_vec::{DeviceVec, DeviceView, DeviceViewMut};
pub use driver::{Cuda, Memory};
pub use enqueued::{Alone, Enqueued, Watch};
pub use error::{Error, ErrorKind, Result};
pub use event::Event;
pub use memory::{DeviceBuffers, DeviceSlice, DeviceSliceMut};
pub use module::{Argument, Grid, Kernel, Module};
pub use pinned::PinnedVec;
pub use stream::{CudaStream, Priority, RawStream, Stream};
