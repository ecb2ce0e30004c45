//! Reductions that are the same, to the last bit, for any number of ranks: against the tree as it
//! is documented.

use std::ops::Range;

use ranks_collectives::ops::{Max, Min, Prod, Sum, UserOp};
use ranks_collectives::{Blocks, Collectives};
use ranks_comm::{Backend, Communicator, ErrorKind, Result, Runtime};

/// The elements in `range` combined along the tree, by a single rank.
fn tree<T: Copy>(range: Range<usize>, leaf: &dyn Fn(usize) -> T, op: &dyn Fn(T, T) -> T) -> T {
    if range.len() == 1 {
        return leaf(range.start);
    }
    let middle = range.start + range.len().next_power_of_two() / 2;
    op(
        tree(range.start..middle, leaf, op),
        tree(middle..range.end, leaf, op),
    )
}

/// A number of either sign between 2^-24 and 2^24 in magnitude, with random digits.
fn random(index: usize) -> f64 {
    let mut bits = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 29;
    let exponent = 1023 - 24 + (bits >> 52) % 48;
    f64::from_bits((bits & 1 << 63) | exponent << 52 | (bits & ((1 << 52) - 1)))
}

/// Divisions of `total` elements: even ones, all on one rank, and cuts that no block of the tree
/// has.
fn divisions(total: usize, ranks: usize) -> [Blocks; 3] {
    let mut uneven = vec![0; ranks];
    let mut left = total;
    for (rank, count) in uneven.iter_mut().enumerate().skip(1) {
        *count = left.min(total / (rank + 1) + 13);
        left -= *count;
    }
    uneven[ranks / 2] += left;
    let mut alone = vec![0; ranks];
    alone[ranks - 1] = total;
    [
        Blocks::even(total, ranks),
        Blocks::from_counts(&alone).unwrap(),
        Blocks::from_counts(&uneven).unwrap(),
    ]
}

fn piece<T>(blocks: &Blocks, rank: usize, element: impl Fn(usize) -> T) -> Vec<T> {
    blocks.range(rank).map(element).collect()
}

#[track_caller]
fn same(found: f64, expected: f64) {
    assert_eq!(
        found.to_bits(),
        expected.to_bits(),
        "{found:e} {expected:e}"
    );
}

/// The number of numbers, their sum along the tree, and their sum rounded once, as [`reference`]
/// says.
const MANY: usize = 1_000_000;
const SUM: u64 = 0xc1fd_1c7f_a907_8370;
const TRUE_SUM: u64 = 0xc1fd_1c7f_a907_8372;

#[test]
fn reference() {
    let sum = tree(0..MANY, &random, &|a, b| a + b);
    assert_eq!(sum.to_bits(), SUM, "{:#x}", sum.to_bits());
    // All are multiples of 2^-76, and an i128 holds the sum of so many.
    let exact = |index| (random(index) * 2f64.powi(76)) as i128;
    let sum = (0..MANY).map(exact).sum::<i128>();
    let nearest = sum as f64 * 2f64.powi(-76);
    assert_eq!(nearest.to_bits(), TRUE_SUM, "{:#x}", nearest.to_bits());
}

