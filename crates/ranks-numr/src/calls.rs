//! The operations of numr's trait, whichever its version: checked, compared among ranks if that is
//! asked for, and started.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use ranks_comm::Error;
use ranks_raw::{Dtype, RawCollectives, RawOp};

use crate::agreement::{self, CallSignature};
use crate::communicator::NumrCommunicator;
use crate::failure::Failure;
use crate::rank_order;
use crate::spans::Span;

type Result<T> = std::result::Result<T, Failure>;

impl NumrCommunicator {
    /// # Safety
    /// As numr's `all_reduce`: at `address` are `count` elements, and they stay allocated until a
    /// `sync` is complete.
    pub(crate) unsafe fn allreduce(
        &self,
        address: u64,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        let call = CallSignature::reducing("all_reduce", count, dtype, op);
        let ready = self
            .reduces(op, dtype)
            .and_then(|()| Span::of("ptr", address, 1, count, dtype.size()));
        let buffer = self.agreed(call, ready)?;
        let (send, recv) = (buffer.begin(), buffer.begin_mut());
        let _begun = self.begins();
        let begun = match self.in_rank_order() {
            // SAFETY: the caller's promise; what is done on `aside` is complete when it returns.
            Some(aside) => unsafe { rank_order::allreduce(aside, buffer, dtype, op) },
            // SAFETY: the caller's promise; one address twice means in place.
            None => unsafe { self.raw.allreduce(send, recv, count, dtype, op) },
        };
        self.outcome(call.name, begun)
    }

    /// # Safety
    /// As numr's `broadcast`: at `address` are `count` elements, and they stay allocated until a
    /// `sync` is complete.
    pub(crate) unsafe fn bcast(
        &self,
        address: u64,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        let call = CallSignature::moving("broadcast", count, dtype).at(root);
        let ready = self
            .is_a_rank("root", root)
            .and_then(|()| Span::of("ptr", address, 1, count, dtype.size()));
        let buffer = self.agreed(call, ready)?;
        let _begun = self.begins();
        // SAFETY: the caller's promise.
        let begun = unsafe { self.raw.bcast(buffer.begin_mut(), count, dtype, root) };
        self.outcome(call.name, begun)
    }

    /// # Safety
    /// As numr's `all_gather`: at `send` are `count` elements, at `recv` as many for each rank, and
    /// they stay allocated until a `sync` is complete.
    pub(crate) unsafe fn allgather(
        &self,
        send: u64,
        recv: u64,
        count: usize,
        dtype: Dtype,
    ) -> Result<()> {
        let call = CallSignature::moving("all_gather", count, dtype);
        let ready = self.block_and_all(("send_ptr", send), ("recv_ptr", recv), count, dtype);
        let (send, recv) = self.agreed(call, ready)?;
        let (send, recv) = (send.begin(), recv.begin_mut());
        let _begun = self.begins();
        // SAFETY: the caller's promise; the two are apart, or the one is this rank's block of the
        // other, as was checked.
        let begun = unsafe { self.raw.allgather(send, recv, count, dtype) };
        self.outcome(call.name, begun)
    }

    /// # Safety
    /// As numr's `reduce_scatter`: at `send` are `count` elements for each rank, at `recv` as many
    /// once, and they stay allocated until a `sync` is complete.
    pub(crate) unsafe fn reduce_scatter_block(
        &self,
        send: u64,
        recv: u64,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        let call = CallSignature::reducing("reduce_scatter", count, dtype, op);
        let ready = self.reduces(op, dtype).and_then(|()| {
            self.block_and_all(("recv_ptr", recv), ("send_ptr", send), count, dtype)
        });
        let (recv, send) = self.agreed(call, ready)?;
        let (from, to) = (send.begin(), recv.begin_mut());
        let _begun = self.begins();
        let begun = match self.in_rank_order() {
            // SAFETY: the caller's promise; the two are apart, or the one is this rank's block of
            // the other, as was checked.
            Some(aside) => unsafe { rank_order::reduce_scatter(aside, send, recv, dtype, op) },
            // SAFETY: as above.
            None => unsafe { self.raw.reduce_scatter_block(from, to, count, dtype, op) },
        };
        self.outcome(call.name, begun)
    }

    /// # Safety
    /// As numr's `send`: at `address` are `count` elements that nobody changes or frees until a
    /// `sync` is complete.
    pub(crate) unsafe fn isend(
        &self,
        address: u64,
        count: usize,
        dtype: Dtype,
        dest: usize,
        tag: u32,
    ) -> Result<()> {
        self.is_a_rank("dest", dest)?;
        let buffer = Span::of("ptr", address, 1, count, dtype.size())?;
        if self.raw.size() == 1 {
            return Ok(()); // there is nobody to tell, and `recv` expects nothing
        }
        let _begun = self.begins();
        // SAFETY: the caller's promise.
        let begun = unsafe { self.raw.send(buffer.begin(), count, dtype, dest, tag) };
        self.outcome("send", begun)
    }

