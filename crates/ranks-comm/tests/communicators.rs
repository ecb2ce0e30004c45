//! Communicators made from communicators, and groups.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of ranks are small"
)]

use ranks_comm::{Communicator, Comparison, ErrorKind, Result, Source, Tag};

/// All ranks of `comm` exchange a number in a ring, with one tag.
fn ring(comm: &Communicator, number: u64) -> Result<u64> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut got = [0];
    comm.sendrecv(
        &[number],
        (rank + 1) % size,
        0,
        &mut got,
        (rank + size - 1) % size,
        0,
    )?;
    Ok(got[0])
}

/// The ranks on this one's host, by its name: the expected result of a split by node, found another
/// way.
fn on_this_host(world: &Communicator) -> Result<Vec<usize>> {
    let (rank, size) = (world.rank(), world.size());
    let mut mine = [0; 64];
    let name = world.processor_name()?;
    mine.iter_mut()
        .zip(name.bytes())
        .for_each(|(place, byte)| *place = byte);
    let mut here = Vec::new();
    for distance in 0..size {
        let (next, previous) = ((rank + distance) % size, (rank + size - distance) % size);
        let mut theirs = [0; 64];
        world.sendrecv(&mine, next, 1, &mut theirs, previous, 1)?;
        if theirs == mine {
            here.push(previous);
        }
    }
    here.sort_unstable();
    Ok(here)
}

