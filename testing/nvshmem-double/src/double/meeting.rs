//! PEs wait for each other, and see whether they have come for the same thing.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use super::pe::Pe;
use super::region::LINE;
use super::{fatal, hooks, lock};

/// How often PEs came with different calls.
pub(crate) static MISMATCHES: AtomicUsize = AtomicUsize::new(0);

/// Words of a line: how often its PE has come; then what it came with, for even and for odd times.
const COUNT: usize = 0;
const CALLS: [usize; 2] = [1, 1 + NAME + ARGUMENTS];
/// Words of a name.
const NAME: usize = 5;
/// What else tells calls apart.
const ARGUMENTS: usize = 4;
const _: () = assert!(CALLS[1] + NAME + ARGUMENTS <= LINE);

/// What a PE comes for: all must come with the same. A call that may differ has 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) arguments: [u64; ARGUMENTS],
}

impl Call {
    pub(crate) fn new(name: &'static str) -> Self {
        Self::with(name, 0, 0)
    }

    pub(crate) fn with(name: &'static str, one: usize, two: usize) -> Self {
        Self::of(name, [one as u64, two as u64, 0, 0])
    }

    pub(crate) fn of(name: &'static str, arguments: [u64; ARGUMENTS]) -> Self {
        Self { name, arguments }
    }

    fn words(&self) -> [u64; NAME + ARGUMENTS] {
        let mut words = [0; NAME + ARGUMENTS];
        for (index, byte) in self.name.bytes().take(8 * NAME).enumerate() {
            words[index / 8] |= u64::from(byte) << (index % 8 * 8);
        }
        words[NAME..].copy_from_slice(&self.arguments);
        words
    }
}

/// What words say.
struct Said([u64; NAME + ARGUMENTS]);

impl fmt::Display for Said {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0[..NAME].iter().flat_map(|word| word.to_le_bytes());
        let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        let name = String::from_utf8_lossy(&name);
        // Negative numbers are as they were said.
        let arguments = self.0[NAME..].iter().map(|word| word.cast_signed());
        let arguments: Vec<String> = arguments.map(|word| word.to_string()).collect();
        write!(out, "{name}({})", arguments.join(", "))
    }
}

impl Pe {
    /// Waits until all `pes`, of which this is one, have come to their `line` as often as this one.
    /// Whatever they have written before is seen by all after.
    pub(crate) fn meet(&self, pes: &[usize], line: usize, call: Call) {
        let _alone = lock(&self.lines[line]);
        let word = |pe: usize, index: usize| -> &AtomicU64 { self.region.line(pe, line, index) };
        let time = word(self.my_pe, COUNT).load(Ordering::Relaxed) + 1;
        let calls = CALLS[usize::from(time % 2 == 1)];
        let own = call.words();
        for (index, value) in own.into_iter().enumerate() {
            word(self.my_pe, calls + index).store(value, Ordering::Relaxed);
        }
        word(self.my_pe, COUNT).store(time, Ordering::Release);
        for &pe in pes {
            let come = || word(pe, COUNT).load(Ordering::Acquire) >= time;
            wait_until(come, || {
                format!("{}: PE {} waits for PE {pe}", Said(own), self.my_pe)
            });
            let mut other = [0; NAME + ARGUMENTS];
            for (index, value) in other.iter_mut().enumerate() {
                *value = word(pe, calls + index).load(Ordering::Relaxed);
            }
            if other != own {
                self.mismatch(&Said(own), pe, &Said(other));
            }
        }
    }

    /// Makes those `pes` come to a line that none of them is at as if all had come as often.
    pub(crate) fn level(&self, pes: &[usize], line: usize) {
        let count = |pe: usize| self.region.line(pe, line, COUNT);
        let most = pes
            .iter()
            .map(|&pe| count(pe).load(Ordering::Acquire))
            .max();
        count(self.my_pe).store(most.unwrap_or(0), Ordering::Release);
    }

    fn mismatch(&self, own: &Said, pe: usize, other: &Said) {
        MISMATCHES.fetch_add(1, Ordering::Relaxed);
        if hooks::STRICT.get() {
            fatal::abort(format_args!(
                "PEs disagree: PE {} calls {own}, PE {pe} calls {other}",
                self.my_pe
            ));
        }
    }
}

/// Waits, politely. What never comes ends the process after `NVSHMEM_DOUBLE_PATIENCE` seconds, so
/// that no test leaves processes behind.
pub(crate) fn wait_until(condition: impl Fn() -> bool, what: impl Fn() -> String) {
    let since = Instant::now();
    let mut turns = 0_u32;
    while !condition() {
        turns = turns.saturating_add(1);
        match turns {
            0..=60 => thread::yield_now(),
            61..=2000 => thread::sleep(Duration::from_micros(50)),
            _ => thread::sleep(Duration::from_millis(1)),
        }
        if turns > 2000 && since.elapsed() > hooks::patience() {
            fatal::abort(format_args!("nobody comes: {}", what()));
        }
    }
}
