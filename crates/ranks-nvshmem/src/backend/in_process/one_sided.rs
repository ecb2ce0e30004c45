//! Operations on the parts of other PEs, and their order.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use ranks_comm::Result;

use super::world::peer_failed;
use super::{Heap, Pe};
use crate::backend::block::Offset;
use crate::backend::in_process::deferred_delivery::{Delivery, Transfer};
use crate::backend::in_process::kept_place::KeptPlace;
use crate::backend::names::{PUT_SIGNAL, SIGNAL_FETCH, SIGNAL_OP, SIGNAL_WAIT};
use crate::backend::stream::StreamRef;
use crate::backend::{
    Access, Comparison, Direction, OneSided, Order, Point, Reuse, SignalOp, SignalUpdate, Strides,
    TeamHandle,
};

impl OneSided for Heap {
    fn access(&self, access: Access<'_>, order: Order<'_>, reuse: Reuse) -> Result<()> {
        let direction = access.direction;
        let operation = direction.name(order, reuse);
        let (far, near) = self.places(operation, access)?;
        self.carry_out(operation, order, move |pe, _| {
            pe.begin(Transfer::of(direction, far, near, access.bytes), reuse)
        })
    }

    fn access_strided(
        &self,
        access: Access<'_>,
        strides: Strides,
        size: usize,
        order: Order<'_>,
    ) -> Result<()> {
        let direction = access.direction;
        let operation = direction.strided_name(size, order)?;
        let (far, near) = self.places(operation, access)?;
        let (far_stride, near_stride) = match direction {
            Direction::Put => (strides.dest, strides.source),
            Direction::Get => (strides.source, strides.dest),
        };
        self.carry_out(operation, order, move |pe, _| {
            (0..access.bytes / size).try_for_each(|number| {
                // What lies outside of a block is told when it is used, which no product that does
                // not fit lies in.
                let at = |stride: usize| number.saturating_mul(stride).saturating_mul(size);
                let (far, near) = (far.after(at(far_stride)), near.after(at(near_stride)));
                pe.begin(Transfer::of(direction, far, near, size), Reuse::After)
            })
        })
    }

    fn put_signal(
        &self,
        put: Access<'_>,
        signal: SignalUpdate<'_>,
        stream: StreamRef<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        let operation = PUT_SIGNAL.of(Order::On(stream), reuse);
        let (dest, source) = self.places(operation, put)?;
        let word = KeptPlace::of(operation, signal.word, put.pe)?;
        let (value, op) = (signal.value, signal.op);
        // A PE may wait for the signal of an `nbi` form that nobody asks for the completion of: it
        // is never late.
        self.carry_out(operation, Order::On(stream), move |pe, _| {
            pe.late.before_delivery()?;
            dest.copy(&source, put.bytes)?;
            pe.send(&word, value, op)
        })
    }

    fn signal_op(&self, signal: SignalUpdate<'_>, pe: usize, stream: StreamRef<'_>) -> Result<()> {
        let word = KeptPlace::of(SIGNAL_OP, signal.word, pe)?;
        let (value, op) = (signal.value, signal.op);
        self.carry_out(SIGNAL_OP, Order::On(stream), move |pe, _| {
            pe.late.before_delivery()?;
            pe.send(&word, value, op)
        })
    }

    fn signal_fetch(&self, signal: Offset<'_>) -> Result<u64> {
        let signal = KeptPlace::of(SIGNAL_FETCH, signal, self.pe.me)?;
        signal.word().map(|word| word.load(Acquire))
    }

    fn signal_wait_until(
        &self,
        signal: Offset<'_>,
        comparison: Comparison,
        value: u64,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        let signal = KeptPlace::of(SIGNAL_WAIT, signal, self.pe.me)?;
        self.carry_out(SIGNAL_WAIT, Order::On(stream), move |pe, waiting| {
            let word = signal.word()?;
            pe.world.wait(
                waiting,
                |state| {
                    // Who has gone may have sent it before: the word is looked at last.
                    let lost = pe.world.any_lost(state, pe.me);
                    if comparison.holds(word.load(Acquire), value) {
                        return Some(Ok(()));
                    }
                    lost.map(|(lost, how)| Err(peer_failed(SIGNAL_WAIT, lost, how)))
                },
                |_| format!("the signal is {}, and did not come", word.load(Acquire)),
            )
        })
    }

    fn point(&self, point: Point, order: Order<'_>) -> Result<()> {
        let operation = point.name(Order::Now);
        match point {
            Point::Fence => {
                self.pe.late.fence();
                Ok(())
            }
            Point::Quiet => self.carry_out(operation, order, |pe, _| pe.late.complete()),
            Point::Flush => self.carry_out(operation, order, |pe, _| pe.late.flush()),
            Point::BarrierAll => self.come_together(operation, TeamHandle::WORLD, order, true),
            Point::SyncAll => self.come_together(operation, TeamHandle::WORLD, order, false),
        }
    }
}

impl Heap {
    /// The place of an access on the other PE, and that on this one.
    fn places(
        &self,
        operation: &'static str,
        access: Access<'_>,
    ) -> Result<(KeptPlace, KeptPlace)> {
        let far = KeptPlace::of(operation, access.far, access.pe)?;
        let near = KeptPlace::local(operation, access.near, self.pe.me)?;
        Ok((far, near))
    }
}

impl Pe {
    /// Makes a copy at once, or when it is asked for.
    fn begin(&self, mut transfer: Transfer, reuse: Reuse) -> Result<()> {
        let is_put = transfer.direction == Direction::Put;
        if self.delivery == Delivery::AtOnce || reuse == Reuse::After && !is_put {
            return transfer.carry_out();
        }
        if reuse == Reuse::After {
            transfer.read_now()?;
        }
        self.late.begin(transfer);
        Ok(())
    }

    /// Updates a signal word with acquire-release ordering: whoever sees the signal sees all
    /// earlier stores.
    fn send(&self, signal: &KeptPlace, value: u64, op: SignalOp) -> Result<()> {
        let word: &AtomicU64 = signal.word()?;
        // Both go on from what others have released there.
        match op {
            SignalOp::Set => word.swap(value, AcqRel),
            SignalOp::Add => word.fetch_add(value, AcqRel),
        };
        self.world.wake();
        Ok(())
    }
}
