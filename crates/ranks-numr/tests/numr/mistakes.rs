//! What is refused, and what ranks that call differently get.

use ranks_collectives::VaryingCollectives as _;
use ranks_comm::Communicator as World;
use ranks_numr::{NumrCommunicator, NumrOptions};

use super::calls::{OPS, Outcome, all_reduce, broadcast, over};
use super::numr::dtype::DType;
use super::numr::error::Error;
use super::numr::runtime::{Communicator, ReduceOp};

fn comparing(world: &World) -> ranks_comm::Result<NumrCommunicator> {
    NumrCommunicator::over(world, NumrOptions::new().compare_calls(true))
}

/// All ranks have the same text of an error, which says all of `parts`.
fn the_same_everywhere<T>(world: &World, result: Result<T, Error>, parts: &[&str]) -> Outcome {
    let text = result.err().ok_or("there is no error")?.to_string();
    let all = world.allgatherv(text.as_bytes())?;
    for other in all.iter_blocks() {
        assert_eq!(String::from_utf8_lossy(other), text);
    }
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    Ok(())
}

/// The communicator is as good as before each time.
#[ranks_test::ranks(2, 3)]
fn calls_that_differ(world: World) -> Outcome {
    let comm = comparing(&world)?;
    let last = comm.rank() == comm.world_size() - 1;
    let works = || -> Outcome {
        let mut data = [1.0_f32; 2];
        all_reduce(&comm, &mut data, DType::F32, ReduceOp::Sum)?;
        assert_eq!(data, [comm.world_size() as f32; 2]);
        Ok(())
    };
    let mut data = [1.0_f32; 4];

    let length = if last { 3 } else { 4 };
    let counts = all_reduce(&comm, &mut data[..length], DType::F32, ReduceOp::Sum);
    the_same_everywhere(&world, counts, &["count 4", "count 3", "all_reduce"])?;
    works()?;
    let dtype = if last { DType::I32 } else { DType::F32 };
    let types = all_reduce(&comm, &mut data, dtype, ReduceOp::Sum);
    the_same_everywhere(&world, types, &["F32", "I32"])?;
    works()?;
    let op = if last { ReduceOp::Max } else { ReduceOp::Sum };
    let operations = all_reduce(&comm, &mut data, DType::F32, op);
    the_same_everywhere(&world, operations, &["Sum", "Max"])?;
    works()?;
    let roots = broadcast(&comm, &mut data, DType::F32, usize::from(last));
    the_same_everywhere(&world, roots, &["root 0", "root 1"])?;
    works()?;
    let calls = if last {
        comm.barrier()
    } else {
        broadcast(&comm, &mut data, DType::F32, 0)
    };
    the_same_everywhere(&world, calls, &["barrier", "broadcast"])?;
    assert_eq!(data, [1.0; 4], "nothing was done");
    works()
}

/// Who refuses says why, the others that it does.
#[ranks_test::ranks(2, 3)]
fn a_call_that_one_rank_refuses(world: World) -> Outcome {
    let comm = comparing(&world)?;
    let mut data = [1_u8; 2];
    let address = if comm.rank() == 1 {
        0
    } else {
        data.as_mut_ptr() as u64
    };
    // SAFETY: two elements, or a null pointer, which is refused.
    let refused = unsafe { comm.all_reduce(address, 2, DType::U8, ReduceOp::Sum) };
    let text = refused.unwrap_err().to_string();
    let expected = if comm.rank() == 1 {
        "null pointer"
    } else {
        "rank 1 of"
    };
    assert!(text.contains(expected), "{text}");
    all_reduce(&comm, &mut data, DType::U8, ReduceOp::Sum)?;
    assert_eq!(data, [world.size() as u8; 2]);
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn types_that_are_not_reduced(world: World) -> Outcome {
    for comm in [
        over(&world)?,
        NumrCommunicator::over(&world, NumrOptions::new().rank_order(true))?,
    ] {
        for (dtype, op) in [DType::Bool, DType::FP8E4M3, DType::FP8E5M2]
            .into_iter()
            .flat_map(|dtype| OPS.map(|op| (dtype, op)))
        {
            assert!(!comm.supports(dtype, op));
            let mut data = [1_u8; 2];
            let refused = all_reduce(&comm, &mut data, dtype, op).unwrap_err();
            assert!(
                matches!(refused, Error::UnsupportedDType { dtype: told, op: "all_reduce" } if told == dtype),
                "{refused}"
            );
        }
        for dtype in [
            DType::F64,
            DType::F32,
            DType::F16,
            DType::BF16,
            DType::I64,
            DType::I32,
            DType::I16,
            DType::I8,
            DType::U64,
            DType::U32,
            DType::U16,
            DType::U8,
        ] {
            assert!(OPS.iter().all(|&op| comm.supports(dtype, op)), "{dtype:?}");
        }
    }
    Ok(())
}

#[ranks_test::ranks(1, 2)]
fn arguments_that_cannot_be(world: World) -> Outcome {
    let comm = NumrCommunicator::over(&world, NumrOptions::new().compare_calls(false))?;
    let size = comm.world_size();
    let mut data = [0_u64; 4];
    let at = data.as_mut_ptr() as u64;
    let refused = |result: Result<(), Error>, expected: &str| match result {
        Err(Error::InvalidArgument { arg, reason }) => {
            assert_eq!(arg, expected, "{reason}");
        }
        other => panic!("{expected}: {other:?}"),
    };
    // SAFETY: nothing is done with any of these: the argument that is named is refused.
    unsafe {
        refused(comm.all_reduce(0, 1, DType::U64, ReduceOp::Sum), "ptr");
    }
    // SAFETY: as above.
    unsafe {
        refused(
            comm.all_reduce(at, usize::MAX / 4, DType::U64, ReduceOp::Sum),
            "count",
        );
    }
    // SAFETY: as above.
    unsafe {
        refused(comm.broadcast(at, 1, DType::U64, size), "root");
    }
    // SAFETY: as above.
    unsafe {
        refused(comm.send(at, 1, DType::U64, size, 0), "dest");
    }
    // SAFETY: as above.
    unsafe {
        refused(comm.recv(at, 1, DType::U64, size, 0), "src");
    }
    // SAFETY: as above.
    unsafe {
        refused(comm.all_gather(at + 4, at, 1, DType::U64), "send_ptr");
    }
    // SAFETY: as above.
    unsafe {
        refused(comm.all_gather(at, 0, 1, DType::U64), "recv_ptr");
    }
    // SAFETY: as above.
    unsafe {
        refused(
            comm.reduce_scatter(at, at + 4, 1, DType::U64, ReduceOp::Sum),
            "recv_ptr",
        );
    }
    for (color, key, named) in [(1 << 31, 0, "color"), (0, u32::MAX, "key")] {
        refused(comm.split(color, key).map(|_| ()), named);
    }
    if size > 1 {
        // SAFETY: as above. No library has tags so large.
        unsafe {
            refused(
                comm.send(at, 1, DType::U64, 1 - comm.rank(), u32::MAX),
                "tag",
            );
        }
        // SAFETY: as above.
        unsafe {
            refused(
                comm.recv(at, 1, DType::U64, 1 - comm.rank(), u32::MAX),
                "tag",
            );
        }
    }
    assert!(comm.as_stream_sync().is_none());
    comm.barrier()?;
    Ok(())
}
