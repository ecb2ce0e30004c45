//! Operations of the program's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::{Pod, Zeroable};
use ranks_collectives::ops::{Sum, UserOp};
use ranks_collectives::{Blocks, Collectives, InPlaceCollectives, Op, VaryingCollectives};
use ranks_comm::{Communicator, ErrorKind};

use crate::model::Depth::{All, EachOnce};
use crate::model::{Guarded, long, roots};

/// An affine map on the integers modulo 2⁶⁴: composition is associative and does not commute.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Map {
    factor: u64,
    shift: u64,
}

impl Map {
    fn of(rank: usize, index: usize) -> Map {
        Map {
            factor: 2 * (rank * 31 + index) as u64 + 3,
            shift: (rank * 7 + index * index) as u64 + 1,
        }
    }

    /// First `self`, then `next`.
    fn then(self, next: Map) -> Map {
        Map {
            factor: self.factor.wrapping_mul(next.factor),
            shift: self
                .shift
                .wrapping_mul(next.factor)
                .wrapping_add(next.shift),
        }
    }

    /// The maps of the ranks, one after the other.
    fn composed(ranks: std::ops::Range<usize>, index: usize) -> Map {
        ranks
            .map(|rank| Map::of(rank, index))
            .reduce(Map::then)
            .unwrap_or(Map::zeroed())
    }
}

/// The same of an odd size, so that no element but the first is where a `u32` may be.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
struct Odd {
    number: u32,
    letter: u8,
}

