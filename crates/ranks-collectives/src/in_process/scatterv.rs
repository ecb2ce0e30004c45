//! Scatter of blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::bytes::{bytes, bytes_mut};
use super::call::{Outcome, RankCall};
use super::varying::Places;
use crate::arguments::varying::Scattering;

pub(crate) fn scatterv<T: Pod>(comm: &Comm, scattering: Scattering<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, scattering.operation);
    let root = scattering.root.rank;
    let recv = scattering.recv.map(bytes_mut);
    if call.rank() != root {
        return call.receive(root, recv.unwrap_or_default());
    }
    let places = Places::of::<T>(scattering.send.blocks);
    let send = bytes(scattering.send.slice.unwrap_or_default());
    call.lending(send, |lending| {
        let mut outcome = Outcome::default();
        for rank in call.others() {
            outcome.note(lending.send(rank, places.place(rank)));
        }
        if let Some(recv) = recv {
            recv.copy_from_slice(&send[places.place(root)]);
        }
        outcome.result()
    })
}
