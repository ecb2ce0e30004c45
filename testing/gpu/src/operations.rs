//! What NCCL does with all ranks.

use std::thread;
use std::time::Duration;

use ranks_collectives::ops::{Max, Min, Prod, Sum};
use ranks_comm::ErrorKind;
use ranks_nccl::RawNccl;
use ranks_nccl::{NcclCommunicator, group};
use raw_conformance::DeviceMemory;

use crate::machine::shares;
use crate::processes::{Case, Work};
use crate::ranks::{LIMIT, Ranks};
use crate::report::{Outcome, Seen, ensure, well};

/// What the library says of itself.
pub(crate) fn properties(ranks: &Ranks) -> Outcome {
    let Some(comm) = ranks.all.first() else {
        return Err("there is no rank".into());
    };
    match comm.properties() {
        Ok(properties) => Ok(Seen::Well(format!("{properties:?}"))),
        Err(error) if error.kind() == ErrorKind::NotInLibrary => {
            Ok(Seen::NotHere(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// All types, all operations, messages, mistakes, splits and aborts.
pub(crate) fn conformance(ranks: &Ranks) -> Outcome {
    let devices: Vec<usize> = ranks.all.iter().map(NcclCommunicator::device).collect();
    if shares(&devices) {
        let why = "its cases free memory while other ranks of this process wait, and the driver waits for all that the GPU does then";
        return Ok(Seen::NotHere(why.to_owned()));
    }
    let seen = ranks
        .each(|comm| over_addresses(comm.split(Some(0), 0)?.ok_or("a part without this rank")?))?;
    seen.into_iter().next().ok_or("there is no rank".into())
}

/// The cases that each rank does in a process of its own.
pub(crate) const IN_PROCESSES: &[Case] = &[(
    "every case of the trait over addresses, in processes",
    Work::Nccl(over_addresses),
)];

fn over_addresses(comm: NcclCommunicator) -> Outcome {
    let memory = DeviceMemory(comm.context().clone());
    raw_conformance::run(&RawNccl::new(comm)?, &memory)?;
    let cases = raw_conformance::CASES.len();
    Ok(Seen::Well(format!("{cases} cases")))
}

/// Borrowed memory, several operations under way.
pub(crate) fn scoped(ranks: &Ranks) -> Outcome {
    let size = ranks.size();
    ranks.each(|comm| {
        let (context, rank) = (comm.context(), comm.rank());
        let stream = context.stream()?;
        let mine = context.device_vec_of(&[rank as f32 + 1.0; 1000])?;
        let mut sum = context.alloc::<f32>(1000)?;
        let mut largest = context.device_vec_of(&[rank as i64; 3])?;
        let mut all = context.alloc::<f32>(1000 * size)?;
        comm.scope(&stream, |queue| {
            queue.allreduce(&mine, &mut sum, Sum)?;
            queue.allreduce_in_place(&mut largest, Max)?;
            queue.allgather(&mine, &mut all)
        })?;
        let total = (size * (size + 1) / 2) as f32;
        ensure(sum.to_vec()?.iter().all(|value| *value == total), || {
            "a sum is wrong".to_owned()
        })?;
        let last = size as i64 - 1;
        ensure(largest.to_vec()? == [last; 3], || {
            "a maximum is wrong".to_owned()
        })?;
        let expected = (0..size).flat_map(|rank| [rank as f32 + 1.0; 1000]);
        ensure(all.to_vec()?.into_iter().eq(expected), || {
            "what was collected is wrong".to_owned()
        })?;
        Ok(())
    })?;
    well()
}

/// Buffers that go in and come back.
pub(crate) fn owned(ranks: &Ranks) -> Outcome {
    let size = ranks.size();
    ranks.each(|comm| {
        let (context, rank) = (comm.context(), comm.rank());
        let (stream, other) = (context.stream()?, context.stream()?);
        let mine = context.device_vec_of(&vec![rank as u64 + 2; size])?;
        let product = comm.allreduce_in_place(mine, Prod, &stream)?;
        let product = product.enqueue_wait(&other)?;
        let least = comm.reduce_scatter_block(product, context.alloc(1)?, Min, &other)?;
        let (product, least) = least.wait()?;
        let expected: u64 = (2..size as u64 + 2).product();
        ensure(product.to_vec()? == vec![expected; size], || {
            "a product is wrong".to_owned()
        })?;
        ensure(least.to_vec()? == [expected], || {
            "a minimum is wrong".to_owned()
        })?;
        let next = (rank + 1) % size;
        let from = (rank + size - 1) % size;
        let exchanged = comm.sendrecv(
            context.device_vec_of(&[rank as u64; 77])?,
            next,
            context.alloc::<u64>(77)?,
            from,
            &stream,
        )?;
        let (_, came) = exchanged.wait()?;
        ensure(came.to_vec()? == [from as u64; 77], || {
            "what came is another rank's".to_owned()
        })?;
        Ok(())
    })?;
    well()
}

/// The factor is one of the host.
pub(crate) fn pre_mul_sum(ranks: &Ranks) -> Outcome {
    let size = ranks.size();
    ranks.each(|comm| {
        let stream = comm.context().stream()?;
        let mut mine = comm.context().device_vec_of(&[8.0_f64; 10])?;
        let half = comm.pre_mul_sum(0.5)?;
        comm.scope(&stream, |queue| queue.allreduce_in_place(&mut mine, &half))?;
        ensure(mine.to_vec()? == [4.0 * size as f64; 10], || {
            "the sum is wrong".to_owned()
        })?;
        Ok(())
    })?;
    well()
}

/// All communicators of the process in one group, by one thread.
pub(crate) fn grouped(ranks: &Ranks) -> Outcome {
    let mut parts = Vec::new();
    for comm in &ranks.all {
        let stream = comm.context().stream()?;
        parts.push((comm, stream, comm.context().device_vec_of(&[1_i32; 64])?));
    }
    group(|group| {
        for (comm, stream, mine) in &mut parts {
            group.on(comm, &*stream, |queue| queue.allreduce_in_place(mine, Sum))?;
        }
        Ok(())
    })?;
    for (comm, stream, mine) in &parts {
        comm.synchronize(stream)?;
        let size = i32::try_from(ranks.size())?;
        ensure(mine.to_vec()? == [size; 64], || "a sum is wrong".to_owned())?;
    }
    well()
}

/// Even and odd ranks apart, and rank 0 in no part.
pub(crate) fn split(ranks: &Ranks) -> Outcome {
    let sizes = ranks.each(|comm| {
        let rank = comm.rank();
        let color = (rank > 0).then_some(u32::try_from(rank % 2)?);
        Ok(comm.split(color, 0)?.map(|part| part.size()))
    })?;
    let without = sizes.iter().filter(|size| size.is_none()).count();
    ensure(without == 1 && sizes.first() == Some(&None), || {
        format!("the parts are {sizes:?}")
    })?;
    well()
}

/// Another thread aborts while a rank waits for a message that never comes.
pub(crate) fn aborted(ranks: &Ranks) -> Outcome {
    if ranks.size() == 1 {
        return Ok(Seen::NotHere("it takes two ranks".to_owned()));
    }
    ranks.each(|comm| {
        let waited = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(200));
                comm.abort();
            });
            waits_for_nothing(comm)
        });
        match waited {
            Ok(()) => Err("a message came that nobody sent".into()),
            Err(error) if error.kind() == ErrorKind::Aborted => Ok(()),
            Err(error) => Err(error.into()),
        }
    })?;
    well()
}

/// Everybody receives, and nobody sends.
fn waits_for_nothing(comm: &NcclCommunicator) -> ranks_comm::Result<()> {
    let device =
        |error: ranks_cuda::Error| ranks_comm::Error::new(ErrorKind::Device, "ranks-gpu", &error);
    let stream = comm.context().stream().map_err(device)?;
    let room = comm.context().alloc::<u8>(16).map_err(device)?;
    let from = (comm.rank() + 1) % comm.size();
    comm.recv(room, from, &stream)?.wait().map(|_| ())
}

/// Freed by all ranks together, in time.
pub(crate) fn finalized(ranks: &Ranks) -> Outcome {
    let parts =
        ranks.each(|comm| Ok(comm.split(Some(0), 0)?.ok_or("a part without this rank")?))?;
    let began = std::time::Instant::now();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = parts
            .into_iter()
            .map(|part| scope.spawn(|| part.finalize()))
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    for outcome in outcomes {
        outcome.map_err(|_| "a rank has panicked")??;
    }
    ensure(began.elapsed() < LIMIT, || "it took too long".to_owned())?;
    well()
}
