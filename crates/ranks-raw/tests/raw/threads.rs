//! Several threads, and one that looks after what is under way.

use std::thread;
use std::time::{Duration, Instant};

use ranks_comm::{Communicator, Result};
use ranks_raw::{Dtype, RawCollectives, RawComm, RawOp, RawOptions};

/// Nobody calls anything, and yet operations come to their end.
#[ranks_test::ranks(1, 2)]
fn a_progress_thread_ends_what_was_begun(world: Communicator) -> Result<()> {
    let comm = RawComm::new(&world, RawOptions::new().progress_thread(true))?;
    let mut data = vec![1.0_f64; 40_000];
    let address = data.as_mut_ptr().cast();
    // SAFETY: `data` has so many elements, and nobody uses it until `sync` has returned.
    unsafe { comm.allreduce(address, address, 40_000, Dtype::F64, RawOp::Sum) }?;
    let begun = Instant::now();
    while format!("{comm:?}").contains("operations: 1") && begun.elapsed() < Duration::from_secs(30)
    {
        thread::sleep(Duration::from_micros(200));
    }
    assert!(format!("{comm:?}").contains("operations: 0"), "{comm:?}");
    comm.sync()?;
    let size = u32::try_from(world.size()).map_or(0.0, f64::from);
    assert!(data.iter().all(|number| *number == size));
    Ok(())
}

/// Two threads begin to send and receive at once, each with a tag of its own.
#[ranks_test::ranks(2, 3)]
fn threads_begin_at_once(world: Communicator) -> Result<()> {
    const ROUNDS: usize = 10;
    let comm = super::raw(&world)?;
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let sent: Vec<_> = (0..ROUNDS).map(|round| [rank, round]).collect();
    let mut received = [vec![[0; 2]; ROUNDS], vec![[0; 2]; ROUNDS]];
    let begin = |tag: u32, received: &mut [[usize; 2]]| -> Result<()> {
        for (sent, received) in sent.iter().zip(received) {
            // SAFETY: both have two elements, and live until `sync` has returned.
            unsafe { comm.send(sent.as_ptr().cast(), 2, Dtype::U64, next, tag) }?;
            let into = received.as_mut_ptr().cast();
            // SAFETY: as above.
            unsafe { comm.recv(into, 2, Dtype::U64, previous, tag) }?;
        }
        Ok(())
    };
    let [one, two] = &mut received;
    thread::scope(|scope| {
        let other = scope.spawn(|| begin(1, one));
        begin(2, two)?;
        other.join().expect("a thread panicked")
    })?;
    comm.sync()?;
    for received in received {
        let expected: Vec<_> = (0..ROUNDS).map(|round| [previous, round]).collect();
        assert_eq!(received, expected);
    }
    Ok(())
}