#[ranks_test::ranks(2, 3, 4)]
fn messages_of_a_duplicate_are_apart(world: Communicator) -> Result<()> {
    let other = world.dup()?;
    assert_eq!((other.rank(), other.size()), (world.rank(), world.size()));
    let (right, left) = (
        (world.rank() + 1) % world.size(),
        (world.rank() + world.size() - 1) % world.size(),
    );
    world.send(&[1u8], right, 0)?;
    other.send(&[2u8], right, 0)?;
    let mut byte = [0u8];
    other.recv(&mut byte, left, 0)?;
    assert_eq!(byte, [2]);
    assert!(other.iprobe(Source::Any, Tag::Any)?.is_none());
    world.recv(&mut byte, left, 0)?;
    assert_eq!(byte, [1]);
    assert_eq!(world.compare(&other)?, Comparison::Congruent);
    assert_eq!(world.compare(&world.clone())?, Comparison::Identical);
    other.free()
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_split_orders_by_key_then_rank(world: Communicator) -> Result<()> {
    let color = (world.rank() % 2) as i32;
    let part = world
        .split(Some(color), -(world.rank() as i32))?
        .expect("every rank has a color");
    let mut expected: Vec<usize> = (0..world.size())
        .filter(|rank| rank % 2 == color as usize)
        .collect();
    expected.reverse();
    assert_eq!(part.size(), expected.len());
    assert_eq!(expected[part.rank()], world.rank());
    let before = expected[(part.rank() + part.size() - 1) % part.size()];
    assert_eq!(ring(&part, world.rank() as u64)?, before as u64);
    let same_key = world.split(Some(0), 5)?.expect("every rank has a color");
    assert_eq!(same_key.rank(), world.rank());
    if world.size() > 1 {
        let reversed = world
            .split(Some(0), -(world.rank() as i32))?
            .expect("every rank has a color");
        assert_eq!(world.compare(&reversed)?, Comparison::Similar);
    }
    Ok(())
}

#[ranks_test::ranks(2, 3, 4)]
fn a_rank_without_a_color_gets_none(world: Communicator) -> Result<()> {
    let color = (world.rank() != 0).then_some(3);
    let part = world.split(color, 0)?;
    match part {
        None => assert_eq!(world.rank(), 0),
        Some(part) => {
            assert_eq!(
                (part.rank(), part.size()),
                (world.rank() - 1, world.size() - 1)
            );
            assert_eq!(world.compare(&part)?, Comparison::Unequal);
            ring(&part, 0)?;
        }
    }
    assert_eq!(
        world.split(Some(-1), 0).unwrap_err().kind(),
        ErrorKind::Argument
    );
    Ok(())
}

#[ranks_test::ranks(1, 2, 4)]
fn ranks_of_one_node_share_memory(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let here = on_this_host(&world)?;
    assert_eq!(node.size(), here.len());
    assert_eq!(here.get(node.rank()), Some(&world.rank()));
    ring(&node, 1)?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn a_group_becomes_a_communicator(world: Communicator) -> Result<()> {
    let all = world.group()?;
    assert_eq!((all.size(), all.rank()), (world.size(), Some(world.rank())));
    let last_first: Vec<usize> = (0..world.size()).rev().collect();
    let reversed = all.include(&last_first)?;
    let comm = world
        .create(&reversed)?
        .expect("every rank is in the group");
    assert_eq!(comm.rank(), world.size() - 1 - world.rank());
    assert_eq!(
        comm.group()?.translate(&[0], &all)?,
        [Some(world.size() - 1)]
    );
    let without_first = all.exclude(&[0])?;
    let rest = world.create(&without_first)?;
    assert_eq!(rest.is_none(), world.rank() == 0);
    if let Some(rest) = &rest {
        assert_eq!(rest.rank(), world.rank() - 1);
        ring(rest, 0)?;
        let error = rest.create(&all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rank);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn names_are_kept(world: Communicator) -> Result<()> {
    let comm = world.dup()?;
    comm.set_name("hälo exchange")?;
    assert_eq!(comm.name()?, "hälo exchange");
    assert_eq!(
        comm.set_name("a\0b").unwrap_err().kind(),
        ErrorKind::Argument
    );
    Ok(())
}

#[ranks_test::ranks(1, 2, timeout = 120)]
fn thousands_of_dropped_communicators_are_freed(world: Communicator) -> Result<()> {
    // MPICH has room for about two thousand at a time.
    for _ in 0..if cfg!(miri) { 50 } else { 2500 } {
        drop(world.dup()?);
    }
    ring(&world, 1)?;
    Ok(())
}

/// They were kept until MPI ended: Intel MPI has room for 450 of them, MPICH for 2000.
#[ranks_test::ranks(1, 2, 3, timeout = 300)]
fn communicators_whose_parent_was_dropped_are_freed(world: Communicator) -> Result<()> {
    let rounds = if cfg!(miri) { 50 } else { 800 };
    let mut last = world.dup()?;
    for round in 0..rounds {
        last = last.dup()?;
        if round % 100 == 0 {
            ring(&last, 1)?;
        }
    }
    // Of a part of the ranks, while their parent is still there on another one.
    let mut kept = None;
    for round in 0..rounds {
        let parent = world.dup()?;
        let part = parent.split(Some(i32::from(world.rank() == 0)), 0)?;
        drop(part);
        if round % (world.rank() + 2) == 0 {
            kept = Some(parent);
        }
    }
    drop(kept);
    ring(&world, 1)?;
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn ranks_may_drop_in_any_order(world: Communicator) -> Result<()> {
    let mut kept = Vec::new();
    for round in 0..100 {
        let comm = world.dup()?;
        let part = world.split((world.rank() != round % world.size()).then_some(0), 0)?;
        ring(&comm, 1)?;
        // Each rank keeps others, and drops them at another time.
        if round % (world.rank() + 2) == 0 {
            kept.push(comm);
        }
        if round % 17 == world.rank() {
            kept.clear();
        }
        if round % 5 == 0
            && let Some(part) = part
        {
            part.free()?;
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn only_the_last_handle_can_be_freed(world: Communicator) -> Result<()> {
    let comm = world.dup()?;
    let other = comm.clone();
    assert_eq!(comm.free().unwrap_err().kind(), ErrorKind::Argument);
    ring(&other, 1)?;
    other.free()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 4)]
fn a_communicator_outlives_its_parent(world: Communicator) -> Result<()> {
    let grandchild = {
        let child = world.dup()?;
        child.dup()?
    };
    for _ in 0..3 {
        world.dup()?.free()?;
        ring(&grandchild, 2)?;
    }
    let struct_of_all = Solver {
        part: grandchild.clone(),
        world,
    };
    ring(&struct_of_all.part, 3)?;
    ring(&struct_of_all.world, 3)?;
    Ok(())
}

/// Handles have no lifetimes, so that one struct can own everything.
struct Solver {
    world: Communicator,
    part: Communicator,
}
