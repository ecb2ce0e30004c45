//! Calls that ranks do not agree on, or that one cannot make, are the same error on all of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{fmt, io};

use ranks_collectives::{Collectives, Hierarchy};
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_rma_window::{NodeArena, NodeBackend, NodeShared};

use crate::{expect, fill_with, nodes};

/// All have an error of this kind and of these words.
#[track_caller]
fn refused<T>(world: &Communicator, outcome: Result<T>, kind: ErrorKind) -> String {
    let Err(error) = outcome else {
        panic!("it should have failed as {kind:?}")
    };
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    let mut first = text.clone().into_bytes();
    world.bcast(&mut first, 0).unwrap();
    assert_eq!(String::from_utf8(first).unwrap(), text);
    text
}

#[ranks_test::ranks(1, 2)]
fn roots_and_lengths_that_cannot_be(world: Communicator) {
    let size = world.size();
    let array = NodeShared::from_root(&world, size, 5, fill_with(0));
    refused(&world, array, ErrorKind::Root);
    let array = NodeShared::from_root(&world, 0, usize::MAX / 4, fill_with(0));
    refused(&world, array, ErrorKind::Length);
    let array = NodeShared::from_root(&world, 0, 1 << 52, fill_with(0));
    refused(&world, array, ErrorKind::Memory);
    for backend in [NodeBackend::MpiWindow, NodeBackend::Memfd] {
        let array = NodeShared::<u64>::builder(&world).backend(backend);
        let array = array.from_each_node(1 << 52, |_| ());
        refused(&world, array, ErrorKind::Memory);
    }
}

#[ranks_test::ranks(2, 3)]
fn ranks_that_call_different_things(world: Communicator) {
    let me = world.rank();
    let array = NodeShared::from_root(&world, usize::from(me == 0), 5, fill_with(0));
    refused(&world, array, ErrorKind::Mismatch);
    let array = NodeShared::<u64>::from_each_node(&world, 5 + me, |_| ());
    refused(&world, array, ErrorKind::Mismatch);
    let outcome = if me == 0 {
        NodeShared::<u32>::from_root(&world, 0, 5, |_| ()).map(drop)
    } else {
        NodeShared::<u64>::from_root(&world, 0, 5, |_| ()).map(drop)
    };
    refused(&world, outcome, ErrorKind::Mismatch);
    let outcome = if me == 0 {
        NodeShared::<u64>::from_root(&world, 0, 5, |_| ())
    } else {
        NodeShared::<u64>::fill_striped(&world, 5, |_, _| ())
    };
    refused(&world, outcome, ErrorKind::Mismatch);
    // They waited for ever.
    let backend = [NodeBackend::MpiWindow, NodeBackend::Memfd][me.min(1)].clone();
    let builder = NodeShared::<u64>::builder(&world).backend(backend.clone());
    refused(&world, builder.from_root(0, 5, |_| ()), ErrorKind::Mismatch);
    let nodes = Hierarchy::new(&world).expect("the nodes are known");
    let arena = NodeArena::allocate_on(&nodes, 64, &backend);
    refused(&world, arena, ErrorKind::Mismatch);
}

#[ranks_test::ranks(1, 2)]
fn a_fill_that_fails(world: Communicator) {
    for nodes in nodes(&world) {
        let root = world.size() - 1;
        let array = NodeShared::<u64>::on_nodes(&nodes);
        let array = array.try_from_root(root, 5, |_| Err("no convergence"));
        let text = refused(&world, array, ErrorKind::PeerFailed);
        assert!(text.contains(&format!("rank {root}")) && text.contains("no convergence"));

        let array = NodeShared::<u64>::on_nodes(&nodes);
        let array = array.from_reader(root, 5, || {
            Err::<io::Empty, _>(io::Error::other("no such table"))
        });
        assert!(refused(&world, array, ErrorKind::PeerFailed).contains("no such table"));

        // It ends after some chunks.
        let array = NodeShared::<u64>::on_nodes(&nodes).chunk(16);
        let array = array.from_reader(root, 5, || Ok(&[1u8; 33][..]));
        let text = refused(&world, array, ErrorKind::PeerFailed);
        let end = "the reader has ended before the first 5 elements of 5 were there, 8 bytes each";
        assert!(text.contains(end), "{text}");

        // After all that there is nothing wrong with them.
        let array = NodeShared::on_nodes(&nodes).from_root(root, 50, fill_with(8));
        expect(&array.unwrap(), 8, 50);
    }
}

#[ranks_test::ranks(1, 2)]
fn freeing_what_others_have(world: Communicator) -> Result<()> {
    let last = world.size() - 1;
    let array = NodeShared::from_root(&world, 0, 70, fill_with(3))?;
    let other = (world.rank() == last).then(|| array.clone());
    let text = refused(&world, array.free(), ErrorKind::Argument);
    assert!(text.contains(&format!("rank {last} has other handles")));
    if let Some(other) = other {
        expect(&other, 3, 70);
    }
    Ok::<(), Error>(())
}

/// As much as a line of the cache and more.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(256))]
struct Wide([u64; 32]);

/// More than any page.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(65536))]
struct Wider([[u64; 1024]; 8]);

#[ranks_test::ranks(1, 2)]
fn elements_lie_where_their_alignment_says_by_luck(world: Communicator) -> Result<()> {
    let array = NodeShared::from_root(&world, 0, 1, |_: &mut [Wider]| ());
    let text = refused(&world, array.map(drop), ErrorKind::Argument);
    assert!(text.contains("65536 bytes"), "{text}");
    let bytes = NodeArena::room_for::<u8>(3) + NodeArena::room_for::<Wide>(2);
    let mut arena = NodeArena::allocate(&world, bytes)?;
    let first = arena.array().from_root(0, 3, |out| out.fill(1u8))?;
    let wide = arena
        .array()
        .from_root(0, 2, |out| out.fill(Wide([7; 32])))?;
    assert_eq!(wide.as_ptr().addr() % 256, 0);
    assert_eq!((first[2], wide[1].0[31]), (1, 7));
    Ok(())
}

/// The others are told, and the panic goes on where it was.
#[ranks_test::ranks(1, 2, 3)]
fn a_closure_that_panics_left_the_others_waiting(world: Communicator) {
    let last = world.size() - 1;
    let told = format!("rank {last} of {} failed: ", world.size());
    let ends = |text: &str, outcome: &dyn Fn() -> Result<NodeShared<u64>>| match catch_unwind(
        AssertUnwindSafe(outcome),
    ) {
        Err(payload) => {
            assert_eq!(world.rank(), last);
            assert_eq!(payload.downcast_ref(), Some(&text));
        }
        Ok(outcome) => {
            let error = outcome.unwrap_err();
            assert!(world.rank() != last && error.kind() == ErrorKind::PeerFailed);
            for part in [&told, text] {
                assert!(error.to_string().contains(part), "{error}");
            }
        }
    };
    ends("too hot", &|| {
        NodeShared::from_root(&world, last, 10, |_| panic!("too hot"))
    });
    ends("too cold", &|| {
        NodeShared::fill_striped(&world, 10, |_, _| {
            if world.rank() == last {
                panic!("too cold");
            }
        })
    });
    ends("too long", &|| {
        NodeShared::builder(&world).try_from_root(last, 10, |_| Err(Untellable))
    });
    let array = NodeShared::from_root(&world, 0, 2, |out| out.fill(3)).unwrap();
    assert_eq!(array[..], [3, 3]);
}

/// An error that panics when it is told.
struct Untellable;

impl fmt::Display for Untellable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("too long");
    }
}
