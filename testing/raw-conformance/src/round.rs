//! Operations that are begun together, and what must be in their memory when they are over.

use std::ffi::c_void;

use super::memory::{Block, Memory};
use super::model::{self, Number};
use super::{ensure, text};
use ranks_raw::{Dtype, RawCollectives, RawOp};

/// Buffers of operations under way. One that is dropped before [`finish`](Self::finish) leaves them
/// allocated.
pub(super) struct Round<'a> {
    pub(super) comm: &'a dyn RawCollectives,
    memory: &'a dyn Memory,
    kept: Vec<Kept>,
}

struct Kept {
    what: String,
    block: Box<dyn Block>,
    want: Want,
}

/// What must be in a block in the end.
enum Want {
    Bytes(Vec<u8>),
    Numbers(Dtype, Vec<Number>, f64),
}

impl<'a> Round<'a> {
    pub(super) fn new(comm: &'a dyn RawCollectives, memory: &'a dyn Memory) -> Self {
        let kept = Vec::new();
        Self { comm, memory, kept }
    }

    /// A block with `before` in it and `after` in the end.
    pub(super) fn block(
        &mut self,
        what: impl Into<String>,
        before: &[u8],
        after: Vec<u8>,
    ) -> Result<*mut c_void, String> {
        self.keep(what.into(), before, Want::Bytes(after))
    }

    /// A block that is sent, and must not change.
    pub(super) fn sent(&mut self, what: &str, bytes: &[u8]) -> Result<*mut c_void, String> {
        self.block(format!("what is sent, of {what}"), bytes, bytes.to_vec())
    }

    /// A block that these bytes come to.
    pub(super) fn received(&mut self, what: &str, after: Vec<u8>) -> Result<*mut c_void, String> {
        let before = vec![0xa5; after.len()];
        self.block(what, &before, after)
    }

    /// A block, with `before` in it if that is as long, that becomes the elements of a reduction
    /// from `first` on.
    pub(super) fn reduced(
        &mut self,
        what: &str,
        before: &[u8],
        (dtype, op): (Dtype, RawOp),
        first: usize,
        count: usize,
    ) -> Result<*mut c_void, String> {
        let size = self.comm.size();
        let numbers = (first..first + count)
            .map(|index| model::reduced(dtype, op, size, index))
            .collect();
        let filled = vec![0xa5; count * dtype.size()];
        let before = if before.is_empty() { &filled } else { before };
        let want = Want::Numbers(dtype, numbers, model::tolerance(dtype, op));
        self.keep(what.to_owned(), before, want)
    }

    fn keep(&mut self, what: String, before: &[u8], want: Want) -> Result<*mut c_void, String> {
        let block = self.memory.allocate(before.len())?;
        block.write(before)?;
        let address = block.address();
        self.kept.push(Kept { what, block, want });
        Ok(address)
    }

    /// Waits, and compares.
    pub(super) fn finish(self) -> Result<(), String> {
        self.comm.sync().map_err(text)?;
        self.compare()
    }

    /// Compares, after something that has waited.
    pub(super) fn compare(mut self) -> Result<(), String> {
        for Kept { what, block, want } in std::mem::take(&mut self.kept) {
            let found = block.read()?;
            match want {
                Want::Bytes(bytes) => ensure(found == bytes, || {
                    let (found, bytes) = (excerpt(&found), excerpt(&bytes));
                    format!("{what} holds {found} instead of {bytes}")
                })?,
                Want::Numbers(dtype, numbers, tolerance) => {
                    // In place there may be more behind.
                    let found = model::decoded(dtype, &found);
                    let found = &found[..numbers.len().min(found.len())];
                    let close = |(a, b): (&Number, &Number)| {
                        near(a.0, b.0, tolerance) && near(a.1, b.1, tolerance)
                    };
                    let all = found.len() == numbers.len() && found.iter().zip(&numbers).all(close);
                    ensure(all, || {
                        format!("{what} gives {found:?} instead of {numbers:?}")
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        // An error came between: operations may still work on them.
        std::mem::forget(std::mem::take(&mut self.kept));
    }
}

fn near(found: f64, wanted: f64, tolerance: f64) -> bool {
    (found - wanted).abs() <= tolerance * wanted.abs().max(1.0)
}

fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 24;
    let more = if bytes.len() > SHOWN { " …" } else { "" };
    let shown = &bytes[..bytes.len().min(SHOWN)];
    format!("{shown:02x?}{more} ({} bytes)", bytes.len())
}

/// The bytes that rank `rank` has in block `block`: the same nowhere else. All 0 or 1 for `Bool`.
pub(super) fn pattern(dtype: Dtype, rank: usize, block: usize, count: usize) -> Vec<u8> {
    let bytes = count * dtype.size();
    (0..bytes)
        .map(|at| {
            let mixed = (rank * 57 + block * 29 + at).wrapping_mul(0x9e37_79b1) >> 7;
            let byte = u8::try_from(mixed & 0xff).unwrap_or(0);
            if dtype == Dtype::Bool { byte & 1 } else { byte }
        })
        .collect()
}
