//! Windows of ours, which the part in C puts to.

use std::ffi::c_int;

use ranks::rma::{LockKind, SharedWindow, Window};
use ranks::{Collectives, Runtime};

use super::{Handle, Side, done, same};
use crate::outcome::Outcome;

/// The part in C finds the window under its name, and puts to it within an epoch of ours.
pub(super) fn ours<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    let world = runtime.world();
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let window = Window::<f64>::allocate(&world, 3)?;
    window.set_name("the window")?;
    let handle = window.as_native_raw().and_then(H::from_c);
    let handle = handle.ok_or("handles of another form")?;
    // SAFETY: the window is alive, and the name ends with a zero.
    let named = unsafe { (side.is_named)(handle, c"the window".as_ptr()) };
    same("the name of a window", &named, &1)?;
    let place = window.displacement_of(right, 2)?;
    let passive = window.passive()?;
    let locked = passive.lock(LockKind::Exclusive, right)?;
    let (to, value) = (c_int::try_from(right)?, rank as f64 + 0.25);
    // SAFETY: the window is alive, and the rank locked; the value is of the type of its elements.
    done("side_put", unsafe { (side.put)(handle, to, place, value) })?;
    locked.unlock()?;
    let window = passive.close()?;
    let left = ((rank + size - 1) % size) as f64;
    same("what was put", window.local(), &[0.0, 0.0, left + 0.25])?;
    window.free()?;
    let node = world.split_shared(0)?;
    let shared = SharedWindow::<f64>::allocate(&node, 1)?;
    shared.set_name("the memory")?;
    if let Some(handle) = shared.as_native_raw() {
        let handle = H::from_c(handle).ok_or("handles of another form")?;
        // SAFETY: as above.
        let named = unsafe { (side.is_named)(handle, c"the memory".as_ptr()) };
        same("the name of a shared window", &named, &1)?;
    }
    shared.free()?;
    Ok(world.barrier()?)
}
