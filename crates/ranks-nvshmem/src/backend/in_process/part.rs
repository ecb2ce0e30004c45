//! Memory of one PE that all threads may touch at the same time.
//!
//! It is touched in whole words, by relaxed atomic operations: what lies within one word (any
//! aligned element of up to 8 bytes) is read and written whole, and there is no data race whatever
//! a program does. What orders the accesses of threads is done elsewhere.

use std::collections::TryReserveError;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

const WORD: usize = size_of::<u64>();
const WORDS_OF_LINE: usize = 64;
/// Bytes that are copied in one go, a multiple of the size of any element.
const CHUNK: usize = 1024;

/// As NVSHMEM's blocks do, each begins at a multiple of 512.
#[derive(Debug)]
#[repr(align(512))]
struct Line([AtomicU64; WORDS_OF_LINE]);

/// The part of one PE in one block.
#[derive(Debug)]
pub(super) struct Part {
    lines: Box<[Line]>,
    bytes: usize,
}

impl Part {
    /// So many bytes, all of them 0.
    pub(super) fn zeroed(bytes: usize) -> Result<Part, TryReserveError> {
        let count = bytes.div_ceil(size_of::<Line>());
        let mut lines = Vec::new();
        lines.try_reserve_exact(count)?;
        lines.extend((0..count).map(|_| Line([const { AtomicU64::new(0) }; WORDS_OF_LINE])));
        Ok(Part {
            lines: lines.into_boxed_slice(),
            bytes,
        })
    }

    /// The address at which it begins.
    pub(super) fn address(&self) -> NonNull<u8> {
        NonNull::from(&*self.lines).cast()
    }

    /// The word that begins at `at`.
    pub(super) fn word(&self, at: usize) -> Result<&AtomicU64> {
        self.check(at, WORD)?;
        let number = at / WORD;
        let line = self.lines.get(number / WORDS_OF_LINE);
        line.and_then(|line| line.0.get(number % WORDS_OF_LINE))
            .filter(|_| at.is_multiple_of(WORD))
            .ok_or_else(|| outside(at, WORD, self.bytes))
    }

    /// Copies from `at` on.
    pub(super) fn read(&self, at: usize, to: &mut [u8]) -> Result<()> {
        self.check(at, to.len())?;
        let (first, rest) = to.split_at_mut(head(at, to.len()));
        let mut words = self.words(at / WORD);
        if !first.is_empty()
            && let Some(word) = words.next()
        {
            let bytes = word.load(Relaxed).to_ne_bytes();
            first.copy_from_slice(&bytes[at % WORD..][..first.len()]);
        }
        for (to, word) in rest.chunks_mut(WORD).zip(words) {
            to.copy_from_slice(&word.load(Relaxed).to_ne_bytes()[..to.len()]);
        }
        Ok(())
    }

    /// Copies to `at` and what follows. Bytes of a word that are not written stay as others leave
    /// them.
    pub(super) fn write(&self, at: usize, from: &[u8]) -> Result<()> {
        self.check(at, from.len())?;
        let (first, rest) = from.split_at(head(at, from.len()));
        let mut words = self.words(at / WORD);
        if !first.is_empty()
            && let Some(word) = words.next()
        {
            put_bytes(word, at % WORD, first);
        }
        for (from, word) in rest.chunks(WORD).zip(words) {
            match from.try_into() {
                Ok(whole) => word.store(u64::from_ne_bytes(whole), Relaxed),
                Err(_) => put_bytes(word, 0, from),
            }
        }
        Ok(())
    }

    /// Makes bytes from `at` on the same.
    pub(super) fn fill(&self, at: usize, bytes: usize, value: u8) -> Result<()> {
        self.check(at, bytes)?;
        chunks(bytes).try_for_each(|(begun, len)| self.write(at + begun, &[value; CHUNK][..len]))
    }

    /// Copies bytes of `from` to `at` and what follows.
    pub(super) fn copy(&self, at: usize, from: &Part, from_at: usize, bytes: usize) -> Result<()> {
        self.check(at, bytes)?;
        from.check(from_at, bytes)?;
        let mut chunk = [0; CHUNK];
        chunks(bytes).try_for_each(|(begun, len)| {
            from.read(from_at + begun, &mut chunk[..len])?;
            self.write(at + begun, &chunk[..len])
        })
    }

    /// All words from one on.
    fn words(&self, first: usize) -> impl Iterator<Item = &AtomicU64> {
        let lines = self.lines.get(first / WORDS_OF_LINE..).unwrap_or_default();
        let words = lines.iter().flat_map(|line| &line.0);
        words.skip(first % WORDS_OF_LINE)
    }

