//! How often a rank asks for memory in calls that have been made before, with lengths that are
//! known.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use ranks::ops::Sum;
use ranks::prelude::*;

use crate::in_flight::WATCHED;
use crate::outcome::Outcome;

/// The system's allocator, which counts what each thread asks it for, and how often memory of a few
/// sizes is freed.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does it all; counting asks for no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: by the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if let Some(freed) = freed(layout.size()) {
            freed.fetch_add(1, Ordering::SeqCst);
        }
        // SAFETY: by the contract of this function.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// How often memory of each of the [`WATCHED`] sizes was freed.
static FREED: [AtomicUsize; WATCHED.len()] = [const { AtomicUsize::new(0) }; WATCHED.len()];

fn freed(bytes: usize) -> Option<&'static AtomicUsize> {
    let index = WATCHED.iter().position(|&size| size == bytes)?;
    FREED.get(index)
}

/// How often memory of so many bytes, which are one of the [`WATCHED`] sizes, was freed.
pub(crate) fn freed_of_that_size(bytes: usize) -> usize {
    freed(bytes).map_or(0, |freed| freed.load(Ordering::SeqCst))
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls before the counting begins: what is made once is made by then.
const BEFORE: usize = 5;
const COUNTED: usize = 20;

/// No operation may ask for memory more often than `most` times a call.
pub(crate) fn main(most: &str) -> Outcome {
    let most: usize = most.parse()?;
    ranks::run(|world| {
        let (me, size) = (world.rank(), world.size());
        let blocks = Blocks::from_counts(&(0..size).collect::<Vec<_>>())?;
        let to_each = Blocks::from_counts(&vec![me; size])?;
        let (mine, mut all) = (vec![1_u64; me], vec![0_u64; blocks.end()]);
        let for_each = vec![1_u64; me * size];
        let mut sum = [0.0];
        let mut word = [0_u8; 40];
        let mut prepared = Some(world.allreduce_init(vec![1.0], vec![0.0], Sum)?);

        within(most, "allreduce", || world.allreduce(&[1.0], &mut sum, Sum))?;
        within(most, "bcast", || world.bcast(&mut word, 0))?;
        within(most, "allgatherv_into", || {
            world.allgatherv_into(&mine, &mut all, &blocks)
        })?;
        within(most, "alltoallv_into", || {
            world.alltoallv_into(&for_each, &to_each, &mut all, &blocks)
        })?;
        within(most, "barrier", || world.barrier())?;
        within(most, "gatherv_into", || {
            world.gatherv_into(&mine, &mut all, &blocks, 0)
        })?;
        let mut own = vec![0; me];
        within(most, "scatterv_into", || {
            world.scatterv_into(&all, &blocks, &mut own, 0)
        })?;
        within(most, "reduce_scatter", || {
            world.reduce_scatter(&all, &mut own, &blocks, Sum)
        })?;

        let (one, mut of_each) = ([1_u64], vec![0_u64; size]);
        let (to_all, mut part) = (vec![1_u64; size], [0_u64]);
        within(most, "gather", || world.gather(&one, &mut of_each, 0))?;
        within(most, "scatter", || world.scatter(&to_all, &mut part, 0))?;
        within(most, "allgather", || world.allgather(&one, &mut of_each))?;
        within(most, "alltoall", || world.alltoall(&to_all, &mut of_each))?;
        within(most, "reduce", || world.reduce(&one, &mut part, Sum, 0))?;
        within(most, "reduce_scatter_block", || {
            world.reduce_scatter_block(&to_all, &mut part, Sum)
        })?;
        within(most, "scan", || world.scan(&one, &mut part, Sum))?;
        within(most, "exscan", || world.exscan(&one, &mut part, Sum))?;
        within(most, "reduce_local", || {
            world.reduce_local(&one, &mut part, Sum)
        })?;
        within(most, "allreduce_init", || {
            if let Some(idle) = prepared.take() {
                prepared = Some(idle.start()?.wait()?.0);
            }
            Ok(())
        })
    })?;
    Ok(())
}

fn within(
    most: usize,
    operation: &'static str,
    mut call: impl FnMut() -> ranks::Result<()>,
) -> ranks::Result<()> {
    (0..BEFORE).try_for_each(|_| call())?;
    let before = ASKED.get();
    (0..COUNTED).try_for_each(|_| call())?;
    let asked = ASKED.get() - before;
    if asked <= most * COUNTED {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Argument,
        operation,
        format_args!("{COUNTED} calls have asked for memory {asked} times"),
    ))
}
