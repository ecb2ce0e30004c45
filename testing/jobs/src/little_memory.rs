//! More shared memory than `/dev/shm` has room for.

use ranks::{Collectives, ErrorKind, NodeBackend, NodeShared, preflight};

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
        Ok::<_, Failure>(())
    })
}
