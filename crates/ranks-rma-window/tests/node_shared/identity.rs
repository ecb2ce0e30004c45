//! Which array, which arena and which nodes ranks mean, and what is left of an array after a call
//! that not all have completed.

use std::time::Duration;

use ranks_collectives::{Collectives, Hierarchy};
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_rma_window::{NodeArena, NodeBackend, NodeShared};

const BACKENDS: [NodeBackend; 2] = [NodeBackend::Memfd, NodeBackend::MpiWindow];

#[track_caller]
fn mismatch<T>(outcome: Result<T>) {
    let kind = outcome.map(drop).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Mismatch);
}

#[ranks_test::ranks(2, 3)]
fn a_slice_of_one_array_changes_when_another_rank_updates_another_array(
    world: Communicator,
) -> Result<()> {
    let last = world.rank() + 1 == world.size();
    for backend in BACKENDS {
        let ones = || NodeShared::builder(&world).backend(backend.clone());
        let mut a = ones().from_root(0, 1000, |out| out.fill(1u64))?;
        let mut b = ones().from_root(0, 1000, |out| out.fill(1u64))?;
        let (called, other) = if last {
            (&mut b, &mut a)
        } else {
            (&mut a, &mut b)
        };
        let seen = &other[..];
        mismatch(called.update(0..1000, 0, &[42; 1000]));
        world.barrier()?;
        assert_eq!((seen, &called[..]), (&[1; 1000][..], &[1; 1000][..]));
        // Nothing has happened to either.
        a.update(0..1, 0, &[2])?;
        b.update(0..1, 0, &[3])?;
        assert_eq!((a[0], b[0]), (2, 3));
        mismatch(if last { a.free() } else { b.free() });
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn arrays_of_two_arenas_lie_over_each_other_when_ranks_take_them_in_different_order(
    world: Communicator,
) -> Result<()> {
    let last = world.rank() + 1 == world.size();
    let nodes = Hierarchy::new(&world)?;
    for backend in BACKENDS {
        let mut arenas = [
            NodeArena::allocate_on(&nodes, 1 << 16, &backend)?,
            NodeArena::allocate_on(&nodes, 1 << 16, &backend)?,
        ];
        let [a, b] = &mut arenas;
        let first = a.array().from_root(0, 5000, |out| out.fill(0u64))?;
        let (here, there) = if last { (a, b) } else { (b, a) };
        mismatch(here.array().from_root(0, 3000, |out| out.fill(99u64)));
        mismatch(there.array().fill_striped(3000, |_, out| out.fill(99u64)));
        assert_eq!(first[..], [0; 5000]);
        drop(first);
        let [a, b] = arenas;
        let (here, there) = if last { (a, b) } else { (b, a) };
        mismatch(here.free());
        drop(there);
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn ranks_that_mean_different_nodes_make_no_array(world: Communicator) -> Result<()> {
    let by = |color: usize| Hierarchy::by_color(&world, i32::try_from(color).unwrap_or(0));
    let (together, apart) = (by(0)?, by(world.rank())?);
    let first = world.rank() == 0;
    let mine = if first { &together } else { &apart };
    mismatch(NodeShared::on_nodes(mine).from_root(0, 10, |out| out.fill(1u8)));
    mismatch(NodeArena::allocate_on(mine, 100, &NodeBackend::Auto));
    Ok(())
}

/// Over MPI a whole job does the same, which cannot end as a test does after that.
#[ranks_test::ranks(2, 3, in_process_only)]
fn an_array_that_its_root_still_writes_to_can_be_read(world: Communicator) -> Result<()> {
    let comm = world.dup()?;
    let last = world.size() - 1;
    let mut array = NodeShared::from_root(&comm, 0, 1000, |out| out.fill(1u64))?;
    comm.set_time_limit(Some(Duration::from_millis(300)))?;
    if world.rank() != last {
        // Who is last has given up by then.
        world.recv(&mut [0u8], last, 0)?;
    }
    let error = array.update(0..1000, 0, &[2; 1000]).unwrap_err();
    // The others learn that, and do not wait until their own limit.
    let expected = [ErrorKind::PeerFailed, ErrorKind::TimedOut];
    let expected = expected[usize::from(world.rank() == last)];
    assert_eq!(error.kind(), expected, "{error}");
    assert!(array.is_empty() && array.clone().is_empty());
    assert!(array.update(0..1, 0, &[3]).is_err());
    assert!(array.is_empty());
    if world.rank() == last {
        for rank in 0..last {
            world.send(&[1u8], rank, 0)?;
        }
    }
    world.barrier()?;
    assert!(array.free().is_err());
    Ok::<_, Error>(())
}
