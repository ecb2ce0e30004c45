//! The calls themselves, in each form.

use ranks_collectives::{
    Collectives, InPlaceCollectives, NonblockingCollectives, Op, PersistentCollectives,
    PersistentVaryingCollectives, ScopedCollectives, VaryingCollectives,
};
use ranks_comm::{Communicator, Result};

use super::calls::Call;
use super::cases::Operation::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Bcast, Exscan, Gather, Gatherv, Reduce,
    ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
};
use crate::model::{Guarded, Sample, expect_same};

/// Ends what is under way, and looks at what has come.
pub(super) type Later = Box<dyn FnOnce() -> Result<()>>;

fn guarded<T: Sample>(data: &[T]) -> Guarded<T> {
    let mut guarded = Guarded::new(data.len());
    guarded.buffer().copy_from_slice(data);
    guarded
}

pub(super) fn blocking<T: Sample, O: Op<T>>(
    world: &Communicator,
    call: &Call<T>,
    op: O,
    what: &str,
) -> Result<()> {
    let mut guarded = guarded(&call.recv);
    let (send, recv, blocks, root) = (&call.send, guarded.buffer(), &call.blocks, call.root);
    match call.operation {
        Bcast => world.bcast(recv, root),
        Gather => world.gather(send, recv, root),
        Gatherv => world.gatherv_into(send, recv, blocks, root),
        Scatter => world.scatter(send, recv, root),
        Scatterv => world.scatterv_into(send, blocks, recv, root),
        Allgather => world.allgather(send, recv),
        Allgatherv => world.allgatherv_into(send, recv, blocks),
        Alltoall => world.alltoall(send, recv),
        Alltoallv => world.alltoallv_into(send, blocks, recv, blocks),
        Reduce => world.reduce(send, recv, op, root),
        Allreduce => world.allreduce(send, recv, op),
        ReduceScatterBlock => world.reduce_scatter_block(send, recv, op),
        ReduceScatter => world.reduce_scatter(send, recv, blocks, op),
        Scan => world.scan(send, recv, op),
        Exscan => world.exscan(send, recv, op),
    }?;
    guarded.expect(&call.expected, what);
    finding_lengths(world, call, what)
}

/// The operations that find out how much comes from each rank.
fn finding_lengths<T: Sample>(world: &Communicator, call: &Call<T>, what: &str) -> Result<()> {
    let (send, blocks, root) = (&call.send, &call.blocks, call.root);
    let found = match call.operation {
        Gatherv => world.gatherv(send, root)?,
        Allgatherv => Some(world.allgatherv(send)?),
        Alltoallv => Some(world.alltoallv(send, blocks)?),
        Scatterv => {
            assert_eq!(
                world.scatterv(send, blocks, root)?,
                call.expected,
                "{what}, of unknown length"
            );
            None
        }
        _ => None,
    };
    let Some(found) = found else {
        return Ok(());
    };
    for rank in 0..world.size() {
        assert_eq!(
            found.block(rank),
            Some(&call.expected[blocks.range(rank)]),
            "{what}, of unknown lengths"
        );
    }
    Ok(())
}

pub(super) fn in_place<T: Sample, O: Op<T>>(
    world: &Communicator,
    call: &Call<T>,
    op: O,
    what: &str,
) -> Result<()> {
    let (before, expected) = call.in_place();
    let mut guarded = guarded(&before);
    let (data, blocks, root) = (guarded.buffer(), &call.blocks, call.root);
    match call.operation {
        Bcast => world.bcast(data, root),
        Gather => world.gather_in_place(data, root),
        Gatherv => world.gatherv_in_place(data, blocks, root),
        Scatter => world.scatter_in_place(data, root),
        Scatterv => world.scatterv_in_place(data, blocks, root),
        Allgather => world.allgather_in_place(data),
        Allgatherv => world.allgatherv_in_place(data, blocks),
        Alltoall => world.alltoall_in_place(data),
        Alltoallv => world.alltoallv_in_place(data, blocks),
        Reduce => world.reduce_in_place(data, op, root),
        Allreduce => world.allreduce_in_place(data, op),
        ReduceScatterBlock => world.reduce_scatter_block_in_place(data, op),
        ReduceScatter => world.reduce_scatter_in_place(data, blocks, op),
        Scan => world.scan_in_place(data, op),
        Exscan => world.exscan_in_place(data, op),
    }?;
    // What is behind a share is unspecified.
    let rest = guarded.buffer()[expected.len()..].to_vec();
    guarded.expect(&[expected, &rest].concat(), what);
    Ok(())
}

