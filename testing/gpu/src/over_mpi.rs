//! Memory of GPUs over MPI: each process is a rank, or each thread where there is no MPI.
#![allow(unsafe_code, reason = "addresses are passed, and given to the library")]

use std::time::Instant;

use ranks_collectives::Collectives;
use ranks_collectives::ops::Sum;
use ranks_comm::Communicator;
use ranks_cuda::Cuda;
use ranks_raw::{Dtype, RawCollectives, RawComm, RawOp, RawOptions};
use raw_conformance::{CASES, DeviceMemory, Memory, USABLE};

use crate::ranks::LIMIT;
use crate::report::{Outcome, Report, Seen};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs every case on memory that is copied to the host and on memory that is the library's to
/// read, all ranks on these devices in turn; `false` if one has failed.
pub(crate) fn run(devices: &[usize]) -> Result<bool, Failure> {
    ranks_comm::run(|world| {
        let cuda = Cuda::load()?;
        let device = cuda.device(devices[world.rank() % devices.len()])?;
        let memory = DeviceMemory(device.context()?);
        if world.rank() == 0 {
            println!("{} ranks, {}", world.size(), world.library_version());
            println!("the first on {}", device.name()?);
        }
        let options = || RawOptions::new().cuda(cuda).time_limit(LIMIT);
        // SAFETY: the buffers of the cases are leaked if anything fails, and so is that of `rate`.
        let direct = unsafe { options().direct() };
        let mut report = Report::default();
        for (name, options) in [
            ("memory that is copied", options().stage_device_memory(true)),
            ("memory that the library is given", direct),
        ] {
            let began = Instant::now();
            let here = cases(&world, options, &memory);
            let failed = world.allreduce_one(u32::from(here.is_err()), Sum)?;
            match here {
                Ok(_) if failed > 0 => {
                    report.tell(name, began, Err("another rank has failed".into()))
                }
                Err(error) if world.rank() > 0 => {
                    eprintln!("rank {}: {name}: {error}", world.rank())
                }
                here if world.rank() == 0 => report.tell(name, began, here),
                _ => {}
            }
        }
        if world.rank() == 0 {
            println!("{report}");
        }
        Ok(report.all_well())
    })
}

/// All cases that abort nothing, and how fast a sum is.
fn cases(world: &Communicator, options: RawOptions, memory: &DeviceMemory) -> Outcome {
    let comm = RawComm::new(world, options)?;
    if !comm.takes().device {
        let why = "the library does not say that it takes addresses of GPUs; RANKS_GPU_AWARE=1 says so for it";
        return Ok(Seen::NotHere(why.to_owned()));
    }
    for case in &CASES[..USABLE] {
        (case.run)(&comm, memory).map_err(|why| format!("{}: {why}", case.name))?;
    }
    rate(&comm, memory)
}

/// Times sums of 8 MiB of `f32`.
fn rate(comm: &RawComm, memory: &DeviceMemory) -> Outcome {
    const ELEMENTS: usize = 2 << 20;
    let block = memory.allocate(ELEMENTS * size_of::<f32>())?;
    block.write(&[0; ELEMENTS * size_of::<f32>()])?;
    let address = std::mem::ManuallyDrop::new(block).address();
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let began = Instant::now();
        // SAFETY: the block has so many elements, and is never freed.
        unsafe { comm.allreduce(address, address, ELEMENTS, Dtype::F32, RawOp::Sum) }?;
        comm.sync()?;
        best = best.min(began.elapsed().as_secs_f64());
    }
    Ok(Seen::Well(format!(
        "{USABLE} cases; a sum of 8 MiB takes {:.2} ms",
        best * 1e3
    )))
}
