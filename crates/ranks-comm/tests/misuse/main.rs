//! Faults of other bindings, item by item, each a test that the case is an error or defined here.
//!
//! The letters are those of a list of defects found in bindings of MPI: `h` and `s` in older ones,
//! letters alone in a newer one. Cases that the compiler refuses are in `compile_fail` examples,
//! which are named where a test of them would stand: H11 and the borrow of S1 at
//! `ranks_comm::element` and `Communicator::scope`.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a failure is a failed test, and numbers of ranks are small"
)]

mod buffered;
#[path = "../../../../testing/giving_up.rs"]
mod giving_up;
mod newer;
mod time_limits;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ranks_comm::{Backend, Communicator, Error, ErrorKind, Request, Result, Runtime, ThreadLevel};

fn neighbours(world: &Communicator) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

/// Returns when the rank to the right has come as far.
fn let_the_left_go_on(world: &Communicator) -> Result<()> {
    let (left, right) = neighbours(world);
    world.sendrecv(&[0u8], left, 999, &mut [0u8], right, 999)?;
    Ok(())
}

/// H1: a receive whose buffer has another type or length than the message.
#[ranks_test::ranks(2, 3)]
fn h1_both_sides_of_a_sendrecv_have_their_own_length_and_type(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut memory = [0x77u8; 96];
    let (front, rest) = memory.split_at_mut(32);
    let (room, behind) = rest.split_at_mut(8);
    let outcome = world.sendrecv(&[1u64; 4], right, 0, room, left, 0);
    assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
    assert!(front.iter().chain(behind.iter()).all(|&byte| byte == 0x77));
    Ok(())
}

/// H3: a message that is shorter than a value, or no whole number of values.
#[ranks_test::ranks(1, 2, 3)]
fn h3_nothing_uninitialised_is_returned(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let receiving = world.irecv_vec::<u64>(left, 0)?;
    let sending = world.isend(vec![1u8; 7], right, 0)?;
    let outcome = receiving.wait();
    assert_eq!(outcome.expect_err("7 bytes").kind(), ErrorKind::Type);
    sending.wait()?;
    // Elements that a short message does not write keep their values.
    let receiving = world.irecv(vec![5u64; 3], left, 0)?;
    let sending = world.isend(vec![6u64; 1], right, 0)?;
    let (got, status) = receiving.wait()?;
    assert_eq!((got, status.count::<u64>()?), (vec![6, 5, 5], 1));
    sending.wait()?;
    Ok(())
}

/// H5: elements whose size is not a multiple of the alignment that a compiler would give them.
#[ranks_test::ranks(1, 2)]
fn h5_packed_elements_lie_side_by_side(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let data: Vec<[u8; 9]> = (0..1000).map(|number| [number as u8; 9]).collect();
    let receiving = world.irecv(vec![[0u8; 9]; 1000], left, 0)?;
    let sending = world.isend(data, right, 0)?;
    let (got, status) = receiving.wait()?;
    assert_eq!(sending.wait()?.0, got);
    assert_eq!(status.count::<[u8; 9]>()?, 1000);
    Ok(())
}

/// H7: a panic between the post and the wait must not leave the library writing into freed memory.
#[ranks_test::ranks(1, 2, 3)]
fn h7_a_panic_between_post_and_wait(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let outcome = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
        let _owned = world.irecv(vec![0u64; 5000], left, 1)?;
        let mut local = vec![0u64; 5000];
        world.scope(|s| -> Result<()> {
            let _borrowed = s.irecv(&mut local, left, 2)?;
            resume_unwind(Box::new("between"));
        })
    }));
    assert!(outcome.is_err());
    let fresh: Vec<Vec<u64>> = vec![vec![7; 5000]; 8];
    let_the_left_go_on(&world)?;
    let sending = [
        world.isend(vec![1u64; 5000], right, 1)?,
        world.isend(vec![2u64; 5000], right, 2)?,
    ];
    // The first went to the owned one, which nobody waits for; the second finds no receive but this
    // one.
    let (got, _) = world.recv_vec::<u64>(left, 2)?;
    assert_eq!(got, vec![2; 5000]);
    for request in sending {
        request.wait()?;
    }
    assert!(fresh.iter().flatten().all(|&word| word == 7));
    // No rank leaves before its neighbour has sent the message for the receive that nobody waits
    // for.
    world.sendrecv(&[0u8], right, 3, &mut [0u8], left, 3)?;
    Ok(())
}

/// H8: the types that cross threads are the same on every library, and the level is checked at run
/// time.
#[test]
fn h8_handles_cross_threads_and_levels_are_checked() {
    fn both<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    both::<Communicator>();
    both::<Runtime>();
    both::<Error>();
    sent::<Request<Vec<f64>>>();
    sent::<Request<Arc<[u8]>>>();
    Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(1)
        .thread_level(ThreadLevel::Funneled)
        .run(|world| {
            let request = world.irecv(vec![0u8; 4], 0, 0)?;
            let elsewhere = std::thread::spawn(move || request.wait().map(drop));
            let error = elsewhere.join().unwrap().expect_err("another thread");
            assert_eq!(error.kind(), ErrorKind::WrongThread);
            Ok::<(), Error>(())
        })
        .unwrap();
}