    fn check(&self, at: usize, bytes: usize) -> Result<()> {
        match at.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(outside(at, bytes, self.bytes)),
        }
    }
}

/// The number of `bytes` from `at` on that belong to a word that began before.
fn head(at: usize, bytes: usize) -> usize {
    (at.next_multiple_of(WORD) - at).min(bytes)
}

/// Writes some bytes of a word, and leaves the others as they are.
fn put_bytes(word: &AtomicU64, at: usize, from: &[u8]) {
    let (mut mask, mut bytes) = ([0; WORD], [0; WORD]);
    let places = mask.iter_mut().zip(&mut bytes).skip(at);
    for ((mask, byte), &from) in places.zip(from) {
        (*mask, *byte) = (u8::MAX, from);
    }
    let (mask, bytes) = (u64::from_ne_bytes(mask), u64::from_ne_bytes(bytes));
    let mut old = word.load(Relaxed);
    let new = |old| (old & !mask) | bytes;
    while let Err(now) = word.compare_exchange_weak(old, new(old), Relaxed, Relaxed) {
        old = now;
    }
}

/// Offsets and lengths of the chunks of so many bytes.
fn chunks(bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes)
        .step_by(CHUNK)
        .map(move |begun| (begun, CHUNK.min(bytes - begun)))
}

#[cold]
fn outside(at: usize, bytes: usize, len: usize) -> Error {
    Error::new(
        ErrorKind::Length,
        "the heap in process",
        format_args!(
            "{} at byte {at}: not in a block of {}",
            Count(bytes, "byte"),
            Count(len, "byte")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Part {
        let part = Part::zeroed(bytes.len()).unwrap();
        part.write(0, bytes).unwrap();
        part
    }

    fn all(part: &Part) -> Vec<u8> {
        let mut bytes = vec![0; part.bytes];
        part.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn bytes_are_read_and_written_wherever_they_begin() {
        let before: Vec<u8> = (0..40).collect();
        for at in 0..=17 {
            for len in [0, 1, 2, 7, 8, 9, 15, 16, 17, 23] {
                let part = of(&before);
                let mut read = vec![0; len];
                part.read(at, &mut read).unwrap();
                assert_eq!(read, before[at..at + len], "{len} bytes from {at}");

                let new: Vec<u8> = (100..).take(len).collect();
                part.write(at, &new).unwrap();
                let mut expected = before.clone();
                expected[at..at + len].copy_from_slice(&new);
                assert_eq!(all(&part), expected, "{len} bytes to {at}");
            }
        }
    }

    #[test]
    fn long_and_crooked_copies_are_whole() {
        let source: Vec<u8> = (0..3000_u32).map(|i| i.to_le_bytes()[0] ^ 0x5a).collect();
        let from = of(&source);
        for (to_at, from_at) in [(0, 0), (3, 0), (0, 5), (6, 6), (1, 2)] {
            let to = Part::zeroed(3000).unwrap();
            to.fill(0, 3000, 9).unwrap();
            to.copy(to_at, &from, from_at, 2500).unwrap();
            let mut expected = vec![9; 3000];
            expected[to_at..to_at + 2500].copy_from_slice(&source[from_at..from_at + 2500]);
            assert_eq!(all(&to), expected);
        }
    }

    #[test]
    fn what_lies_outside_is_an_error() {
        let part = Part::zeroed(16).unwrap();
        for (at, len) in [(0, 17), (16, 1), (17, 0), (usize::MAX, 2)] {
            assert!(part.read(at, &mut vec![0; len]).is_err());
            assert!(part.write(at, &vec![0; len]).is_err());
            assert!(part.fill(at, len, 1).is_err());
        }
        assert!(part.word(4).is_err());
        assert!(part.word(16).is_err());
        assert!(part.word(8).is_ok());
        assert!(Part::zeroed(usize::MAX / 2).is_err());
    }

    #[test]
    fn blocks_begin_at_lines() {
        assert_eq!(of(&[1, 2, 3]).address().addr().get() % 512, 0);
    }

    /// Neighbours in one word that are written at the same time do not undo each other.
    #[test]
    fn neighbours_do_not_disturb_each_other() {
        let part = Part::zeroed(8).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let part = &part;
                scope.spawn(move || {
                    for value in 0..=20 {
                        part.write(2 * thread, &[value, value]).unwrap();
                    }
                });
            }
        });
        assert_eq!(all(&part), [20; 8]);
    }
}
