//! Every way to fill an array, on nodes of every kind.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ranks_collectives::Hierarchy;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{NodeArena, NodeBackend, NodeShared, Placement, Progress};

use crate::{expect, expect_aligned, fill_with, nodes, value, write};

const LENGTHS: [usize; 3] = [0, 1, 5003];

#[ranks_test::ranks(1, 2, 3, 4)]
fn the_root_fills_it_in_place(world: Communicator) -> Result<()> {
    for nodes in nodes(&world) {
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let root = number % world.size();
            // What others say of the length does not matter.
            let said = if world.rank() == root { length } else { 7 };
            let array = NodeShared::on_nodes(&nodes).chunk(4096);
            let array = array.from_root(root, said, |out| {
                assert!(world.rank() == root && out.iter().all(|&element| element == 0));
                fill_with(number)(out);
            })?;
            expect(&array, number, length);
            expect_aligned(&array);
            assert_eq!(array.nodes().n_nodes(), nodes.n_nodes());
        }
    }
    Ok(())
}

/// They were passed on in 2³⁷ chunks of no bytes.
#[ranks_test::ranks(1, 2, 3)]
fn endless_elements_of_no_size_were_counted(world: Communicator) -> Result<()> {
    for nodes in nodes(&world) {
        let array = NodeShared::on_nodes(&nodes);
        let array = array.from_root(0, usize::MAX, |out: &mut [()]| {
            assert_eq!(out.len(), usize::MAX);
        })?;
        assert_eq!(array.len(), usize::MAX);
        let array = NodeShared::<()>::on_nodes(&nodes);
        let array = array.from_reader(0, usize::MAX, || Ok(io::empty()))?;
        assert_eq!(array.len(), usize::MAX);
        let array = NodeShared::<()>::on_nodes(&nodes).fill_striped(usize::MAX, |_, _| ())?;
        assert_eq!(array.len(), usize::MAX);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn nodes_are_found_out_if_they_are_not_said(world: Communicator) -> Result<()> {
    let array = NodeShared::from_root(&world, world.size() - 1, 300, fill_with(1))?;
    expect(&array, 1, 300);
    let nodes = Hierarchy::new(&world)?.n_nodes();
    assert_eq!(array.nodes().n_nodes(), nodes);
    assert_ne!(*array.backend(), NodeBackend::Auto);
    assert!(!array.why().is_empty());
    array.free()
}

#[ranks_test::ranks(1, 2, 3)]
fn each_node_fills_its_own(world: Communicator) -> Result<()> {
    for nodes in nodes(&world) {
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let array = NodeShared::on_nodes(&nodes).from_each_node(length, |out| {
                assert!(nodes.is_leader());
                fill_with(number + nodes.node_id())(out);
            })?;
            expect(&array, number + nodes.node_id(), length);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3, 4)]
fn the_ranks_of_a_node_fill_a_stripe_each(world: Communicator) -> Result<()> {
    for nodes in nodes(&world) {
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let array = NodeShared::on_nodes(&nodes).fill_striped(length, |range, out| {
                assert_eq!(range.len(), out.len());
                write(number, range.start, out);
            })?;
            expect(&array, number, length);
        }
    }
    Ok(())
}

/// Bytes of the elements of an array, as many as are asked for, in pieces as readers like them.
struct Bytes {
    number: usize,
    at: usize,
    end: usize,
}

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let some = out.len().min(self.end - self.at).min(1 + self.at % 1500);
        for place in &mut out[..some] {
            *place = value(self.number, self.at / 8).to_ne_bytes()[self.at % 8];
            self.at += 1;
        }
        Ok(some)
    }
}

#[ranks_test::ranks(1, 2, 3)]
fn the_root_reads_it_chunk_by_chunk(world: Communicator) -> Result<()> {
    for nodes in nodes(&world) {
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let root = (number + 1) % world.size();
            let array = NodeShared::on_nodes(&nodes).chunk(10_000);
            let array = array.from_reader(root, length, || {
                assert_eq!(world.rank(), root);
                let end = 8 * length;
                Ok(Bytes { number, at: 0, end })
            })?;
            expect(&array, number, length);
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn leaders_are_told_how_far_it_is(world: Communicator) -> Result<()> {
    for nodes in nodes(&world) {
        let mut told = Vec::new();
        let mut tell = |progress: Progress| told.push([progress.done, progress.total]);
        let array = NodeShared::<u64>::on_nodes(&nodes).chunk(8000);
        array.progress(&mut tell).from_root(0, 2500, fill_with(0))?;
        let expected = [8000, 16_000, 20_000].map(|done| [done, 20_000]);
        assert_eq!(
            told,
            if nodes.is_leader() {
                &expected[..]
            } else {
                &[]
            }
        );
    }
    Ok(())
}

/// Between two chunks the other leaders wait in the broadcast of the next one.
#[ranks_test::ranks(2, 3)]
fn a_panic_at_a_chunk_left_the_other_leaders_waiting(world: Communicator) -> Result<()> {
    let last = world.size() - 1;
    let nodes = Hierarchy::by_color(&world, world.rank() as i32)?;
    let mut tell = |_: Progress| assert_ne!(world.rank(), last, "enough");
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let array = NodeShared::<u64>::on_nodes(&nodes).chunk(8000);
        array.progress(&mut tell).from_root(0, 2500, fill_with(0))
    }));
    match outcome {
        Err(_) => assert_eq!(world.rank(), last),
        Ok(outcome) => {
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
            assert!(error.to_string().contains("enough"), "{error}");
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn elements_may_be_of_any_size(world: Communicator) -> Result<()> {
    let nodes = nodes(&world).pop().unwrap();
    let nothing =
        NodeShared::<[u64; 0]>::on_nodes(&nodes).from_root(0, 5, |out| assert_eq!(out.len(), 5))?;
    assert_eq!(nothing.len(), 5);
    let large = NodeShared::on_nodes(&nodes).chunk(1);
    let large = large.from_root(0, 3, |out: &mut [[u8; 31]]| out.fill([3; 31]))?;
    assert_eq!(*large, [[3; 31]; 3]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn pages_are_placed_before_they_are_filled(world: Communicator) -> Result<()> {
    for nodes in nodes(&world) {
        let mut arena = NodeArena::allocate_on(&nodes, 80_000, &NodeBackend::Auto)?;
        let first = arena.array().from_root(0, 1, fill_with(1))?;
        for placement in [
            Placement::Leader,
            Placement::Interleave,
            Placement::StripeByRank,
        ] {
            let array = arena.array().placement(placement).huge_pages(true);
            let array = array.from_root(world.size() - 1, 3000, |out| {
                assert!(out.iter().all(|&element| element == 0));
                fill_with(2)(out);
            })?;
            expect(&array, 2, 3000);
        }
        expect(&first, 1, 1);
    }
    Ok(())
}