/// H9: no call reaches a library that is finalized.
#[test]
fn h9_calls_after_finalize_are_errors() {
    let runtime = Runtime::builder()
        .backend(Backend::InProcess)
        .ranks(1)
        .init()
        .unwrap();
    let world = runtime.world();
    let mut receiving = world.irecv(vec![0u8; 4], 0, 0).unwrap();
    runtime.finalize().unwrap();
    let kinds = [
        receiving.test().map(drop).unwrap_err().kind(),
        receiving.cancel().unwrap_err().kind(),
        receiving.wait().map(drop).unwrap_err().kind(),
        world.isend(vec![1u8], 0, 0).map(drop).unwrap_err().kind(),
        world.irecv_vec::<u8>(0, 0).map(drop).unwrap_err().kind(),
        world
            .scope(|s| s.isend(&[1u8], 0, 0).map(drop))
            .unwrap_err()
            .kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Finalized; 6]);
}

/// H10: `Debug` reads no buffer.
#[ranks_test::ranks(1, 2)]
fn h10_debug_of_a_request_shows_no_buffer(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let receiving = world.irecv(vec![123_456_789u64; 4], left, 0)?;
    let text = format!("{receiving:?}");
    assert!(
        text.contains("MPI_Irecv") && !text.contains("123456789"),
        "{text}"
    );
    let mut room = [123_456_789u64; 4];
    world.scope(|s| {
        let request = s.irecv(&mut room, left, 1)?;
        assert!(!format!("{request:?}").contains("123456789"));
        let sending = s.isend(&[1u64; 4], right, 1)?;
        sending.wait()?;
        request.wait()?;
        Ok::<(), Error>(())
    })?;
    world.isend(vec![2u64; 4], right, 0)?.wait()?;
    assert_eq!(receiving.wait()?.0, [2; 4]);
    Ok(())
}

/// A drop that is counted.
struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