pub(super) fn owned<T: Sample, O: Op<T> + Send + 'static>(
    world: &Communicator,
    call: Call<T>,
    op: O,
    what: String,
) -> Result<Later> {
    let (send, recv, blocks, root) = (call.send, call.recv, &call.blocks, call.root);
    let expected = call.expected;
    let request = match call.operation {
        Bcast => {
            let request = world.ibcast(recv, root)?;
            return Ok(Box::new(move || {
                expect_same(&request.wait()?.0, &expected, &what);
                Ok(())
            }));
        }
        Gather => world.igather(send, recv, root),
        Gatherv => world.igatherv(send, recv, blocks, root),
        Scatter => world.iscatter(send, recv, root),
        Scatterv => world.iscatterv(send, blocks, recv, root),
        Allgather => world.iallgather(send, recv),
        Allgatherv => world.iallgatherv(send, recv, blocks),
        Alltoall => world.ialltoall(send, recv),
        Alltoallv => world.ialltoallv(send, blocks, recv, blocks),
        Reduce => world.ireduce(send, recv, op, root),
        Allreduce => world.iallreduce(send, recv, op),
        ReduceScatterBlock => world.ireduce_scatter_block(send, recv, op),
        ReduceScatter => world.ireduce_scatter(send, recv, blocks, op),
        Scan => world.iscan(send, recv, op),
        Exscan => world.iexscan(send, recv, op),
    }?;
    Ok(Box::new(move || {
        let ((_, recv), _) = request.wait()?;
        expect_same(&recv, &expected, &what);
        Ok(())
    }))
}

/// All of the calls at once.
pub(super) fn scoped<T: Sample, O: Op<T> + Send + 'static>(
    world: &Communicator,
    calls: &[Call<T>],
    op: O,
    what: &str,
) -> Result<()> {
    let mut buffers: Vec<_> = calls.iter().map(|call| guarded(&call.recv)).collect();
    world.scope(|s| {
        for (call, guarded) in calls.iter().zip(&mut buffers) {
            let (send, recv) = (&call.send[..], guarded.buffer());
            let (blocks, root) = (&call.blocks, call.root);
            match call.operation {
                Bcast => s.ibcast(recv, root),
                Gather => s.igather(send, recv, root),
                Gatherv => s.igatherv(send, recv, blocks, root),
                Scatter => s.iscatter(send, recv, root),
                Scatterv => s.iscatterv(send, blocks, recv, root),
                Allgather => s.iallgather(send, recv),
                Allgatherv => s.iallgatherv(send, recv, blocks),
                Alltoall => s.ialltoall(send, recv),
                Alltoallv => s.ialltoallv(send, blocks, recv, blocks),
                Reduce => s.ireduce(send, recv, op, root),
                Allreduce => s.iallreduce(send, recv, op),
                ReduceScatterBlock => s.ireduce_scatter_block(send, recv, op),
                ReduceScatter => s.ireduce_scatter(send, recv, blocks, op),
                Scan => s.iscan(send, recv, op),
                Exscan => s.iexscan(send, recv, op),
            }?;
        }
        Result::Ok(())
    })?;
    for (call, guarded) in calls.iter().zip(&buffers) {
        guarded.expect(&call.expected, what);
    }
    Ok(())
}

/// Prepared once and started for each of the calls, which differ in what is sent alone.
pub(super) fn persistent<T: Sample, O: Op<T> + Send + 'static>(
    world: &Communicator,
    calls: &[Call<T>],
    op: O,
    what: &str,
) -> Result<()> {
    let Some(call) = calls.first() else {
        return Ok(());
    };
    let (blocks, root) = (&call.blocks, call.root);
    // What it is prepared with is not what it is started with.
    let (send, recv) = (vec![T::sample(5, 5); call.send.len()], call.recv.clone());
    let mut request = match call.operation {
        Bcast => {
            let mut request = world.bcast_init(recv, root)?;
            for call in calls {
                request.buffer_mut().copy_from_slice(&call.recv);
                request = request.start()?.wait()?.0;
                expect_same(request.buffer(), &call.expected, what);
            }
            return request.free().map(drop);
        }
        Gather => world.gather_init(send, recv, root),
        Gatherv => world.gatherv_init(send, recv, blocks, root),
        Scatter => world.scatter_init(send, recv, root),
        Scatterv => world.scatterv_init(send, blocks, recv, root),
        Allgather => world.allgather_init(send, recv),
        Allgatherv => world.allgatherv_init(send, recv, blocks),
        Alltoall => world.alltoall_init(send, recv),
        Alltoallv => world.alltoallv_init(send, blocks, recv, blocks),
        Reduce => world.reduce_init(send, recv, op, root),
        Allreduce => world.allreduce_init(send, recv, op),
        ReduceScatterBlock => world.reduce_scatter_block_init(send, recv, op),
        ReduceScatter => world.reduce_scatter_init(send, recv, blocks, op),
        Scan => world.scan_init(send, recv, op),
        Exscan => world.exscan_init(send, recv, op),
    }?;
    for call in calls {
        request.send_mut().copy_from_slice(&call.send);
        request = request.start()?.wait()?.0;
        expect_same(request.recv(), &call.expected, what);
    }
    request.free().map(drop)
}
