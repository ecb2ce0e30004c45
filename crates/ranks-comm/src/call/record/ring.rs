//! Rings of the last calls, without a lock.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::{fmt, ptr};

use super::call::Call;
use super::kind::{Class, Kind, Ranks};

/// The number of calls that a ring holds.
const ROOM: usize = 256;

/// The last calls of one class on one communicator.
///
/// One thread at a time writes, or calls may overwrite each other: then fewer are counted than
/// there were, and an entry may be mixed of two. That harms only the record. Any thread may read at
/// any time.
pub(crate) struct Ring {
    /// The number of calls that have started: the next one is at that index, modulo the length.
    begun: AtomicU64,
    /// The number of calls that have returned.
    ended: AtomicU64,
    kinds: [AtomicPtr<Kind>; ROOM],
    items: [AtomicU32; ROOM],
    peers: [AtomicI32; ROOM],
    tags: [AtomicI32; ROOM],
}

/// A call that was read back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// The number of calls before it.
    pub(crate) number: u64,
    pub(crate) call: Call,
}

impl Ring {
    pub(crate) fn new() -> Self {
        Self {
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            kinds: [const { AtomicPtr::new(ptr::null_mut()) }; ROOM],
            items: [const { AtomicU32::new(0) }; ROOM],
            peers: [const { AtomicI32::new(0) }; ROOM],
            tags: [const { AtomicI32::new(0) }; ROOM],
        }
    }

    /// Records the start of a call. For a kind known at compile time only the fields that the kind
    /// has are written.
    #[inline(always)]
    pub(crate) fn begin(&self, call: Call) {
        let next = self.begun.load(Ordering::Relaxed).wrapping_add(1);
        self.begun.store(next, Ordering::Relaxed);
        // Loaded again, so that counting is one instruction.
        let place = index(self.begun.load(Ordering::Relaxed));
        let kind = call.kind;
        // What is read through this pointer was written before.
        self.kinds[place].store(ptr::from_ref(kind).cast_mut(), Ordering::Release);
        if kind.has_items() {
            self.items[place].store(call.items, Ordering::Relaxed);
        }
        if kind.ranks != Ranks::None {
            self.peers[place].store(call.peer, Ordering::Relaxed);
        }
        if kind.class == Class::Message && kind.ranks != Ranks::None {
            self.tags[place].store(call.tag, Ordering::Relaxed);
        }
    }

    /// Records a nonblocking call.
    #[inline(always)]
    pub(crate) fn post(&self, call: Call) {
        self.begin(call);
        self.end();
    }

    /// Records that a call has returned.
    #[inline(always)]
    pub(crate) fn end(&self) {
        let ended = self.ended.load(Ordering::Relaxed).wrapping_add(1);
        self.ended.store(ended, Ordering::Relaxed);
    }

    /// Returns `true` if no call is in flight. If two have started or returned at the same time,
    /// fewer are counted than there were, and one seems to be in flight for ever.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.begun.load(Ordering::Relaxed) == self.ended.load(Ordering::Relaxed)
    }

    /// The number of calls that have started.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// The number of calls that have returned.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// The calls that it holds, in order.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let begun = self.begun();
        let first = begun.saturating_sub(ROOM as u64);
        (first..begun)
            .filter_map(|number| self.entry(number))
            .collect()
    }

    fn entry(&self, number: u64) -> Option<Entry> {
        let place = index(number.wrapping_add(1));
        let kind = self.kinds[place].load(Ordering::Acquire);
        // SAFETY: null, or the address of a `Kind` that `begin` was given as a reference without
        // end; kinds are never written to.
        let kind = unsafe { kind.cast_const().as_ref() }?;
        let mut call = Call::of(kind);
        if kind.has_items() {
            call.items = self.items[place].load(Ordering::Relaxed);
        }
        if kind.ranks != Ranks::None {
            call.peer = self.peers[place].load(Ordering::Relaxed);
        }
        if kind.class == Class::Message && kind.ranks != Ranks::None {
            call.tag = self.tags[place].load(Ordering::Relaxed);
        }
        Some(Entry { number, call })
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("begun", &self.begun())
            .field("ended", &self.ended())
            .finish_non_exhaustive()
    }
}

/// The index of the call before which there were `next - 1`.
#[inline(always)]
fn index(next: u64) -> usize {
    (next & 0xff) as usize
}

const _: () = assert!(ROOM == 1 << u8::BITS, "an index is a byte");

#[cfg(test)]
mod tests {
    use super::*;

    static SEND: Kind = Kind::message::<f64>("MPI_Send");
    static BARRIER: Kind = Kind::of(Class::Collective, "MPI_Barrier");

    #[test]
    fn what_was_called_is_read_back_in_order() {
        let ring = Ring::new();
        assert!(ring.entries().is_empty());
        ring.begin(Call::of(&SEND).items(7).root(3));
        ring.end();
        ring.begin(Call::of(&BARRIER));
        let entries = ring.entries();
        assert_eq!(entries.len(), 2);
        let [send, barrier] = [entries[0], entries[1]];
        assert_eq!((send.number, barrier.number), (0, 1));
        assert_eq!(send.call.operation(), "MPI_Send");
        assert_eq!((send.call.items, send.call.peer), (7, 3));
        assert_eq!(barrier.call.operation(), "MPI_Barrier");
        assert_eq!((ring.begun(), ring.ended()), (2, 1));
    }

    #[test]
    fn the_oldest_go_first() {
        let ring = Ring::new();
        for number in 0..1000 {
            ring.begin(Call::of(&SEND).items(number));
            ring.end();
        }
        let entries = ring.entries();
        assert_eq!(entries.len(), ROOM);
        for entry in entries {
            assert_eq!(u64::from(entry.call.items), entry.number);
        }
        assert_eq!(ring.begun(), 1000);
    }

    #[test]
    fn anybody_may_read_while_it_is_written() {
        let ring = Ring::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..if cfg!(miri) { 300 } else { 10_000 } {
                    ring.begin(Call::of(&SEND).items(number));
                    ring.end();
                }
            });
            scope.spawn(|| {
                for _ in 0..if cfg!(miri) { 4 } else { 20 } {
                    for entry in ring.entries() {
                        assert_eq!(entry.call.operation(), "MPI_Send");
                    }
                }
            });
        });
    }

    /// Under miri this fails if a reader may have the address of a kind before the kind.
    #[test]
    fn a_kind_that_was_made_just_now_is_read_whole() {
        let ring = Ring::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20 {
                    let kind = Box::leak(Box::new(Kind::of(Class::Collective, "MPI_Barrier")));
                    ring.begin(Call::of(kind));
                    ring.end();
                    std::thread::yield_now();
                }
            });
            scope.spawn(|| {
                while ring.ended() < 20 {
                    for entry in ring.entries() {
                        assert_eq!(entry.call.operation(), "MPI_Barrier");
                    }
                    std::thread::yield_now();
                }
            });
        });
    }
}
