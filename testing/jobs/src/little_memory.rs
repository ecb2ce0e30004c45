//! More shared memory than `/dev/shm` has room for.

use ranks::{Collectives, ErrorKind, preflight};

use crate::outcome::{Failure, Outcome};

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
        println!("{error}");
        Ok::<_, Failure>(())
    })
}
