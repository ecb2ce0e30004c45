//! Reductions in the order of ranks: the elements of all ranks are moved to the ranks that need
//! them, and combined there.
#![allow(unsafe_code)]

use bytemuck::Pod;
use half::{bf16, f16};
use ranks_comm::Result;
use ranks_raw::{Dtype, RawCollectives, RawOp};

use crate::spans::Span;

/// The number of bytes of each rank that are moved at a time.
const PIECE: usize = 1 << 20;

/// Returns `true` if numbers of this type are combined here.
pub(crate) fn supports(op: RawOp, dtype: Dtype) -> bool {
    matches!(op, RawOp::Sum | RawOp::Prod | RawOp::Min | RawOp::Max)
        && combine(&mut [], &[], dtype, op)
}

/// Reduces the elements at `buffer` of all ranks, in place, on every rank.
///
/// # Safety
/// `buffer` is memory that may be read and written, of elements of `dtype`; the same length on all
/// ranks. Nothing else is in flight on `aside`.
pub(crate) unsafe fn allreduce(
    aside: &dyn RawCollectives,
    buffer: Span,
    dtype: Dtype,
    op: RawOp,
) -> Result<()> {
    let mut blocks = Vec::new();
    // SAFETY: the caller's promise: `buffer` may be written, and nobody else uses it meanwhile.
    let mine = unsafe { buffer.part_mut(0, buffer.bytes()) };
    for piece in mine.chunks_mut(PIECE) {
        blocks.resize(piece.len() * aside.size(), 0);
        // SAFETY: `blocks` has room for `piece` of every rank, and both live until `sync` has
        // returned, below.
        unsafe {
            aside.allgather(
                piece.as_ptr().cast(),
                blocks.as_mut_ptr().cast(),
                piece.len(),
                Dtype::U8,
            )?;
        }
        aside.sync()?;
        combine(piece, &blocks, dtype, op);
    }
    Ok(())
}

/// Reduces the r-th blocks at `send` of all ranks to `recv` on rank r.
///
/// # Safety
/// `send` may be read and has a block of the length of `recv` for each rank; `recv` may be written.
/// It is apart from `send`, or this rank's block there. Elements are of `dtype`, and nothing else
/// is in flight on `aside`.
pub(crate) unsafe fn reduce_scatter(
    aside: &dyn RawCollectives,
    send: Span,
    recv: Span,
    dtype: Dtype,
    op: RawOp,
) -> Result<()> {
    let (mut packed, mut blocks) = (Vec::new(), Vec::new());
    for begin in (0..recv.bytes()).step_by(PIECE) {
        let length = PIECE.min(recv.bytes() - begin);
        packed.clear();
        for rank in 0..aside.size() {
            // SAFETY: the caller's promise: `send` may be read, which has a block of `recv`'s
            // length for each rank.
            let part = unsafe { send.part(rank * recv.bytes() + begin, length) };
            packed.extend_from_slice(part);
        }
        blocks.resize(packed.len(), 0);
        // SAFETY: both have `length` bytes a rank, and live until `sync` has returned, below.
        unsafe {
            aside.alltoall(
                packed.as_ptr().cast(),
                blocks.as_mut_ptr().cast(),
                length,
                Dtype::U8,
            )?;
        }
        aside.sync()?;
        // SAFETY: the caller's promise: `recv` may be written, and `part`, which it may be one
        // with, is no longer in use.
        let piece = unsafe { recv.part_mut(begin, length) };
        combine(piece, &blocks, dtype, op);
    }
    Ok(())
}

/// Combines `blocks`, one a rank and each as long as `into`, in order, and leaves the result there.
/// Returns whether it can be done.
fn combine(into: &mut [u8], blocks: &[u8], dtype: Dtype, op: RawOp) -> bool {
    match dtype {
        Dtype::F64 => fold(into, blocks, op, |x: f64| x, |x| x),
        Dtype::F32 => fold(into, blocks, op, |x: f32| x, |x| x),
        Dtype::F16 => fold(into, blocks, op, f16::to_f32, f16::from_f32),
        Dtype::Bf16 => fold(into, blocks, op, bf16::to_f32, bf16::from_f32),
        Dtype::I64 => fold(into, blocks, op, |x: i64| x, |x| x),
        Dtype::I32 => fold(into, blocks, op, |x: i32| x, |x| x),
        Dtype::I16 => fold(into, blocks, op, |x: i16| x, |x| x),
        Dtype::I8 => fold(into, blocks, op, |x: i8| x, |x| x),
        Dtype::U64 => fold(into, blocks, op, |x: u64| x, |x| x),
        Dtype::U32 => fold(into, blocks, op, |x: u32| x, |x| x),
        Dtype::U16 => fold(into, blocks, op, |x: u16| x, |x| x),
        Dtype::U8 => fold(into, blocks, op, |x: u8| x, |x| x),
        _ => return false,
    }
    true
}

