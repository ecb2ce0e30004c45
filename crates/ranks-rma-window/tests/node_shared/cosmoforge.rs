//! Features that programs which share arrays by hand rely on: a helper of theirs, in terms of this.

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, Result};
use ranks_rma_window::NodeShared;

use crate::nodes;

/// An array of any shape that only the root had.
#[derive(Default)]
struct Shared {
    values: Option<NodeShared<f64>>,
    shape: [usize; 2],
}

impl Shared {
    /// `None` on the root is nothing everywhere, whatever others pass.
    fn of(world: &Communicator, matrix: Option<(&[f64], [usize; 2])>) -> Result<Self> {
        let mut shape = matrix.map_or([0; 2], |(_, shape)| shape.map(|side| side as u64));
        world.bcast(&mut shape, 0)?;
        let values = matrix.map(|(values, _)| values);
        Ok(Self {
            values: NodeShared::from_slice(world, 0, values)?,
            shape: shape.map(|side| side as usize),
        })
    }

    /// Does nothing the second time.
    fn close(&mut self) -> Result<()> {
        self.values.take().map_or(Ok(()), NodeShared::free)
    }
}

#[ranks_test::ranks(1, 2, 3)]
fn the_shape_and_the_values_are_the_roots(world: Communicator) -> Result<()> {
    let matrix: Vec<f64> = (0..35).map(f64::from).collect();
    let passed = (world.rank() == 0).then_some((&matrix[..], [5, 7]));
    let mut shared = Shared::of(&world, passed)?;
    assert_eq!(shared.shape, [5, 7]);
    assert_eq!(shared.values.as_deref(), Some(&matrix[..]));
    for _ in 0..3 {
        shared.close()?;
        assert!(shared.values.is_none());
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn nothing_on_the_root_is_nothing_everywhere(world: Communicator) -> Result<()> {
    let passed = (world.rank() != 0).then_some((&[1.0, 2.0][..], [1, 2]));
    let mut shared = Shared::of(&world, passed)?;
    assert!(shared.values.is_none());
    shared.close()?;
    let mut empty = Shared::of(&world, Some((&[], [0, 4])))?;
    assert_eq!(empty.values.as_deref(), Some(&[][..]));
    empty.close()
}

/// One copy of each array a node, however many ranks it has; dropped in another order on each rank.
#[ranks_test::ranks(2, 4)]
fn many_arrays_come_and_go_on_uneven_nodes(world: Communicator) -> Result<()> {
    for nodes in nodes(&world) {
        let mut arrays = Vec::new();
        for number in 0..4_u32 {
            let values = vec![f64::from(number); 10 + number as usize];
            let values = (world.rank() == 0).then_some(&values[..]);
            arrays.extend(NodeShared::on_nodes(&nodes).from_slice(0, values)?);
        }
        if world.rank() % 2 == 1 {
            arrays.reverse();
        }
        for array in arrays {
            assert_eq!(array.len(), 10 + array[0] as usize);
        }
    }
    Ok(())
}
