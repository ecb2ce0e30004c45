//! Messages to oneself.

use std::hint::black_box;
use std::mem::take;

use ranks::Persistent;
use ranks::prelude::*;

use crate::callgrind::count;

/// The number of messages that are in flight at a time in `waitall64`, each with a send and a
/// receive.
const HALF: usize = 32;

/// The operands of the calls.
struct State {
    world: Communicator,
    rank: usize,
    send: Vec<f64>,
    recv: Vec<f64>,
    bytes: Vec<u8>,
    received: Vec<u8>,
    many_send: [f64; HALF],
    many_recv: [f64; HALF],
    prepared: Option<Pair>,
}

/// A persistent receive, and the send that it is for.
type Pair = (Persistent<Vec<f64>>, Persistent<Vec<f64>>);

/// Counts each call.
pub(crate) fn count_all(world: &Communicator, calls: usize) -> Result<()> {
    let state = &mut State {
        world: world.clone(),
        rank: world.rank(),
        send: vec![1.0],
        recv: vec![0.0],
        bytes: vec![1; 8],
        received: vec![0; 8],
        many_send: [1.0; HALF],
        many_recv: [0.0; HALF],
        prepared: None,
    };
    count("iprobe", calls, state, |state| {
        black_box(state.world.iprobe(Source::Any, Tag::Any)?.is_some());
        Ok(())
    })?;
    count("sendrecv", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        let status = world.sendrecv(&state.send, me, 7, &mut state.recv, me, 7)?;
        black_box(&status);
        Ok(())
    })?;
    count("sendrecv_bytes", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        let status = world.sendrecv(&state.bytes, me, 7, &mut state.received, me, 7)?;
        black_box(&status);
        Ok(())
    })?;
    count("sendrecv_replace", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        let status = world.sendrecv_replace(&mut state.recv, me, 7, me, 7)?;
        black_box(&status);
        Ok(())
    })?;
    count("ssend", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        world.scope(|s| {
            s.irecv(&mut state.recv, me, 7)?;
            world.ssend(&state.send, me, 7)
        })
    })?;
    let attached = world.buffer_attach(vec![0; 1 << 16])?;
    count("bsend", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        world.bsend(&state.send, me, 7)?;
        black_box(&world.recv(&mut state.recv, me, 7)?);
        Ok(())
    })?;
    attached.detach()?;
    count("probe", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        world.scope(|s| {
            s.isend(&state.send, me, 7)?;
            black_box(&world.probe(me, 7)?);
            black_box(&world.recv(&mut state.recv, me, 7)?);
            Ok(())
        })
    })?;
    count("mprobe", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        world.scope(|s| {
            s.isend(&state.send, me, 7)?;
            black_box(&world.mprobe(me, 7)?.recv(&mut state.recv)?);
            Ok(())
        })
    })?;
    count("isend_recv", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        let request = world.isend(take(&mut state.send), me, 7)?;
        world.recv(&mut state.recv, me, 7)?;
        state.send = request.wait()?.0;
        Ok(())
    })?;
    count("irecv_send", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        let request = world.irecv(take(&mut state.recv), me, 7)?;
        world.send(&state.send, me, 7)?;
        state.recv = request.wait()?.0;
        Ok(())
    })?;
    let (send, me) = (world.send_init(vec![1.0], state.rank, 7)?, state.rank);
    state.prepared = Some((world.recv_init(vec![0.0], me, 7)?, send));
    count("psendrecv", calls, state, |state| {
        if let Some((recv, send)) = state.prepared.take() {
            let (recv, send) = (recv.start()?, send.start()?);
            state.prepared = Some((recv.wait()?.0, send.wait()?.0));
        }
        Ok(())
    })?;
    state.prepared = None;
    count("isendrecv", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        world.scope(|s| {
            s.irecv(&mut state.recv, me, 7)?;
            s.isend(&state.send, me, 7)?;
            Ok(())
        })
    })?;
    count("waitall64", calls, state, |state| {
        let (world, me) = (&state.world, state.rank);
        world.scope(|s| {
            for value in state.many_recv.chunks_mut(1) {
                s.irecv(value, me, 7)?;
            }
            for value in state.many_send.chunks(1) {
                s.isend(value, me, 7)?;
            }
            Ok(())
        })
    })
}
