//! All to all, with blocks of different lengths.

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::call::{Outcome, RankCall};
use super::varying::{Places, received, sent};
use crate::arguments::varying::Exchange;

pub(crate) fn alltoallv<T: Pod>(comm: &Comm, exchange: Exchange<'_, T>) -> Result<()> {
    let call = RankCall::of::<T>(comm, exchange.operation);
    let (recv, there) = received(exchange.recv);
    let all = 0..recv.len();
    let send = sent(exchange.send.slice, recv, all);
    let here = Places::of::<T>(exchange.send.blocks);
    let me = call.rank();
    call.lending(&send, |lending| {
        let mut outcome = Outcome::default();
        for rank in call.others() {
            outcome.note(lending.send(rank, here.place(rank)));
        }
        recv[there.place(me)].copy_from_slice(&send[here.place(me)]);
        for rank in call.others() {
            outcome.note(call.receive(rank, &mut recv[there.place(rank)]));
        }
        outcome.result()
    })
}