/// All of it, however the numbers are divided.
fn a_million(world: &Communicator) -> Result<()> {
    let reproducible = world.reproducible();
    let [even, _, uneven] = divisions(MANY, world.size());
    let mine = piece(&even, world.rank(), random);
    same(reproducible.sum(&mine)?, f64::from_bits(SUM));
    let mine = piece(&uneven, world.rank(), random);
    same(reproducible.sum(&mine)?, f64::from_bits(SUM));
    same(reproducible.exact().sum(&mine)?, f64::from_bits(TRUE_SUM));
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_million_numbers_have_one_sum(world: Communicator) -> Result<()> {
    a_million(&world)
}

/// What takes less time with fewer numbers, and has ends of the tree where it is not whole.
fn a_few(world: &Communicator) -> Result<()> {
    let (me, reproducible) = (world.rank(), world.reproducible());
    for (call, total) in [0, 1, 2, 64, 65, 1000, 4097].into_iter().enumerate() {
        // Each division is tried when it is its turn.
        for blocks in divisions(total, world.size())
            .into_iter()
            .skip(call % 3)
            .take(1)
        {
            let mine = piece(&blocks, me, random);
            if total == 0 {
                same(reproducible.sum(&mine)?, 0.0);
                same(reproducible.dot(&mine, &mine)?, 0.0);
                same(reproducible.compensated().sum(&mine)?, 0.0);
                same(reproducible.exact().sum(&mine)?, 0.0);
                assert_eq!(reproducible.reduce(&mine, Max)?, None);
                continue;
            }
            let expected = |op: &dyn Fn(f64, f64) -> f64| Some(tree(0..total, &random, op));
            same(reproducible.sum(&mine)?, expected(&|a, b| a + b).unwrap());
            assert_eq!(reproducible.reduce(&mine, Sum)?, expected(&|a, b| a + b));
            assert_eq!(reproducible.reduce(&mine, Prod)?, expected(&|a, b| a * b));
            assert_eq!(reproducible.reduce(&mine, Min)?, expected(&f64::min));
            assert_eq!(reproducible.reduce(&mine, Max)?, expected(&f64::max));
            let squares = tree(0..total, &|i| random(i) * random(i), &|a, b| a + b);
            same(reproducible.dot(&mine, &mine)?, squares);
            // Two digests that no other order or grouping has.
            let strange = |a: u64, b: u64| a.rotate_left(7).wrapping_mul(31).wrapping_sub(b);
            let numbers: Vec<u64> = mine.iter().map(|number| number.to_bits()).collect();
            let expected = tree(0..total, &|index| random(index).to_bits(), &strange);
            let found = reproducible.reduce(&numbers, UserOp::new(strange))?;
            assert_eq!(found, Some(expected));
            let narrow = piece(&blocks, me, |index| random(index) as f32);
            let expected = tree(0..total, &|index| random(index) as f32, &|a, b| a + b);
            assert_eq!(reproducible.sum(&narrow)?.to_bits(), expected.to_bits());
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn every_operation_follows_the_tree(world: Communicator) -> Result<()> {
    a_few(&world)
}

#[test]
fn eight_ranks_too() {
    Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(8)
        .run(|world| {
            a_few(&world)?;
            a_million(&world)?;
            order_does_not_matter(&world)
        })
        .unwrap();
}

/// Numbers that are far apart, and cancel.
fn wild(index: usize) -> f64 {
    let scale = [1e200, 1e-200, 1.0, -1e200, 3e-300, 1e16][index % 6];
    (index / 6 % 100) as f64 * scale
}

/// Exact sums of numbers that are dealt out like cards, last first, and of blocks that are not.
fn order_does_not_matter(world: &Communicator) -> Result<()> {
    let (me, size, exact) = (world.rank(), world.size(), world.reproducible().exact());
    let dealt: Vec<f64> = (0..3000).rev().skip(me).step_by(size).map(wild).collect();
    let in_order = piece(&Blocks::even(3000, size), me, wild);
    let all: Vec<f64> = (0..3000).map(wild).collect();
    let expected = exact.sum(if me == 0 { &all } else { &[] })?;
    same(exact.sum(&dealt)?, expected);
    same(exact.sum(&in_order)?, expected);
    // The sum is known: what is large cancels.
    assert!((expected / 2.475e20 - 1.0).abs() < 1e-12, "{expected:e}");
    let narrow: Vec<f32> = in_order.iter().map(|&number| number as f32).collect();
    assert!(exact.sum(&narrow)?.is_nan(), "infinities of both signs");
    // Element by element: 1 of each rank, and on one rank what swallows them and on another what
    // takes it away.
    let mut sums = [0.0; 600];
    let mut mine = [1.0; 600];
    mine[me] = 1e300;
    mine[size - 1 - me] -= 1e300;
    exact.allreduce(&mine, &mut sums)?;
    for (index, &sum) in sums.iter().enumerate() {
        let swallowed = match index {
            _ if index >= size => 0,
            _ if index == size - 1 - index => 1,
            _ => 2,
        };
        assert_eq!(sum, (size - swallowed) as f64, "at {index}");
    }
    let (mut sums, mine) = ([0.0f32; 3], [16_777_216.0, 1.0, me as f32]);
    exact.allreduce(&mine, &mut sums)?;
    assert_eq!(
        sums,
        [
            16_777_216.0 * size as f32,
            size as f32,
            (size * (size - 1) / 2) as f32
        ]
    );
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn exact_sums_do_not_depend_on_order(world: Communicator) -> Result<()> {
    order_does_not_matter(&world)
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn compensated_sums_keep_what_is_rounded_off(world: Communicator) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    // Ones between numbers that swallow them.
    let number = |index: usize| [1e17, 1.0, -1e17, 1.0][index % 4];
    for blocks in divisions(4000, size) {
        let mine = piece(&blocks, me, number);
        assert_eq!(world.reproducible().compensated().sum(&mine)?, 2000.0);
        let narrow = piece(&blocks, me, |index| [1e9f32, 1.0, -1e9, 1.0][index % 4]);
        assert_eq!(world.reproducible().compensated().sum(&narrow)?, 2000.0);
    }
    assert_ne!(
        tree(0..4000, &number, &|a, b| a + b),
        2000.0,
        "it would be so without"
    );
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_is_no_number_has_the_same_bits_everywhere(world: Communicator) -> Result<()> {
    let (me, size, reproducible) = (world.rank(), world.size(), world.reproducible());
    let payload = f64::from_bits(0xfff8_0000_0000_1234);
    let (more, less) = (f64::INFINITY, f64::NEG_INFINITY);
    for blocks in divisions(300, size).into_iter().skip(2) {
        let odds: [(&[(usize, f64)], f64); 4] = [
            (&[(70, payload)], f64::NAN),
            (&[(200, more)], more),
            (&[(3, less)], less),
            (&[(90, more), (210, less)], f64::NAN),
        ];
        for (odd, expected) in odds {
            let element = |index| odd.iter().find(|odd| odd.0 == index).map(|odd| odd.1);
            let mine = piece(&blocks, me, |index| {
                element(index).unwrap_or_else(|| random(index))
            });
            same(reproducible.sum(&mine)?, expected);
            same(reproducible.compensated().sum(&mine)?, expected);
            same(reproducible.exact().sum(&mine)?, expected);
        }
        let zeros = piece(&blocks, me, |_| -0.0);
        same(reproducible.sum(&zeros)?, -0.0);
        same(reproducible.exact().sum(&zeros)?, 0.0);
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn ranks_that_call_differently_are_told(world: Communicator) -> Result<()> {
    let (me, reproducible) = (world.rank(), world.reproducible());
    let error = match me {
        0 => reproducible.reduce(&[1.0], Max).unwrap_err(),
        _ => reproducible.reduce(&[1.0], Min).unwrap_err(),
    };
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    let error = match me {
        0 => reproducible.sum(&[1.0]).map(drop).unwrap_err(),
        _ => reproducible.sum(&[1.0f32]).map(drop).unwrap_err(),
    };
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    let right = vec![1; 2 - usize::from(me == 0)];
    let error = reproducible.dot(&[1, 2], &right).unwrap_err();
    let expected = [ErrorKind::Length, ErrorKind::Mismatch][usize::from(me > 0)];
    assert_eq!(error.kind(), expected, "{error}");
    let error = reproducible
        .exact()
        .allreduce(&[1.0, 2.0], &mut vec![1.0; right.len()]);
    assert_eq!(error.unwrap_err().kind(), expected);
    // A rank with fewer elements was done, or told of a call that it had not made.
    for lengths in [[1024, 512], [3, 2]] {
        let length = lengths[usize::from(me > 0)];
        let (mine, mut sums) = (vec![1.0; length], vec![0.0; length]);
        let error = reproducible.exact().allreduce(&mine, &mut sums);
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        for length in lengths {
            let call = format!(" Exact::allreduce of {length} f64");
            assert!(error.to_string().contains(&call), "{error}");
        }
    }
    world.barrier()
}

/// Many of them at once filled the stack of a thread.
#[ranks_test::ranks(1, 2, 3)]
fn elements_may_be_large(world: Communicator) -> Result<()> {
    type Large = [u64; 4096];
    let op = UserOp::new(|mut left: Large, right: Large| {
        for (left, right) in left.iter_mut().zip(right) {
            *left += right;
        }
        left
    });
    let mine = vec![[world.rank() as u64 + 1; 4096]; 70];
    let whole = world.reproducible().reduce(&mine, op)?;
    let sum = 70 * (1..=world.size() as u64).sum::<u64>();
    assert!(whole.is_some_and(|whole| whole == [sum; 4096]));
    let op = UserOp::new(|left: [u64; 4097], _| left);
    let error = world.reproducible().reduce(&[], op).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("of at most 32768"), "{error}");
    Ok(())
}

/// The rank where a closure panics takes part all the same, and nobody waits for it.
#[ranks_test::ranks(1, 2, 3)]
fn a_panic_is_an_error(world: Communicator) -> Result<()> {
    let (me, reproducible) = (world.rank(), world.reproducible());
    let op = UserOp::new(|a: u64, b: u64| {
        assert!(a < 1000, "too large");
        a + b
    });
    let mine = vec![if me == 0 { 1001 } else { 1 }; 64];
    let outcome = reproducible.reduce(&mine, op);
    if me == 0 {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("too large"), "{error}");
    }
    world.barrier()
}
