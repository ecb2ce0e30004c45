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

#![cfg_attr(docsrs, feature(doc_cfg))]
#[cfg(feature = "cudarc")]
mod cudarc;
mod device_vec;
mod driver;
mod error;
#[cfg(test)]
mod fake;
mod module;
mod pinned;
mod stream;
mod table;

#[doc(hidden)]
pub use device_vec::{DeviceBytes, bounds};
pub use device_vec::{DeviceVec, DeviceView, DeviceViewMut};
pub use driver::{Context, Cuda, Device, Entered, Event, Memory};
pub use error::{Error, ErrorKind, Result};
pub use module::{Argument, Grid, Kernel, Module};
pub use pinned::PinnedVec;
pub use stream::{
    Alone, CudaStream, DeviceBuffers, DeviceSlice, DeviceSliceMut, Enqueued, Priority, RawStream,
    Stream, Watch,
};
