//! The facts about a call that are reported.

use crate::call::inflight_calls::CallInFlight;
use crate::call::record::{Class, Recorder};

/// A call, in the terms of a report.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) operation: &'static str,
    pub(super) element: Option<&'static str>,
    pub(super) reduction: Option<&'static str>,
    /// The destination or the source of a message.
    pub(super) peer: Option<usize>,
    /// The destination of a message, if another one comes from `peer`.
    pub(super) dest: Option<usize>,
    pub(super) root: Option<usize>,
    pub(super) tag: Option<i32>,
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Facts {
    pub(super) fn of(call: &CallInFlight) -> Self {
        let call = &call.what;
        let kind = call.kind;
        let one = usize::try_from(call.peer).ok();
        let is_rooted = kind.class == Class::Collective;
        let count = u64::from(call.items);
        let size = kind.element.map_or(0, |(_, size)| size as u64);
        Self {
            operation: kind.operation,
            element: kind.element.map(|(name, _)| name()),
            reduction: kind.reduction.map(|name| name()),
            peer: one.filter(|_| !is_rooted),
            dest: usize::try_from(call.dest).ok(),
            root: one.filter(|_| is_rooted),
            tag: Some(call.tag).filter(|&tag| tag >= 0),
            count,
            bytes: count.saturating_mul(size),
        }
    }
}

/// The label of a communicator: its name, or its number of ranks.
pub(super) fn label(recorder: &Recorder) -> String {
    let name = recorder.name();
    if name.is_empty() {
        format!("unnamed, of {}", recorder.size)
    } else {
        name
    }
}
