//! Collective calls, of one element.

use ranks::Persistent;
use ranks::prelude::*;

use crate::callgrind::count;

/// The operands of the calls.
struct State {
    world: Communicator,
    root: usize,
    send: Vec<f64>,
    recv: Vec<f64>,
    blocks: Blocks,
    prepared: Option<Persistent<(Vec<f64>, Vec<f64>)>>,
}

/// Counts each call.
pub(crate) fn count_all(world: &Communicator, calls: usize) -> Result<()> {
    let state = &mut State {
        world: world.clone(),
        root: world.rank(),
        send: vec![1.0],
        recv: vec![0.0],
        blocks: Blocks::from_counts(&[1])?,
        prepared: None,
    };
    count("barrier", calls, state, |state| state.world.barrier())?;
    count("bcast", calls, state, |state| {
        state.world.bcast(&mut state.recv, state.root)
    })?;
    count("reduce", calls, state, |state| {
        let (send, recv) = (&state.send, &mut state.recv);
        state.world.reduce(send, recv, Sum, state.root)
    })?;
    count("allreduce", calls, state, |state| {
        state.world.allreduce(&state.send, &mut state.recv, Sum)
    })?;
    count("gather", calls, state, |state| {
        state.world.gather(&state.send, &mut state.recv, state.root)
    })?;
    count("scatter", calls, state, |state| {
        state
            .world
            .scatter(&state.send, &mut state.recv, state.root)
    })?;
    count("allgather", calls, state, |state| {
        state.world.allgather(&state.send, &mut state.recv)
    })?;
    count("alltoall", calls, state, |state| {
        state.world.alltoall(&state.send, &mut state.recv)
    })?;
    count("reduce_scatter_block", calls, state, |state| {
        let (send, recv) = (&state.send, &mut state.recv);
        state.world.reduce_scatter_block(send, recv, Sum)
    })?;
    count("reduce_scatter", calls, state, |state| {
        let (send, recv) = (&state.send, &mut state.recv);
        state.world.reduce_scatter(send, recv, &state.blocks, Sum)
    })?;
    count("exscan", calls, state, |state| {
        state.world.exscan(&state.send, &mut state.recv, Sum)
    })?;
    count("scan", calls, state, |state| {
        state.world.scan(&state.send, &mut state.recv, Sum)
    })?;
    count("gatherv", calls, state, |state| {
        let (send, recv) = (&state.send, &mut state.recv);
        state
            .world
            .gatherv_into(send, recv, &state.blocks, state.root)
    })?;
    count("scatterv", calls, state, |state| {
        let (send, recv) = (&state.send, &mut state.recv);
        state
            .world
            .scatterv_into(send, &state.blocks, recv, state.root)
    })?;
    count("allgatherv", calls, state, |state| {
        state
            .world
            .allgatherv_into(&state.send, &mut state.recv, &state.blocks)
    })?;
    count("alltoallv", calls, state, |state| {
        state
            .world
            .alltoallv_into(&state.send, &state.blocks, &mut state.recv, &state.blocks)
    })?;
    count("ibarrier", calls, state, |state| {
        state.world.ibarrier()?.wait().map(drop)
    })?;
    count("ibcast", calls, state, |state| {
        let (recv, root) = (&mut state.recv, state.root);
        state.world.scope(|s| s.ibcast(recv, root).map(drop))
    })?;
    count("iallreduce", calls, state, |state| {
        let (send, recv) = (&state.send, &mut state.recv);
        state
            .world
            .scope(|s| s.iallreduce(send, recv, Sum).map(drop))
    })?;
    let prepared = world.allreduce_init(vec![1.0], vec![0.0], Sum)?;
    state.prepared = Some(prepared);
    count("pallreduce", calls, state, |state| {
        if let Some(prepared) = state.prepared.take() {
            state.prepared = Some(prepared.start()?.wait()?.0);
        }
        Ok(())
    })
}

/// Counts those among neighbours, in a ring of one rank, which is both neighbours of itself.
pub(crate) fn count_among_neighbors(world: &Communicator, calls: usize) -> Result<()> {
    let Some(ring) = world.cart_create(&[1], &[true], false)? else {
        return Ok(());
    };
    let blocks = Blocks::from_counts(&[1, 1])?;
    let state = &mut (ring, blocks, [1.0; 2], [0.0; 2]);
    count("neighbor_allgather", calls, state, |state| {
        let (ring, _, send, recv) = state;
        ring.neighbor_allgather(&send[..1], recv)
    })?;
    count("neighbor_allgatherv", calls, state, |state| {
        let (ring, blocks, send, recv) = state;
        ring.neighbor_allgatherv(&send[..1], recv, blocks)
    })?;
    count("neighbor_alltoall", calls, state, |state| {
        let (ring, _, send, recv) = state;
        ring.neighbor_alltoall(send, recv)
    })?;
    count("neighbor_alltoallv", calls, state, |state| {
        let (ring, blocks, send, recv) = state;
        ring.neighbor_alltoallv(send, blocks, recv, blocks)
    })
}
