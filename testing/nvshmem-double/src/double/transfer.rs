//! One operation that has been checked: what it reads and writes, and when.

use std::sync::Arc;

use super::abi::Stream;
use super::cuda::must;
use super::local::{self, Local, Staged};
use super::outbox::{Delivery, Stage};
use super::pe::Pe;
use super::stream::enqueue;

/// When memory of this PE is read or written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Before the call returns, or the stream goes on.
    After,
    /// Before the end of the next quiet: the forms with `nbi`.
    AfterQuiet,
}

/// The same, when it has been checked.
#[derive(Clone, Copy)]
pub(crate) struct Checked {
    pub(crate) name: &'static str,
    /// Offset in the heap of `target`.
    pub(crate) remote: usize,
    pub(crate) local: Local,
    /// Bytes between elements there and here.
    pub(crate) steps: [isize; 2],
    pub(crate) size: usize,
    pub(crate) count: usize,
    pub(crate) target: usize,
}

impl Checked {
    pub(crate) fn put_on_stream(
        self,
        pe: &Arc<Pe>,
        reuse: Reuse,
        stream: Stream,
        then: Option<Delivery>,
    ) {
        let fences = pe.outbox.fences();
        let bytes = self.local_bytes();
        let staged = local::stage(pe, stream, self.local, bytes);
        enqueue(pe, stream, move |pe| {
            // What lies in the heap is read late, unless the stream promises that it is read.
            if reuse == Reuse::AfterQuiet && matches!(staged, Staged::There(_)) {
                return pe.outbox.post(fences, self.late(then));
            }
            let data = self.pick(&staged.read(pe, bytes));
            match then {
                // The signal tells that the data are there.
                Some(then) => {
                    pe.outbox.deliver(pe, fences);
                    self.write_remote(pe, &data);
                    then(pe);
                }
                None => pe
                    .outbox
                    .post(fences, Stage::Read(self.delivery(data, None))),
            }
        });
    }

    pub(crate) fn get_on_stream(self, pe: &Arc<Pe>, reuse: Reuse, stream: Stream) {
        let fences = pe.outbox.fences();
        let Local::Device(_) = self.local else {
            enqueue(pe, stream, move |pe| {
                let get = move |pe: &Pe| self.write_local(pe, &self.read_remote(pe));
                match reuse {
                    Reuse::After => get(pe),
                    Reuse::AfterQuiet => pe.outbox.post(fences, Stage::Read(Box::new(get))),
                }
            });
            return;
        };
        // To pinned memory first, and from there element by element.
        let machine = pe.machine();
        let _entered = machine.place.enter();
        let pinned = machine.pinned.take(&machine.place, self.size * self.count);
        let memory = pinned.memory.expose_provenance();
        enqueue(pe, stream, move |pe| {
            let data = self.read_remote(pe);
            let to = std::ptr::with_exposed_provenance_mut::<u8>(memory);
            // SAFETY: there is room for as many.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
        });
        for index in 0..self.runs() {
            let (local, length) = self.run(index);
            let Local::Device(to) = local else { continue };
            let from = std::ptr::with_exposed_provenance::<u8>(memory + index * length);
            // SAFETY: the memory is there until the stream has been there; the driver checks the
            // address.
            must(unsafe {
                machine
                    .place
                    .driver
                    .cuMemcpyHtoDAsync(to, from, length, stream)
            });
        }
        enqueue(pe, stream, move |pe| pe.machine().pinned.give(pinned));
    }

    /// Where the operation goes on: on an internal stream, behind what the program's has so far, if
    /// it need not be over when that goes on.
    pub(crate) fn stream_for(&self, pe: &Pe, reuse: Reuse, stream: Stream) -> Stream {
        if reuse == Reuse::After || !self.local.needs_driver() {
            return stream;
        }
        let machine = pe.machine();
        let _entered = machine.place.enter();
        // SAFETY: the caller's stream, and this PE's.
        unsafe { machine.place.order(stream, machine.internal) };
        machine.internal
    }

    /// Returns `true` if all is one piece, here.
    fn is_dense(&self) -> bool {
        self.steps[1].unsigned_abs() == self.size
    }

    fn runs(&self) -> usize {
        if self.is_dense() { 1 } else { self.count }
    }

    /// One piece of what is here, and its length.
    fn run(&self, index: usize) -> (Local, usize) {
        let step = self.steps[1].saturating_mul(index.cast_signed());
        let length = if self.is_dense() {
            self.size * self.count
        } else {
            self.size
        };
        (self.local.behind(step), length)
    }

    /// From the first byte to the last, here.
    fn local_bytes(&self) -> usize {
        self.steps[1].unsigned_abs() * (self.count - 1) + self.size
    }

    /// The elements out of all bytes from the first to the last, here.
    fn pick(&self, bytes: &[u8]) -> Vec<u8> {
        let step = self.steps[1].unsigned_abs();
        let element = |index: usize| bytes[index * step..][..self.size].iter().copied();
        (0..self.count).flat_map(element).collect()
    }

    pub(crate) fn read_local(&self, pe: &Pe) -> Vec<u8> {
        self.pick(&self.local.read(pe, self.local_bytes()))
    }

    pub(crate) fn write_local(&self, pe: &Pe, data: &[u8]) {
        for index in 0..self.runs() {
            let (local, length) = self.run(index);
            local.write(pe, &data[index * length..][..length]);
        }
    }

    fn element_there(&self, index: usize) -> usize {
        self.remote + index * self.steps[0].unsigned_abs()
    }

    pub(crate) fn read_remote(&self, pe: &Pe) -> Vec<u8> {
        let element = |index| {
            pe.heap()
                .read(self.target, self.element_there(index), self.size)
        };
        (0..self.count).flat_map(element).collect()
    }

    fn write_remote(&self, pe: &Pe, data: &[u8]) {
        for (index, element) in data.chunks(self.size).enumerate() {
            let offset = self.element_there(index);
            pe.heap().check(self.name, offset, element.len());
            pe.heap().write(self.target, offset, element);
        }
    }

    /// On its way: read already.
    pub(crate) fn delivery(self, data: Vec<u8>, then: Option<Delivery>) -> Delivery {
        Box::new(move |pe| {
            self.write_remote(pe, &data);
            if let Some(then) = then {
                then(pe);
            }
        })
    }

    /// On its way: not read yet.
    pub(crate) fn late(self, then: Option<Delivery>) -> Stage {
        Stage::Unread(Box::new(move |pe| self.delivery(self.read_local(pe), then)))
    }
}
