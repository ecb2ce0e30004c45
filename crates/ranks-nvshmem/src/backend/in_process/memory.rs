//! Blocks of the heap, and what a PE does with its own part.

use std::sync::Arc;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::{Count, Meminfo};

use super::Heap;
use super::meeting::Gift;
use super::part::Part;
use crate::backend::block::{Block, Offset};
use crate::backend::in_process::kept_place::{KeptPlace, Parts};
use crate::backend::{Memory, Order, TeamHandle};

/// Blocks from here on are compared with what the machine has left: it gives memory away that it
/// does not have.
const LARGE: usize = 64 << 20;

impl Memory for Heap {
    fn alloc(&self, bytes: usize, number: u64) -> Result<Block> {
        const OPERATION: &str = "nvshmem_malloc";
        let text = format!("{OPERATION} of {}, block {number}", Count(bytes, "byte"));
        let gift = Gift::Part(self.part(bytes).map(Arc::new));
        let met = self.meet_all(OPERATION, text, gift)?;
        let part = |(pe, gift): (usize, &Gift)| match gift {
            Gift::Part(Ok(part)) => Ok(Arc::clone(part)),
            Gift::Part(Err(why)) => Err(without(bytes, pe, why)),
            _ => Err(without(bytes, pe, "it came for something else")),
        };
        let parts: Vec<_> = met
            .gifts
            .iter()
            .enumerate()
            .map(part)
            .collect::<Result<_>>()?;
        let mine = parts
            .get(self.pe.me)
            .ok_or_else(|| without(bytes, self.pe.me, "it has no part"))?;
        Ok(Block {
            local: mine.address(),
            bytes,
            number,
            kept: Some(Box::new(Parts(parts))),
        })
    }

    fn free(&self, block: Block) -> Result<()> {
        const OPERATION: &str = "nvshmem_free";
        let text = format!("{OPERATION} of block {}", block.number);
        self.meet_all(OPERATION, text, Gift::Nothing)?;
        // The parts live for as long as a stream works on them.
        drop(block);
        Ok(())
    }

    fn read(&self, from: Offset<'_>, to: &mut [u8]) -> Result<()> {
        KeptPlace::of("nvshmem_getmem", from, self.pe.me)?.read(to)
    }

    fn write(&self, from: &[u8], to: Offset<'_>) -> Result<()> {
        KeptPlace::of("nvshmem_putmem", to, self.pe.me)?.write(from)
    }

    fn fill(&self, to: Offset<'_>, bytes: usize, value: u8, order: Order<'_>) -> Result<()> {
        const OPERATION: &str = "SymmetricVec::fill";
        let to = KeptPlace::of(OPERATION, to, self.pe.me)?;
        self.carry_out(OPERATION, order, move |_, _| to.fill(bytes, value))
    }

    fn peer(&self, place: Offset<'_>, pe: usize) -> Option<*mut u8> {
        Some(KeptPlace::of("nvshmem_ptr", place, pe).ok()?.address())
    }

    fn multicast(&self, _place: Offset<'_>, _team: TeamHandle) -> Option<*mut u8> {
        None
    }
}

impl Heap {
    /// The part of this PE in a new block, or why it has none.
    fn part(&self, bytes: usize) -> Result<Part, String> {
        let all = bytes.saturating_mul(self.pe.world.size());
        let left = if bytes < LARGE { None } else { available() };
        if let Some(left) = left.filter(|&left| all > left) {
            return Err(format!("{left} bytes are left on this machine"));
        }
        Part::zeroed(bytes).map_err(|error| error.to_string())
    }
}

/// Returns the number of bytes that this machine has left, if it says so.
fn available() -> Option<usize> {
    let bytes = Meminfo::read().bytes("MemAvailable")?;
    usize::try_from(bytes).ok()
}

#[cold]
fn without(bytes: usize, pe: usize, why: &str) -> Error {
    let why = format_args!("PE {pe} has no memory for {bytes} bytes: {why}; ask for less");
    Error::new(ErrorKind::Memory, "nvshmem_malloc", why)
}
