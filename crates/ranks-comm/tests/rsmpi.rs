//! The messages between two ranks of rsmpi's example programs, with the values that they assert;
//! named after them. Those on communicators, layouts, collectives and topologies are in the tests
//! of these.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers of ranks are small"
)]

use ranks_comm::{
    Communicator, Error, ErrorKind, Pod, Requests, Result, Source, Tag, ThreadLevel, Zeroable,
};

fn neighbours(world: &Communicator) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

/// A ring of sends in a scope, a message of unknown length from any source.
#[ranks_test::ranks(1, 2, 3)]
fn rsmpi_readme(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mine: Vec<f64> = vec![world.rank() as f64, 1.0, 2.0];
    world.scope(|s| {
        s.isend(&mine, right, 0)?;
        let (got, status) = world.recv_vec::<f64>(Source::Any, Tag::Any)?;
        assert_eq!(status.source(), Some(left));
        assert_eq!(got, [left as f64, 1.0, 2.0]);
        assert_eq!(status.count::<f64>()?, 3);
        Ok::<(), Error>(())
    })
}

#[ranks_test::ranks(1, 2, 3)]
fn rsmpi_send_receive(world: Communicator) -> Result<()> {
    let (left, right) = neighbours(&world);
    let mut got = [0u64];
    let status = world.sendrecv(&[world.rank() as u64], right, 0, &mut got, left, 0)?;
    assert_eq!((status.source(), got), (Some(left), [left as u64]));
    let sending = world.isend(vec![1.0f64, 2.0, 3.0], right, 17)?;
    let (message, status) = world.recv_vec::<f64>(Source::Any, 17)?;
    assert_eq!(message, [1.0, 2.0, 3.0]);
    assert_eq!((status.source(), status.tag()), (Some(left), Some(17)));
    sending.wait()?;
    let mut rank = [world.rank() as u64];
    world.sendrecv_replace(&mut rank, right, 0, left, 0)?;
    assert_eq!(rank, [left as u64]);
    Ok(())
}

