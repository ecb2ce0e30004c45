//! A kernel of the program's own puts the numbers of each PE to the next one: the host only
//! launches it.
//!
//! ```text
//! RANKS_NP=1 device_put ring_shift.cubin      # one PE, which puts to itself
//! mpiexec -n 2 device_put ring_shift.cubin    # two, each with a GPU; what MPI is for here is to tell NVSHMEM who takes part
//! ```
//!
//! `ring_shift.cu`, beside this file, is compiled as `docs/guide/device-kernels.md` says.
#![allow(unsafe_code)]

use std::fs;
use std::time::Duration;

use ranks::cuda::{Argument, DeviceSlice as _, Grid};
use ranks::nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};
use ranks_examples::report::Outcome;

/// The number of elements that each PE puts.
const COUNT: usize = 1 << 20;
/// The time limit of a PE's wait for the others.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        return Err("usage: device_put COMPILED_KERNEL".into());
    };
    let image = fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
    ranks::run(|world| {
        let options = NvshmemOptions::new()
            .backend(HeapBackend::Library)
            .time_limit(PATIENCE);
        let pe = Nvshmem::init(&world, &options)?;
        shift(&pe, &image)?;
        if pe.my_pe() == 0 {
            report(&pe);
        }
        Ok(pe.finalize()?)
    })
}

#[expect(clippy::print_stdout, reason = "a program that reports to its user")]
fn report(pe: &Nvshmem<'_>) {
    println!(
        "{}, {} PEs: each has the {COUNT} numbers that the one before it has put from its kernel",
        pe.backend_name(),
        pe.n_pes()
    );
}

/// Lets the kernel put, and looks at what has come.
fn shift(pe: &Nvshmem<'_>, image: &[u8]) -> Outcome<()> {
    let context = pe.context().ok_or("a heap in process has no kernels")?;
    // SAFETY: the file is what a compiler has made, as the user says.
    let module = unsafe { context.load_module(image) }?;
    let initialised = pe.init_module(&module)?;
    let kernel = module.kernel("ring_shift")?;

    let mut from = pe.alloc::<i32>(COUNT)?;
    let mut to = pe.alloc::<i32>(COUNT)?;
    from.copy_from_host(&numbers_of(pe.my_pe()))?;

    let stream = context.stream()?;
    let count = COUNT as u64;
    {
        let (to, from) = (to.device_mut()?.address(), from.device()?.address());
        let arguments = [Argument::from(&to), (&from).into(), (&count).into()];
        // SAFETY: the arguments are those of the kernel; both vectors have so many numbers on all
        // PEs, and live until all have passed the barrier below.
        unsafe { kernel.launch(Grid::line(16, 256), &arguments, &stream) }?;
    }
    // In the order of the stream: what kernels before it have put is there after it.
    pe.scope(&stream, |queue| queue.barrier_all())?;

    let before = (pe.my_pe() + pe.n_pes() - 1) % pe.n_pes();
    if to.to_vec()? != numbers_of(before) {
        return Err(format!("PE {} has not the numbers of PE {before}", pe.my_pe()).into());
    }
    drop(initialised);
    from.free()?;
    to.free()?;
    Ok(())
}

fn numbers_of(pe: usize) -> Vec<i32> {
    let first = i32::try_from(pe).unwrap_or(i32::MAX);
    (0i32..)
        .map(|number| number.wrapping_mul(31).wrapping_add(first))
        .take(COUNT)
        .collect()
}
