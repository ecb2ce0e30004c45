use ranks_collectives::ops::{Band, Bor, Bxor, Land, Lor, Lxor, Max, Min, Prod, Sum};
use ranks_collectives::{Collectives, Integer, Number, Op, Ordered};
use ranks_comm::Communicator;

use crate::model::Depth::{All, EachOnce};
use crate::model::{Guarded, LENGTHS, Sample, block, case, for_types, lengths};
use crate::reduce::folded;

fn agrees<T: Sample + Number, O: Op<T>>(world: &Communicator, op: O, fold: fn(T, T) -> T) {
    let depth = if size_of::<T>() == 8 { All } else { EachOnce };
    agrees_on(&lengths::<T>(depth), world, op, fold);
}

/// How data travels does not depend on the operation: one of them on the longest blocks is enough
/// for a type.
fn agrees_on<T: Sample + Number, O: Op<T>>(
    lengths: &[usize],
    world: &Communicator,
    op: O,
    fold: fn(T, T) -> T,
) {
    for &len in lengths {
        let mut result = Guarded::<T>::new(len);
        world
            .allreduce(&block::<T>(world.rank(), 0, len), result.buffer(), op)
            .unwrap();
        let what = format!(
            "{} with {}",
            case::<T>("allreduce", len),
            std::any::type_name::<O>()
        );
        result.expect(&folded(world.size(), len, fold), &what);
    }
}

/// The operations of a type, written with what `std` has.
macro_rules! integers {
    ($($name:ident: $type:ty;)*) => { $(
        #[ranks_test::ranks(1, 2, 3, 4)]
        fn $name(world: Communicator) {
            agrees::<$type, _>(&world, Sum, <$type>::wrapping_add);
            agrees_on::<$type, _>(&LENGTHS[..4], &world, Prod, <$type>::wrapping_mul);
            agrees_on::<$type, _>(&LENGTHS[..4], &world, Band, |a, b| a & b);
            agrees_on::<$type, _>(&LENGTHS[..4], &world, Bor, |a, b| a | b);
            agrees_on::<$type, _>(&LENGTHS[..4], &world, Bxor, |a, b| a ^ b);
        }
    )* };
}

integers! {
    i8_sums_products_and_bits: i8;
    i16_sums_products_and_bits: i16;
    i32_sums_products_and_bits: i32;
    i64_sums_products_and_bits: i64;
    isize_sums_products_and_bits: isize;
    u8_sums_products_and_bits: u8;
    u16_sums_products_and_bits: u16;
    u32_sums_products_and_bits: u32;
    u64_sums_products_and_bits: u64;
    usize_sums_products_and_bits: usize;
}

