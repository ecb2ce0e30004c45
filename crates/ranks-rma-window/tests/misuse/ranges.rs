//! Places and ranks that are not there.

use ranks_collectives::ops::Sum;
use ranks_comm::ErrorKind::{Argument, Length, Rank};
use ranks_comm::{Communicator, Result};
use ranks_rma_window::LockKind::{Exclusive, Shared};
use ranks_rma_window::{NoOp, Operations, Window};

use crate::refused;

/// Number of elements of a rank.
fn len(rank: usize) -> usize {
    10 + rank
}

/// All operations with so many elements from `at` on.
fn each_operation<'scope>(
    ops: &Operations<'scope, '_, u32>,
    data: &'scope [u32],
    [into, old]: [&'scope mut [u32]; 2],
    (rank, at): (usize, usize),
) -> [(&'static str, Result<()>); 4] {
    [
        ("MPI_Put", ops.put(data, rank, at)),
        ("MPI_Get", ops.get(into, rank, at)),
        ("MPI_Accumulate", ops.accumulate(data, Sum, rank, at)),
        (
            "MPI_Get_accumulate",
            ops.get_accumulate(data, old, Sum, rank, at),
        ),
    ]
}

/// ArgError-MPIGet-SizeNotMatching, ArgError-MPIPut-SizeNotMatching: more than the target has.
/// ArgError-MPIGet-invalidAccess, ArgError-MPIPut-InvalidAccess: behind its end.
/// ArgError-MPIGet-rank, ArgError-MPIPut-rank: a target that is not there.
#[ranks_test::ranks(1, 2)]
fn what_is_not_there_is_not_accessed(world: Communicator) -> Result<()> {
    let size = world.size();
    let target = (world.rank() + 1) % size;
    let has = format!("{} elements", len(target));
    let of = format!("rank {target}");
    let no_rank = format!("rank {size} is not in this window of {size}");
    let (all, many) = (vec![7; len(target) + 1], vec![7; 3]);
    let cases = [
        (&all, target, 0, Length, [has.as_str(), &of]),
        (&many, target, len(target) - 2, Length, [&has, &of]),
        (&many, target, len(target) + 5, Length, [&has, &of]),
        (&many, target, usize::MAX - 1, Length, [&has, &of]),
        (&many, size, 0, Rank, [no_rank.as_str(), "run from 0"]),
        (
            &many,
            usize::MAX,
            0,
            Rank,
            ["is not in this window", "run from 0"],
        ),
    ];
    let mut fenced = Window::allocate(&world, len(world.rank()))?.fence()?;
    for (data, rank, at, kind, parts) in cases {
        let (mut into, mut old) = (data.clone(), data.clone());
        let rooms = [into.as_mut_slice(), old.as_mut_slice()];
        let outcomes = fenced.step(|ops| Ok(each_operation(ops, data, rooms, (rank, at))))?;
        for (name, outcome) in outcomes {
            refused(outcome, kind, &[&[name], &parts[..]].concat());
        }
        assert_eq!((&into, &old), (data, data), "nothing was read");
    }
    let window = fenced.close()?;
    assert!(window.local().iter().all(|&element| element == 0));

    let passive = window.passive()?;
    let locked = passive.lock_all()?;
    for (data, rank, at, kind, parts) in cases {
        let (mut into, mut old) = (data.clone(), data.clone());
        let rooms = [into.as_mut_slice(), old.as_mut_slice()];
        let outcomes = locked.scope(|ops| Ok(each_operation(ops, data, rooms, (rank, at))))?;
        for (name, outcome) in outcomes {
            refused(outcome, kind, &[&[name], &parts[..]].concat());
        }
        refused(locked.put(data, rank, at), kind, &parts);
        refused(locked.get(&mut into, rank, at), kind, &parts);
        if at > len(target) || kind == Rank {
            refused(locked.fetch_and_op(1, NoOp, rank, at), kind, &parts);
            refused(locked.compare_and_swap(0, 1, rank, at), kind, &parts);
        }
        assert_eq!((&into, &old), (data, data), "nothing was read");
    }
    drop(locked);
    let window = passive.close()?;
    assert!(window.local().iter().all(|&element| element == 0));
    Ok(())
}

/// An epoch with one rank is none with another.
#[ranks_test::ranks(2)]
fn a_lock_is_for_its_rank_alone(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (locked_one, other) = ((rank + 1) % size, rank);
    let passive = Window::<i32>::allocate(&world, 4)?.passive()?;
    let locked = passive.lock(Shared, locked_one)?;
    let parts = [format!("rank {other}"), format!("rank {locked_one} only")];
    let parts = parts.each_ref().map(String::as_str);
    refused(locked.put(&[1], other, 0), Argument, &parts);
    refused(locked.get(&mut [1], other, 0), Argument, &parts);
    refused(locked.fetch_and_op(1, Sum, other, 0), Argument, &parts);
    refused(locked.flush(other), Argument, &parts);
    refused(locked.flush_local(other), Argument, &parts);
    let within = locked.scope(|ops| ops.accumulate(&[1], Sum, other, 0));
    refused(within, Argument, &parts);
    locked.put(&[5], locked_one, 1)?;
    drop(locked);
    assert_eq!(passive.close()?.local(), [0, 5, 0, 0]);
    Ok(())
}

/// G: a lock on a rank that is not there was an error on one library and none on another.
#[ranks_test::ranks(1, 2)]
fn g_ranks_of_locks_are_checked(world: Communicator) -> Result<()> {
    let size = world.size();
    let passive = Window::<u8>::allocate(&world, 1)?.passive()?;
    for rank in [size, usize::MAX, i32::MAX as usize, u32::MAX as usize] {
        for kind in [Shared, Exclusive] {
            let text = format!("MPI_Win_lock: rank {rank} is not in this window of {size}");
            refused(passive.lock(kind, rank), Rank, &[&text]);
        }
    }
    let locked = passive.lock_all()?;
    refused(locked.flush(size), Rank, &["MPI_Win_flush"]);
    refused(locked.flush_local(usize::MAX), Rank, &["MPI_Win_flush"]);
    drop(locked);
    passive.close()?.free()?;
    Ok(())
}

/// Slices for the operands and for the old values are as long as each other.
#[ranks_test::ranks(1, 2)]
fn old_values_have_as_much_room_as_new_ones(world: Communicator) -> Result<()> {
    let passive = Window::<u64>::allocate(&world, 8)?.passive()?;
    let locked = passive.lock_all()?;
    let mut old = [9; 2];
    let shorter = locked.get_accumulate(&[1; 3], &mut old, Sum, 0, 0);
    refused(shorter, Length, &["MPI_Get_accumulate", "3", "2"]);
    let longer = locked.get_accumulate(&[1], &mut old, Sum, 0, 0);
    refused(longer, Length, &["MPI_Get_accumulate", "1", "2"]);
    assert_eq!(old, [9; 2]);
    Ok(())
}
