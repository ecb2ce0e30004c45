//! Many arrays in one piece of memory.

use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_rma_window::{NodeArena, NodeBackend, NodeShared};

use crate::{expect, expect_aligned, fill_with, nodes, write};

#[ranks_test::ranks(1, 2, 3)]
fn arrays_of_any_type_lie_side_by_side(world: Communicator) -> Result<()> {
    let room = NodeArena::room_for::<u64>(1001)
        + NodeArena::room_for::<u8>(3)
        + 2 * NodeArena::room_for::<u64>(777)
        + NodeArena::room_for::<f32>(5);
    for (nodes, backend) in nodes(&world).into_iter().zip([
        NodeBackend::Auto,
        NodeBackend::MpiWindow,
        NodeBackend::Memfd,
    ]) {
        let mut arena = NodeArena::allocate_on(&nodes, room, &backend)?;
        assert_eq!((arena.capacity(), arena.used()), (room, 0));
        let root = world.size() - 1;
        let first = arena.array().from_root(root, 1001, fill_with(1))?;
        let bytes = arena.array().from_slice(root, Some(&[1u8, 2, 3]))?.unwrap();
        let second = arena
            .array()
            .fill_striped(777, |range, out| write(2, range.start, out))?;
        let mut third = arena.array().from_each_node(777, fill_with(3))?;
        let floats = arena.array().from_root(0, 5, |out| out.fill(0.5f32))?;
        assert_eq!(arena.used(), room - 64 + 20);
        drop(first.clone());
        // The others are in the same pages, and stay as they are.
        third.update(0..777, 0, &second)?;
        expect(&first, 1, 1001);
        expect(&second, 2, 777);
        expect(&third, 2, 777);
        assert_eq!((&bytes[..], &floats[..]), (&[1, 2, 3][..], &[0.5; 5][..]));
        for array in [&first, &second, &third] {
            expect_aligned(array);
        }
        expect_aligned(&floats);
        assert_eq!(first.backend(), arena.backend());

        let refused = arena.array::<u64>().from_root(0, 10, fill_with(1));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Memory);
        if root == 0 {
            // The arrays keep their memory.
            assert_eq!(arena.free().unwrap_err().kind(), ErrorKind::Argument);
        } else {
            drop(arena);
        }
        expect(&first, 1, 1001);
        assert_eq!(first.free().unwrap_err().kind(), ErrorKind::Argument);
        expect(&second, 2, 777);
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn an_arena_without_arrays_is_freed_at_once(world: Communicator) -> Result<()> {
    let mut arena = NodeArena::allocate(&world, 5000)?;
    let array: NodeShared<u64> = arena.array().from_root(0, 100, fill_with(1))?;
    drop(array);
    arena.free()?;
    assert_eq!(NodeArena::allocate(&world, 0)?.capacity(), 0);
    let sizes = NodeArena::allocate(&world, 100 + world.rank());
    assert_eq!(sizes.is_ok(), world.size() == 1);
    Ok(())
}
