//! Collectives that return at once, on blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{InProcessComm as Comm, StartedOp};

use super::arrivals::Arrivals;
use super::bytes::{bytes, bytes_mut};
use super::call::RankCall;
use super::varying::Places;
use crate::arguments::varying::{Exchange, Gathering, Scattering};
use crate::in_flight::stable::Stable;

pub(crate) fn igatherv<T: Pod>(
    comm: &Comm,
    gathering: Stable<Gathering<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, gathering.get().operation);
    let root = gathering.get().root.rank;
    if call.rank() != root {
        let send = gathering.get().send.unwrap_or_default();
        call.send(root, bytes(send))?;
        return Ok(StartedOp::Over);
    }
    Ok(collecting(&call, gathering))
}

pub(crate) fn iallgatherv<T: Pod>(
    comm: &Comm,
    gathering: Stable<Gathering<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, gathering.get().operation);
    let own = own(gathering.get());
    for rank in call.others() {
        call.send(rank, bytes(own))?;
    }
    Ok(collecting(&call, gathering))
}

/// The block of this rank: in place, it is where it belongs.
fn own<'a, T>(gathering: &'a Gathering<'_, T>) -> &'a [T] {
    let there = gathering.recv.slice.as_deref().unwrap_or_default();
    let place = || &there[gathering.recv.blocks.range(gathering.me)];
    gathering.send.unwrap_or_else(place)
}

/// A block of each rank, each where it belongs: this one's is there.
fn collecting<T: Pod>(call: &RankCall<'_>, gathering: Stable<Gathering<'_, T>>) -> StartedOp {
    let send = gathering.get().send.map(bytes);
    let places = Places::of::<T>(gathering.get().recv.blocks);
    let mut recv = gathering.map(|gathering| bytes_mut(gathering.recv.slice.unwrap_or_default()));
    if let Some(send) = send {
        recv.get_mut()[places.place(call.rank())].copy_from_slice(send);
    }
    arriving(call, recv, &places)
}

fn arriving(call: &RankCall<'_>, recv: Stable<&mut [u8]>, places: &Places<'_>) -> StartedOp {
    let whole = recv.into_span();
    let expected = call
        .others()
        .map(|rank| {
            let place = places.place(rank);
            (rank, whole.part(place.start, place.len()))
        })
        .collect();
    Arrivals::new(call, expected).begun()
}

pub(crate) fn iscatterv<T: Pod>(
    comm: &Comm,
    scattering: Stable<Scattering<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, scattering.get().operation);
    let root = scattering.get().root.rank;
    let places = Places::of::<T>(scattering.get().send.blocks);
    let send = bytes(scattering.get().send.slice.unwrap_or_default());
    let keeps_own = scattering.get().recv.is_none();
    let mut recv = scattering.map(|scattering| bytes_mut(scattering.recv.unwrap_or_default()));
    if call.rank() == root {
        for rank in call.others() {
            call.send(rank, &send[places.place(rank)])?;
        }
        if !keeps_own {
            recv.get_mut().copy_from_slice(&send[places.place(root)]);
        }
        return Ok(StartedOp::Over);
    }
    Ok(Arrivals::new(&call, vec![(root, recv.into_span())]).begun())
}

pub(crate) fn ialltoallv<T: Pod>(
    comm: &Comm,
    exchange: Stable<Exchange<'_, T>>,
) -> Result<StartedOp> {
    let call = RankCall::begun::<T>(comm, exchange.get().operation);
    let send = exchange.get().send.slice.map(bytes);
    let here = Places::of::<T>(exchange.get().send.blocks);
    let there = Places::of::<T>(exchange.get().recv.blocks);
    let data = exchange.get().recv.slice.as_deref().unwrap_or_default();
    for rank in call.others() {
        let block = &send.unwrap_or_else(|| bytes(data))[here.place(rank)];
        call.send(rank, block)?;
    }
    let me = call.rank();
    let mut recv = exchange.map(|exchange| bytes_mut(exchange.recv.slice.unwrap_or_default()));
    if let Some(send) = send {
        recv.get_mut()[there.place(me)].copy_from_slice(&send[here.place(me)]);
    }
    Ok(arriving(&call, recv, &there))
}
