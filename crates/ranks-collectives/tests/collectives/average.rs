//! Averages over all ranks: of whole numbers, whose sums are exact in any order.

use std::fmt::Debug;

use ranks_collectives::ops::Avg;
use ranks_collectives::{
    Blocks, Collectives, Fractional, InPlaceCollectives, NonblockingCollectives,
    PersistentCollectives, PersistentVaryingCollectives, ScopedCollectives, VaryingCollectives,
};
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

/// What every form of each operation gives on a rank.
fn forms<T: Fractional + PartialEq + Debug + Send>(
    world: &Communicator,
    number: impl Fn(f64) -> T,
) {
    let (me, size) = (world.rank(), world.size());
    let (len, root) = (5, size - 1);
    let blocks = Blocks::even(len, size);
    let mine: Vec<T> = (0..len).map(|i| number((3 * me + i) as f64)).collect();
    let all = mine.repeat(size);
    let sum = |i: usize| (0..size).map(|rank| 3 * rank + i).sum::<usize>();
    let expected: Vec<T> = (0..len)
        .map(|i| number(sum(i) as f64 / size as f64))
        .collect();
    let share = &expected[blocks.range(me)];
    let other = vec![number(9.0); len];
    let at_root = if me == root { &expected } else { &other };

    // Those that own their buffers, one of them found to be over by a test.
    let everywhere = world.iallreduce(mine.clone(), other.clone(), Avg).unwrap();
    let mut rooted = world
        .ireduce(mine.clone(), other.clone(), Avg, root)
        .unwrap();
    let dealt = world
        .ireduce_scatter(mine.clone(), other[..share.len()].to_vec(), &blocks, Avg)
        .unwrap();
    let even = world
        .ireduce_scatter_block(all.clone(), other.clone(), Avg)
        .unwrap();
    assert_eq!(everywhere.wait().unwrap().0.1, expected);
    while !rooted.test().unwrap() {
        std::thread::yield_now();
    }
    assert_eq!(&rooted.wait().unwrap().0.1, at_root);
    assert_eq!(dealt.wait().unwrap().0.1, share);
    assert_eq!(even.wait().unwrap().0.1, expected);

    // Those that borrow them, one of them left to the end of the scope.
    let (mut everywhere, mut rooted, mut even) = (other.clone(), other.clone(), other.clone());
    let mut dealt = other[..share.len()].to_vec();
    world
        .scope(|scope| {
            let first = scope.iallreduce(&mine, &mut everywhere, Avg)?;
            scope.ireduce(&mine, &mut rooted, Avg, root)?;
            let third = scope.ireduce_scatter(&mine, &mut dealt, &blocks, Avg)?;
            let fourth = scope.ireduce_scatter_block(&all, &mut even, Avg)?;
            assert_eq!(fourth.wait()?.0, expected);
            assert_eq!(third.wait()?.0, share);
            assert_eq!(first.wait()?.0, expected);
            Ok::<_, ranks_comm::Error>(())
        })
        .unwrap();
    assert_eq!(
        (&everywhere, &rooted, &even),
        (&expected, at_root, &expected)
    );
    assert_eq!(dealt, share);

    // Those that are prepared, started twice: each divides once.
    let mut everywhere = world
        .allreduce_init(mine.clone(), other.clone(), Avg)
        .unwrap();
    let mut rooted = world
        .reduce_init(mine.clone(), other.clone(), Avg, root)
        .unwrap();
    let mut dealt = world
        .reduce_scatter_init(mine.clone(), other[..share.len()].to_vec(), &blocks, Avg)
        .unwrap();
    let mut even = world
        .reduce_scatter_block_init(all, other.clone(), Avg)
        .unwrap();
    for _ in 0..2 {
        everywhere = everywhere.start().unwrap().wait().unwrap().0;
        rooted = rooted.start().unwrap().wait().unwrap().0;
        dealt = dealt.start().unwrap().wait().unwrap().0;
        even = even.start().unwrap().wait().unwrap().0;
        assert_eq!(everywhere.recv(), expected);
        assert_eq!(rooted.recv(), at_root);
        assert_eq!(dealt.recv(), share);
        assert_eq!(even.recv(), expected);
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn averages_are_the_same_in_every_form(world: Communicator) {
    forms::<f64>(&world, |number| number);
}

/// Numbers that a library may have no type for.
#[cfg(feature = "num-complex")]
#[ranks_test::ranks(1, 2, 3)]
fn complex_averages_are_the_same_in_every_form(world: Communicator) {
    forms(&world, |number| num_complex::Complex::new(number, -4.0));
}

#[cfg(feature = "half")]
#[ranks_test::ranks(1, 2, 3)]
fn averages_of_sixteen_bits_are_the_same_in_every_form(world: Communicator) {
    forms(&world, half::f16::from_f64);
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
