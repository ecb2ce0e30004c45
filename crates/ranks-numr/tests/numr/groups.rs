//! Communicators of some of the ranks.

use std::sync::Arc;

use ranks_comm::Communicator as World;

use super::calls::{Outcome, all_gather, all_reduce, over};
use super::numr::dtype::DType;
use super::numr::runtime::{Communicator, CommunicatorGroup, ReduceOp};

/// In the order of keys; the parts work beside each other, and after the communicator that they are
/// parts of is gone.
#[ranks_test::ranks(1, 2, 3)]
fn parts(world: World) -> Outcome {
    let comm = over(&world)?;
    let (rank, size) = (comm.rank(), comm.world_size());
    let part = comm.split((rank % 2) as u32, (size - rank) as u32)?;
    let part = part.ok_or("no part")?;
    drop(comm);
    let mut others: Vec<u32> = (0..size as u32)
        .rev()
        .filter(|other| other % 2 == rank as u32 % 2)
        .collect();
    assert_eq!(part.world_size(), others.len());
    assert_eq!(others[part.rank()], rank as u32);
    let mut members = vec![99; others.len()];
    all_gather(&*part, &[rank as u32], &mut members, DType::U32)?;
    assert_eq!(members, others);
    others.truncate(0);
    part.barrier()?;
    Ok(())
}

/// As tensors, stages and data are divided: the dimension that has all ranks has a communicator,
/// the others have none.
#[ranks_test::ranks(1, 2, 3)]
fn dimensions(world: World) -> Outcome {
    let size = world.size();
    let comm: Arc<dyn Communicator> = Arc::new(over(&world)?);
    for sizes in [[size, 1, 1], [1, size, 1], [1, 1, size]] {
        let group = CommunicatorGroup::new(Arc::clone(&comm), sizes[0], sizes[1], sizes[2])?;
        for (part, expected) in [group.tp(), group.pp(), group.dp()].into_iter().zip(sizes) {
            assert_eq!(part.map_or(1, |part| part.world_size()), expected);
            assert_eq!(part.is_some(), expected > 1);
            if let Some(part) = part {
                let mut sum = [comm.rank() as u64];
                all_reduce(&**part, &mut sum, DType::U64, ReduceOp::Sum)?;
                assert_eq!(sum[0], (0..size as u64).sum::<u64>());
            }
        }
    }
    let refused = CommunicatorGroup::new(comm, size, 2, 1);
    assert!(refused.is_err());
    Ok(())
}

#[ranks_test::ranks(4, in_process_only)]
fn two_dimensions(world: World) -> Outcome {
    let comm: Arc<dyn Communicator> = Arc::new(over(&world)?);
    let group = CommunicatorGroup::new(Arc::clone(&comm), 2, 1, 2)?;
    let (tensor, data) = (group.tp().ok_or("no TP")?, group.dp().ok_or("no DP")?);
    assert!(group.pp().is_none());
    let mut sums = [comm.rank() as i64; 2];
    all_reduce(&**tensor, &mut sums[..1], DType::I64, ReduceOp::Sum)?;
    all_reduce(&**data, &mut sums[1..], DType::I64, ReduceOp::Sum)?;
    let rank = comm.rank() as i64;
    assert_eq!(sums, [rank + (rank ^ 1), rank + (rank ^ 2)]);
    Ok(())
}
