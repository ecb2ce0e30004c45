//! Every kind of memory, and which is chosen.

use ranks_collectives::{Collectives, Hierarchy};
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{NodeBackend, NodeShared};

use crate::{expect, fill_with, nodes};

fn is_in_process(world: &Communicator) -> bool {
    world.library() == "in process"
}

#[ranks_test::ranks(1, 2, 3)]
fn every_kind_holds_the_same(world: Communicator) -> Result<()> {
    let folder = NodeBackend::File(std::env::temp_dir());
    for nodes in nodes(&world) {
        let alone = nodes.node().size() == 1;
        for backend in [NodeBackend::MpiWindow, NodeBackend::Memfd, folder.clone()] {
            let array = NodeShared::on_nodes(&nodes).backend(backend.clone());
            let array = array.huge_pages(true).from_root(0, 3000, fill_with(4))?;
            expect(&array, 4, 3000);
            let is_heap = is_in_process(&world) || (alone && backend == NodeBackend::MpiWindow);
            let expected = if is_heap {
                &NodeBackend::Heap
            } else {
                &backend
            };
            assert_eq!(array.backend(), expected, "{}", array.why());
            if nodes.n_nodes() > 1 {
                array.free()?;
            }
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn the_heap_is_for_one_rank(world: Communicator) -> Result<()> {
    let alone = Hierarchy::by_color(&world, world.rank() as i32)?;
    for backend in [NodeBackend::Heap, NodeBackend::Auto] {
        let array = NodeShared::on_nodes(&alone).backend(backend);
        let array = array.from_root(0, 3000, fill_with(2))?;
        expect(&array, 2, 3000);
        assert_eq!(*array.backend(), NodeBackend::Heap);
    }
    let together = NodeShared::<u64>::builder(&world).backend(NodeBackend::Heap);
    let together = together.from_root(0, 10, fill_with(2));
    let node = world.split_shared(0)?;
    if node.size() == 1 || is_in_process(&world) {
        expect(&together?, 2, 10);
    } else {
        assert_eq!(together.unwrap_err().kind(), ErrorKind::PeerFailed);
    }
    Ok(())
}

/// A folder that is not there on one rank is an error on all, and nobody waits.
#[ranks_test::ranks(1, 2, 3)]
fn what_cannot_be_had_is_the_same_error_everywhere(world: Communicator) -> Result<()> {
    if is_in_process(&world) {
        return Ok(());
    }
    let nowhere = NodeBackend::File("/nowhere/at/all".into());
    let array = NodeShared::<u64>::builder(&world).backend(nowhere);
    let error = array.from_root(0, 10, fill_with(2)).unwrap_err();
    assert!(
        error.to_string().contains("/nowhere") || error.to_string().contains("could not be made"),
        "{error}"
    );
    let mut text = error.to_string().into_bytes();
    world.bcast(&mut text, 0)?;
    assert_eq!(text, error.to_string().into_bytes());
    Ok(())
}
