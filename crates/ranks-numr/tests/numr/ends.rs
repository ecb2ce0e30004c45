//! How operations end that nobody answers.

use std::time::Duration;

use ranks_collectives::Collectives as _;
use ranks_comm::{Communicator as World, ErrorKind};
use ranks_numr::{NumrCommunicator, NumrOptions};

use super::calls::{Outcome, over};
use super::numr::dtype::DType;
use super::numr::runtime::Communicator;
use crate::logged::logged;

/// Who waits for what does not come gets an error when another thread gives it up, and from then
/// on.
#[ranks_test::ranks(2)]
fn giving_up_from_another_thread(world: World) -> Outcome {
    let comm = over(&world)?;
    let mut room = [0.0_f32; 4];
    // SAFETY: it lives until `sync` is over, below.
    unsafe { comm.recv(room.as_mut_ptr() as u64, 4, DType::F32, 1 - comm.rank(), 7)? };
    let waited = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| comm.sync());
        std::thread::sleep(Duration::from_millis(10));
        comm.abort().unwrap();
        waiter.join().unwrap()
    });
    let text = waited.unwrap_err().to_string();
    assert!(text.contains("sync on rank"), "{text}");
    assert!(comm.failure().is_some() && comm.async_error().is_err());
    assert!(comm.barrier().is_err() && comm.sync().is_err());
    comm.abort()?;
    world.barrier()?;
    Ok(())
}

/// The others learn that somebody has given up.
#[ranks_test::ranks(2)]
fn a_time_limit(world: World) -> Outcome {
    let comm = over(&world)?;
    let mut room = [0.0_f32; 4];
    // SAFETY: it lives until `wait` or `sync` is over, below.
    unsafe { comm.recv(room.as_mut_ptr() as u64, 4, DType::F32, 1 - comm.rank(), 7)? };
    if comm.rank() == 0 {
        let late = comm.raw().wait(Duration::from_millis(5)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut, "{late}");
    } else {
        let text = comm.sync().unwrap_err().to_string();
        assert!(text.contains("sync on rank 1 of 2"), "{text}");
    }
    assert!(comm.failure().is_some() && comm.barrier().is_err());
    world.barrier()?;
    Ok(())
}

/// A drop does not wait for ever, and tells who reads the log.
#[ranks_test::ranks(2)]
fn a_drop_with_operations_under_way(world: World) -> Outcome {
    let options = NumrOptions::new().drop_limit(Duration::from_millis(5));
    let comm = NumrCommunicator::over(&world, options)?;
    let mut room = vec![0.0_f32; 4];
    // SAFETY: it lives until the drop is over.
    unsafe { comm.recv(room.as_mut_ptr() as u64, 4, DType::F32, 1 - comm.rank(), 7)? };
    let told = logged(|| drop(comm));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("of 2") && told[0].contains("given up"),
        "{told:?}"
    );
    room.fill(1.0);
    world.barrier()?;
    Ok(())
}

/// What ends in time is waited for, and nothing is logged; nor is it where nothing is under way.
#[ranks_test::ranks(2)]
fn a_drop_that_completes(world: World) -> Outcome {
    let comm = over(&world)?;
    let other = 1 - comm.rank();
    let (mine, mut theirs) = ([comm.rank() as f32; 4], [-1.0_f32; 4]);
    // SAFETY: it lives until the drop is over.
    unsafe { comm.send(mine.as_ptr() as u64, 4, DType::F32, other, 7)? };
    // SAFETY: as above.
    unsafe { comm.recv(theirs.as_mut_ptr() as u64, 4, DType::F32, other, 7)? };
    assert_eq!(logged(|| drop(comm)), [""; 0]);
    assert_eq!(theirs, [other as f32; 4]);
    let idle = over(&world)?;
    assert_eq!(logged(|| drop(idle)), [""; 0]);
    world.barrier()?;
    Ok(())
}
