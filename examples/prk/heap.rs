//! The symmetric heap that the ranks of a kernel make.

use std::time::{Duration, Instant};

use ranks::nvshmem::{HeapBackend, Nvshmem, NvshmemOptions};
use ranks::prelude::*;

/// The time limit of a PE's wait for others, which takes milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Makes the heap of `world`: in process where the ranks are threads, else over NVSHMEM, on their
/// GPUs.
pub fn options_for(world: &Communicator) -> NvshmemOptions {
    let backend = if world.library() == "in process" {
        HeapBackend::InProcess
    } else {
        HeapBackend::Library
    };
    NvshmemOptions::new().backend(backend).time_limit(PATIENCE)
}

/// Runs `work` on a heap of all ranks.
///
/// # Errors
/// If there can be no heap; those of `work`.
pub(crate) fn with_heap<R>(
    world: &Communicator,
    work: impl FnOnce(&Nvshmem<'_>) -> Result<R>,
) -> Result<R> {
    let pe = Nvshmem::init(world, &options_for(world))?;
    let result = work(&pe)?;
    pe.finalize()?;
    Ok(result)
}

/// The result of `work`, and its seconds from when all PEs are there.
pub(crate) fn timed<T>(pe: &Nvshmem<'_>, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    pe.barrier_all()?;
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64()))
}

/// The value that `pe` has, on all PEs.
pub(crate) fn from_pe(heap: &Nvshmem<'_>, value: f64, pe: usize) -> Result<f64> {
    Ok(all_values(heap, value)?[pe])
}

/// The sum of the values of all PEs, in their order.
pub(crate) fn sum(heap: &Nvshmem<'_>, value: f64) -> Result<f64> {
    Ok(all_values(heap, value)?.iter().sum())
}

/// The values of all PEs, in their order.
fn all_values(heap: &Nvshmem<'_>, value: f64) -> Result<Vec<f64>> {
    let mut mine = heap.alloc(1)?;
    mine.copy_from_host(&[value])?;
    let all = heap.alloc(heap.n_pes())?;
    for pe in 0..heap.n_pes() {
        heap.put(all.slice(heap.my_pe()..=heap.my_pe())?, &mine, pe)?;
    }
    heap.barrier_all()?;
    let values = all.to_vec()?;
    mine.free()?;
    all.free()?;
    Ok(values)
}
