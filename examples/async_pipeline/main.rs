//! A pipeline of tasks: each rank receives blocks from the rank before it, works on them and sends
//! them on, while tokio runs the next ones.
//!
//! `async_pipeline [BLOCKS]` sends so many blocks (8 if not said) through all ranks; each adds its
//! part to every element. The last rank checks them.

#![deny(unsafe_code)]

use ranks::prelude::*;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

/// Elements of a block.
const LENGTH: usize = 10_000;

/// A rank that is stuck is an error, not a job that never ends.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<()> {
    let blocks = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let blocks: u16 = blocks.unwrap_or(8);
    ranks::run(|world| {
        let executor = Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|reason| failed(&reason))?;
        executor.block_on(async {
            let mut tasks = JoinSet::new();
            for block in 0..blocks {
                tasks.spawn(stage(world.clone(), block));
            }
            while let Some(ended) = tasks.join_next().await {
                ended.map_err(|reason| failed(&reason))??;
            }
            Ok(())
        })
    })
}

/// This rank's part in the way of one block.
async fn stage(world: Communicator, block: u16) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let before = rank.checked_sub(1);
    let after = (rank + 1 < size).then_some(rank + 1);
    let tag = i32::from(block);

    let start = vec![f64::from(block); LENGTH];
    let mut data = match before {
        None => start,
        Some(before) => {
            let arriving = world.irecv(start, before, tag)?;
            let (data, _) = timeout(PATIENCE, arriving)
                .await
                .map_err(|reason| failed(&reason))??;
            data
        }
    };
    data.iter_mut().for_each(|value| *value += part(rank));
    if let Some(after) = after {
        world.isend(data, after, tag)?.await?;
    } else {
        check(block, size, &data)?;
    }
    Ok(())
}

/// The contribution of a rank.
#[expect(clippy::cast_precision_loss, reason = "ranks are few")]
fn part(rank: usize) -> f64 {
    (rank + 1) as f64
}

#[expect(clippy::print_stdout, reason = "the result of the program")]
fn check(block: u16, size: usize, data: &[f64]) -> Result<()> {
    let sum: f64 = (0..size).map(part).sum();
    let expected = f64::from(block) + sum;
    if data.iter().all(|&value| value == expected) {
        println!("block {block}: {expected} after {size} ranks, verified");
        Ok(())
    } else {
        Err(failed(&format!(
            "block {block} is not {expected} everywhere"
        )))
    }
}

fn failed(reason: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Argument, "async_pipeline", reason)
}