    /// # Safety
    /// As numr's `recv`: at `address` is room for `count` elements that nobody uses or frees until
    /// a `sync` is complete.
    pub(crate) unsafe fn irecv(
        &self,
        address: u64,
        count: usize,
        dtype: Dtype,
        source: usize,
        tag: u32,
    ) -> Result<()> {
        self.is_a_rank("src", source)?;
        let buffer = Span::of("ptr", address, 1, count, dtype.size())?;
        if self.raw.size() == 1 {
            return Ok(()); // as in `isend`
        }
        let _begun = self.begins();
        // SAFETY: the caller's promise.
        let begun = unsafe { self.raw.recv(buffer.begin_mut(), count, dtype, source, tag) };
        self.outcome("recv", begun)
    }

    /// Counts, when it is dropped, an operation that was begun before: not earlier, since one
    /// thread may complete what is in flight while another one begins it.
    fn begins(&self) -> impl Drop {
        struct Begun<'a>(&'a AtomicU64);
        impl Drop for Begun<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::AcqRel);
            }
        }
        Begun(&self.begun)
    }

    /// Numr's `sync`.
    pub(crate) fn complete(&self) -> Result<()> {
        self.outcome("sync", self.ending(|| self.raw.sync()))
    }

    /// Numr's `barrier`.
    pub(crate) fn meet(&self) -> Result<()> {
        self.agreed(CallSignature::of("barrier"), Ok(()))?;
        self.outcome("barrier", self.ending(|| self.raw.barrier()))
    }

    /// Numr's `split`.
    pub(crate) fn divide(&self, color: u32, key: u32) -> Result<Self> {
        let call = CallSignature::of("split");
        let ready = is_an_int("color", color).and_then(|()| is_an_int("key", key));
        self.agreed(call, ready)?;
        let parted = self.outcome(call.name, self.raw.split(Some(color), key))?;
        let Some(raw) = parted else {
            let what = format!(
                "{} gives no communicator to color {color}",
                self.raw.backend()
            );
            return Err(Failure::Backend(format!(
                "{} {what}",
                self.whose(call.name)
            )));
        };
        let mut part = self.outcome(call.name, Self::new(raw.into(), self.options.clone()))?;
        part.streams = self.streams.clone();
        Ok(part)
    }

    /// Returns `true` if a reduction is supported, by the library or, in the order of ranks, by
    /// this crate.
    pub(crate) fn does_reduce(&self, op: RawOp, dtype: Dtype) -> bool {
        if self.options.rank_order {
            rank_order::supports(op, dtype)
        } else {
            self.raw.supports(op, dtype)
        }
    }

    fn reduces(&self, op: RawOp, dtype: Dtype) -> Result<()> {
        self.does_reduce(op, dtype)
            .then_some(())
            .ok_or(Failure::Dtype)
    }

    /// The collectives that carry the elements of reductions in the order of ranks, if that order
    /// is asked for.
    fn in_rank_order(&self) -> Option<&dyn RawCollectives> {
        self.aside.as_deref().filter(|_| self.options.rank_order)
    }

    fn is_a_rank(&self, arg: &'static str, rank: usize) -> Result<()> {
        let size = self.raw.size();
        if rank < size {
            return Ok(());
        }
        Err(Failure::argument(
            arg,
            format!("there is no rank {rank} among {size}"),
        ))
    }

    /// The memory of one block and that of all ranks' blocks, which are apart unless the one is
    /// this rank's of the other.
    fn block_and_all(
        &self,
        (arg, block): (&'static str, u64),
        (whole_arg, whole): (&'static str, u64),
        count: usize,
        dtype: Dtype,
    ) -> Result<(Span, Span)> {
        let block = Span::of(arg, block, 1, count, dtype.size())?;
        let whole = Span::of(whole_arg, whole, self.raw.size(), count, dtype.size())?;
        Span::in_place_or_apart(arg, block, whole, self.raw.rank())?;
        Ok((block, whole))
    }

    /// `ready`, if no rank refuses the call and all make the same; not compared unless that is
    /// asked for.
    fn agreed<T>(&self, call: CallSignature, ready: Result<T>) -> Result<T> {
        let Some(aside) = self.aside.as_deref().filter(|_| self.compares) else {
            return ready;
        };
        let compared = agreement::compare(aside, call, ready.is_err()).inspect_err(|_| {
            // The next calls of the other ranks are unknown.
            let _ = self.abort();
        });
        let compared = self.outcome(call.name, compared)?;
        // The reason why this rank refuses says more than that some rank does.
        let ready = ready?;
        compared.map_err(Failure::Backend)?;
        Ok(ready)
    }

    /// Converts the result of a call to numr's terms.
    pub(crate) fn outcome<T>(
        &self,
        call: &'static str,
        result: std::result::Result<T, Error>,
    ) -> Result<T> {
        result.map_err(|error| Failure::of(call, &self.whose(call), &error))
    }

    /// The beginning of the text of a failure.
    fn whose(&self, call: &str) -> String {
        format!("{call} on rank {} of {}:", self.raw.rank(), self.raw.size())
    }
}

/// Colors and keys are C's `int` in MPI and in NCCL, and negative ones mean something else.
fn is_an_int(arg: &'static str, number: u32) -> Result<()> {
    if i32::try_from(number).is_ok() {
        return Ok(());
    }
    let what = format!(
        "{number} is more than {}, the largest that MPI and NCCL take",
        i32::MAX
    );
    Err(Failure::argument(arg, what))
}
