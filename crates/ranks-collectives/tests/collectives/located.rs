//! Extremes and where they are.

use std::fmt::Debug;

use ranks_collectives::ops::{MaxLoc, MinLoc};
use ranks_collectives::{Collectives, InPlaceCollectives, Locate, Located};
use ranks_comm::Communicator;

use crate::model::for_types;

/// At index 0 all ranks have the same, at index i the rank that is i modulo the number of ranks has
/// the largest.
fn value(size: usize, rank: usize, index: usize) -> i8 {
    if index == 0 {
        return 5;
    }
    ((rank + size - index % size) % size) as i8 - 1
}

fn extremes<T: Locate + PartialOrd + From<i8> + Debug>(world: &Communicator) {
    let (me, size) = (world.rank(), world.size());
    let len = 1003;
    let of = |rank: usize| -> Vec<Located<T>> {
        let located = |index| Located::new(value(size, rank, index).into(), 100 - rank as i32);
        (0..len).map(located).collect()
    };
    let fold = |better: fn(&T, &T) -> bool| -> Vec<Located<T>> {
        let all: Vec<_> = (0..size).map(of).collect();
        let best = |index: usize| {
            all.iter()
                .map(|of_rank| of_rank[index])
                .reduce(|a, b| {
                    let tie = a.value() == b.value() && b.index() < a.index();
                    if better(&b.value(), &a.value()) || tie {
                        b
                    } else {
                        a
                    }
                })
                .unwrap()
        };
        (0..len).map(best).collect()
    };
    let mine = of(me);
    let mut found = vec![Located::new(T::from(0), 0); len];
    world.allreduce(&mine, &mut found, MaxLoc).unwrap();
    assert_eq!(found, fold(|a, b| a > b));
    world.allreduce(&mine, &mut found, MinLoc).unwrap();
    assert_eq!(found, fold(|a, b| a < b));
    found.copy_from_slice(&mine);
    world.reduce_in_place(&mut found, MaxLoc, size - 1).unwrap();
    let expected = if me == size - 1 {
        fold(|a, b| a > b)
    } else {
        mine
    };
    assert_eq!(found, expected);
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn of_every_type(world: Communicator) {
    for_types!(extremes(&world): i16, i32, i64, f32, f64);
}
