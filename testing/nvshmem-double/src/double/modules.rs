//! Modules and libraries of the device that were made ready. There is no code in them that could
//! call anything.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::abi::{self, Code};
use super::{hooks, lock, pe};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Module,
    Library,
}

static READY: Mutex<Vec<(Kind, usize)>> = Mutex::new(Vec::new());

/// How often one was made ready.
pub(crate) static INITS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn live() -> usize {
    lock(&READY).len()
}

pub(crate) fn init(name: &str, kind: Kind, handle: usize) -> Code {
    pe::live(name);
    if let Some(code) = hooks::failure_asked_of(name) {
        return code;
    }
    if handle == 0 {
        return abi::INTERNAL;
    }
    INITS.fetch_add(1, Ordering::Relaxed);
    lock(&READY).push((kind, handle));
    abi::SUCCESS
}

pub(crate) fn finalize(name: &str, kind: Kind, handle: usize) -> Code {
    pe::live(name);
    if let Some(code) = hooks::failure_asked_of(name) {
        return code;
    }
    let mut ready = lock(&READY);
    match ready.iter().position(|&known| known == (kind, handle)) {
        Some(index) => {
            ready.swap_remove(index);
            abi::SUCCESS
        }
        None => abi::INTERNAL,
    }
}