/// Combines elements as `widen` converts them, and leaves the result as `narrow` converts it:
/// rounded once.
fn fold<T: Pod, W: Combine>(
    into: &mut [u8],
    blocks: &[u8],
    op: RawOp,
    widen: fn(T) -> W,
    narrow: fn(W) -> T,
) {
    let length = into.len();
    for (index, result) in into.chunks_exact_mut(size_of::<T>()).enumerate() {
        let at = index * size_of::<T>();
        let of_ranks = blocks.chunks_exact(length).map(|block| {
            let element = &block[at..at + size_of::<T>()];
            widen(bytemuck::pod_read_unaligned(element))
        });
        if let Some(combined) = of_ranks.reduce(|left, right| left.combine(right, op)) {
            result.copy_from_slice(bytemuck::bytes_of(&narrow(combined)));
        }
    }
}

/// Numbers in which elements are combined.
trait Combine: Copy {
    /// Applies `op` to `self`, the result of the lower ranks, and to `next`.
    fn combine(self, next: Self, op: RawOp) -> Self;
}

/// Integers wrap.
macro_rules! integers {
    ($($type:ty)*) => { $(
        impl Combine for $type {
            fn combine(self, next: Self, op: RawOp) -> Self {
                match op {
                    RawOp::Prod => self.wrapping_mul(next),
                    RawOp::Min => Ord::min(self, next),
                    RawOp::Max => Ord::max(self, next),
                    _ => self.wrapping_add(next),
                }
            }
        }
    )* };
}

/// A NaN is neither smaller nor larger than a number.
macro_rules! floats {
    ($($type:ty)*) => { $(
        impl Combine for $type {
            fn combine(self, next: Self, op: RawOp) -> Self {
                match op {
                    RawOp::Prod => self * next,
                    RawOp::Min => self.min(next),
                    RawOp::Max => self.max(next),
                    _ => self + next,
                }
            }
        }
    )* };
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
floats! { f32 f64 }

#[cfg(test)]
mod tests {
    use super::*;

    fn combined<T: Pod>(of_ranks: &[T], dtype: Dtype, op: RawOp) -> T {
        let mut result = bytemuck::bytes_of(&T::zeroed()).to_vec();
        assert!(combine(
            &mut result,
            bytemuck::cast_slice(of_ranks),
            dtype,
            op
        ));
        bytemuck::pod_read_unaligned(&result)
    }

    #[test]
    fn the_order_is_that_of_ranks() {
        // 1e8 + 1 is 1e8 again; another order leaves the 1.
        let sum = combined(&[1e8_f32, 1.0, -1e8], Dtype::F32, RawOp::Sum);
        assert_eq!(sum.to_bits(), 0);
    }

    #[test]
    fn halves_are_rounded_once() {
        // Their neighbours are 2 apart there: rounded each time, both ones are lost.
        let sum = combined(
            &[2048.0, 1.0, 1.0].map(f16::from_f32),
            Dtype::F16,
            RawOp::Sum,
        );
        assert_eq!(sum.to_f32(), 2050.0);
        let sum = combined(
            &[256.0, 1.0, 1.0].map(bf16::from_f32),
            Dtype::Bf16,
            RawOp::Sum,
        );
        assert_eq!(sum.to_f32(), 258.0);
    }

    #[test]
    fn integers_wrap_and_numbers_win_over_nan() {
        assert_eq!(combined(&[i32::MAX, 1], Dtype::I32, RawOp::Sum), i32::MIN);
        assert_eq!(combined(&[200_u8, 2], Dtype::U8, RawOp::Prod), 144);
        assert_eq!(combined(&[1_u64 << 63, 1], Dtype::U64, RawOp::Max), 1 << 63);
        for op in [RawOp::Min, RawOp::Max] {
            assert_eq!(combined(&[f64::NAN, 1.5, f64::NAN], Dtype::F64, op), 1.5);
        }
    }

    #[test]
    fn what_is_moved_only_is_refused() {
        for dtype in [
            Dtype::Bool,
            Dtype::Complex64,
            Dtype::Complex128,
            Dtype::Fp8E4m3,
            Dtype::Fp8E5m2,
        ] {
            assert!(!supports(RawOp::Sum, dtype), "{dtype:?}");
        }
        assert!(supports(RawOp::Max, Dtype::U16) && !supports(RawOp::Bxor, Dtype::U16));
    }
}
