//! Several threads, and one that looks after what is under way.
#![expect(unsafe_code, reason = "a promise that memory lasts")]

use std::thread;
use std::time::{Duration, Instant};

use ranks_collectives::raw::{Dtype, RawCollectives, RawComm, RawOp, RawOptions};
use ranks_comm::{Communicator, Result};

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

/// Two threads send and receive at once, each with a tag of its own.
#[ranks_test::ranks(2, 3)]
fn threads_communicate_at_once(world: Communicator) -> Result<()> {
    let comm = super::raw(&world)?;
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let talk = |tag: u32| -> Result<()> {
        for round in 0..10 {
            let (sent, mut received) = ([rank, round], [0; 2]);
            // SAFETY: both have two elements, and live until `sync` has returned.
            unsafe { comm.send(sent.as_ptr().cast(), 2, Dtype::U64, next, tag) }?;
            // SAFETY: as above.
            unsafe { comm.recv(received.as_mut_ptr().cast(), 2, Dtype::U64, previous, tag) }?;
            comm.sync()?;
            assert_eq!(received, [previous, round]);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| talk(1));
        talk(2)?;
        other.join().expect("a thread panicked")
    })
}
