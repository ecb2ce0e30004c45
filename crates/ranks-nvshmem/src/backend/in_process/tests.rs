//! The backend by itself, below the safe layer: threads that are PEs.

use std::time::Duration;

use bytemuck::Pod;
use ranks_bootstrap::{Bootstrap, ThreadBootstrap};
use ranks_comm::{Error, ErrorKind, Result};

use super::{Delivery, Heap, HostStream};
use crate::backend::block::{Block, Local, Offset};
use crate::backend::options::NvshmemOptions;
use crate::backend::stream::StreamRef;
use crate::backend::{
    Access, Backend, Direction, Moved, Movement, Order, Point, Reuse, SignalOp, SignalUpdate,
};
use crate::call::time_limit::Limit;

mod collectives;
mod endings;
mod memory;
mod signals;
mod teams;

/// Nothing of these tests takes so long.
const LONG: Duration = Duration::from_secs(60);

fn options(limit: Limit, delivery: Delivery) -> NvshmemOptions {
    let options = NvshmemOptions::new().late_delivery(delivery == Delivery::Late);
    match limit {
        Some(limit) => options.time_limit(limit),
        None => options,
    }
}

/// Runs it on so many PEs, and gives what they return.
fn on_pes<R: Send>(
    count: usize,
    limit: Limit,
    delivery: Delivery,
    test: impl Fn(&dyn Backend) -> R + Sync,
) -> Vec<R> {
    let (test, options) = (&test, options(limit, delivery));
    let options = &options;
    std::thread::scope(|scope| {
        let bootstraps = ThreadBootstrap::of(count, LONG).unwrap();
        let run = |bootstrap: ThreadBootstrap| {
            scope.spawn(move || {
                let heap = Heap::join(&bootstrap, options).unwrap();
                assert_eq!(
                    (heap.facts().my_pe, heap.facts().n_pes),
                    (bootstrap.rank(), count)
                );
                test(&*heap)
            })
        };
        let pes: Vec<_> = bootstraps.into_iter().map(run).collect();
        let joined = pes.into_iter().map(|pe| pe.join());
        joined.map(|result| result.unwrap()).collect()
    })
}

/// Runs it on 1 to 4 PEs with either delivery, which finalize then.
fn everywhere(test: impl Fn(&dyn Backend) -> Result<()> + Sync) {
    // An interpreter takes its time.
    let counts = if cfg!(miri) { 2..=2 } else { 1..=4 };
    for delivery in [Delivery::AtOnce, Delivery::Late] {
        for count in counts.clone() {
            let done = on_pes(count, Some(LONG), delivery, |heap| {
                test(heap)?;
                heap.finalize()
            });
            done.into_iter().collect::<Result<()>>().unwrap();
        }
    }
}

fn at(block: &Block, offset: usize) -> Offset<'_> {
    Offset { block, offset }
}

/// So much from one place to another.
fn moved<'a>(dest: Offset<'a>, source: Offset<'a>, amount: usize) -> Moved<'a> {
    Moved {
        dest,
        source,
        amount,
    }
}

/// A put of so many bytes to a place of that PE.
fn put<'a>(far: Offset<'a>, near: Local<'a>, pe: usize, bytes: usize) -> Access<'a> {
    Access {
        direction: Direction::Put,
        far,
        near,
        bytes,
        pe,
    }
}

/// A get of so many bytes from a place of that PE.
fn get<'a>(near: Local<'a>, far: Offset<'a>, pe: usize, bytes: usize) -> Access<'a> {
    Access {
        direction: Direction::Get,
        ..put(far, near, pe, bytes)
    }
}

fn mine(block: &Block, offset: usize) -> Local<'_> {
    Local::Symmetric(at(block, offset))
}

fn on(stream: &HostStream) -> Order<'_> {
    Order::On(StreamRef::Host(stream))
}

fn stream(heap: &dyn Backend) -> HostStream {
    heap.host_stream().unwrap()
}

/// An update of a signal.
fn signal_of(word: Offset<'_>, value: u64, op: SignalOp) -> SignalUpdate<'_> {
    SignalUpdate { word, value, op }
}

/// This PE's elements from the beginning of a block.
fn read<T: Pod>(heap: &dyn Backend, block: &Block, count: usize) -> Vec<T> {
    let mut elements = vec![T::zeroed(); count];
    heap.read(at(block, 0), bytemuck::cast_slice_mut(&mut elements))
        .unwrap();
    elements
}

fn write<T: Pod>(heap: &dyn Backend, block: &Block, elements: &[T]) {
    heap.write(bytemuck::cast_slice(elements), at(block, 0))
        .unwrap();
}

fn kind_of<T>(result: Result<T>) -> ErrorKind {
    result.map_or_else(|error: Error| error.kind(), |_| panic!("it was to fail"))
}

/// A number of PEs as an element.
fn number<T: TryFrom<usize, Error: std::fmt::Debug>>(number: usize) -> T {
    T::try_from(number).unwrap()
}
