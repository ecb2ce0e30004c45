//! Requests that nobody waits for, still under way when the runtime ends. For two ranks.

use ranks::Communicator;

use crate::outcome::Outcome;

pub(crate) fn main() -> Outcome {
    ranks::run(|world| half_an_element(&world))?;
    Ok(())
}

/// A receive that nobody asks for any more gets a message that is no whole number of its elements.
///
/// The message that is waited for comes after it, so that it has arrived when the runtime ends and looks at the receive.
fn half_an_element(world: &Communicator) -> ranks::Result<()> {
    if world.rank() == 0 {
        drop(world.irecv(vec![0i32; 4], 1, 1)?);
        world.send(&[0u8], 1, 0)?;
        world.recv(&mut [0u8], 1, 2)?;
    } else {
        world.recv(&mut [0u8], 0, 0)?;
        world.send(&[1u8, 2, 3], 0, 1)?;
        world.send(&[4u8], 0, 2)?;
    }
    Ok(())
}
