//! Results of reductions of the values of a team.

use std::fmt::Debug;

use ranks_collectives::ops::{Band, Bor, Bxor, Max, Min, Prod, Sum};
use ranks_nvshmem::{Bits, Element, Nvshmem, SymmetricPart, SymmetricVec};

use super::collectives::{LEN, case, sent};
use super::{Case, same, told};

pub(super) const CASES: &[Case] = &[
    case(
        "every type is reduced by every operation that it has",
        every_reduction,
    ),
    case("reductions in every form, and in place", reductions),
];

/// A number that reductions compute with.
pub(super) trait Number: Element + PartialEq + Debug {
    fn of(number: i64) -> Self;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(
        impl Number for $type {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, clippy::cast_lossless, reason = "small numbers")]
            fn of(number: i64) -> Self {
                number as Self
            }
        }
    )* };
}

numbers!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

#[cfg(feature = "half")]
impl Number for half::f16 {
    fn of(number: i64) -> Self {
        Self::from_f32(i16::try_from(number).unwrap_or(0).into())
    }
}

#[cfg(feature = "half")]
impl Number for half::bf16 {
    fn of(number: i64) -> Self {
        Self::from_f32(i16::try_from(number).unwrap_or(0).into())
    }
}

/// The value that a PE adds to a reduction: so small that no product of four of them is too large
/// for any type.
fn value(pe: usize, at: usize) -> i64 {
    [1, 3, 2, 1, 2][(pe + at) % 5]
}

/// The result of a reduction of the values of so many PEs.
fn reduced<T: Number>(n_pes: usize, count: usize, op: fn(i64, i64) -> i64) -> Vec<T> {
    (0..count)
        .map(|at| {
            let first = value(0, at);
            T::of((1..n_pes).fold(first, |so_far, pe| op(so_far, value(pe, at))))
        })
        .collect()
}

const ARITHMETIC: [fn(i64, i64) -> i64; 4] = [|a, b| a + b, |a, b| a * b, i64::min, i64::max];
const BITWISE: [fn(i64, i64) -> i64; 3] = [|a, b| a & b, |a, b| a | b, |a, b| a ^ b];

fn every_reduction(pe: &Nvshmem<'_>) -> Result<(), String> {
    arithmetic::<f32>(pe)?;
    arithmetic::<f64>(pe)?;
    #[cfg(feature = "half")]
    {
        arithmetic::<half::f16>(pe)?;
        arithmetic::<half::bf16>(pe)?;
    }
    integers::<i8>(pe)?;
    integers::<u8>(pe)?;
    integers::<i16>(pe)?;
    integers::<u16>(pe)?;
    integers::<i32>(pe)?;
    integers::<u32>(pe)?;
    integers::<i64>(pe)?;
    integers::<u64>(pe)
}

fn integers<T: Number + Bits>(pe: &Nvshmem<'_>) -> Result<(), String> {
    arithmetic::<T>(pe)?;
    bitwise::<T>(pe)
}

/// This PE's values of so many elements.
pub(super) fn values<'c, T: Number>(
    pe: &'c Nvshmem<'_>,
    count: usize,
) -> Result<SymmetricVec<'c, T>, String> {
    let mut vec = told(pe.alloc::<T>(count))?;
    let mine: Vec<T> = (0..count).map(|at| T::of(value(pe.my_pe(), at))).collect();
    told(vec.copy_from_host(&mine))?;
    Ok(vec)
}

/// Compares parts of so many elements with what operations make of all values.
pub(super) fn compare<T: Number>(
    pe: &Nvshmem<'_>,
    found: &[T],
    part: usize,
    first: usize,
    ops: &[fn(i64, i64) -> i64],
) -> Result<(), String> {
    let n_pes = pe.n_pes();
    for (at, (found, op)) in found.chunks(part).zip(ops).enumerate() {
        let all = reduced::<T>(n_pes, first + part, *op);
        let what = format!("{} by operation {at}", std::any::type_name::<T>());
        same(&what, &found, &&all[first..])?;
    }
    Ok(())
}

fn arithmetic<T: Number>(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
    let world = pe.world();
    let stream = told(pe.stream())?;
    let count = LEN * n_pes;
    let source = values::<T>(pe, count)?;
    let mut whole = told(pe.alloc::<T>(4 * count))?;
    let mut shares = told(pe.alloc::<T>(4 * LEN))?;
    told(pe.scope(&stream, |q| {
        let (sum, rest) = whole.split_at_mut(count)?;
        let (prod, rest) = rest.split_at_mut(count)?;
        let (min, max) = rest.split_at_mut(count)?;
        q.reduce(&world, sum, &source, Sum)?;
        q.reduce(&world, prod, &source, Prod)?;
        q.reduce(&world, min, &source, Min)?;
        q.reduce(&world, max, &source, Max)?;
        let (sum, rest) = shares.split_at_mut(LEN)?;
        let (prod, rest) = rest.split_at_mut(LEN)?;
        let (min, max) = rest.split_at_mut(LEN)?;
        q.reducescatter(&world, sum, &source, Sum)?;
        q.reducescatter(&world, prod, &source, Prod)?;
        q.reducescatter(&world, min, &source, Min)?;
        q.reducescatter(&world, max, &source, Max)
    }))?;
    compare(pe, &told(whole.to_vec())?, count, 0, &ARITHMETIC)?;
    compare(pe, &told(shares.to_vec())?, LEN, my_pe * LEN, &ARITHMETIC)?;
    drop((source, whole, shares));
    Ok(())
}

