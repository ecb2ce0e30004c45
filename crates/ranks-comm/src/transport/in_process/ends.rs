//! The ends of lists, by their pattern.
//!
//! As a rule a rank has messages of a few patterns at a time, and to compare these one by one is
//! less work than to hash.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::lists::Pattern;

/// The most lists that are compared one by one.
const FEW: usize = 8;

/// The first and the last item of each list that is not empty.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// All of them, or none if they are in `many`.
    few: Vec<(Pattern, [u32; 2])>,
    many: HashMap<Pattern, [u32; 2], BuildHasherDefault<Mixed>>,
}

impl Ends {
    pub(super) fn get(&self, pattern: &Pattern) -> Option<&[u32; 2]> {
        if self.many.is_empty() {
            self.place(pattern).map(|place| &self.few[place].1)
        } else {
            self.many.get(pattern)
        }
    }

    pub(super) fn get_mut(&mut self, pattern: &Pattern) -> Option<&mut [u32; 2]> {
        if self.many.is_empty() {
            self.place(pattern).map(|place| &mut self.few[place].1)
        } else {
            self.many.get_mut(pattern)
        }
    }

    /// Those of the list of that pattern, which are `ends` if it was empty.
    pub(super) fn or_insert(&mut self, pattern: Pattern, ends: [u32; 2]) -> &mut [u32; 2] {
        if self.many.is_empty() {
            let place = self.place(&pattern).unwrap_or(self.few.len());
            if place < FEW {
                if place == self.few.len() {
                    self.few.push((pattern, ends));
                }
                return &mut self.few[place].1;
            }
            self.many.extend(self.few.drain(..));
        }
        self.many.entry(pattern).or_insert(ends)
    }

    pub(super) fn remove(&mut self, pattern: &Pattern) {
        if self.many.is_empty() {
            self.place(pattern).map(|place| self.few.swap_remove(place));
        } else {
            self.many.remove(pattern);
        }
    }

    pub(super) fn shrink_to(&mut self, capacity: usize) {
        self.many.shrink_to(capacity);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_empty()
    }

    fn place(&self, pattern: &Pattern) -> Option<usize> {
        self.few.iter().position(|(other, _)| other == pattern)
    }
}

/// A multiplicative hash: contexts, ranks and tags are the program's own.
#[derive(Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lists_are_found_as_few_are() {
        const MANY: u32 = 24;
        const { assert!(MANY as usize > FEW) };
        let pattern = |tag: u32| Pattern {
            context: 1,
            source: None,
            tag: i32::try_from(tag).ok(),
        };
        let mut ends = Ends::default();
        for round in 1..3 {
            for tag in 0..MANY {
                assert_eq!(ends.get(&pattern(tag)), None);
                assert_eq!(*ends.or_insert(pattern(tag), [tag, round]), [tag, round]);
                assert_eq!(*ends.or_insert(pattern(tag), [7, 7]), [tag, round]);
            }
            for tag in 0..MANY {
                ends.get_mut(&pattern(tag)).unwrap()[1] += 1;
                assert_eq!(ends.get(&pattern(tag)), Some(&[tag, round + 1]));
                ends.remove(&pattern(tag));
                assert_eq!(ends.get(&pattern(tag)), None);
                assert_eq!(ends.get_mut(&pattern(tag)), None);
            }
            assert!(ends.is_empty());
        }
    }
}