fn every_reduction<O: Op<Map>>(
    world: &Communicator,
    op: O,
    len: usize,
    roots: std::ops::Range<usize>,
) {
    let (me, size) = (world.rank(), world.size());
    let mine: Vec<Map> = (0..len).map(|index| Map::of(me, index)).collect();
    let of = |ranks: std::ops::Range<usize>| -> Vec<Map> {
        (0..len)
            .map(|index| Map::composed(ranks.clone(), index))
            .collect()
    };
    let whole = of(0..size);
    let mut result = vec![Map::zeroed(); len];
    world.allreduce(&mine, &mut result, op).unwrap();
    assert_eq!(result, whole);
    for root in roots {
        result.fill(Map::zeroed());
        world.reduce(&mine, &mut result, op, root).unwrap();
        if me == root {
            assert_eq!(result, whole);
        }
    }
    world.scan(&mine, &mut result, op).unwrap();
    assert_eq!(result, of(0..me + 1));
    world.exscan(&mine, &mut result, op).unwrap();
    if me > 0 {
        assert_eq!(result, of(0..me));
    }
    result.copy_from_slice(&mine);
    world.allreduce_in_place(&mut result, op).unwrap();
    assert_eq!(result, whole);

    let blocks = Blocks::even(len, size);
    let mut share = vec![Map::zeroed(); blocks.counts()[me]];
    world
        .reduce_scatter(&mine, &mut share, &blocks, op)
        .unwrap();
    assert_eq!(share, whole[blocks.range(me)]);
    let block = len / size;
    let mut share = vec![Map::zeroed(); block];
    world
        .reduce_scatter_block(&mine[..block * size], &mut share, op)
        .unwrap();
    assert_eq!(share, whole[me * block..(me + 1) * block]);

    let mut right = mine.clone();
    let left: Vec<Map> = (0..len).map(|index| Map::of(9, index)).collect();
    world.reduce_local(&left, &mut right, op).unwrap();
    for ((left, mine), right) in left.iter().zip(&mine).zip(right) {
        assert_eq!(left.then(*mine), right);
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_does_not_commute_is_taken_in_the_order_of_ranks(world: Communicator) {
    for (call, len) in [0, 1, 17, long(1000), long(10_000)].into_iter().enumerate() {
        let depth = if len == 17 { All } else { EachOnce };
        let roots = roots(depth, world.size(), call);
        every_reduction(&world, UserOp::new(Map::then), len, roots);
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn closures_keep_what_they_capture(world: Communicator) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let modulus = [97_u64, 101].to_vec();
    let owning = UserOp::commutative(move |a: [u64; 2], b: [u64; 2]| {
        counted.fetch_add(1, Ordering::Relaxed);
        [(a[0] + b[0]) % modulus[0], (a[1] + b[1]) % modulus[1]]
    });
    let mine = [world.rank() as u64 + 90, world.rank() as u64 + 95];
    let mut sum = [[0; 2]; 3];
    world.allreduce(&[mine; 3], &mut sum, &owning).unwrap();
    let total = |first: u64, modulus: u64| {
        (0..world.size() as u64).fold(0, |sum, rank| (sum + first + rank) % modulus)
    };
    if world.size() > 1 {
        assert_eq!(sum, [[total(90, 97), total(95, 101)]; 3]);
    } else {
        assert_eq!(sum, [mine; 3]);
    }
    let mut right = [[1, 1]];
    world.reduce_local(&[[96, 1]], &mut right, &owning).unwrap();
    assert_eq!(right, [[0, 2]]);
    assert!(calls.load(Ordering::Relaxed) > 0);
    assert!(owning.is_commutative());
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn p_elements_lie_at_any_address(world: Communicator) {
    let longest = UserOp::new(|a: Odd, b: Odd| Odd {
        number: a.number + b.number,
        letter: a.letter.max(b.letter),
    });
    let len = long(3001);
    let mine = vec![
        Odd {
            number: world.rank() as u32 + 1,
            letter: b'a' + world.rank() as u8
        };
        len
    ];
    let size = world.size();
    let all = Odd {
        number: (size * (size + 1) / 2) as u32,
        letter: b'a' + size as u8 - 1,
    };
    let mut result = vec![Odd::zeroed(); len];
    world.allreduce(&mine, &mut result, longest).unwrap();
    assert!(result.iter().all(|&found| found == all));
    world.scan(&mine, &mut result, longest).unwrap();
    let letter = mine[0].letter;
    assert!(result.iter().all(|found| found.letter == letter));
}

/// There is no table of operations that could be full.
#[ranks_test::ranks(1, 2, 4)]
fn operations_without_number(world: Communicator) {
    let shifts: Vec<u64> = (0..300).map(|i| 2 * i).collect();
    let all: Vec<_> = shifts
        .iter()
        .map(|&shift| UserOp::new(move |a: u64, b: u64| a.max(b).max(shift & 1)))
        .collect();
    // All of them are made known to the library; some of them on all ranks together.
    for (number, op) in all.iter().enumerate() {
        let mut largest = [3];
        world.reduce_local(&[2], &mut largest, op).unwrap();
        assert_eq!(largest, [3]);
        if number % 50 == 49 {
            world
                .allreduce(&[world.rank() as u64], &mut largest, op)
                .unwrap();
            assert_eq!(largest[0], world.size() as u64 - 1);
        }
    }
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn elements_of_no_size(world: Communicator) {
    let op = UserOp::new(|(): (), (): ()| ());
    world.allreduce(&[(); 9], &mut [(); 9], op).unwrap();
    world.scan(&[(); 9], &mut [(); 9], op).unwrap();
    let endless = usize::MAX / 2;
    world
        .reduce_local(&vec![(); endless], &mut [(); 9], op)
        .unwrap_err();
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_panic_stays_out_of_the_library(world: Communicator) {
    let op = UserOp::new(|_: u32, b: u32| match b {
        13 => panic!("thirteen"),
        _ => b,
    });
    // Every rank calls the closure here.
    let mut right = Guarded::<u32>::new(3);
    right.buffer().copy_from_slice(&[1, 13, 1]);
    let error = world.reduce_local(&[1; 3], right.buffer(), op).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("thirteen"), "{error}");
    assert_eq!(error.operation(), "MPI_Reduce_local");
    right.expect(&[1, 13, 1], "the element that panicked and those after it");

    // Some rank does here, and says so.
    let mut result = [0];
    let failed = world.allreduce(&[13], &mut result, op).is_err();
    let mut any = [0_u8];
    world.allreduce(&[u8::from(failed)], &mut any, Sum).unwrap();
    assert_eq!(any[0] > 0, world.size() > 1);

    world.allreduce(&[7], &mut result, op).unwrap();
    assert_eq!(result, [7]);
}

/// A panic may carry a value that panics in its turn when it is dropped.
#[ranks_test::ranks(1, 2, 3)]
fn a_payload_that_panics_when_it_is_dropped_ended_the_process(world: Communicator) {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let op = UserOp::new(|_: u32, _: u32| std::panic::panic_any(Bomb));
    let error = world.reduce_local(&[1], &mut [2], op).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let failed = world.allreduce(&[1], &mut [0], op).is_err();
    let any = world.allreduce_one(u8::from(failed), Sum).unwrap();
    assert_eq!(any > 0, world.size() > 1);
}

#[ranks_test::ranks(2, 4)]
fn threads_reduce_with_operations_of_their_own(world: Communicator) {
    let comms: Vec<Communicator> = (0..3).map(|_| world.dup().unwrap()).collect();
    std::thread::scope(|scope| {
        for (thread, comm) in comms.iter().enumerate() {
            scope.spawn(move || {
                let thread = thread as u64;
                let op = UserOp::new(move |a: u64, b: u64| a + b + thread);
                for round in 0..20 {
                    let mut sum = [0];
                    comm.allreduce(&[round], &mut sum, op).unwrap();
                    let ranks = comm.size() as u64;
                    assert_eq!(sum[0], round * ranks + thread * (ranks - 1));
                }
            });
        }
    });
}