fn bitwise<T: Number + Bits>(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
    let world = pe.world();
    let stream = told(pe.stream())?;
    let count = LEN * n_pes;
    let source = values::<T>(pe, count)?;
    let mut whole = told(pe.alloc::<T>(3 * count))?;
    let mut shares = told(pe.alloc::<T>(3 * LEN))?;
    told(pe.scope(&stream, |q| {
        let (and, rest) = whole.split_at_mut(count)?;
        let (or, xor) = rest.split_at_mut(count)?;
        q.reduce(&world, and, &source, Band)?;
        q.reduce(&world, or, &source, Bor)?;
        q.reduce(&world, xor, &source, Bxor)?;
        let (and, rest) = shares.split_at_mut(LEN)?;
        let (or, xor) = rest.split_at_mut(LEN)?;
        q.reducescatter(&world, and, &source, Band)?;
        q.reducescatter(&world, or, &source, Bor)?;
        q.reducescatter(&world, xor, &source, Bxor)
    }))?;
    compare(pe, &told(whole.to_vec())?, count, 0, &BITWISE)?;
    compare(pe, &told(shares.to_vec())?, LEN, my_pe * LEN, &BITWISE)?;
    drop((source, whole, shares));
    Ok(())
}

fn reductions(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
    let world = pe.world();
    let stream = told(pe.stream())?;
    let count = LEN * n_pes;
    let sum: fn(i64, i64) -> i64 = |a, b| a + b;

    let mut source = values::<i32>(pe, count)?;
    let mut dest = told(pe.alloc::<i32>(count))?;
    told(world.reduce(&mut dest, &source, Sum))?;
    compare(pe, &told(dest.to_vec())?, count, 0, &[sum])?;
    told(world.reducescatter(told(dest.slice_mut(..LEN))?, &source, Sum))?;
    compare(pe, &told(dest.to_vec())?[..LEN], LEN, my_pe * LEN, &[sum])?;
    let enqueued = told(world.reduce_on_stream(dest, source, Sum, &stream))?;
    (dest, source) = told(enqueued.wait())?;
    compare(pe, &told(dest.to_vec())?, count, 0, &[sum])?;
    let share = told(SymmetricPart::of(dest, 0..LEN))?;
    let enqueued = told(world.reducescatter_on_stream(share, source, Sum, &stream))?;
    let (share, back) = told(enqueued.wait())?;
    compare(
        pe,
        &told(share.into_vec().to_vec())?[..LEN],
        LEN,
        my_pe * LEN,
        &[sum],
    )?;

    // In place: what is reduced is written over.
    drop(back);
    let mut buffer = values::<f64>(pe, count)?;
    told(world.reduce_in_place(&mut buffer, Sum))?;
    compare(pe, &told(buffer.to_vec())?, count, 0, &[sum])?;
    let mut buffer = values::<u16>(pe, count)?;
    told(pe.scope(&stream, |q| q.reduce_in_place(&world, &mut buffer, Max)))?;
    compare(pe, &told(buffer.to_vec())?, count, 0, &[i64::max])?;
    let buffer = values::<i64>(pe, count)?;
    let enqueued = told(world.reduce_in_place_on_stream(buffer, Min, &stream))?;
    let buffer = told(enqueued.wait())?;
    compare(pe, &told(buffer.to_vec())?, count, 0, &[i64::min])?;

    // What moves, owned.
    let mine: Vec<u8> = (0..n_pes).flat_map(|to| sent(my_pe, to)).collect();
    let mut source = told(pe.alloc::<u8>(count))?;
    told(source.copy_from_host(&mine))?;
    let dest = told(pe.alloc::<u8>(count))?;
    let enqueued = told(world.alltoall_on_stream(dest, source, &stream))?;
    let (dest, source) = told(enqueued.wait())?;
    let expected: Vec<u8> = (0..n_pes).flat_map(|from| sent(from, my_pe)).collect();
    same("what is exchanged", &told(dest.to_vec())?, &expected)?;
    let part = told(SymmetricPart::of(source, 0..LEN))?;
    let enqueued = told(world.fcollect_on_stream(dest, part, &stream))?;
    let (dest, _) = told(enqueued.wait())?;
    let expected: Vec<u8> = (0..n_pes).flat_map(|from| sent(from, 0)).collect();
    same("what is collected", &told(dest.to_vec())?, &expected)?;
    told(told(world.barrier_on_stream(&stream))?.wait())?;
    told(told(world.sync_on_stream(&stream))?.wait())
}
