//! Parts of an array that change on all nodes together.

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{NodeBackend, NodeShared};

use crate::nodes;

const LENGTH: usize = 3000;

#[ranks_test::ranks(1, 2, 3, 4)]
fn all_copies_change_together(world: Communicator) -> Result<()> {
    let backends = [NodeBackend::Memfd, NodeBackend::MpiWindow];
    for (round, nodes) in nodes(&world).into_iter().enumerate() {
        let backend = backends[round % 2].clone();
        let array = NodeShared::on_nodes(&nodes).backend(backend);
        let mut array = array.from_root(0, LENGTH, |out| out.fill(1u32))?;
        let mut expected = vec![1; LENGTH];
        for (number, range) in [0..0, 0..1, 700..1300, LENGTH - 1..LENGTH, 0..LENGTH]
            .into_iter()
            .enumerate()
        {
            let root = number % world.size();
            let data = vec![number as u32 + 2; range.len()];
            // What the others pass does not matter.
            let passed = if world.rank() == root { &data[..] } else { &[] };
            array.update(range.clone(), root, passed)?;
            expected[range].copy_from_slice(&data);
            assert_eq!(*array, expected);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn nobody_may_have_another_handle(world: Communicator) -> Result<()> {
    let last = world.size() - 1;
    let mut array = NodeShared::from_root(&world, 0, 10, |out| out.fill(1u32))?;
    let other = (world.rank() == last).then(|| array.clone());
    let error = array.update(0..1, 0, &[5]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    drop(other);
    assert_eq!(*array, [1; 10]);
    array.update(0..1, 0, &[5])?;
    assert_eq!(array[..2], [5, 1]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn what_does_not_fit_changes_nothing(world: Communicator) -> Result<()> {
    let mut array = NodeShared::from_root(&world, 0, 10, |out| out.fill(1u32))?;
    let backwards = std::ops::Range { start: 3, end: 2 };
    for (range, root, data) in [
        (5..11, 0, &[2; 6][..]),
        (20..20, 0, &[]),
        (backwards, 0, &[]),
        (0..3, 0, &[2; 2]),
        (0..3, 0, &[2; 4]),
        (0..1, world.size(), &[2]),
        (0..usize::MAX, 0, &[2]),
    ] {
        assert!(array.update(range, root, data).is_err());
    }
    if world.size() > 1 {
        let me = world.rank();
        let error = array.update(me..me + 1, 0, &[2]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let error = array.update(0..1, usize::from(me == 0), &[2]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
    }
    world.barrier()?;
    assert_eq!(*array, [1; 10]);
    Ok(())
}
