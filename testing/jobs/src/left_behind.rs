//! What is still there when the runtime ends: requests under way that nobody waits for, windows.
//! For two ranks.

use ranks::{Communicator, Fenced, LockKind, PassiveWindow, Window};

use crate::outcome::Outcome;

pub(crate) fn main() -> Outcome {
    ranks::run(|world| half_an_element(&world))?;
    Ok(())
}

/// Windows in all their states, in a struct that outlives what the runtime was started for.
pub(crate) fn windows() -> Outcome {
    struct Kept {
        _quiet: Window<u8>,
        _fenced: Fenced<f64>,
        _passive: PassiveWindow<u64>,
    }
    let runtime = ranks::Runtime::builder().init()?;
    let world = runtime.world();
    let passive = Window::<u64>::allocate(&world, 5)?.passive()?;
    std::mem::forget(passive.lock(LockKind::Exclusive, world.rank())?);
    let kept = Kept {
        _quiet: Window::from_vec(&world, vec![1; 100])?,
        _fenced: Window::allocate(&world, world.rank())?.fence()?,
        _passive: passive,
    };
    drop(world);
    drop(runtime);
    drop(kept);
    Ok(())
}

/// A receive that nobody asks for any more gets a message that is no whole number of its elements.
///
/// The message that is waited for comes after it, so that it has arrived when the runtime ends and
/// looks at the receive.
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
