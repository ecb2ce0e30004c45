//! What the tests send, and buffers that notice a write beside them.

use std::fmt::Debug;

use bytemuck::{Pod, Zeroable};

/// A length that makes a difference to an MPI. Under miri there is none, and elements are slow.
pub(crate) const fn long(length: usize) -> usize {
    if cfg!(miri) { 30 } else { length }
}

/// Block lengths: none, one, an odd number, and more than fits into the eager messages of any MPI.
pub(crate) const LENGTHS: [usize; 5] = [0, 1, 17, long(4096), LONGEST];

/// In bytes, more than is eager; in wider elements, enough for what libraries do with the longest
/// messages.
pub(crate) const LONGEST: usize = long(100_000);

/// How far an operation is tried with a type. The way that data goes depends on lengths and roots,
/// and not on what the elements are: so one type of an operation is tried with all of them, and the
/// others with each of them once.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Depth {
    All,
    EachOnce,
}

/// Block lengths for a type; where it is not tried with all, the longest is [`LONGEST`] bytes.
/// Elements of no size are nothing to send, however many they are.
pub(crate) fn lengths<T>(depth: Depth) -> Vec<usize> {
    match (depth, size_of::<T>()) {
        (_, 0) => vec![0, 17],
        (Depth::All, _) => LENGTHS.to_vec(),
        (Depth::EachOnce, width) => LENGTHS.map(|len| len.min(LONGEST / width)).to_vec(),
    }
}

/// The roots of the call number `call` among those with a type: all ranks, or each when it is its
/// turn.
pub(crate) fn roots(depth: Depth, size: usize, call: usize) -> std::ops::Range<usize> {
    match depth {
        Depth::All => 0..size,
        Depth::EachOnce => call % size..call % size + 1,
    }
}

/// Calls `check` for elements of each of the types.
macro_rules! for_types {
    ($check:ident $arguments:tt: $($T:ty),+) => { $( $check::<$T> $arguments; )+ };
}

pub(crate) use for_types;

/// A value that differs from its neighbours and from the same place on other ranks.
pub(crate) trait Sample: Pod + PartialEq + Debug + Send {
    fn sample(rank: usize, index: usize) -> Self;
}

fn mixed(rank: usize, index: usize) -> u64 {
    (index as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(rank as u64 * 0x0101_0101_0101_0101)
}

macro_rules! samples {
    ($($integer:ty)*) => { $(
        impl Sample for $integer {
            fn sample(rank: usize, index: usize) -> Self { mixed(rank, index) as $integer }
        }
    )* };
}

samples! { i32 i64 isize u32 u64 usize }

/// Sums of four of these fit: what becomes of a sum of narrow integers that does not is tested
/// apart.
macro_rules! narrow_samples {
    ($($integer:ty)*) => { $(
        impl Sample for $integer {
            fn sample(rank: usize, index: usize) -> Self { mixed(rank, index) as $integer / 4 }
        }
    )* };
}

narrow_samples! { i8 i16 u8 u16 }

/// Small whole numbers: sums and products of a few are exact in any order.
impl Sample for f32 {
    fn sample(rank: usize, index: usize) -> Self {
        ((index + 5 * rank) % 17) as f32 - 8.0
    }
}

impl Sample for f64 {
    fn sample(rank: usize, index: usize) -> Self {
        ((index + 5 * rank) % 17) as f64 - 8.0
    }
}

/// An element of no type that MPI knows, of 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Particle {
    position: [f32; 3],
    charge: i32,
    id: u64,
}

impl Particle {
    /// That of the two which has the larger number.
    pub(crate) fn later(self, other: Particle) -> Particle {
        if other.id > self.id { other } else { self }
    }
}

impl Sample for Particle {
    fn sample(rank: usize, index: usize) -> Self {
        Particle {
            position: [f32::sample(rank, index), index as f32, rank as f32],
            charge: i32::sample(rank, index),
            id: mixed(rank, index),
        }
    }
}

/// An element of an odd size.
impl Sample for [u8; 3] {
    fn sample(rank: usize, index: usize) -> Self {
        [rank as u8, index as u8, (index >> 8) as u8]
    }
}

/// An element of no size at all.
impl Sample for () {
    fn sample(_: usize, _: usize) -> Self {}
}

/// The block of `rank`, from `start` on.
pub(crate) fn block<T: Sample>(rank: usize, start: usize, len: usize) -> Vec<T> {
    (start..start + len)
        .map(|index| T::sample(rank, index))
        .collect()
}

/// Asserts that they are the same, and tells the first place where they are not.
#[track_caller]
pub(crate) fn expect_same<T: Sample>(found: &[T], expected: &[T], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let wrong = found
        .iter()
        .zip(expected)
        .position(|(found, expected)| found != expected);
    if let Some(index) = wrong {
        panic!(
            "{what}: at {index} of {}: {:?} instead of {:?}",
            found.len(),
            found[index],
            expected[index]
        );
    }
}

/// A buffer between two rows of canaries.
pub(crate) struct Guarded<T> {
    cells: Vec<T>,
    canary: T,
}

/// Canaries on either side.
const GUARD: usize = 64;

impl<T: Sample> Guarded<T> {
    pub(crate) fn new(len: usize) -> Guarded<T> {
        let canary = T::sample(77, 123_456);
        Guarded {
            cells: vec![canary; len + 2 * GUARD],
            canary,
        }
    }

    pub(crate) fn buffer(&mut self) -> &mut [T] {
        let end = self.cells.len() - GUARD;
        &mut self.cells[GUARD..end]
    }

    /// Asserts that the buffer holds `expected` and that nothing was written beside it.
    #[track_caller]
    pub(crate) fn expect(&self, expected: &[T], what: &str) {
        let (before, rest) = self.cells.split_at(GUARD);
        let (buffer, after) = rest.split_at(rest.len() - GUARD);
        assert!(
            before.iter().all(|cell| *cell == self.canary),
            "{what}: written before the buffer"
        );
        assert!(
            after.iter().all(|cell| *cell == self.canary),
            "{what}: written behind the buffer"
        );
        expect_same(buffer, expected, what);
    }

    /// Asserts that nothing was written at all.
    #[track_caller]
    pub(crate) fn expect_untouched(&self, what: &str) {
        let touched = self.cells.iter().position(|cell| *cell != self.canary);
        assert_eq!(touched, None, "{what}: written to");
    }
}

/// The name of `T` and a length, for messages.
pub(crate) fn case<T>(operation: &str, len: usize) -> String {
    format!("{operation} of {len} {}", std::any::type_name::<T>())
}
