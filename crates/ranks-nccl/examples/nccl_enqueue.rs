//! Measures the cost of an all-reduce for the thread that enqueues it, in turns: by NCCL's own call
//! on a communicator as C programs have it, which blocks in the call; by the same call on one that
//! does not, as all of this library's are; and through this library.
//!
//! `cargo run --release -p ranks-nccl --example nccl_enqueue` on a machine with a GPU; it prints
//! the medians, and their ratios to the first.
#![allow(unsafe_code)]
#![allow(clippy::print_stdout, reason = "this is what the program is for")]

use std::ffi::c_int;
use std::ptr;
use std::time::{Duration, Instant};

use ranks_collectives::ops::Sum;
use ranks_comm::Result;
use ranks_cuda::{CudaStream, DeviceSlice, DeviceVec, Stream};
use ranks_nccl::{NcclCommunicator, NcclOptions};
use ranks_nccl_sys::{Nccl, ncclComm_t, ncclFloat32, ncclInProgress, ncclSuccess, ncclSum};

/// Operations of a batch.
const BATCH: usize = 32;

/// Batches of each kind.
const BATCHES: usize = 60;

fn main() -> Result<()> {
    let device = std::env::args().nth(1);
    let device = device.and_then(|number| number.parse().ok()).unwrap_or(0);
    let comms = NcclCommunicator::on_devices(&[device], &NcclOptions::new())?;
    let (Some(comm), Ok(nccl)) = (comms.first(), Nccl::load()) else {
        return Ok(());
    };
    let made = || -> ranks_cuda::Result<(CudaStream, Vec<DeviceVec<f32>>)> {
        let stream = comm.context().stream()?;
        let data: ranks_cuda::Result<_> = (0..BATCH).map(|_| comm.context().alloc(256)).collect();
        Ok((stream, data?))
    };
    let (stream, mut data) = match made() {
        Ok(made) => made,
        Err(error) => {
            println!("{error}");
            return Ok(());
        }
    };
    let blocking = Blocking::on(nccl, device);
    let (mut in_c, mut by_call, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        // The first operation of a communicator makes connections.
        in_c.push(by_the_call(comm, blocking.0, nccl, &stream, &data)?);
        by_call.push(by_the_call(comm, comm.raw().cast(), nccl, &stream, &data)?);
        own.push(by_the_library(comm, &stream, &mut data)?);
    }
    let in_c = median(in_c);
    let of_c = |time: Duration| time.as_secs_f64() / in_c.as_secs_f64();
    let (by_call, own) = (median(by_call), median(own));
    println!(
        "NCCL {}: ncclAllReduce {in_c:?}, on a communicator that does not block {by_call:?} ({:.3}), allreduce_in_place {own:?} ({:.3})",
        comm.version(),
        of_c(by_call),
        of_c(own),
    );
    Ok(())
}

/// A communicator as C programs make it: of one rank, and blocking.
struct Blocking(ncclComm_t, &'static Nccl);

impl Blocking {
    fn on(nccl: &'static Nccl, device: usize) -> Self {
        let mut comm = ptr::null_mut();
        let init = nccl.table().ncclCommInitAll.expect("every NCCL has it");
        let device = c_int::try_from(device).expect("the number of a device");
        // SAFETY: one communicator is written to the place of one, and one device is read.
        let code = unsafe { init(&raw mut comm, 1, &raw const device) };
        assert_eq!(code, ncclSuccess, "ncclCommInitAll");
        Self(comm, nccl)
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if let Some(destroy) = self.1.table().ncclCommDestroy {
            // SAFETY: it was made by `on`, nothing is under way on it, and nobody uses it any more.
            unsafe { destroy(self.0) };
        }
    }
}

/// The time of one operation of a batch that is enqueued by NCCL's own function.
fn by_the_call(
    comm: &NcclCommunicator,
    handle: ncclComm_t,
    nccl: &Nccl,
    stream: &CudaStream,
    data: &[DeviceVec<f32>],
) -> Result<Duration> {
    let table = nccl.table();
    let functions = table.ncclAllReduce.zip(table.ncclCommGetAsyncError);
    let Some((function, standing)) = functions else {
        return Ok(Duration::ZERO);
    };
    let begun = Instant::now();
    for data in data {
        let address = data.address() as *mut _;
        let stream = stream.raw().0.cast();
        // SAFETY: the memory is the device's, and is used by nothing else until the stream is over,
        // which is waited for below.
        let mut code = unsafe {
            function(
                address,
                address,
                data.len(),
                ncclFloat32,
                ncclSum,
                handle,
                stream,
            )
        };
        // As NCCL wants it of a communicator that does not block.
        while code == ncclInProgress {
            // SAFETY: the communicator is alive, and the code is written to a place for one.
            unsafe { standing(handle, &raw mut code) };
        }
        assert_eq!(code, ncclSuccess, "ncclAllReduce");
    }
    let took = begun.elapsed();
    comm.synchronize(stream)?;
    Ok(took / u32::try_from(BATCH).unwrap_or(1))
}

/// Does it by a scope.
fn by_the_library(
    comm: &NcclCommunicator,
    stream: &CudaStream,
    data: &mut [DeviceVec<f32>],
) -> Result<Duration> {
    let took = comm.scope(stream, |s| {
        let begun = Instant::now();
        for data in data {
            s.allreduce_in_place(data, Sum)?;
        }
        Ok(begun.elapsed())
    })?;
    Ok(took / u32::try_from(BATCH).unwrap_or(1))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
