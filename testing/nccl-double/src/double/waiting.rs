//! Waiting for other ranks: politely, and never longer than until this rank is told to stop.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::failure::{Failure, Outcome};

/// What tells a rank to stop waiting: any of them.
pub(crate) type Stop<'a> = &'a [&'a AtomicBool];

/// Returns `true` if one of them does.
pub(crate) fn stopped(stop: Stop<'_>) -> bool {
    stop.iter().any(|stop| stop.load(Ordering::Acquire))
}

/// One wait, which gets more patient.
pub(crate) struct Waiting<'a> {
    stop: Stop<'a>,
    turns: u32,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(stop: Stop<'a>) -> Self {
        Self { stop, turns: 0 }
    }

    /// Something has happened: be quick again.
    pub(crate) fn reset(&mut self) {
        self.turns = 0;
    }

    /// Returns `true` if it is time for what costs more than a look at memory.
    pub(crate) fn is_long(&self) -> bool {
        self.turns > 60 && self.turns.is_multiple_of(32)
    }

    /// Lets others work for a moment.
    pub(crate) fn pause(&mut self) -> Outcome {
        if stopped(self.stop) {
            return Err(Failure::aborted());
        }
        self.turns = self.turns.saturating_add(1);
        match self.turns {
            0..=40 => thread::yield_now(),
            41..=400 => thread::sleep(Duration::from_micros(50)),
            _ => thread::sleep(Duration::from_micros(500)),
        }
        Ok(())
    }
}

/// When a process was started, in the kernel's ticks; 0 if it is over, or was never there.
pub(crate) fn start_of(pid: u32) -> u64 {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return 0;
    };
    // The name is in parentheses and may hold anything; the state comes after it, the start 19
    // fields later.
    let Some((_, fields)) = text.rsplit_once(") ") else {
        return 0;
    };
    let mut fields = fields.split(' ');
    match fields.next() {
        None | Some("Z" | "X") => 0,
        Some(_) => fields
            .nth(18)
            .and_then(|start| start.parse().ok())
            .unwrap_or(0),
    }
}
