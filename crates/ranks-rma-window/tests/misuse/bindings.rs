//! Defects of another binding, by the letters of a list of its defects.

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, Result};
use ranks_rma_window::{Fenced, Window};

/// J: a table of so many places. There is none.
#[ranks_test::ranks(1, 2)]
fn j_many_windows_at_once(world: Communicator) -> Result<()> {
    const MANY: u64 = if cfg!(miri) { 3 } else { 8 };
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let made = (0..MANY).map(|number| Window::from_vec(&world, vec![number, 0]));
    let windows: Result<Vec<_>> = made.collect();
    let mut open: Vec<Fenced<u64>> = windows?
        .into_iter()
        .map(Window::fence)
        .collect::<Result<_>>()?;
    for (number, fenced) in open.iter_mut().enumerate() {
        let data = [number as u64 + 1000];
        fenced.step(|ops| ops.put(&data, right, 1))?;
    }
    for (number, fenced) in (0..).zip(open) {
        assert_eq!(fenced.close()?.local(), [number, number + 1000]);
    }
    Ok(())
}

/// L: what is freed in an order that differs by rank. They are freed in the order in which they
/// were made.
#[ranks_test::ranks(1, 2)]
fn l_windows_go_in_another_order_on_each_rank(world: Communicator) -> Result<()> {
    for round in 0..2 {
        let mut windows = Vec::new();
        for number in 0..3u8 {
            windows.push(Window::from_vec(&world, vec![number; 10])?);
        }
        while !windows.is_empty() {
            let which = (world.rank() * 3 + round) % windows.len();
            drop(windows.swap_remove(which));
        }
        // What is made next frees them.
        let window = Window::from_vec(&world, vec![round])?;
        assert_eq!(window.fence()?.close()?.free()?, Some(vec![round]));
    }
    Ok(())
}

/// M: a window that is dropped in whatever state, on whatever thread, is put aside, and nobody
/// waits.
#[ranks_test::ranks(1, 2)]
fn m_windows_are_dropped_in_every_state(world: Communicator) -> Result<()> {
    let rank = world.rank();
    for round in 0..2 {
        let fenced = Window::<u32>::allocate(&world, 3)?.fence()?;
        let passive = Window::<u32>::allocate(&world, 3)?.passive()?;
        let quiet = Window::<u32>::allocate(&world, 3)?;
        if (rank + round).is_multiple_of(2) {
            std::thread::spawn(move || drop((passive, fenced, quiet)))
                .join()
                .unwrap();
        } else {
            drop((quiet, fenced, passive));
        }
        // Others can go on meanwhile.
        world.barrier()?;
    }
    let window = Window::<u32>::allocate(&world, 3)?;
    window.free()?;
    Ok(())
}

/// O: memory begins at a line of a cache on every library, whatever ranks ask for.
#[ranks_test::ranks(1, 2)]
fn o_memory_begins_at_a_line_of_a_cache(world: Communicator) -> Result<()> {
    for len in [1, 13, 800, if cfg!(miri) { 2000 } else { 100_000 }] {
        let window = Window::<u8>::allocate(&world, len + world.rank())?;
        let start = window.local().as_ptr().addr();
        assert!(start.is_multiple_of(64), "{start:#x}");
        window.free()?;
    }
    Ok(())
}
