//! Elements written in one phase are read in the next, whatever the lengths, the elements and the
//! wishes.

use std::sync::atomic::Ordering;
use std::thread;

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, Info, Result};
use ranks_rma_window::{Placement, SharedWindow, Spacing};

/// Uneven lengths, none at all among them.
fn len_of(rank: usize) -> usize {
    [5, 0, 13, 1000][rank % 4]
}

/// Value that `rank` writes to its place `at` in a round.
fn sample(round: usize, rank: usize, at: usize) -> u32 {
    (round * 1_000_000 + rank * 10_000 + at) as u32
}

fn fill(round: usize, rank: usize, mine: &mut [u32]) {
    for (at, value) in mine.iter_mut().enumerate() {
        *value = sample(round, rank, at);
    }
}

fn is_filled(round: usize, rank: usize, segment: &[u32]) -> bool {
    let expected = |at| sample(round, rank, at);
    segment
        .iter()
        .enumerate()
        .all(|(at, &value)| value == expected(at))
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn what_is_written_is_read_by_all(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let (rank, size) = (world.rank(), world.size());
    let mut writing = SharedWindow::<u32>::allocate(&world, len_of(rank))?;
    assert!(writing.mine().iter().all(|&value| value == 0));
    for round in 0..20 {
        fill(round, rank, writing.mine_mut());
        let reading = writing.fence()?;
        assert_eq!(reading.segments().len(), size);
        for (other, segment) in reading.segments().enumerate() {
            assert_eq!(
                (segment.len(), reading.len_of(other)),
                (len_of(other), len_of(other))
            );
            assert_eq!(segment.as_ptr().addr() % 64, 0);
            assert!(
                is_filled(round, other, segment),
                "round {round}, rank {other}"
            );
        }
        assert_eq!(reading.mine().len(), len_of(rank));
        writing = reading.fence()?;
        assert!(is_filled(round, rank, writing.mine()));
    }
    writing.free()
}

/// As windows are made and go in three ways, memory that was used before is zero again.
#[ranks_test::ranks(1, 2)]
fn new_memory_is_zero(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let mut kept = Vec::new();
    for round in 0..5 {
        let mut window = SharedWindow::<u8>::allocate(&world, 100_000)?;
        assert!(window.mine().iter().all(|&byte| byte == 0));
        window.mine_mut().fill(255);
        match round % 3 {
            0 => window.free()?,
            1 => drop(window),
            _ => kept.push(window),
        }
    }
    assert!(kept.iter().all(|window| window.mine()[99_999] == 255));
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn all_segments_are_one_slice_where_nothing_is_between_them(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let (rank, size) = (world.rank(), world.size());
    let builder = || SharedWindow::<u32>::builder(&world).len(len_of(rank));
    let mut packed = builder().spacing(Spacing::Packed).allocate()?;
    fill(1, rank, packed.mine_mut());
    let packed = packed.fence()?;
    let mut whole = packed.whole().unwrap();
    assert_eq!(whole.len(), (0..size).map(len_of).sum::<usize>());
    for other in 0..size {
        let (segment, rest) = whole.split_at(len_of(other));
        assert_eq!(segment.as_ptr(), packed.segment(other).as_ptr());
        assert!(is_filled(1, other, segment));
        whole = rest;
    }
    let lines = builder().allocate()?.fence()?;
    assert_eq!(
        lines.whole().is_some(),
        size <= 2,
        "5 elements do not fill a line"
    );
    let full = SharedWindow::<u32>::allocate(&world, 32 * (rank % 2))?.fence()?;
    assert_eq!(full.whole().map(<[u32]>::len), Some(size / 2 * 32));
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn every_wish_gives_the_same_memory(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let rank = world.rank();
    let info = Info::new().with("alloc_shared_noncontig", "true")?;
    let placements = [
        Placement::Owner,
        Placement::Leader,
        Placement::Interleave,
        Placement::StripeByRank,
    ];
    let spacings = [Spacing::Lines, Spacing::Packed, Spacing::Pages];
    for (round, placement) in placements.into_iter().enumerate() {
        let builder = SharedWindow::builder(&world).len(3000 + rank);
        let builder = builder.placement(placement).spacing(spacings[round % 3]);
        let builder = builder.huge_pages(round % 2 == 0).info(&info);
        let mut writing = builder.allocate()?;
        assert!(
            writing.mine().iter().all(|&value| value == 0),
            "{placement:?}"
        );
        fill(round, rank, writing.mine_mut());
        let reading = writing.fence()?;
        for (other, segment) in reading.segments().enumerate() {
            assert!(
                is_filled(round, other, segment),
                "{placement:?}, rank {other}"
            );
        }
        if spacings[round % 3] == Spacing::Pages {
            assert!(
                reading
                    .segments()
                    .all(|segment| segment.as_ptr().addr() % 4096 == 0)
            );
        }
        reading.free()?;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(128))]
struct Wide([u64; 16]);

#[ranks_test::ranks(1, 2)]
fn elements_may_be_wide_or_take_no_room(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let (rank, size) = (world.rank(), world.size());
    let mut wide = SharedWindow::<Wide>::allocate(&world, 3)?;
    wide.mine_mut()[2] = Wide([rank as u64; 16]);
    let wide = wide.fence()?;
    assert_eq!(wide.segment(size - 1)[2], Wide([size as u64 - 1; 16]));
    let nothing = SharedWindow::<[f64; 0]>::allocate(&world, 7)?.fence()?;
    assert!(nothing.segments().all(|segment| segment.len() == 7));
    assert_eq!(nothing.whole().map(<[_]>::len), Some(7 * size));
    // Nobody has anything.
    let empty = SharedWindow::<f64>::allocate(&world, 0)?.fence()?.fence()?;
    assert!(empty.mine().is_empty());
    empty.free()
}

#[ranks_test::ranks(1, 2)]
fn threads_of_a_rank_read_and_write_together(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let (rank, size) = (world.rank(), world.size());
    let mut writing = SharedWindow::<u32>::allocate(&world, 400)?;
    thread::scope(|scope| {
        for (part, piece) in writing.mine_mut().chunks_mut(100).enumerate() {
            scope.spawn(move || piece.fill((rank * 4 + part) as u32));
        }
    });
    let reading = writing.fence()?;
    let sums: Vec<u32> = thread::scope(|scope| {
        let window = &reading;
        let sum = |other| move || window.segment(other).iter().sum::<u32>();
        let threads: Vec<_> = (0..size).map(|other| scope.spawn(sum(other))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for (other, sum) in sums.into_iter().enumerate() {
        assert_eq!(sum as usize, 100 * (4 * 4 * other + 6));
    }
    // It goes to another thread, and comes back in its next phase.
    let writing = thread::scope(|scope| scope.spawn(|| reading.fence()).join().unwrap())?;
    assert_eq!(writing.mine()[399], (rank * 4 + 3) as u32);
    Ok(())
}

/// Every number is drawn once, by somebody.
#[ranks_test::ranks(1, 2, 3, 4)]
fn a_counter_without_locks_loses_nothing(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let (rank, size) = (world.rank(), world.size());
    let draws = if cfg!(miri) { 20 } else { 2000 };
    let counter = SharedWindow::<u64>::allocate(&world, usize::from(rank == size - 1))?;
    let drawn = SharedWindow::<u8>::allocate(&world, draws)?;
    let (counter, drawn) = (counter.concurrent()?, drawn.concurrent()?);
    let next = &counter.segment(size - 1)[0];
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed) as usize;
        if number >= draws * size {
            break;
        }
        let before = drawn.segment(number / draws)[number % draws].swap(1, Ordering::Relaxed);
        assert_eq!(before, 0, "{number} was drawn twice");
    }
    let drawn = drawn.fence()?;
    assert!(drawn.mine().iter().all(|&times| times == 1));
    let counter = counter.fence()?.fence()?;
    // Each rank has drawn one number too many.
    assert_eq!(counter.segment(size - 1), [(draws * size + size) as u64]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn numbers_with_a_point_are_atomics_of_their_bits(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    let mut sum = SharedWindow::<f64>::allocate(&world, 1)?;
    sum.mine_mut()[0] = 0.5;
    let shared = sum.concurrent()?;
    let add = |bits| Some((f64::from_bits(bits) + 1.0).to_bits());
    let place = &shared.segment(0)[0];
    for _ in 0..100 {
        let added = place.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        assert!(added.is_ok());
    }
    let sum = shared.fence()?.fence()?;
    assert_eq!(sum.segment(0), [0.5 + 100.0 * world.size() as f64]);
    Ok(())
}

/// Many windows at a time, each with its phases, on communicators of their own.
#[ranks_test::ranks(2, 3)]
fn windows_do_not_know_of_each_other(world: Communicator) -> Result<()> {
    let world = world.split_shared(0)?;
    if world.size() < 2 {
        // Each rank has a host for itself.
        return Ok(());
    }
    let rank = world.rank();
    let part = world.split(Some((rank % 2) as i32), 0)?.unwrap();
    let mut writing = Vec::new();
    for n in 0..4 {
        let comm = if n % 2 == 0 { &world } else { &part };
        let mut window = SharedWindow::<usize>::allocate(comm, 1)?;
        window.mine_mut()[0] = 100 * n + rank;
        writing.push(window);
    }
    let reading: Vec<_> = writing
        .into_iter()
        .rev()
        .map(|window| window.fence())
        .collect::<Result<_>>()?;
    for (n, window) in reading.iter().rev().enumerate() {
        let of_world = |other| {
            if n % 2 == 0 {
                other
            } else {
                2 * other + rank % 2
            }
        };
        for other in 0..window.size() {
            assert_eq!(window.segment(other), [100 * n + of_world(other)]);
        }
    }
    world.barrier()
}