fn extremes<T: Sample + Ordered + Ord>(world: &Communicator) {
    agrees_on::<T, _>(&LENGTHS[..4], world, Min, T::min);
    agrees_on::<T, _>(&LENGTHS[..4], world, Max, T::max);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn extremes_of_signed_integers(world: Communicator) {
    for_types!(extremes(&world): i8, i16, i32, i64, isize);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn extremes_of_unsigned_integers(world: Communicator) {
    for_types!(extremes(&world): u8, u16, u32, u64, usize);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn f32_with_every_operation(world: Communicator) {
    agrees::<f32, _>(&world, Sum, |a, b| a + b);
    agrees_on::<f32, _>(&LENGTHS[..4], &world, Prod, |a, b| a * b);
    agrees_on::<f32, _>(&LENGTHS[..4], &world, Min, f32::min);
    agrees_on::<f32, _>(&LENGTHS[..4], &world, Max, f32::max);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn f64_with_every_operation(world: Communicator) {
    agrees::<f64, _>(&world, Sum, |a, b| a + b);
    agrees_on::<f64, _>(&LENGTHS[..4], &world, Prod, |a, b| a * b);
    agrees_on::<f64, _>(&LENGTHS[..4], &world, Min, f64::min);
    agrees_on::<f64, _>(&LENGTHS[..4], &world, Max, f64::max);
}

/// Each rank's truth is the bit of its rank in the index, so that all patterns of truths occur.
fn truths<T: Integer + Sample + TryFrom<usize>>(world: &Communicator) {
    let patterns = 1 << world.size();
    let truth = |rank: usize, pattern: usize| {
        T::try_from((pattern >> rank & 1) * 2).unwrap_or_else(|_| panic!("2 fits"))
    };
    let mine: Vec<T> = (0..patterns)
        .map(|pattern| truth(world.rank(), pattern))
        .collect();
    let numbers =
        |truth: &dyn Fn(usize) -> bool| -> Vec<bool> { (0..patterns).map(truth).collect() };
    let results =
        |found: Vec<T>| -> Vec<bool> { found.iter().map(|&found| found != T::zeroed()).collect() };
    let ones = |found: &[T]| {
        found
            .iter()
            .all(|&f| f == T::zeroed() || T::try_from(1).is_ok_and(|one| f == one))
    };

    let mut found = vec![T::zeroed(); patterns];
    let everyone = patterns - 1;
    world.allreduce(&mine, &mut found, Land).unwrap();
    assert_eq!(
        results(found.clone()),
        numbers(&|pattern| pattern == everyone)
    );
    world.allreduce(&mine, &mut found, Lor).unwrap();
    assert_eq!(results(found.clone()), numbers(&|pattern| pattern != 0));
    world.allreduce(&mine, &mut found, Lxor).unwrap();
    assert_eq!(
        results(found.clone()),
        numbers(&|pattern| pattern.count_ones() % 2 == 1)
    );
    if world.size() > 1 {
        assert!(ones(&found), "truths are 0 and 1: {found:?}");
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn truths_of_every_pattern(world: Communicator) {
    for_types!(truths(&world): i8, u16, i32, u64, usize);
}

#[ranks_test::ranks(2, 3, 4)]
fn overflow_wraps(world: Communicator) {
    let mut sum = [0_i32; 50];
    world.allreduce(&[i32::MAX; 50], &mut sum, Sum).unwrap();
    assert_eq!(sum, [i32::MAX.wrapping_mul(world.size() as i32); 50]);
    let mut sum = [0_u64; 50];
    world.allreduce(&[u64::MAX - 1; 50], &mut sum, Sum).unwrap();
    assert_eq!(sum, [(u64::MAX - 1).wrapping_mul(world.size() as u64); 50]);
    let mut product = [0_i64; 50];
    world
        .allreduce(&[i64::MAX - 1; 50], &mut product, Prod)
        .unwrap();
    assert_eq!(
        product,
        [(i64::MAX - 1).wrapping_pow(world.size() as u32); 50]
    );
    let mut product = [0_u8; 50];
    world.allreduce(&[201; 50], &mut product, Prod).unwrap();
    assert_eq!(product, [201_u8.wrapping_pow(world.size() as u32); 50]);
}

#[ranks_test::ranks(2, 3, 4)]
fn overflow_of_narrow_sums_wraps(world: Communicator) {
    let mut sum = [0_u8; 50];
    world.allreduce(&[200; 50], &mut sum, Sum).unwrap();
    assert_eq!(sum, [200_u8.wrapping_mul(world.size() as u8); 50]);
    let mut sum = [0_i16; 50];
    world.allreduce(&[30_000; 50], &mut sum, Sum).unwrap();
    assert_eq!(sum, [30_000_i16.wrapping_mul(world.size() as i16); 50]);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn every_rank_gets_the_same_bits(world: Communicator) {
    let mine: Vec<f64> = (0..1000)
        .map(|i| (1.0 + world.rank() as f64 + i as f64 * 0.1).sin())
        .collect();
    let mut sum = vec![0.0; mine.len()];
    world.allreduce(&mine, &mut sum, Sum).unwrap();
    let mut of_first = sum.clone();
    world.bcast(&mut of_first, 0).unwrap();
    assert!(
        sum.iter()
            .zip(&of_first)
            .all(|(a, b)| a.to_bits() == b.to_bits())
    );
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn one_value_of_each_rank(world: Communicator) {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    assert_eq!(world.allreduce_one(rank, Max).unwrap(), size - 1);
    assert_eq!(
        world.allreduce_one(rank + 1, Sum).unwrap(),
        size * (size + 1) / 2
    );
    assert_eq!(world.allreduce_one(-1.5, Min).unwrap(), -1.5);
}
