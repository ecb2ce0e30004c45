//! The header of an ELF file, read before the dynamic linker does.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The type of a segment that is mapped.
const PT_LOAD: u32 = 1;

/// The size, in bytes, of what a file of 64 bits tells of a segment.
const PHDR: usize = 56;

/// Returns `true` if a library ends before its header says, as one that was not copied whole does:
/// the dynamic linker maps what is not there, and the process ends by SIGBUS.
pub(super) fn is_cut_off(library: &Path) -> bool {
    let Ok(mut file) = File::open(library) else {
        return false;
    };
    let length = file.metadata().map(|file| file.len());
    let end = end_of_segments(&mut file);
    end.zip(length.ok())
        .is_some_and(|(end, length)| end > length)
}

/// The end of the last mapped segment of a file of 64 bits, in bytes; `None` for any other.
fn end_of_segments(file: &mut File) -> Option<u64> {
    let mut header = [0; 64];
    file.read_exact(&mut header).ok()?;
    let of_64_bits = header.starts_with(b"\x7fELF\x02\x01");
    let table = number(&header, 32).filter(|_| of_64_bits)?;
    let [entry, entries] = [54, 56].map(|at| u16::from_le_bytes([header[at], header[at + 1]]));
    // Any other is for no linker, and its table may be as long as memory.
    let (entry, entries) = (usize::from(entry), usize::from(entries));
    if entry != PHDR {
        return None;
    }
    file.seek(SeekFrom::Start(table)).ok()?;
    let mut segments = vec![0; entry * entries];
    file.read_exact(&mut segments).ok()?;
    let segments = segments.chunks_exact(entry);
    let mapped = segments.filter(|segment| segment.starts_with(&PT_LOAD.to_le_bytes()));
    let ends = mapped.filter_map(|segment| number(segment, 8)?.checked_add(number(segment, 32)?));
    ends.max()
}

/// The number of 64 bits at an offset.
fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*number))
}

/// Returns `true` if a library is one for another processor than this program.
pub(super) fn is_of_another_processor(library: &Path) -> bool {
    let own = std::env::current_exe().ok();
    let ours = own.and_then(|own| processor(&own));
    // The header of a pipe may never come.
    let theirs = Some(library).filter(|file| file.is_file());
    let theirs = theirs.and_then(processor);
    ours.zip(theirs)
        .is_some_and(|(ours, theirs)| ours != theirs)
}

/// The width, the order of bytes and the processor of an ELF file.
fn processor(file: &Path) -> Option<[u8; 4]> {
    let mut header = [0; 20];
    File::open(file).ok()?.read_exact(&mut header).ok()?;
    // With one of the two widths that there are.
    let is_elf = header.starts_with(b"\x7fELF") && matches!(header[4], 1 | 2);
    is_elf.then(|| [header[4], header[5], header[18], header[19]])
}
