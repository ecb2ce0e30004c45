//! Operations on the parts of other PEs, and their order.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use ranks_comm::Result;

use super::teams::WORLD;
use super::world::peer_failed;
use super::{Heap, Pe};
use crate::backend::block::{Local, Offset};
use crate::backend::in_process::deferred_delivery::{Delivery, Source, Transfer};
use crate::backend::in_process::kept_place::KeptPlace;
use crate::backend::stream::StreamRef;
use crate::backend::{Comparison, OneSided, Order, Reuse, SignalOp, Strides};

impl OneSided for Heap {
    fn put(
        &self,
        dest: Offset<'_>,
        source: Local<'_>,
        bytes: usize,
        pe: usize,
        order: Order<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmem_putmem";
        let dest = KeptPlace::of(OPERATION, dest, pe)?;
        let source = KeptPlace::local(OPERATION, source, self.pe.me)?;
        self.carry_out(OPERATION, order, move |pe, _| {
            pe.put(dest, source, bytes, reuse)
        })
    }

    fn get(
        &self,
        dest: Local<'_>,
        source: Offset<'_>,
        bytes: usize,
        pe: usize,
        order: Order<'_>,
        reuse: Reuse,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmem_getmem";
        let dest = KeptPlace::local(OPERATION, dest, self.pe.me)?;
        let source = KeptPlace::of(OPERATION, source, pe)?;
        self.carry_out(OPERATION, order, move |pe, _| {
            let transfer = Transfer {
                dest,
                source: Source::Memory(source),
                bytes,
                reads_own: false,
            };
            if pe.delivery == Delivery::AtOnce || reuse == Reuse::After {
                return transfer.carry_out();
            }
            pe.late.begin(transfer);
            Ok(())
        })
    }

    fn iput(
        &self,
        dest: Offset<'_>,
        source: Local<'_>,
        strides: Strides,
        size: usize,
        count: usize,
        pe: usize,
        order: Order<'_>,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmem_iput";
        let dest = KeptPlace::of(OPERATION, dest, pe)?;
        let source = KeptPlace::local(OPERATION, source, self.pe.me)?;
        self.carry_out(OPERATION, order, move |pe, _| {
            elements(&dest, &source, strides, size, count)
                .try_for_each(|(dest, source)| pe.put(dest, source, size, Reuse::After))
        })
    }

    fn iget(
        &self,
        dest: Local<'_>,
        source: Offset<'_>,
        strides: Strides,
        size: usize,
        count: usize,
        pe: usize,
        order: Order<'_>,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmem_iget";
        let dest = KeptPlace::local(OPERATION, dest, self.pe.me)?;
        let source = KeptPlace::of(OPERATION, source, pe)?;
        self.carry_out(OPERATION, order, move |_, _| {
            elements(&dest, &source, strides, size, count)
                .try_for_each(|(dest, source)| dest.copy(&source, size))
        })
    }

    fn put_signal(
        &self,
        dest: Offset<'_>,
        source: Local<'_>,
        bytes: usize,
        signal: Offset<'_>,
        value: u64,
        op: SignalOp,
        pe: usize,
        stream: StreamRef<'_>,
        _reuse: Reuse,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmemx_putmem_signal_on_stream";
        let dest = KeptPlace::of(OPERATION, dest, pe)?;
        let source = KeptPlace::local(OPERATION, source, self.pe.me)?;
        let signal = KeptPlace::of(OPERATION, signal, pe)?;
        // A PE may wait for the signal of an `nbi` form that nobody asks for the completion of: it
        // is never late.
        self.carry_out(OPERATION, Order::On(stream), move |pe, _| {
            pe.late.before_delivery()?;
            dest.copy(&source, bytes)?;
            pe.send(&signal, value, op)
        })
    }

    fn signal_op(
        &self,
        signal: Offset<'_>,
        value: u64,
        op: SignalOp,
        pe: usize,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmemx_signal_op_on_stream";
        let signal = KeptPlace::of(OPERATION, signal, pe)?;
        self.carry_out(OPERATION, Order::On(stream), move |pe, _| {
            pe.late.before_delivery()?;
            pe.send(&signal, value, op)
        })
    }

    fn signal_fetch(&self, signal: Offset<'_>) -> Result<u64> {
        let signal = KeptPlace::of("nvshmem_signal_fetch", signal, self.pe.me)?;
        signal.word().map(|word| word.load(Acquire))
    }

    fn signal_wait_until(
        &self,
        signal: Offset<'_>,
        comparison: Comparison,
        value: u64,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        const OPERATION: &str = "nvshmemx_signal_wait_until_on_stream";
        let signal = KeptPlace::of(OPERATION, signal, self.pe.me)?;
        self.carry_out(OPERATION, Order::On(stream), move |pe, waiting| {
            let word = signal.word()?;
            pe.world.wait(
                waiting,
                |state| {
                    // Who has gone may have sent it before: the word is looked at last.
                    let lost = pe.world.any_lost(state, pe.me);
                    if comparison.holds(word.load(Acquire), value) {
                        return Some(Ok(()));
                    }
                    lost.map(|(lost, how)| Err(peer_failed(OPERATION, lost, how)))
                },
                |_| format!("the signal is {}, and did not come", word.load(Acquire)),
            )
        })
    }

    fn fence(&self) -> Result<()> {
        self.pe.late.fence();
        Ok(())
    }

    fn quiet(&self, order: Order<'_>) -> Result<()> {
        self.carry_out("nvshmem_quiet", order, |pe, _| pe.late.complete())
    }

    fn flush(&self, order: Order<'_>) -> Result<()> {
        self.carry_out("nvshmemx_flush", order, |pe, _| pe.late.flush())
    }

    fn barrier_all(&self, order: Order<'_>) -> Result<()> {
        self.come_together("nvshmem_barrier_all", WORLD, order, true)
    }

    fn sync_all(&self, order: Order<'_>) -> Result<()> {
        self.come_together("nvshmem_sync_all", WORLD, order, false)
    }
}

impl Pe {
    /// Puts at once, or when it is asked for.
    fn put(&self, dest: KeptPlace, source: KeptPlace, bytes: usize, reuse: Reuse) -> Result<()> {
        let mut transfer = Transfer {
            dest,
            source: Source::Memory(source),
            bytes,
            reads_own: true,
        };
        if self.delivery == Delivery::AtOnce {
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

/// Places of elements there and here, each a stride from the one before it.
fn elements(
    dest: &KeptPlace,
    source: &KeptPlace,
    strides: Strides,
    size: usize,
    count: usize,
) -> impl Iterator<Item = (KeptPlace, KeptPlace)> {
    (0..count).map(move |number| {
        // What lies outside of a block is told when it is used, which no product that does not fit
        // lies in.
        let at = |stride: usize| number.saturating_mul(stride).saturating_mul(size);
        (
            dest.after(at(strides.dest)),
            source.after(at(strides.source)),
        )
    })
}
