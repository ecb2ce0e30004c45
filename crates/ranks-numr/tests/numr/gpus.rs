//! numr's operations on memory of GPUs, in the order of streams: on doubles of NCCL and of the
//! driver.

use std::process::Command;
use std::time::Duration;

use numr_0_14::dtype::DType;
use numr_0_14::runtime::{Communicator, ReduceOp, StreamSyncOps};
use ranks_bootstrap::ThreadBootstrap;
use ranks_cuda::{Context, DeviceSlice, Stream};
use ranks_nccl::{NcclCommunicator, NcclOptions};
use ranks_numr::{NumrCommunicator, NumrOptions};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Says to a process that the doubles are named in its environment.
const INSIDE: &str = "RANKS_NUMR_TEST_INSIDE";

/// In a process of its own, since libraries are found once for each.
#[test]
fn a_bucket_of_gradients_on_gpus() {
    if std::env::var_os(INSIDE).is_some() {
        return on_both_devices();
    }
    let here = std::env::current_exe().unwrap();
    let double = |name: &str| here.with_file_name(format!("lib{name}.so"));
    let ended = Command::new(&here)
        .args(["--exact", "gpus::a_bucket_of_gradients_on_gpus"])
        .env(INSIDE, "1")
        .env("RANKS_CUDA", double("cuda_double"))
        .env("RANKS_NCCL", double("nccl_double"))
        .env("NCCL_DOUBLE_CUDA", double("cuda_double"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{ended:?}"
    );
}

fn on_both_devices() {
    let limit = Duration::from_secs(20);
    let ranks = ThreadBootstrap::of(2, limit).unwrap();
    std::thread::scope(|scope| {
        let begun = ranks.iter().enumerate().map(|(device, rank)| {
            scope.spawn(move || {
                let options = NcclOptions::new().time_limit(limit);
                let comm = NcclCommunicator::new(rank, device, &options)?;
                let context = comm.context().clone();
                let comm = NumrCommunicator::over_nccl(comm, NumrOptions::new())?;
                one_rank(&comm, &context)
            })
        });
        for rank in begun.collect::<Vec<_>>() {
            rank.join().unwrap().unwrap();
        }
    });
}

fn one_rank(comm: &NumrCommunicator, context: &Context) -> Outcome {
    assert!(comm.supports(DType::F16, ReduceOp::Max) && !comm.supports(DType::Bool, ReduceOp::Max));
    let rank = comm.rank() as f32;
    let stream = context.stream()?;
    let mut pinned = context.pinned(4)?;
    pinned.fill(rank + 1.0);

    // The copy stands for a backward pass: the sum waits for it, and what comes after waits for the
    // sum.
    let bucket = context.alloc::<f32>(4)?;
    let address = bucket.address();
    let ready = stream.upload(pinned, bucket)?;
    let streams: &dyn StreamSyncOps = comm.as_stream_sync().ok_or("no streams")?;
    let handle = stream.raw().0.addr() as u64;
    let (before, after) = (streams.create_event()?, streams.create_event()?);
    // Nobody vouches for a number.
    for refused in [
        streams.record_on_stream(before, handle),
        streams.stream_wait_event(u64::MAX, before),
    ] {
        assert!(refused.unwrap_err().to_string().contains("show_stream"));
    }
    comm.show_stream(stream.clone());
    streams.record_on_stream(before, handle)?;
    streams.comm_stream_wait_event(before)?;
    streams.destroy_event(before)?;
    // SAFETY: the memory is there until `sync` is over, below.
    unsafe { comm.all_reduce(address, 4, DType::F32, ReduceOp::Sum)? };
    streams.record_on_comm_stream(after)?;
    streams.stream_wait_event(handle, after)?;
    streams.destroy_event(after)?;
    streams.destroy_event(after)?;
    comm.sync()?;
    let (pinned, bucket) = ready.wait()?;
    let (bucket, pinned) = stream.download(bucket, pinned)?.wait()?;
    assert_eq!(pinned[..], [3.0; 4]);

    // Parts have streams of their own; memory of the host is refused, and does no harm.
    let part = comm.split(7, 1 - comm.rank() as u32)?.ok_or("no part")?;
    assert_eq!((part.world_size(), part.rank()), (2, 1 - comm.rank()));
    let of_part = part.as_stream_sync().ok_or("no streams")?;
    let event = of_part.create_event()?;
    of_part.record_on_stream(event, handle)?;
    of_part.destroy_event(event)?;
    // SAFETY: the memory is there until `sync` is over, below.
    unsafe { part.broadcast(address, 4, DType::F32, 1)? };
    part.sync()?;
    let mut host = [0.0_f32; 4];
    // SAFETY: it is not used, being of the host.
    let refused =
        unsafe { comm.all_reduce(host.as_mut_ptr() as u64, 4, DType::F32, ReduceOp::Sum) };
    assert!(refused.unwrap_err().to_string().contains("rank"));
    comm.barrier()?;
    drop(bucket);
    Ok(())
}
