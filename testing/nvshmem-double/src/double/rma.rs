//! Puts and gets.

use std::ffi::c_int;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::abi::Stream;
use super::fatal;
use super::hooks;
use super::local;
use super::outbox::{Delivery, Stage};
use super::pe::Pe;
use super::stream::enqueue;
use super::transfer::{Checked, Reuse};

/// How long after the call an operation with `nbi` reads other memory of the device, at least.
const LATE: Duration = Duration::from_micros(200);

/// One operation, as the program says it. Distances are in elements.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) dest: usize,
    pub(crate) source: usize,
    pub(crate) strides: [isize; 2],
    /// Bytes of an element.
    pub(crate) size: usize,
    pub(crate) count: usize,
    pub(crate) target: c_int,
}

impl Operation {
    /// Of elements side by side.
    pub(crate) fn elements(
        name: &'static str,
        dest: usize,
        source: usize,
        size: usize,
        count: usize,
        target: c_int,
    ) -> Self {
        // One element is as good as many.
        let Some(bytes) = size.checked_mul(count) else {
            fatal::abort(format_args!("{name}: {count} elements of {size} bytes"));
        };
        Self {
            name,
            dest,
            source,
            strides: [1, 1],
            size: bytes,
            count: 1,
            target,
        }
    }

    /// The same elements, so far from each other there and here.
    pub(crate) fn strided(self, size: usize, dest: isize, source: isize) -> Self {
        Self {
            strides: [dest, source],
            size,
            count: self.size / size,
            ..self
        }
    }

    /// `remote` is an address of the heap, `local` any of this PE's.
    fn check(&self, pe: &Pe, remote: usize, local: usize, strides: [isize; 2]) -> Option<Checked> {
        let target = pe.target(self.name, self.target);
        if self.count == 0 || self.size == 0 {
            return None;
        }
        let span = |stride: isize| {
            let last = stride.unsigned_abs().checked_mul(self.count - 1);
            let elements = last.and_then(|last| last.checked_add(1));
            let bytes = elements.and_then(|elements| elements.checked_mul(self.size));
            let positive = (stride > 0).then_some(bytes).flatten();
            positive.unwrap_or_else(|| {
                fatal::abort(format_args!("{}: a stride of {stride}", self.name))
            })
        };
        let size = isize::try_from(self.size).unwrap_or(isize::MAX);
        Some(Checked {
            name: self.name,
            remote: pe.heap().symmetric(self.name, remote, span(strides[0])),
            local: local::find(pe, self.name, local, span(strides[1])),
            steps: strides.map(|stride| stride.saturating_mul(size)),
            size: self.size,
            count: self.count,
            target,
        })
    }

    /// Reads here, and writes at the other PE.
    pub(crate) fn put(&self, pe: &Arc<Pe>, reuse: Reuse) {
        let Some(checked) = self.check(pe, self.dest, self.source, self.strides) else {
            return;
        };
        match reuse {
            Reuse::After => {
                let data = checked.read_local(pe);
                let stage = Stage::Read(checked.delivery(data, None));
                pe.outbox.post(pe.outbox.fences(), stage);
            }
            Reuse::AfterQuiet if checked.local.needs_driver() => {
                let internal = pe.machine().internal;
                enqueue(pe, internal, |_| thread::sleep(LATE));
                checked.put_on_stream(pe, reuse, internal, None);
            }
            Reuse::AfterQuiet => pe.outbox.post(pe.outbox.fences(), checked.late(None)),
        }
    }

    /// Reads at the other PE, and writes here.
    pub(crate) fn get(&self, pe: &Arc<Pe>, reuse: Reuse) {
        let [dest, source] = self.strides;
        let Some(checked) = self.check(pe, self.source, self.dest, [source, dest]) else {
            return;
        };
        match reuse {
            Reuse::After => checked.write_local(pe, &checked.read_remote(pe)),
            Reuse::AfterQuiet => checked.get_on_stream(pe, reuse, pe.machine().internal),
        }
    }

    /// The same when the stream comes to it. `then` is done behind the write.
    pub(crate) fn put_on_stream(
        &self,
        pe: &Arc<Pe>,
        reuse: Reuse,
        stream: Stream,
        then: Option<Delivery>,
    ) {
        self.check_context(pe);
        match self.check(pe, self.dest, self.source, self.strides) {
            Some(checked) => {
                let stream = checked.stream_for(pe, reuse, stream);
                checked.put_on_stream(pe, reuse, stream, then);
            }
            None => enqueue(pe, stream, |pe| {
                if let Some(then) = then {
                    then(pe);
                }
            }),
        }
    }

    pub(crate) fn get_on_stream(&self, pe: &Arc<Pe>, reuse: Reuse, stream: Stream) {
        self.check_context(pe);
        let [dest, source] = self.strides;
        if let Some(checked) = self.check(pe, self.source, self.dest, [source, dest]) {
            let stream = checked.stream_for(pe, reuse, stream);
            checked.get_on_stream(pe, reuse, stream);
        }
    }

    fn check_context(&self, pe: &Pe) {
        if hooks::REMOTE.get() {
            pe.machine().place.must_be_current(self.name);
        }
    }
}

/// One value of another PE.
pub(crate) fn value<T: Default + Copy>(
    pe: &Arc<Pe>,
    name: &'static str,
    source: usize,
    target: c_int,
) -> T {
    let mut value = T::default();
    let dest = (&raw mut value).expose_provenance();
    Operation::elements(name, dest, source, size_of::<T>(), 1, target).get(pe, Reuse::After);
    // SAFETY: the get has written all its bytes, which are those of a number.
    unsafe { (&raw const value).read_volatile() }
}

/// One value for another PE.
pub(crate) fn value_on_stream<T: Copy + Send + 'static>(
    pe: &Arc<Pe>,
    name: &'static str,
    dest: usize,
    value: T,
    target: c_int,
    stream: Stream,
) {
    let target = pe.target(name, target);
    let offset = pe.heap().symmetric(name, dest, size_of::<T>());
    let fences = pe.outbox.fences();
    enqueue(pe, stream, move |pe| {
        let deliver = move |pe: &Pe| {
            pe.heap().check(name, offset, size_of::<T>());
            let place = pe.heap().at(target, offset, size_of::<T>()).cast::<T>();
            // SAFETY: so many bytes are mapped there.
            unsafe { place.write_unaligned(value) };
        };
        pe.outbox.post(fences, Stage::Read(Box::new(deliver)));
    });
}
