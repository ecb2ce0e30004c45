//! Handles of windows, as other parts of the program have them.

use std::ffi::c_int;

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, ErrorKind, Result};
use ranks_mpi_sys as sys;
use ranks_rma_window::interop::MPI_Win;
use ranks_rma_window::{DynamicWindow, LockKind, SharedWindow, Window};

/// Puts `value` to a rank by the functions of the standard, as another part of the program does.
fn put(win: MPI_Win, value: f64, rank: usize, at: sys::MPI_Aint) {
    let rank = rank as c_int;
    let address = (&raw const value).cast();
    // SAFETY: the window is alive and the rank locked, as the callers below have it; the value is
    // there until the flush has returned.
    let code = unsafe {
        sys::MPI_Put(
            address,
            1,
            sys::MPI_DOUBLE,
            rank,
            at,
            1,
            sys::MPI_DOUBLE,
            win,
        )
    };
    assert_eq!(code, sys::MPI_SUCCESS);
    // SAFETY: as above.
    let code = unsafe { sys::MPI_Win_flush(rank, win) };
    assert_eq!(code, sys::MPI_SUCCESS);
}

#[ranks_test::ranks(1, 2, 3)]
fn what_another_part_puts_by_the_handle_arrives(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for of_vec in [false, true] {
        let window = if of_vec {
            Window::from_vec(&world, vec![0.0; 4 + rank])?
        } else {
            Window::<f64>::allocate(&world, 4 + rank)?
        };
        let (raw, native) = (window.as_raw(), window.as_native_raw());
        assert_eq!(raw.is_some(), world.as_raw().is_some());
        assert_eq!(native.is_some(), world.as_raw().is_some());
        let last = window.len_of(right) - 1;
        let place = window.displacement_of(right, last)?;
        let refused = |rank, at| window.displacement_of(rank, at).unwrap_err().kind();
        assert_eq!(refused(right, last + 1), ErrorKind::Length);
        assert_eq!(refused(size, 0), ErrorKind::Rank);
        let passive = window.passive()?;
        let locked = passive.lock(LockKind::Exclusive, right)?;
        match raw {
            Some(win) => put(win, rank as f64 + 0.5, right, place),
            None => locked.put(&[rank as f64 + 0.5], right, last)?,
        }
        let mut got = [0.0; 2];
        locked.get(&mut got, right, last - 1)?;
        assert_eq!(got, [0.0, rank as f64 + 0.5]);
        locked.unlock()?;
        let window = passive.close()?;
        assert_eq!(window.local()[3 + rank], left as f64 + 0.5);
        assert_eq!(window.as_raw(), raw);
        window.free()?;
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn what_another_part_puts_to_attached_memory_arrives(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut window = DynamicWindow::create(&world)?;
    let before = window.attach(vec![0u8; 3])?;
    let line = window.attach(vec![0.0; 4 + rank])?;
    let raw = window.as_raw();
    assert_eq!(raw.is_some(), world.as_raw().is_some());
    assert_eq!(window.as_native_raw().is_some(), raw.is_some());
    let last = line.len_of(right) - 1;
    let place = line.displacement_of(right, last)?;
    let refused = |rank, at| line.displacement_of(rank, at).unwrap_err().kind();
    assert_eq!(refused(right, last + 1), ErrorKind::Length);
    assert_eq!(refused(size, 0), ErrorKind::Rank);
    let passive = window.passive()?;
    let locked = passive.lock(LockKind::Exclusive, right)?;
    match raw {
        Some(win) => put(win, rank as f64 + 0.5, right, place),
        None => locked.on(&line)?.put(&[rank as f64 + 0.5], right, last)?,
    }
    locked.unlock()?;
    let mut window = passive.close()?;
    assert_eq!(window.as_raw(), raw);
    assert_eq!(window.detach(line)?[3 + rank], left as f64 + 0.5);
    assert_eq!(window.detach(before)?, [0; 3]);
    window.free()
}

#[ranks_test::ranks(1, 2, 3)]
fn a_shared_window_has_a_handle_unless_it_is_the_heap(world: Communicator) -> Result<()> {
    let node = world.split_shared(0)?;
    let writing = SharedWindow::<u64>::allocate(&node, 2)?;
    let raw = writing.as_raw();
    assert_eq!(raw.is_none(), writing.is_heap());
    assert_eq!(writing.as_native_raw().is_none(), writing.is_heap());
    if let Some(win) = raw {
        // SAFETY: the window is alive, and locked.
        let code = unsafe { sys::MPI_Win_sync(win) };
        assert_eq!(code, sys::MPI_SUCCESS);
    }
    let reading = writing.fence()?;
    assert_eq!(reading.as_raw(), raw);
    reading.free()?;
    world.barrier()
}
