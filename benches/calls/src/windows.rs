//! Calls on windows: to oneself, in an epoch that is open all the time.

use std::hint::black_box;

use ranks::prelude::*;

use crate::callgrind::count;

/// After how many puts they are flushed.
const FLUSH: usize = 100;

/// How many elements a window has.
const LEN: usize = 8;

/// Counts each call.
pub(crate) fn count_all(world: &Communicator, calls: usize) -> Result<()> {
    let (me, send) = (world.rank(), [1.0]);
    let window = Window::<f64>::allocate(world, LEN)?.passive()?;
    let locked = window.lock_all()?;
    locked.scope(|ops| {
        count("put", calls, &mut (ops, &send, me, 0), |state| {
            let (ops, send, me, turns) = state;
            ops.put(*send, *me, 0)?;
            *turns += 1;
            if *turns == FLUSH {
                *turns = 0;
                ops.flush(*me)?;
            }
            Ok(())
        })
    })?;
    count("put_flush", calls, &mut (&locked, &send, me), |state| {
        let (locked, send, me) = state;
        locked.put(*send, *me, 0)
    })?;
    count("get_flush", calls, &mut (&locked, [0.0], me), |state| {
        let (locked, recv, me) = state;
        locked.get(recv, *me, 0)
    })?;
    count(
        "accumulate_flush",
        calls,
        &mut (&locked, &send, me),
        |state| {
            let (locked, send, me) = state;
            locked.accumulate(*send, Sum, *me, 0)
        },
    )?;
    count(
        "get_accumulate",
        calls,
        &mut (&locked, &send, [0.0], me),
        |state| {
            let (locked, send, old, me) = state;
            locked.get_accumulate(*send, old, Sum, *me, 0)
        },
    )?;
    count("flush_local", calls, &mut (&locked, me), |state| {
        let (locked, me) = state;
        locked.flush_local(*me)
    })?;
    locked.unlock()?;
    count("lock", calls, &mut (&window, me), |state| {
        let (window, me) = state;
        window.lock(LockKind::Shared, *me)?.unlock()
    })?;
    let mut window = window.close()?.fence()?;
    count("fence", calls, &mut window, |window| window.fence())?;
    let mut window = Some(window.close()?);
    count("post", calls, &mut (&mut window, me), |state| {
        let (window, me) = state;
        let Some(closed) = window.take() else {
            return Ok(());
        };
        let mut exposed = closed.post(&[*me])?;
        exposed.start(&[*me], |_| Ok(()))?;
        **window = Some(exposed.wait()?);
        Ok(())
    })?;
    if let Some(window) = window {
        window.free()?;
    }

    let window = Window::<i64>::allocate(world, LEN)?.passive()?;
    let locked = window.lock_all()?;
    count("fetch_and_op", calls, &mut (&locked, 1, me), |state| {
        let (locked, one, me) = state;
        black_box(locked.fetch_and_op(*one, Sum, *me, 0)?);
        Ok(())
    })?;
    locked.unlock()?;
    window.close()?.free()?;

    // Open MPI up to 4.1.4 swaps no elements of 8 bytes.
    let window = Window::<i32>::allocate(world, LEN)?.passive()?;
    let locked = window.lock_all()?;
    count("compare_and_swap", calls, &mut (&locked, 1, me), |state| {
        let (locked, one, me) = state;
        black_box(locked.compare_and_swap(*one, *one, *me, 0)?);
        Ok(())
    })?;
    locked.unlock()?;
    window.close()?.free()?;

    let shared = SharedWindow::<f64>::allocate(world, LEN)?.fence()?;
    count("attach", calls, &mut (&shared, me), |state| {
        let (shared, me) = state;
        black_box(shared.segment(*me));
        Ok(())
    })?;
    shared.free()?;
    Ok(())
}
