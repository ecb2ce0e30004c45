//! Creation and end of windows.

use ranks_comm::ErrorKind::{Length, Memory, Mismatch};
use ranks_comm::{Communicator, Result};
use ranks_rma_window::Window;

use crate::{refused, refused_everywhere};

/// ArgError-MPIWinCreate-size: more than memory can be, on one rank.
#[ranks_test::ranks(1, 2)]
fn sizes_that_cannot_be_are_the_same_error_everywhere(world: Communicator) -> Result<()> {
    let last = world.size() - 1;
    for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
        let len = if world.rank() == last { len } else { 5 };
        let made = Window::<u64>::allocate(&world, len);
        let asks = format!("rank {last} asks for");
        let parts = ["MPI_Win_allocate", &asks, "u64 of 8 bytes"];
        refused_everywhere(&world, made, Length, &parts);
    }
    // What a computer might have, and this one has not.
    let len = if world.rank() == last { 1 << 46 } else { 5 };
    let made = Window::<u64>::allocate(&world, len);
    refused_everywhere(&world, made, Memory, &["(524288."]);
    // The next one can be made.
    Window::<u64>::allocate(&world, 5)?.free()?;
    Ok(())
}

/// ArgMismatch-MPIGet-type, ArgMismatch-MPIPut-type: elements that are one thing here and another
/// there. E: with sizes that differ, and with the same.
#[ranks_test::ranks(2)]
fn e_elements_are_the_same_on_all_ranks(world: Communicator) -> Result<()> {
    let last = world.rank() == world.size() - 1;
    let sizes = if last {
        Window::<u16>::allocate(&world, 8).map(drop)
    } else {
        Window::<u64>::allocate(&world, 8).map(drop)
    };
    let rank = format!("rank {} of", world.size() - 1);
    let parts = [
        "MPI_Win_allocate",
        "different elements",
        "8 bytes",
        &rank,
        "2 bytes",
    ];
    refused(sizes, Mismatch, &parts);
    let types = if last {
        Window::from_vec(&world, vec![1f32; 4]).map(drop)
    } else {
        Window::from_vec(&world, vec![1u32; 4]).map(drop)
    };
    refused(
        types,
        Mismatch,
        &["MPI_Win_create", "different elements", "another type"],
    );
    Window::from_vec(&world, vec![1u32; 4])?.free()?;
    Ok(())
}

/// ArgError-MPIWinCreate-OverwriteWin: the one that was there before is put aside, and freed when
/// all have done so.
#[ranks_test::ranks(1, 2)]
fn a_window_may_be_overwritten(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut window = Window::from_vec(&world, vec![rank; 3])?;
    for round in 1..5 {
        let len = 3 + round;
        let again = Window::from_vec(&world, vec![round * 100 + rank; len])?;
        window = again;
        let mut fenced = window.fence()?;
        let mut got = [0; 2];
        let other = (rank + round) % size;
        fenced.step(|ops| ops.get(&mut got, other, len - 2))?;
        assert_eq!(got, [round * 100 + other; 2]);
        window = fenced.close()?;
    }
    assert_eq!(window.free()?.unwrap(), [400 + rank; 7]);
    Ok(())
}

/// ArgError-MPIWinCreate-dispUnit: places are counted in elements, whatever these are.
#[ranks_test::ranks(1, 2)]
fn places_are_elements(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut fenced = Window::<[u8; 5]>::allocate(&world, 7)?.fence()?;
    let mine = [[rank as u8 + 1; 5]; 2];
    fenced.step(|ops| ops.put(&mine, (rank + 1) % size, 4))?;
    let mut expected = [[0; 5]; 7];
    expected[4..6].fill([((rank + size - 1) % size) as u8 + 1; 5]);
    assert_eq!(fenced.close()?.local(), expected);
    Ok(())
}

/// MisplacedCall-MPIWinFree-bufferFree: the vector comes back when the window has gone, and not
/// before.
#[ranks_test::ranks(1, 2)]
fn the_vector_of_a_dropped_window_is_not_written_to(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let mut fenced = Window::from_vec(&world, vec![0u64; 100])?.fence()?;
    if rank % 2 == 1 {
        // Others may still be putting there.
        let dropped = fenced;
        drop(dropped);
        let fresh: Vec<Vec<u64>> = vec![vec![7; 100]; 20];
        world.dup()?.free()?;
        assert!(fresh.iter().flatten().all(|&word| word == 7));
        return Ok(());
    }
    // The rank to the right does not come to the end of the step.
    let data = [3u64; 50];
    if size == 1 {
        fenced.step(|ops| ops.put(&data, right, 0))?;
        return Ok(());
    }
    fenced.write(0, &data)?;
    drop(fenced);
    world.dup()?.free()
}