/// Nonblocking receives and sends of every mode, probes, and a receive that is cancelled.
#[ranks_test::ranks(1, 2, 3)]
fn rsmpi_immediate(world: Communicator) -> Result<()> {
    const X: f64 = 1.0;
    let me = world.rank();
    let mut y = [0.0];
    world.scope(|s| {
        s.irecv(&mut y, me, 0)?;
        s.isend(&[X], me, 0)?;
        Ok::<(), Error>(())
    })?;
    assert_eq!(y, [X]);

    let arriving = world.irecv_vec::<f64>(Source::Any, Tag::Any)?;
    let leaving = world.issend(vec![X], me, 0)?;
    assert_eq!(arriving.wait()?.0, [X]);
    leaving.wait()?;

    let arriving = world.irecv(vec![0.0], me, 0)?;
    // SAFETY: the receive was posted just now, on this very rank.
    #[allow(unsafe_code, reason = "a ready send is unsafe")]
    let leaving = unsafe { world.irsend(vec![X], me, 0)? };
    assert_eq!(arriving.wait()?.0, [X]);
    leaving.wait()?;

    let leaving = world.isend(vec![X], me, 0)?;
    while world.iprobe(me, 0)?.is_none() {}
    let message = loop {
        if let Some(message) = world.improbe(me, 0)? {
            break message;
        }
    };
    assert_eq!(message.recv_vec::<f64>()?.0, [X]);
    leaving.wait()?;

    let mut never = world.irecv(vec![0.0f64], Source::Any, 44)?;
    never.cancel()?;
    assert!(never.wait()?.1.is_cancelled());
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn rsmpi_wait_any(world: Communicator) -> Result<()> {
    const COUNT: usize = 128;
    if world.rank() > 0 {
        return world.send(&vec![world.rank() as i32; COUNT], 0, 0);
    }
    let mut arriving: Requests<_> = (1..world.size())
        .map(|source| world.irecv(vec![0i32; COUNT], source, 0))
        .collect::<Result<_>>()?;
    let mut seen = 0;
    while let Some(done) = arriving.wait_any()? {
        assert_eq!(done.status.source(), Some(done.key + 1));
        assert_eq!(done.buffer, vec![done.key as i32 + 1; COUNT]);
        seen += 1;
    }
    assert_eq!(seen, world.size() - 1);
    Ok(())
}

/// Each of the calls that wait for many, over the same exchange.
#[ranks_test::ranks(1, 2, 3)]
fn rsmpi_immediate_multiple_requests(world: Communicator) -> Result<()> {
    const COUNT: usize = 16;
    let (left, right) = neighbours(&world);
    let begin = || -> Result<(Requests<_>, Requests<_>)> {
        let arriving = (0..COUNT).map(|tag| world.irecv(vec![0i32], left, tag as i32));
        let arriving = arriving.collect::<Result<_>>()?;
        let leaving = (0..COUNT).map(|tag| world.isend(vec![tag as i32], right, tag as i32));
        Ok((arriving, leaving.collect::<Result<_>>()?))
    };
    let (mut arriving, mut leaving) = begin()?;
    for (tag, done) in arriving.wait_all()?.into_iter().enumerate() {
        assert_eq!(
            (done.buffer, done.status.tag()),
            (vec![tag as i32], Some(tag as i32))
        );
    }
    assert_eq!(leaving.wait_all()?.len(), COUNT);

    let (mut arriving, mut leaving) = begin()?;
    let mut sum = 0;
    while let Some(done) = arriving.wait_any()? {
        sum += done.buffer[0];
    }
    assert_eq!(sum, (COUNT * (COUNT - 1) / 2) as i32);
    leaving.wait_all()?;

    let (mut arriving, mut leaving) = begin()?;
    let mut sum = 0;
    while !arriving.is_empty() {
        sum += arriving
            .wait_some()?
            .iter()
            .map(|done| done.buffer[0])
            .sum::<i32>();
    }
    assert_eq!(sum, (COUNT * (COUNT - 1) / 2) as i32);
    leaving.wait_all()?;
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn rsmpi_immediate_multiple_test(world: Communicator) -> Result<()> {
    const COUNT: usize = 4;
    let (left, right) = neighbours(&world);
    let mut arriving: Requests<_> = (0..COUNT)
        .map(|tag| world.irecv(vec![0i32], left, tag as i32))
        .collect::<Result<_>>()?;
    assert!(arriving.test_any()?.is_none());
    assert!(arriving.test_some()?.is_empty());
    assert!(arriving.test_all()?.is_none());
    // Nobody sends before its neighbour has found that there is no message.
    world.sendrecv(&[0u8], left, 99, &mut [0u8], right, 99)?;
    let mut leaving: Requests<_> = (0..COUNT)
        .map(|tag| world.isend(vec![tag as i32], right, tag as i32))
        .collect::<Result<_>>()?;
    let first = loop {
        if let Some(done) = arriving.test_any()? {
            break done;
        }
    };
    assert_eq!(first.buffer, [first.key as i32]);
    let rest = loop {
        if let Some(rest) = arriving.test_all()? {
            break rest;
        }
    };
    assert_eq!(rest.len(), COUNT - 1);
    assert!(rest.iter().all(|done| done.buffer == [done.key as i32]));
    leaving.wait_all()?;
    Ok(())
}

/// A communicator is handed on by reference, to code that knows nothing else of it.
#[ranks_test::ranks(1, 2, 3)]
fn rsmpi_dyn_communicator(world: Communicator) -> Result<()> {
    let handed_on: &dyn Fn(&Communicator) -> usize = &|comm| comm.rank();
    assert_eq!(handed_on(&world), world.rank());
    Ok(())
}

/// A struct of the program's own, for the four programs on derived types.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Derived {
    number: u32,
    part: f32,
}

const DERIVED: Derived = Derived {
    number: 7,
    part: 0.5,
};

/// A type needs no library: its bytes are known before anything starts, and there is no
/// communicator to use too early.
#[test]
fn rsmpi_derive_preinit_panic() {
    assert_eq!(bytemuck::bytes_of(&DERIVED).len(), size_of::<Derived>());
}

#[ranks_test::ranks(1, in_process_only)]
fn rsmpi_derive_postfinalize_panic(_world: Communicator) -> Result<()> {
    let runtime = ranks_comm::Runtime::builder()
        .backend(ranks_comm::Backend::InProcess)
        .init()?;
    let world = runtime.world();
    runtime.finalize()?;
    let error = world.isend(vec![DERIVED], 0, 0).expect_err("it has ended");
    assert_eq!(error.kind(), ErrorKind::Finalized);
    Ok(())
}

#[ranks_test::ranks(1, 2, threads = funneled)]
fn rsmpi_derive_nonthreaded_panic(world: Communicator) -> Result<()> {
    let me = world.rank();
    let elsewhere = std::thread::scope(|s| {
        let other = s.spawn(|| world.isend(vec![DERIVED], me, 0).map(drop));
        other.join().expect("it does not panic")
    });
    assert_eq!(
        elsewhere.expect_err("forbidden").kind(),
        ErrorKind::WrongThread
    );
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn rsmpi_derive_multiple_thread_init(world: Communicator) -> Result<()> {
    assert!(ThreadLevel::Multiple > ThreadLevel::Serialized);
    let (left, right) = neighbours(&world);
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..3)
            .map(|tag| {
                let world = &world;
                s.spawn(move || -> Result<()> {
                    let leaving = world.isend(vec![DERIVED; 3], right, tag)?;
                    assert_eq!(world.recv_vec::<Derived>(left, tag)?.0, [DERIVED; 3]);
                    leaving.wait().map(drop)
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no thread panics"))
    })
}
