//! Operations of all ranks: their results, and what they leave alone.

use std::fmt::Debug;
use std::sync::Arc;

use bytemuck::Pod;
use half::{bf16, f16};
use ranks_comm::Communicator as World;
use ranks_numr::{NumrCommunicator, NumrOptions};

use super::calls::{OPS, Outcome, all_gather, all_reduce, broadcast, over, reduce_scatter};
use super::numr::dtype::DType;
use super::numr::runtime::{Communicator, ReduceOp};

const REALS: [[f64; 5]; 3] = [
    [1e8, 1.5, -3.0, 7.25, 0.1],
    [1.0, -2.0, 0.5, 3.0, 0.2],
    [-1e8, 4.0, 2.0, -1.0, 0.3],
];

fn in_rank_order(world: &World) -> ranks_comm::Result<NumrCommunicator> {
    NumrCommunicator::over(world, NumrOptions::new().rank_order(true))
}

/// Reduces what each rank has, and compares with what combining it in the order of ranks comes to,
/// bit for bit.
fn folds<T: Pod + PartialEq + Debug>(
    comm: &dyn Communicator,
    dtype: DType,
    of_rank: impl Fn(usize) -> Vec<T>,
    combine: impl Fn(ReduceOp, T, T) -> T,
) -> Outcome {
    for op in OPS {
        let mut expected = of_rank(0);
        for rank in 1..comm.world_size() {
            for (left, right) in expected.iter_mut().zip(of_rank(rank)) {
                *left = combine(op, *left, right);
            }
        }
        let mut data = of_rank(comm.rank());
        all_reduce(comm, &mut data, dtype, op)?;
        assert_eq!(
            bytemuck::cast_slice::<T, u8>(&data),
            bytemuck::cast_slice::<T, u8>(&expected),
            "{op:?} of {dtype:?}: {data:?} instead of {expected:?}"
        );
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn reductions_in_rank_order(world: World) -> Outcome {
    let comm = in_rank_order(&world)?;
    folds(
        &comm,
        DType::F64,
        |rank| REALS[rank].to_vec(),
        |op, a, b| match op {
            ReduceOp::Sum => a + b,
            ReduceOp::Prod => a * b,
            ReduceOp::Min => a.min(b),
            ReduceOp::Max => a.max(b),
        },
    )?;
    let single = |rank: usize| REALS[rank].map(|x| x as f32).to_vec();
    folds(&comm, DType::F32, single, |op, a, b| match op {
        ReduceOp::Sum => a + b,
        ReduceOp::Prod => a * b,
        ReduceOp::Min => a.min(b),
        ReduceOp::Max => a.max(b),
    })?;
    let whole = |rank: usize| [[7, -3, i32::MAX, 0], [-2, 5, 1, 9], [4, -6, 1, -9]][rank].to_vec();
    folds(&comm, DType::I32, whole, |op, a, b| match op {
        ReduceOp::Sum => a.wrapping_add(b),
        ReduceOp::Prod => a.wrapping_mul(b),
        ReduceOp::Min => a.min(b),
        ReduceOp::Max => a.max(b),
    })
}

/// 1e8 + 1 is 1e8 again, so the order of ranks leaves 0, and any other 1.
#[ranks_test::ranks(3)]
fn a_sum_in_rank_order_repeats(world: World) -> Outcome {
    let comm = in_rank_order(&world)?;
    for _ in 0..5 {
        let mut data = [REALS[comm.rank()][0] as f32];
        all_reduce(&comm, &mut data, DType::F32, ReduceOp::Sum)?;
        assert_eq!(data[0].to_bits(), 0);
    }
    let send = [REALS[comm.rank()][0] as f32; 3];
    let mut recv = [1.0_f32];
    reduce_scatter(&comm, &send, &mut recv, DType::F32, ReduceOp::Sum)?;
    assert_eq!(recv[0].to_bits(), 0);
    Ok(())
}

/// In process it is the order of ranks, asked for or not.
#[ranks_test::ranks(3, in_process_only)]
fn a_sum_in_process_repeats(world: World) -> Outcome {
    let comm = over(&world)?;
    for _ in 0..5 {
        let mut data = [REALS[comm.rank()][0] as f32];
        all_reduce(&comm, &mut data, DType::F32, ReduceOp::Sum)?;
        assert_eq!(data[0].to_bits(), 0);
    }
    Ok(())
}

/// Of small numbers all orders and roundings come to the same.
#[ranks_test::ranks(1, 2, 3)]
fn halves_are_reduced(world: World) -> Outcome {
    let comm = over(&world)?;
    let (rank, size) = (comm.rank(), comm.world_size());
    let sum = (1..=size).sum::<usize>() as f32;
    for (op, expected) in [
        (ReduceOp::Sum, sum),
        (ReduceOp::Max, size as f32),
        (ReduceOp::Min, 1.0),
    ] {
        let mine = rank as f32 + 1.0;
        let mut data = [f16::from_f32(mine); 3];
        all_reduce(&comm, &mut data, DType::F16, op)?;
        assert_eq!(data.map(f16::to_f32), [expected; 3], "{op:?}");
        let mut data = [bf16::from_f32(mine); 3];
        all_reduce(&comm, &mut data, DType::BF16, op)?;
        assert_eq!(data.map(bf16::to_f32), [expected; 3], "{op:?}");
    }
    Ok(())
}

/// Their neighbours are 2 apart there: rounded each time, both ones are lost.
#[ranks_test::ranks(3)]
fn halves_in_rank_order_are_rounded_once(world: World) -> Outcome {
    let comm = in_rank_order(&world)?;
    let mut data = [[2048.0, 1.0, 1.0].map(f16::from_f32)[comm.rank()]];
    all_reduce(&comm, &mut data, DType::F16, ReduceOp::Sum)?;
    assert_eq!(data[0].to_f32(), 2050.0);
    let mut data = [[256.0, 1.0, 1.0].map(bf16::from_f32)[comm.rank()]];
    all_reduce(&comm, &mut data, DType::BF16, ReduceOp::Sum)?;
    assert_eq!(data[0].to_f32(), 258.0);
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn the_root_is_copied(world: World) -> Outcome {
    let comm = over(&world)?;
    for root in 0..comm.world_size() {
        let of_rank = |rank: usize| [0, 1, 2, 3].map(|index| (10 * rank + index) as f32);
        let mut data = of_rank(comm.rank());
        broadcast(&comm, &mut data, DType::F32, root)?;
        assert_eq!(data, of_rank(root), "root {root}");
    }
    Ok(())
}

/// Also those that nobody reduces.
#[ranks_test::ranks(2)]
fn every_type_is_moved(world: World) -> Outcome {
    let comm = over(&world)?;
    for dtype in [
        DType::F64,
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::FP8E4M3,
        DType::FP8E5M2,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U64,
        DType::U32,
        DType::U16,
        DType::U8,
        DType::Bool,
        DType::Complex64,
        DType::Complex128,
    ] {
        let bytes = 3 * dtype.size_in_bytes();
        let of_rank = |rank: usize| vec![rank as u8; bytes];
        let mut data = of_rank(comm.rank());
        let mut all = vec![9; 2 * bytes];
        let (from, to) = (data.as_mut_ptr() as u64, all.as_mut_ptr() as u64);
        // SAFETY: `all` has room for what both ranks have at `data`, and both live until `sync` is
        // over.
        unsafe { comm.all_gather(from, to, 3, dtype)? };
        comm.sync()?;
        assert_eq!(all, [of_rank(0), of_rank(1)].concat(), "{dtype:?}");
        // SAFETY: at `data` are three elements, which live until `sync` is over.
        unsafe { comm.broadcast(from, 3, dtype, 1)? };
        comm.sync()?;
        assert_eq!(data, of_rank(1), "{dtype:?}");
    }
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn blocks_come_in_the_order_of_ranks(world: World) -> Outcome {
    let comm = over(&world)?;
    let (rank, size) = (comm.rank(), comm.world_size());
    let send = [10 * rank as i32, 10 * rank as i32 + 1];
    let mut recv = vec![-1; 2 * size];
    all_gather(&comm, &send, &mut recv, DType::I32)?;
    let expected: Vec<i32> = (0..size as i32)
        .flat_map(|r| [10 * r, 10 * r + 1])
        .collect();
    assert_eq!(recv, expected);
    assert_eq!(send, [10 * rank as i32, 10 * rank as i32 + 1]);

    let mut all = vec![-1; 2 * size];
    all[2 * rank..][..2].copy_from_slice(&send);
    let to = all.as_mut_ptr() as u64;
    // SAFETY: this rank's block is in place, and all of it lives until `sync` is over.
    unsafe { comm.all_gather(to + 8 * rank as u64, to, 2, DType::I32)? };
    comm.sync()?;
    assert_eq!(all, expected, "in place");
    Ok(())
}

/// Nor is what they came from changed.
#[ranks_test::ranks(1, 2, 3)]
fn each_rank_gets_its_share(world: World) -> Outcome {
    for comm in [over(&world)?, in_rank_order(&world)?] {
        let (rank, size) = (comm.rank(), comm.world_size());
        let of_rank = |rank: usize| -> Vec<i64> {
            (0..2 * size)
                .map(|index| (100 * rank + index) as i64)
                .collect()
        };
        let send = of_rank(rank);
        let mut recv = [0_i64; 2];
        reduce_scatter(&comm, &send, &mut recv, DType::I64, ReduceOp::Sum)?;
        let sum = |index| (0..size).map(|r| of_rank(r)[2 * rank + index]).sum::<i64>();
        let expected = [0, 1].map(sum);
        assert_eq!(recv, expected);
        assert_eq!(send, of_rank(rank), "what was sent");
    }
    Ok(())
}

#[ranks_test::ranks(2, 3)]
fn rounds_never_mix(world: World) -> Outcome {
    let comm = over(&world)?;
    let (rank, size) = (comm.rank(), comm.world_size());
    for round in 0..12_usize {
        let length = round % 5 + 1;
        if round % 2 == 0 {
            let mut data: Vec<i64> = (0..length)
                .map(|i| ((rank + 1) * round + i) as i64)
                .collect();
            all_reduce(&comm, &mut data, DType::I64, ReduceOp::Sum)?;
            let sum = |i| (1..=size).map(|r| (r * round + i) as i64).sum();
            assert_eq!(
                data,
                (0..length).map(sum).collect::<Vec<i64>>(),
                "round {round}"
            );
        } else {
            let mut data = vec![(1000 * rank + round) as f64; length];
            all_reduce(&comm, &mut data, DType::F64, ReduceOp::Max)?;
            assert_eq!(
                data,
                vec![(1000 * (size - 1) + round) as f64; length],
                "round {round}"
            );
        }
    }
    Ok(())
}

/// As gradients are summed: all begun, then one `sync`.
#[ranks_test::ranks(1, 2, 3)]
fn many_are_under_way_at_once(world: World) -> Outcome {
    let comm: Arc<dyn Communicator> = Arc::new(over(&world)?);
    let mine = comm.rank() as f32 + 1.0;
    let mut buckets: Vec<Vec<f32>> = (1..=12).map(|length| vec![mine; 7 * length]).collect();
    for bucket in &mut buckets {
        let (address, length) = (bucket.as_mut_ptr() as u64, bucket.len());
        // SAFETY: the buckets stay where they are until `sync` is over.
        unsafe { comm.all_reduce(address, length, DType::F32, ReduceOp::Sum)? };
    }
    comm.sync()?;
    let sum = (1..=comm.world_size()).sum::<usize>() as f32;
    assert!(
        buckets.iter().flatten().all(|&element| element == sum),
        "{buckets:?}"
    );
    Ok(())
}

/// Nothing at all, wherever it lies.
#[ranks_test::ranks(1, 2)]
fn no_elements(world: World) -> Outcome {
    for comm in [over(&world)?, in_rank_order(&world)?] {
        // SAFETY: no elements are read or written.
        unsafe {
            comm.all_reduce(0, 0, DType::F32, ReduceOp::Sum)?;
        }
        // SAFETY: as above.
        unsafe {
            comm.broadcast(0, 0, DType::Bool, 0)?;
        }
        // SAFETY: as above.
        unsafe {
            comm.all_gather(0, 0, 0, DType::U8)?;
        }
        // SAFETY: as above.
        unsafe {
            comm.reduce_scatter(0, 0, 0, DType::I64, ReduceOp::Max)?;
        }
        comm.sync()?;
    }
    Ok(())
}

/// As numr's own for a single rank, which does nothing but copy.
#[ranks_test::ranks(1)]
fn one_rank(world: World) -> Outcome {
    let comm = over(&world)?;
    assert_eq!((comm.world_size(), comm.rank()), (1, 0));
    for op in OPS {
        let mut data = [1.0_f32, f32::NAN, -0.0, 4.5];
        let before = data.map(f32::to_bits);
        all_reduce(&comm, &mut data, DType::F32, op)?;
        assert_eq!(data.map(f32::to_bits), before, "{op:?}");
    }
    let mut data = [3.0_f32, 4.0];
    broadcast(&comm, &mut data, DType::F32, 0)?;
    assert_eq!(data, [3.0, 4.0]);
    let mut recv = [0.0_f32; 2];
    all_gather(&comm, &data, &mut recv, DType::F32)?;
    assert_eq!(recv, data);
    reduce_scatter(&comm, &[5.0_f32, 6.0], &mut recv, DType::F32, ReduceOp::Sum)?;
    assert_eq!(recv, [5.0, 6.0]);
    let address = data.as_mut_ptr() as u64;
    // SAFETY: two elements, in place, alive until `sync` is over.
    unsafe { comm.all_gather(address, address, 2, DType::F32)? };
    // SAFETY: as above.
    unsafe { comm.send(address, 2, DType::F32, 0, 0)? };
    // SAFETY: as above.
    unsafe { comm.recv(address, 2, DType::F32, 0, 0)? };
    comm.sync()?;
    comm.barrier()?;
    assert_eq!(data, [3.0, 4.0]);
    Ok(())
}
