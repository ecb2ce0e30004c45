//! What an all-reduce costs the thread that enqueues it: NCCL's own call, and the same through this library, in turns.
//!
//! `cargo run --release -p ranks-collectives --example nccl_enqueue` on a machine with a GPU; it prints the ratio of the medians.
#![allow(unsafe_code)]
#![allow(clippy::print_stdout, reason = "this is what the program is for")]

use std::time::{Duration, Instant};

use ranks_collectives::nccl::{NcclCommunicator, NcclOptions};
use ranks_collectives::ops::Sum;
use ranks_comm::Result;
use ranks_cuda::{CudaStream, DeviceSlice, DeviceVec, Stream};
use ranks_nccl_sys::{Nccl, ncclFloat32, ncclInProgress, ncclSuccess, ncclSum};

/// Operations of a batch.
const BATCH: usize = 32;

/// Batches of each kind.
const BATCHES: usize = 60;

fn main() -> Result<()> {
    let device = std::env::args().nth(1);
    let device = device.and_then(|number| number.parse().ok()).unwrap_or(0);
    let comms = NcclCommunicator::on_devices(&[device], &NcclOptions::new())?;
    let Some(comm) = comms.first() else {
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
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        // The first operation of a communicator makes connections.
        own.push(by_the_library(comm, &stream, &mut data)?);
        theirs.push(by_the_call(comm, &stream, &data)?);
    }
    let (own, theirs) = (median(own), median(theirs));
    let ratio = own.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "NCCL {}: ncclAllReduce {theirs:?}, allreduce_in_place {own:?}, ratio {ratio:.3}",
        comm.version()
    );
    Ok(())
}

/// The time of one operation of a batch that is enqueued by NCCL's own function.
fn by_the_call(
    comm: &NcclCommunicator,
    stream: &CudaStream,
    data: &[DeviceVec<f32>],
) -> Result<Duration> {
    let table = Nccl::load().ok().map(Nccl::table);
    let functions = table.and_then(|table| table.ncclAllReduce.zip(table.ncclCommGetAsyncError));
    let Some((function, standing)) = functions else {
        return Ok(Duration::ZERO);
    };
    let begun = Instant::now();
    for data in data {
        let address = data.address() as *mut _;
        let (handle, stream) = (comm.raw().cast(), stream.raw().0.cast());
        // SAFETY: the memory is the device's, and is used by nothing else until the stream is over, which is waited for below.
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

/// The same by a scope.
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