// SAFETY: the elements are a vector's, on the heap, and nobody else's.
#[allow(unsafe_code, reason = "only a buffer of one's own tells when it goes")]
unsafe impl ranks_comm::SendBuffer for Counted {
    type Element = u8;
    fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: as above.
#[allow(unsafe_code, reason = "only a buffer of one's own tells when it goes")]
unsafe impl ranks_comm::RecvBuffer for Counted {
    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// H12: a receive that is dropped neither panics nor leaks its buffer.
#[ranks_test::ranks(1, 2, 3)]
fn h12_a_dropped_receive_frees_its_buffer(world: Communicator) -> Result<()> {
    const ROUNDS: usize = 20;
    let (left, right) = neighbours(&world);
    let gone = Arc::new(AtomicUsize::new(0));
    for round in 0..ROUNDS {
        // Short ones are received as soon as they are matched, long ones later.
        let length = if round % 2 == 0 { 10 } else { 300_000 };
        drop(world.irecv(Counted(vec![0; length], Arc::clone(&gone)), left, 0)?);
        let behind = world.irecv(vec![0u8; 1], left, 1)?;
        let sending = [
            world.isend(vec![1u8; length], right, 0)?,
            world.isend(vec![2u8; 1], right, 1)?,
        ];
        behind.wait()?;
        for request in sending {
            request.wait()?;
        }
    }
    // Each start and each drop tests the operations that were left before.
    while gone.load(Ordering::SeqCst) < ROUNDS {
        drop(world.irecv(Counted(vec![0; 1], Arc::default()), left, 2)?);
        let sending = world.isend(vec![3u8; 1], right, 2)?;
        drop(sending);
        world.iprobe(left, 3)?;
    }
    assert_eq!(gone.load(Ordering::SeqCst), ROUNDS);
    Ok(())
}

/// H13: the library's return code is checked, also when nobody waits for it.
#[ranks_test::ranks(2)]
fn h13_the_error_of_an_operation_that_nobody_waited_for_comes_out(
    world: Communicator,
) -> Result<()> {
    let peer = 1 - world.rank();
    // With bytes, whose length no call needs to know, and with words.
    world.send(&[1u8; 9], peer, 0)?;
    world.send(&[1u64; 9], peer, 0)?;
    let (mut bytes, mut words) = ([0u8; 3], [0u64; 3]);
    let outcome: Result<()> = world.scope(|s| s.irecv(&mut bytes, peer, 0).map(drop));
    assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
    let outcome: Result<()> = world.scope(|s| s.irecv(&mut words, peer, 0).map(drop));
    assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
    Ok(())
}

/// S1: the buffer of a request is dropped before the message arrives.
#[ranks_test::ranks(2, 3)]
fn s1_a_dropped_buffer_is_not_written_to(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    drop(world.irecv(vec![0u64; 512], left, 0)?);
    let fresh: Vec<Vec<u64>> = vec![vec![7; 512]; 64];
    let_the_left_go_on(&world)?;
    world.isend(vec![1u64; 512], right, 0)?.wait()?;
    let_the_left_go_on(&world)?;
    world.iprobe(left, 0)?;
    assert!(fresh.iter().flatten().all(|&word| word == 7));
    Ok(())
}

/// S10: a second runtime joins the first, and its handle of the world is the same communicator: an
/// operation that was started on one waits before those that are started on the other.
#[ranks_test::ranks(1, 2, 3, mpi_only)]
fn s10_a_second_runtime_has_the_same_world(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    // A test gets a duplicate.
    let world = {
        let (rank, size) = (world.rank(), world.size());
        let own = Runtime::builder().init()?.world();
        assert_eq!((own.rank(), own.size()), (rank, size));
        own
    };
    let again = Runtime::builder().init()?.world();
    assert_eq!((again.rank(), again.size()), (world.rank(), world.size()));
    let first = world.irecv_vec::<u8>(left, 0)?;
    let second = again.irecv(vec![0u8; 1], left, 0)?;
    let third = world.irecv(vec![0u8; 1], left, 0)?;
    for byte in 0..3u8 {
        again.isend(vec![byte], right, 0)?.wait()?;
    }
    assert_eq!((third.wait()?.0, second.wait()?.0), (vec![2], vec![1]));
    drop(again);
    assert_eq!(first.wait()?.0, [0]);
    Ok(())
}

/// S11: an error on the way to the end is not the cause of a second wait.
#[ranks_test::ranks(2)]
fn s11_an_operation_that_failed_is_over(world: Communicator) -> Result<()> {
    let peer = 1 - world.rank();
    world.send(&[1u32; 50], peer, 0)?;
    let mut receiving = world.irecv(vec![0u32; 5], peer, 0)?;
    while !receiving.test()? {}
    assert!(receiving.test()? && receiving.wait_timeout(Duration::ZERO)?);
    receiving.cancel()?;
    let (buffer, outcome) = receiving.complete()?;
    assert_eq!(buffer.len(), 5);
    assert_eq!(outcome.expect_err("too long").kind(), ErrorKind::Truncated);
    let mut room = [0u32; 5];
    world.send(&[1u32; 50], peer, 0)?;
    world.scope(|s| {
        let mut request = s.irecv(&mut room, peer, 0)?;
        while !request.test()? {}
        assert!(request.test()?);
        let error = request.wait().expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::Truncated);
        Ok::<(), Error>(())
    })
}

/// S12: errors have the same kind whatever numbers a library gives them.
#[ranks_test::ranks(1, 2)]
fn s12_kinds_of_errors_are_the_same_on_every_library(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let size = world.size();
    let rank = world.irecv(vec![0u8], size, 0).expect_err("no such rank");
    let tag = world.isend(vec![0u8], 0, -1).expect_err("no such tag");
    assert_eq!((rank.kind(), tag.kind()), (ErrorKind::Rank, ErrorKind::Tag));
    for (room, kind) in [(1usize, ErrorKind::Truncated), (4, ErrorKind::Type)] {
        let receiving = world.irecv(vec![0u32; room], left, 0)?;
        let sending = world.isend(vec![0u8; 9], right, 0)?;
        assert_eq!(receiving.wait().expect_err("nine bytes").kind(), kind);
        sending.wait()?;
    }
    Ok(())
}

/// S14: errors on a communicator that was made here return as well.
#[ranks_test::ranks(1, 2)]
fn s14_errors_on_every_communicator_return(world: Communicator) -> Result<()> {
    let own = world
        .split(Some(world.rank() as i32), 0)?
        .expect("a part for each");
    let receiving = own.irecv(vec![0u32; 2], 0, 0)?;
    let sending = own.isend(vec![0u32; 20_000], 0, 0)?;
    let error = receiving.wait().expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::Truncated);
    sending.wait()?;
    Ok(())
}

/// S15: dropping a pending operation does not wait, also not while a panic unwinds.
#[ranks_test::ranks(1, 2, 3)]
fn s15_dropping_does_not_wait(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let outcome = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
        let _never = world.irecv(vec![0u8; 10], left, 1234)?;
        let _neither = world.irecv_vec::<u8>(left, 1234)?;
        let _later = world.issend(vec![1u8; 500_000], right, 5)?;
        resume_unwind(Box::new("now"));
    }));
    assert!(outcome.is_err());
    let (got, _) = world.recv_vec::<u8>(left, 5)?;
    assert_eq!(got, vec![1; 500_000]);
    Ok(())
}
