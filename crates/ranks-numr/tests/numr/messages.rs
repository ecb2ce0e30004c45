//! Sends and receives, in the orders in which programs make them.

use ranks_comm::Communicator as World;

use super::calls::{Outcome, over};
use super::numr::dtype::DType;
use super::numr::error::Result;
use super::numr::runtime::Communicator;

/// # Safety
/// The slice lives, unchanged, until `sync` is over.
unsafe fn send(comm: &dyn Communicator, data: &[f32], dest: usize, tag: u32) -> Result<()> {
    let (address, length) = (data.as_ptr() as u64, data.len());
    // SAFETY: the caller's promise.
    unsafe { comm.send(address, length, DType::F32, dest, tag) }
}

/// # Safety
/// The slice lives, and nobody uses it, until `sync` is over.
unsafe fn recv(comm: &dyn Communicator, data: &mut [f32], source: usize, tag: u32) -> Result<()> {
    let (address, length) = (data.as_mut_ptr() as u64, data.len());
    // SAFETY: the caller's promise.
    unsafe { comm.recv(address, length, DType::F32, source, tag) }
}

/// 800 kB, which no library sends before it is received: both neighbours send and wait for that,
/// and only then receive, as stages of a pipeline do that have one forward and one backward step
/// each.
#[ranks_test::ranks(2, 3)]
fn neighbours_send_before_they_receive(world: World) -> Outcome {
    const LENGTH: usize = 200_000;
    let comm = over(&world)?;
    let (rank, size) = (comm.rank(), comm.world_size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut data = vec![rank as f32; LENGTH];
    for step in 0..2 {
        // What a step sends: a header of few numbers for which there is more room, then the data.
        let header = [1_u64, LENGTH as u64, 1];
        // SAFETY: both live, unchanged, until `sync` is over, below.
        unsafe {
            comm.send(
                header.as_ptr() as u64,
                header.len(),
                DType::U64,
                next,
                2 * step,
            )?
        };
        comm.sync()?;
        // SAFETY: as above.
        unsafe { send(&comm, &data, next, 2 * step + 1)? };
        comm.sync()?;
        // What was sent may be used again at once, whether it has arrived or not.
        data.fill(-1.0);

        let mut room = [u64::MAX; 10];
        // SAFETY: it lives until `sync` is over, below.
        unsafe {
            comm.recv(
                room.as_mut_ptr() as u64,
                room.len(),
                DType::U64,
                before,
                2 * step,
            )?
        };
        comm.sync()?;
        assert_eq!(room[..3], header);
        assert_eq!(room[3..], [u64::MAX; 7], "what no message has come for");
        let mut arrived = vec![-2.0; LENGTH];
        // SAFETY: it lives until `sync` is over, below.
        unsafe { recv(&comm, &mut arrived, before, 2 * step + 1)? };
        comm.sync()?;
        let from = (rank + 2 * size - 1 - step as usize) % size;
        assert_eq!(arrived, vec![from as f32; LENGTH], "step {step}");
        data = arrived;
    }
    comm.barrier()?;
    Ok(())
}

/// A barrier is a `sync` as well.
#[ranks_test::ranks(2, 3)]
fn what_is_received_is_there_after_a_barrier(world: World) -> Outcome {
    let comm = over(&world)?;
    let (rank, size) = (comm.rank(), comm.world_size());
    let mine = [rank as f32; 5];
    let mut from_all = vec![[-1.0_f32; 5]; size];
    for (other, room) in from_all.iter_mut().enumerate() {
        // SAFETY: both live until `barrier` is over.
        unsafe { recv(&comm, room, other, 3)? };
        // SAFETY: as above.
        unsafe { send(&comm, &mine, other, 3)? };
    }
    comm.barrier()?;
    for (other, room) in from_all.iter().enumerate() {
        assert_eq!(*room, [other as f32; 5]);
    }
    assert_eq!(mine, [rank as f32; 5]);
    Ok(())
}

/// Tags tell messages apart, whichever order they are received in; a collective in between is not
/// mixed up with them.
#[ranks_test::ranks(2)]
fn tags(world: World) -> Outcome {
    let comm = over(&world)?;
    let other = 1 - comm.rank();
    let (one, two) = ([1.0_f32], [2.0_f32]);
    let (mut first, mut second) = ([0.0_f32], [0.0_f32]);
    // SAFETY: all four live until `sync` is over, below.
    unsafe { send(&comm, &one, other, 1)? };
    // SAFETY: as above.
    unsafe { send(&comm, &two, other, 32_766)? };
    comm.barrier()?;
    // SAFETY: as above.
    unsafe { recv(&comm, &mut second, other, 32_766)? };
    comm.sync()?;
    // SAFETY: as above.
    unsafe { recv(&comm, &mut first, other, 1)? };
    comm.sync()?;
    assert_eq!((first, second), (one, two));
    Ok(())
}

/// In whichever thread.
#[ranks_test::ranks(2)]
fn another_thread(world: World) -> Outcome {
    let comm = over(&world)?;
    let other = 1 - comm.rank();
    let mine = [comm.rank() as f32; 3];
    let mut theirs = [-1.0_f32; 3];
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            // SAFETY: it lives until `sync` is over, below.
            unsafe { send(&comm, &mine, other, 5) }
        });
        sender.join().unwrap()?;
        // SAFETY: it lives until `sync` is over, below.
        unsafe { recv(&comm, &mut theirs, other, 5)? };
        comm.sync()?;
        Result::Ok(())
    })?;
    assert_eq!(theirs, [other as f32; 3]);
    Ok(())
}
