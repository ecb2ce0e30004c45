//! A place in the part of one PE, which stays for as long as somebody works on it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ranks_comm::{Error, ErrorKind, Result};

use super::part::Part;
use crate::backend::block::{Block, Local, Offset};

/// The parts of all PEs in one block.
#[derive(Debug)]
pub(super) struct Parts(pub(super) Vec<Arc<Part>>);

/// A place in the part of one PE. It keeps the part.
#[derive(Debug, Clone)]
pub(super) struct KeptPlace {
    part: Arc<Part>,
    at: usize,
}

impl Parts {
    /// Those of a block that this backend has made.
    fn of(block: &Block) -> Option<&Parts> {
        block.kept.as_deref()?.downcast_ref()
    }
}

impl KeptPlace {
    /// The place in the part of `pe`.
    pub(super) fn of(operation: &'static str, place: Offset<'_>, pe: usize) -> Result<KeptPlace> {
        let part = Parts::of(place.block).and_then(|parts| parts.0.get(pe));
        match part {
            Some(part) => Ok(KeptPlace {
                part: Arc::clone(part),
                at: place.offset,
            }),
            None => Err(elsewhere(operation, pe)),
        }
    }

    /// Memory of this PE.
    pub(super) fn local(operation: &'static str, local: Local<'_>, me: usize) -> Result<KeptPlace> {
        match local {
            Local::Symmetric(place) => KeptPlace::of(operation, place, me),
            Local::Device(_) => {
                let why = "memory of a device has no place in a heap in process; use symmetric memory, or the host's";
                Err(Error::new(ErrorKind::Argument, operation, why))
            }
        }
    }

    /// So many bytes further on.
    pub(super) fn after(&self, bytes: usize) -> KeptPlace {
        KeptPlace {
            part: Arc::clone(&self.part),
            // What lies outside is told when it is used.
            at: self.at.saturating_add(bytes),
        }
    }

    pub(super) fn copy(&self, from: &KeptPlace, bytes: usize) -> Result<()> {
        self.part.copy(self.at, &from.part, from.at, bytes)
    }

    pub(super) fn read(&self, to: &mut [u8]) -> Result<()> {
        self.part.read(self.at, to)
    }

    pub(super) fn write(&self, from: &[u8]) -> Result<()> {
        self.part.write(self.at, from)
    }

    pub(super) fn fill(&self, bytes: usize, value: u8) -> Result<()> {
        self.part.fill(self.at, bytes, value)
    }

    pub(super) fn word(&self) -> Result<&AtomicU64> {
        self.part.word(self.at)
    }

    /// Reads the bytes that are there now.
    pub(super) fn bytes(&self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = room(count)?;
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    /// The address at which it begins.
    pub(super) fn address(&self) -> *mut u8 {
        self.part.address().as_ptr().wrapping_add(self.at)
    }
}

/// So many zeros.
pub(super) fn room(bytes: usize) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    match room.try_reserve_exact(bytes) {
        Ok(()) => {
            room.extend(std::iter::repeat_n(0, bytes));
            Ok(room)
        }
        Err(error) => Err(Error::new(
            ErrorKind::Memory,
            "the heap in process",
            format_args!("no room for {bytes} bytes: {error}"),
        )),
    }
}

#[cold]
fn elsewhere(operation: &'static str, pe: usize) -> Error {
    let why = format_args!("the block has no part of PE {pe} in this heap");
    Error::new(ErrorKind::Argument, operation, why)
}
