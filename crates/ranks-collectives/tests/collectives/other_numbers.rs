//! Numbers of other crates: complex ones, and those of 16 bits. Small whole ones, which are exact in any order.

use ranks_collectives::ops::{Prod, Sum};
use ranks_collectives::{Collectives, InPlaceCollectives, Number};
use ranks_comm::Communicator;

fn sums_and_products<T: Number + PartialEq + std::fmt::Debug>(
    world: &Communicator,
    number: fn(usize, usize) -> T,
    fold: [fn(T, T) -> T; 2],
) {
    let (me, size) = (world.rank(), world.size());
    for len in [0, 1, 17, 5000] {
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

#[cfg(feature = "num-complex")]
mod complex {
    use super::*;
    use num_complex::Complex;

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
