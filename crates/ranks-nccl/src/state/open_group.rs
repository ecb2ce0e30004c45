//! The group that is open on a thread, as the library has it too.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use ranks_comm::backend::observed;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_nccl_sys::{Nccl, ncclInProgress, ncclSuccess};

use super::Shared;
use super::time_limit::settle_all;
use crate::error::{Caller, check, failure, is_refusal, missing};

const START: &str = "ncclGroupStart";
const END: &str = "ncclGroupEnd";

/// The time that a thread waits, while it has others in its group, for a communicator that another
/// thread is using: two of them may wait for each other.
const PATIENCE: Duration = Duration::from_secs(10);

thread_local! {
    /// The group that is open on this thread, as the library has it too.
    static OPEN: RefCell<Option<Open>> = const { RefCell::new(None) };
}

/// A group that is open: groups inside it are part of it.
#[derive(Default)]
struct Open {
    depth: usize,
    /// The library, if it was told.
    nccl: Option<&'static Nccl>,
    /// The communicators that have calls in it, whose turn it is until its end.
    members: Vec<Arc<Shared>>,
}

/// Makes the calls of `body` in a group, which ends with it, also by an error or a panic.
///
/// # Errors
/// That of `body`; else errors of the library in any of its calls.
pub(crate) fn within<R>(body: impl FnOnce() -> Result<R>) -> Result<R> {
    let guard = Guard::open();
    let result = body();
    let ended = guard.close();
    let value = result?;
    ended.map(|()| value)
}

/// Ends the group, once.
struct Guard(());

impl Guard {
    fn open() -> Self {
        OPEN.with_borrow_mut(|open| open.get_or_insert_default().depth += 1);
        Self(())
    }

    fn close(self) -> Result<()> {
        std::mem::forget(self);
        leave()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Only a panic comes here: the communicators keep what the library says of them.
        let _lost = leave();
    }
}

/// Returns `true` if a group is open on this thread.
pub(crate) fn is_open() -> bool {
    OPEN.try_with(|open| open.try_borrow().is_ok_and(|open| open.is_some()))
        .unwrap_or(false)
}

/// Returns `true` if this thread has a group open in which the communicator has calls, so that it
/// is its turn.
pub(crate) fn has(shared: &Shared) -> bool {
    let among = |open: &Open| open.members.iter().any(|one| std::ptr::eq(&**one, shared));
    OPEN.try_with(|open| {
        open.try_borrow()
            .is_ok_and(|open| open.as_ref().is_some_and(among))
    })
    .unwrap_or(false)
}

/// An error if a group is open on this thread: for what must not be part of one.
pub(crate) fn none_open(operation: &'static str) -> Result<()> {
    if is_open() {
        let text = "this cannot be part of a group; call it when the group is over";
        return Err(Error::new(ErrorKind::Argument, operation, text));
    }
    Ok(())
}

/// Makes a communicator part of the open group. Whether there is one.
pub(crate) fn join(shared: &Arc<Shared>, operation: &'static str) -> Result<bool> {
    OPEN.with_borrow_mut(|open| match open {
        None => Ok(false),
        Some(open) => open.add(shared, operation).map(|()| true),
    })
}

impl Open {
    fn add(&mut self, shared: &Arc<Shared>, operation: &'static str) -> Result<()> {
        if self
            .members
            .iter()
            .any(|member| Arc::ptr_eq(member, shared))
        {
            return Ok(());
        }
        self.start(shared.nccl, operation)?;
        let limit = shared
            .time_limit
            .map_or(PATIENCE, |limit| limit.min(PATIENCE));
        if !shared.call_lock.take(Some(limit)) {
            let text = format_args!(
                "another thread has been using this communicator for {limit:?}; \
                 groups of several communicators on several threads must not have two of them in common"
            );
            return Err(Error::new(ErrorKind::TimedOut, operation, text));
        }
        shared.set_grouped();
        self.members.push(Arc::clone(shared));
        Ok(())
    }

    /// Tells the library, once.
    fn start(&mut self, nccl: &'static Nccl, operation: &'static str) -> Result<()> {
        match self.nccl {
            Some(open) if std::ptr::eq(open, nccl) => Ok(()),
            Some(_) => {
                let text = "a group cannot have communicators of two NCCL libraries";
                Err(Error::new(ErrorKind::Argument, operation, text))
            }
            None => {
                start_in(nccl)?;
                self.nccl = Some(nccl);
                Ok(())
            }
        }
    }
}

/// Closes the innermost group; with the outermost everything is enqueued.
fn leave() -> Result<()> {
    let whole = OPEN.with_borrow_mut(|open| {
        let inner = open.as_mut()?;
        inner.depth = inner.depth.saturating_sub(1);
        if inner.depth == 0 { open.take() } else { None }
    });
    // The library's group is over before anything else is called: what follows is part of none.
    let Some(Open { nccl, members, .. }) = whole else {
        return Ok(());
    };
    let end = || nccl.map_or(Ok(()), |nccl| end(nccl, &members));
    match members.first() {
        Some(first) => observed(&first.track, || END.into(), end),
        None => end(),
    }
}

fn end(nccl: &'static Nccl, members: &[Arc<Shared>]) -> Result<()> {
    let code = end_in(nccl);
    for member in members {
        member.ungrouped();
    }
    let outcome = match code {
        Ok(code) if code == ncclSuccess => Ok(()),
        Ok(code) if code == ncclInProgress => settle_all(END, members),
        Ok(code) => Err(failed(nccl, code, members)),
        Err(error) => Err(error),
    };
    for member in members {
        member.call_lock.give();
    }
    outcome
}

/// A group that failed. Unless only an argument was refused, nobody knows how much of it was
/// enqueued, so no member can be used any more.
#[cold]
fn failed(nccl: &Nccl, code: i32, members: &[Arc<Shared>]) -> Error {
    let caller = members
        .first()
        .map_or(Caller::Nobody, |member| member.caller());
    let error = failure(nccl, END, code, caller);
    for member in members {
        if !is_refusal(code) || !member.goes_on() {
            member.abort_because(&error.to_string());
        }
    }
    error
}

/// Opens a group of the library on this thread.
pub(crate) fn start_in(nccl: &'static Nccl) -> Result<()> {
    let function = nccl.table().ncclGroupStart;
    let function = function.ok_or_else(|| missing(nccl, START))?;
    // SAFETY: it takes nothing and may be called at any time; each is followed by one end.
    let code = unsafe { function() };
    check(nccl, START, code, Caller::Nobody)
}

/// Ends the group of the library that is open on this thread.
pub(crate) fn end_in(nccl: &'static Nccl) -> Result<i32> {
    let function = nccl.table().ncclGroupEnd;
    let function = function.ok_or_else(|| missing(nccl, END))?;
    // SAFETY: it takes nothing. Communicators with calls in the group are not freed before it ends
    // (`Shared::set_grouped`), and what their arguments point at is kept by those who made the
    // calls.
    Ok(unsafe { function() })
}

/// Ends a group that the library may have left open on this thread when it could not begin a
/// communicator. NCCL 2.32 does when it finds no device, and whatever the thread called later would
/// wait for an end that nobody makes. Where none is open it refuses, which is as well.
#[cold]
pub(crate) fn end_left_open(nccl: &'static Nccl) {
    let _refused = end_in(nccl);
}
