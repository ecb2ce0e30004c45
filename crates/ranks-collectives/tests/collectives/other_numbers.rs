//! Numbers of other crates: complex ones, and those of 16 bits. Small whole ones, which are exact
//! in any order.

use ranks_collectives::ops::{Prod, Sum};
use ranks_collectives::{Blocks, Collectives, Fractional, InPlaceCollectives, Number};
use ranks_comm::Communicator;

use crate::model::long;

fn sums_and_products<T: Number + PartialEq + std::fmt::Debug>(
    world: &Communicator,
    number: fn(usize, usize) -> T,
    fold: [fn(T, T) -> T; 2],
) {
    let (me, size) = (world.rank(), world.size());
    for len in [0, 1, 17, long(5000)] {
        let of = |rank: usize| -> Vec<T> { (0..len).map(|index| number(rank, index)).collect() };
        let whole = |ranks: usize, fold: fn(T, T) -> T| -> Vec<T> {
            let over_ranks = |index| (0..ranks).map(|rank| number(rank, index)).reduce(fold);
            (0..len).filter_map(over_ranks).collect()
        };
        let mut found = vec![T::zeroed(); len];
        world.allreduce(&of(me), &mut found, Sum).unwrap();
        assert_eq!(found, whole(size, fold[0]));
        world.scan(&of(me), &mut found, Prod).unwrap();
        assert_eq!(found, whole(me + 1, fold[1]));
        found.copy_from_slice(&of(me));
        world.reduce_in_place(&mut found, Sum, size - 1).unwrap();
        let expected = if me == size - 1 {
            whole(size, fold[0])
        } else {
            of(me)
        };
        assert_eq!(found, expected);
    }
}

/// The sum of whole numbers, each rank's piece of them another length: exact in every way.
fn reproducible_sums<T: Fractional + PartialEq + std::fmt::Debug>(
    world: &Communicator,
    number: fn(usize) -> T,
    expected: T,
) {
    let blocks = Blocks::from_counts(&[100, 0, 70, 30][..world.size()]).unwrap();
    let mine: Vec<T> = blocks.range(world.rank()).map(number).collect();
    let mut rest: Vec<T> = (blocks.end()..200).map(number).collect();
    if world.rank() + 1 == world.size() {
        rest.splice(0..0, mine);
    } else {
        rest = mine;
    }
    let reproducible = world.reproducible();
    assert_eq!(reproducible.sum(&rest).unwrap(), expected);
    assert_eq!(reproducible.compensated().sum(&rest).unwrap(), expected);
    assert_eq!(reproducible.exact().sum(&rest).unwrap(), expected);
    let mut sums = [T::zeroed(); 2];
    let terms = [number(1), number(world.rank())];
    reproducible.exact().allreduce(&terms, &mut sums).unwrap();
    let mut plain = sums;
    world.allreduce(&terms, &mut plain, Sum).unwrap();
    assert_eq!(sums, plain);
}

#[cfg(feature = "num-complex")]
mod complex {
    use super::*;
    use num_complex::Complex;

    #[ranks_test::ranks(1, 2, 3, 4)]
    fn sums_of_complex_numbers(world: Communicator) {
        let number = |index| Complex::new((index % 5) as f32, -((index % 2) as f32));
        reproducible_sums(&world, number, Complex::new(400.0, -100.0));
        let number = |index| Complex::new(0.25, -(index as f64));
        reproducible_sums(&world, number, Complex::new(50.0, -19_900.0));
    }

    #[ranks_test::ranks(1, 2, 3, 4)]
    fn complex_numbers(world: Communicator) {
        sums_and_products::<Complex<f32>>(
            &world,
            |rank, index| Complex::new(rank as f32 - 1.0, (index % 5) as f32),
            [|a, b| a + b, |a, b| a * b],
        );
        sums_and_products::<Complex<f64>>(
            &world,
            |rank, index| Complex::new((index % 7) as f64, 2.0 - rank as f64),
            [|a, b| a + b, |a, b| a * b],
        );
    }
}

#[cfg(feature = "half")]
mod half {
    use super::*;
    use ::half::{bf16, f16};
    use ranks_collectives::ops::{Max, Min};

    #[ranks_test::ranks(1, 2, 3, 4)]
    fn sums_of_sixteen_bits(world: Communicator) {
        let number = |index| f16::from_f32((index % 5) as f32);
        reproducible_sums(&world, number, f16::from_f32(400.0));
        let number = |index| bf16::from_f32(-((index % 2) as f32));
        reproducible_sums(&world, number, bf16::from_f32(-100.0));
        // Too many for the digits of a bf16, but 256 + 100 · 1.5 rounded once: 406, of which 8
        // digits are 406.
        let mine = if world.rank() == 0 {
            vec![bf16::from_f32(1.5); 100]
        } else {
            vec![]
        };
        let large = [bf16::from_f32(256.0)];
        let all = [&mine[..], &large[..usize::from(world.rank() == 0)]].concat();
        let sum = world.reproducible().exact().sum(&all).unwrap();
        assert_eq!(sum, bf16::from_f32(406.0));
        let tiny = [f16::from_bits(1), f16::from_bits(2)];
        let sum = world
            .reproducible()
            .exact()
            .sum(&tiny[..world.size().min(2)])
            .unwrap();
        assert_eq!(
            usize::from(sum.to_bits()),
            3 * world.size() - 2 * usize::from(world.size() == 1)
        );
    }

    #[ranks_test::ranks(1, 2, 3, 4)]
    fn numbers_of_sixteen_bits(world: Communicator) {
        sums_and_products::<f16>(
            &world,
            |rank, index| f16::from_f32((rank + index % 3) as f32),
            [|a, b| a + b, |a, b| a * b],
        );
        sums_and_products::<bf16>(
            &world,
            |rank, index| bf16::from_f32(rank as f32 - (index % 3) as f32),
            [|a, b| a + b, |a, b| a * b],
        );
        let mine = [f16::from_f32(world.rank() as f32)];
        let mut extreme = [f16::ONE];
        world.allreduce(&mine, &mut extreme, Max).unwrap();
        assert_eq!(extreme, [f16::from_f32(world.size() as f32 - 1.0)]);
        world.allreduce(&mine, &mut extreme, Min).unwrap();
        assert_eq!(extreme, [f16::ZERO]);
    }
}
