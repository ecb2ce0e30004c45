//! Graph topologies.

use ranks_comm::{Communicator, ErrorKind, Graph, Neighborhood, Result};

use crate::trade;

/// Each rank's neighbours are the next one, and the one before if there are three.
pub(crate) fn ring(world: &Communicator) -> Result<Graph> {
    let size = world.size();
    let (mut index, mut edges) = (Vec::new(), Vec::new());
    for node in 0..size {
        edges.push((node + 1) % size);
        if size > 2 {
            edges.push((node + size - 1) % size);
        }
        index.push(edges.len());
    }
    let ring = world.graph_create(&index, &edges, false)?;
    let ring = ring.expect("every rank is a node");
    assert_eq!((ring.index(), ring.edges()), (&index[..], &edges[..]));
    Ok(ring)
}

#[ranks_test::ranks(2, 3, 4)]
fn a_graph_knows_everybodys_neighbours(world: Communicator) -> Result<()> {
    let ring = ring(&world)?;
    let size = ring.size();
    assert_eq!((ring.nodes(), size), (world.size(), world.size()));
    for rank in 0..size {
        let expected = [(rank + 1) % size, (rank + size - 1) % size];
        assert_eq!(ring.neighbors(rank)?, &expected[..(size - 1).min(2)]);
    }
    assert_eq!(ring.neighbors(size).unwrap_err().kind(), ErrorKind::Rank);
    let mine = ring.neighbors(ring.rank())?.iter().copied().map(Some);
    assert_eq!(ring.in_neighbors(), mine.clone().collect::<Vec<_>>());
    let sources = trade(&ring)?
        .into_iter()
        .map(|got| got.map(|got| got / 100));
    assert_eq!(sources.collect::<Vec<_>>(), mine.collect::<Vec<_>>());
    ring.free()
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn ranks_that_are_no_node_get_none(world: Communicator) -> Result<()> {
    let lonely = world.graph_create(&[0], &[], false)?;
    assert_eq!(lonely.is_some(), world.rank() == 0);
    if let Some(lonely) = lonely {
        assert_eq!((lonely.size(), lonely.neighbors(0)?), (1, &[][..]));
    }
    assert!(world.graph_create(&[], &[], false)?.is_none());
    assert_eq!(world.graph_map(&[], &[])?, None);
    let first = (world.rank() == 0).then_some(0);
    assert_eq!(world.graph_map(&[0], &[])?, first);
    // As the grid without dimensions is.
    assert_eq!(world.cart_map(&[], &[])?, first);
    world.dup()?.free()
}

#[ranks_test::ranks(1, 2)]
fn what_is_no_graph_is_refused(world: Communicator) -> Result<()> {
    let size = world.size();
    let kind = |index: &[usize], edges: &[usize]| {
        let error = world.graph_create(index, edges, true).unwrap_err();
        assert_eq!(error.operation(), "MPI_Graph_create");
        error.kind()
    };
    assert_eq!(kind(&vec![0; size + 1], &[]), ErrorKind::Argument);
    assert_eq!(kind(&[1], &[]), ErrorKind::Length);
    assert_eq!(kind(&[1], &[1]), ErrorKind::Rank);
    Ok(())
}
