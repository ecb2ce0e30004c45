//! Operations that combine elements.

use super::memory::Memory;
use super::model::{self, encoded, operations, value};
use super::round::Round;
use super::{ensure, fails, text};
use ranks_comm::ErrorKind;
use ranks_raw::{Dtype, RawCollectives, RawOp};

/// Each pair of operation and type that is supported gives what the model says, all others are
/// refused.
pub(super) fn supported(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    const COUNT: usize = 7;
    ensure(comm.supports(RawOp::Sum, Dtype::F32), || {
        "sums of f32 are not supported".to_owned()
    })?;
    let mut round = Round::new(comm, memory);
    for dtype in Dtype::ALL {
        for op in operations(comm.rank()) {
            let what = format!("allreduce of {dtype:?} with {op:?}");
            if comm.supports(op, dtype) {
                allreduce(&mut round, &what, dtype, op, COUNT)?;
                continue;
            }
            let (from, to) = ([0_u128; COUNT], &mut [0_u128; COUNT]);
            let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
            // SAFETY: the buffers are long enough for any type, and an operation that is refused is
            // not begun.
            let outcome = unsafe { comm.allreduce(from, to, COUNT, dtype, op) };
            fails(&what, outcome, &[ErrorKind::Type])?;
        }
    }
    round.finish()
}

/// To all, to a root, and to each a block.
pub(super) fn every_form(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let (rank, size) = (comm.rank(), comm.size());
    for (dtype, op, count) in [
        (Dtype::F32, RawOp::Sum, 1),
        (Dtype::F64, RawOp::Max, 17),
        (Dtype::I32, RawOp::Prod, 9),
        (Dtype::F64, RawOp::Avg, 6),
        (Dtype::F32, RawOp::PreMulSum(model::factor(rank)), 11),
        (Dtype::I64, RawOp::Sum, 0),
    ] {
        if !comm.supports(op, dtype) {
            continue;
        }
        let root = count % size;
        let mut round = Round::new(comm, memory);
        allreduce(&mut round, "allreduce", dtype, op, count)?;

        let what = format!("reduce of {count} {dtype:?} with {op:?} to {root}");
        let send = round.sent(&what, &mine(comm, dtype, count))?;
        let recv = if rank == root {
            round.reduced(&what, &[], (dtype, op), 0, count)?
        } else {
            std::ptr::null_mut()
        };
        // SAFETY: the round keeps the buffers, which are that long, until all is over, and compares
        // then only.
        unsafe { comm.reduce(send, recv, count, dtype, op, root) }.map_err(text)?;

        let what = format!("reduce_scatter_block of {count} {dtype:?} with {op:?}");
        let send = round.sent(&what, &mine(comm, dtype, size * count))?;
        let recv = round.reduced(&what, &[], (dtype, op), rank * count, count)?;
        // SAFETY: as above.
        unsafe { comm.reduce_scatter_block(send, recv, count, dtype, op) }.map_err(text)?;
        round.finish()?;
    }
    Ok(())
}

/// One buffer for both sides.
pub(super) fn in_place(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    const COUNT: usize = 5;
    let (rank, size) = (comm.rank(), comm.size());
    for (dtype, op) in [
        (Dtype::F32, RawOp::Sum),
        (Dtype::I32, RawOp::Max),
        (Dtype::F64, RawOp::Avg),
        (Dtype::F64, RawOp::PreMulSum(model::factor(rank))),
    ] {
        if !comm.supports(op, dtype) {
            continue;
        }
        let root = size - 1;
        let own = mine(comm, dtype, COUNT);
        let mut round = Round::new(comm, memory);
        let what = format!("allreduce of {dtype:?} with {op:?} in place");
        let data = round.reduced(&what, &own, (dtype, op), 0, COUNT)?;
        // SAFETY: the round keeps the buffer, which is that long, until all is over, and compares
        // then only.
        unsafe { comm.allreduce(data, data, COUNT, dtype, op) }.map_err(text)?;

        let what = format!("reduce of {dtype:?} with {op:?} in place");
        let data = if rank == root {
            round.reduced(&what, &own, (dtype, op), 0, COUNT)?
        } else {
            round.sent(&what, &own)?
        };
        // SAFETY: as above.
        unsafe { comm.reduce(data, data, COUNT, dtype, op, root) }.map_err(text)?;
        round.finish()?;

        // What becomes of the other blocks is not said.
        let bytes = COUNT * dtype.size();
        let block = memory.allocate(size * bytes)?;
        block.write(&mine(comm, dtype, size * COUNT))?;
        let whole = block.address();
        let part = whole.wrapping_byte_add(rank * bytes);
        // SAFETY: `block` lives until the operation is over, or is leaked.
        let begun = unsafe { comm.reduce_scatter_block(whole, part, COUNT, dtype, op) };
        if let Err(error) = begun.and_then(|()| comm.sync()) {
            std::mem::forget(block);
            return Err(text(error));
        }
        let found = model::decoded(dtype, &block.read()?[rank * bytes..][..bytes]);
        let numbers: Vec<_> = (rank * COUNT..(rank + 1) * COUNT)
            .map(|index| model::reduced(dtype, op, size, index))
            .collect();
        let near = |(a, b): (&model::Number, &model::Number)| {
            (a.0 - b.0).abs() <= model::tolerance(dtype, op) * b.0.abs().max(1.0)
        };
        ensure(found.iter().zip(&numbers).all(near), || {
            format!(
                "reduce_scatter_block of {dtype:?} with {op:?} in place gives {found:?} instead of {numbers:?}"
            )
        })?;
    }
    Ok(())
}

/// Where the trait promises an order, 10⁸ + 1 − 10⁸ in `f32` is what the order of ranks makes it.
pub(super) fn in_order(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let of = |rank: usize| [1e8_f32, 1.0, -1e8, 0.25][rank % 4];
    let sum = (1..comm.size()).fold(of(0), |sum, rank| sum + of(rank));
    if !comm.reduces_in_order() {
        return Ok(());
    }
    let mut round = Round::new(comm, memory);
    for _ in 0..2 {
        let send = round.sent("a sum in order", &of(comm.rank()).to_ne_bytes())?;
        let recv = round.received("a sum in order", sum.to_ne_bytes().to_vec())?;
        // SAFETY: the round keeps the buffers, which are that long, until all is over, and compares
        // then only.
        unsafe { comm.allreduce(send, recv, 1, Dtype::F32, RawOp::Sum) }.map_err(text)?;
    }
    round.finish()
}

/// Thirty reductions begun before the first is waited for.
pub(super) fn outstanding(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let mut round = Round::new(comm, memory);
    for count in 1..=30 {
        let what = format!("allreduce {count} of 30");
        allreduce(&mut round, &what, Dtype::F32, RawOp::Sum, count * 11)?;
    }
    round.finish()
}

/// The first `count` elements of this rank.
fn mine(comm: &dyn RawCollectives, dtype: Dtype, count: usize) -> Vec<u8> {
    encoded(dtype, 0, count, |index| value(dtype, comm.rank(), index))
}

pub(super) fn allreduce(
    round: &mut Round<'_>,
    what: &str,
    dtype: Dtype,
    op: RawOp,
    count: usize,
) -> Result<(), String> {
    let send = round.sent(what, &mine(round.comm, dtype, count))?;
    let recv = round.reduced(what, &[], (dtype, op), 0, count)?;
    // SAFETY: the round keeps the buffers, which are that long, until all is over, and compares
    // then only.
    unsafe { round.comm.allreduce(send, recv, count, dtype, op) }.map_err(text)
}
