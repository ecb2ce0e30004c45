//! Averages over all ranks: of whole numbers, whose sums are exact in any order.

use std::fmt::Debug;

use ranks_collectives::ops::Avg;
use ranks_collectives::{Blocks, Collectives, Fractional, InPlaceCollectives, VaryingCollectives};
use ranks_comm::Communicator;

fn averages<T: Fractional + PartialEq + Debug>(world: &Communicator, number: impl Fn(f64) -> T) {
    let (me, size) = (world.rank(), world.size());
    for len in [0, 1, 1000] {
        let sum = |index: usize| (0..size).map(|rank| 3 * rank + index % 7).sum::<usize>();
        let average = |index| number(sum(index) as f64 / size as f64);
        let expected: Vec<T> = (0..len).map(average).collect();
        let mine: Vec<T> = (0..len)
            .map(|index| number((3 * me + index % 7) as f64))
            .collect();
        let mut found = vec![number(9.0); len];
        world.allreduce(&mine, &mut found, Avg).unwrap();
        assert_eq!(found, expected);
        found.copy_from_slice(&mine);
        world.allreduce_in_place(&mut found, Avg).unwrap();
        assert_eq!(found, expected);

        // Elsewhere nothing is written, and nothing divided.
        let root = size - 1;
        found.fill(number(9.0));
        world.reduce(&mine, &mut found, Avg, root).unwrap();
        let untouched = vec![number(9.0); len];
        assert_eq!(
            found,
            if me == root {
                expected.clone()
            } else {
                untouched
            }
        );
        found.copy_from_slice(&mine);
        world.reduce_in_place(&mut found, Avg, root).unwrap();
        assert_eq!(&found, if me == root { &expected } else { &mine });

        let blocks = Blocks::even(len, size);
        let share = &expected[blocks.range(me)];
        let mut found = vec![number(9.0); share.len()];
        world
            .reduce_scatter(&mine, &mut found, &blocks, Avg)
            .unwrap();
        assert_eq!(found, share);
        let mut data = mine.clone();
        world
            .reduce_scatter_in_place(&mut data, &blocks, Avg)
            .unwrap();
        assert_eq!(&data[..share.len()], share);

        let all = mine.repeat(size);
        let mut found = mine.clone();
        world.reduce_scatter_block(&all, &mut found, Avg).unwrap();
        assert_eq!(found, expected);
        let mut data = all;
        world.reduce_scatter_block_in_place(&mut data, Avg).unwrap();
        assert_eq!(&data[..len], expected);
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn sums_are_divided_by_how_many_ranks_there_are(world: Communicator) {
    averages::<f64>(&world, |number| number);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn averages_of_narrow_numbers(world: Communicator) {
    let mut found = [0.0f32; 2];
    let mine = [world.rank() as f32, -2.0];
    world.allreduce(&mine, &mut found, Avg).unwrap();
    assert_eq!(found, [(world.size() - 1) as f32 / 2.0, -2.0]);
}

#[cfg(feature = "num-complex")]
#[ranks_test::ranks(1, 2, 3, 4)]
fn averages_of_complex_numbers(world: Communicator) {
    averages(&world, |number| num_complex::Complex::new(number, -4.0));
}

#[cfg(feature = "half")]
#[ranks_test::ranks(1, 2, 3, 4)]
fn averages_of_sixteen_bits(world: Communicator) {
    averages(&world, half::f16::from_f64);
}

/// An average and a sum of the same are not the same call.
#[ranks_test::ranks(2, 3)]
fn an_average_is_no_sum(world: Communicator) {
    use ranks_collectives::ops::Sum;
    let mut found = [0.0];
    let outcome = if world.rank() == 0 {
        world.allreduce(&[1.0], &mut found, Avg)
    } else {
        world.allreduce(&[1.0], &mut found, Sum)
    };
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ranks_comm::ErrorKind::Mismatch, "{error}");
}
