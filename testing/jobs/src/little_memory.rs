//! More shared memory than `/dev/shm` has room for.

use ranks::rma::{NodeArena, NodeBackend};
use ranks::{
    Collectives, Communicator, ErrorKind, Hierarchy, NodeShared, SharedWindow, Window, preflight,
};

use crate::outcome::{Failure, Outcome, refused};

/// Asks for so many bytes on each rank, which must be too many.
pub(crate) fn main(bytes: &str) -> Outcome {
    let bytes: usize = bytes.parse()?;
    ranks::run(|world| {
        let Err(error) = preflight::shared_memory(&world, bytes) else {
            return Err("there was room".into());
        };
        let mut text = error.to_string().into_bytes();
        world.bcast(&mut text, 0)?;
        if error.kind() != ErrorKind::Memory || text != error.to_string().as_bytes() {
            return Err(format!("ranks are told different things: {error}").into());
        }
        // Nobody waits for anybody, and what there is room for is to be had.
        preflight::shared_memory(&world, 1 << 16)?;
        let length = bytes * world.size();
        let window = NodeShared::<u8>::builder(&world).backend(NodeBackend::MpiWindow);
        let window = window.from_root(0, length, |_| ());
        refused("a window", window, ErrorKind::Memory)?;
        // Memory that is not in that folder.
        let array = NodeShared::from_root(&world, 1, length, |out| out[length - 1] = 7u8)?;
        if (array.backend(), array[length - 1]) != (&NodeBackend::Memfd, 7) {
            return Err(format!("{array:?}: {}", array.why()).into());
        }
        println!("{error}");
        let node = world.split_shared(0)?;
        what_was_promised_before(&node)?;
        Ok::<_, Failure>(())
    })
}

/// Twice 40 MB: each fits as long as nobody has written to the other.
fn what_was_promised_before(node: &Communicator) -> Result<(), Failure> {
    const BYTES: usize = 40 << 20;
    let each = BYTES / node.size();
    let mut window = SharedWindow::<u8>::allocate(node, each)?;
    let another = SharedWindow::<u8>::allocate(node, each);
    refused("a second shared window", another, ErrorKind::Memory)?;
    let mut arena = NodeArena::allocate_on(&Hierarchy::new(node)?, BYTES, &NodeBackend::MpiWindow);
    let array = arena
        .as_mut()
        .map(|arena| arena.array().from_root(0, BYTES, |out| out.fill(1u8)));
    if let Ok(array) = array {
        refused("an array of an arena", array, ErrorKind::Memory)?;
    }
    let another = NodeShared::<u8>::builder(node).backend(NodeBackend::MpiWindow);
    let another = another.fill_striped(BYTES, |_, out| out.fill(1));
    refused("another array", another, ErrorKind::Memory)?;
    let another = Window::<u8>::allocate(node, each);
    refused("a window", another, ErrorKind::Memory)?;
    // What was given is there.
    window.mine_mut().fill(7);
    window.fence()?.free()?;
    drop(arena);
    let mut window = SharedWindow::<u8>::allocate(node, each)?;
    window.mine_mut().fill(8);
    Ok(window.free()?)
}
