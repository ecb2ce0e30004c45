//! The description of a collective call, and the comparison of those of all ranks.
//!
//! A description is a digest of all that must be equal, and a text. Over MPI ranks join the
//! digests, and exchange more only where these differ: [`Joined`] is the outcome. Among threads
//! they see each other's descriptions as they are.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::call::checks::{get_text, put_text};
use crate::call::identity::digest;
use crate::call::rank_list::RankList;
use crate::result::{Error, ErrorKind, Result};

/// The number of bytes of a description, and of words.
const ROOM: usize = 256;
const WORDS: usize = ROOM / size_of::<u64>();

/// The first byte: the action of the rank.
const CALLS: u8 = 0;
const REFUSES: u8 = 1;
/// It calls, and does not wait for the others.
const BEGINS: u8 = 2;

/// The most different calls that an error names.
const MOST: usize = 8;

/// The description of a call: whether the rank refuses it, a digest of all that must be equal, and
/// a text.
#[derive(Debug, Clone)]
pub struct CallDescription([u8; ROOM]);

impl CallDescription {
    /// The description of a call, with a text; equal digests mean that all that must be equal is.
    #[must_use]
    pub fn calling(digest: u64, text: &str) -> Self {
        Self::new(CALLS, digest, text)
    }

    /// Marks the call as one that this rank does not wait for.
    #[must_use]
    pub fn beginning(mut self) -> Self {
        if self.0[0] == CALLS {
            self.0[0] = BEGINS;
        }
        self
    }

    /// The description of a call by a text with all that must be equal, which is its name if no
    /// more is.
    #[must_use]
    pub fn named(text: &str) -> Self {
        Self::calling(of_text(text), text)
    }

    /// The description of a refused call, with the reason.
    #[must_use]
    pub fn refusing(error: &Error) -> Self {
        let text = error.to_string();
        Self::new(REFUSES, of_text(&text), &text)
    }

    fn new(does: u8, digest: u64, text: &str) -> Self {
        let mut told = [0; ROOM];
        told[0] = does;
        told[1..9].copy_from_slice(&digest.to_le_bytes());
        put_text(&mut told[9..], text);
        Self(told)
    }

    /// The bytes that threads exchange.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The digest of what the rank does and of all that must be equal.
    fn digest(&self) -> u64 {
        key(&self.0)
    }

    /// Returns `true` if some rank does not wait for the others.
    pub(crate) fn any_begins(all: &[u8]) -> bool {
        all.chunks(ROOM).any(|told| told.first() == Some(&BEGINS))
    }

    /// Compares the descriptions of all ranks, in rank order.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`], the same on every rank, if a rank refuses its call or two call
    /// differently.
    pub fn compare(operation: &'static str, all: &[u8]) -> Result<()> {
        let refused = |told: &&[u8]| told.first() == Some(&REFUSES);
        let mut told = all.chunks(ROOM);
        let first = told.clone().next().and_then(|told| told.get(..9));
        if told.all(|told| told.get(..9) == first && !refused(&told)) {
            return Ok(());
        }
        let groups = Groups::of(all.chunks(ROOM).map(key));
        let texts: Vec<&[u8]> = groups
            .firsts()
            .filter_map(|first| all.chunks(ROOM).nth(first))
            .collect();
        Err(groups.differ(operation, &texts))
    }
}

fn of_text(text: &str) -> u64 {
    digest(text.bytes().map(u64::from))
}

/// The digest of a description.
fn key(told: &[u8]) -> u64 {
    let does = told.first().copied().map(u64::from);
    let told = told.get(1..9).and_then(|told| told.try_into().ok());
    digest(does.into_iter().chain(told.map(u64::from_le_bytes)))
}

/// Bits of a word that hold a rank; the others hold as much of a digest.
const RANK_BITS: u32 = 24;

/// The last word of a rank: its standing, of which the least counts.
const NEVER_WAITS: u64 = 0;
const LEAVES: u64 = 1;
const STAYS: u64 = 2;

/// The outcome for the descriptions of all ranks, when each of their words was joined by
/// [`Join::Min`](crate::transport::join::Join::Min): the least digest, the greatest, both with
/// their ranks, and the least standing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joined([u64; 3]);

impl Joined {
    /// The words of a rank that tells this. It `stays` if it takes part in what follows where
    /// ranks differ, and otherwise goes on.
    pub(crate) fn words(told: &CallDescription, rank: usize, stays: bool) -> [u64; 3] {
        let head = told.digest() >> RANK_BITS;
        // A world has fewer ranks than fit.
        let rank = rank as u64 & !(u64::MAX << RANK_BITS);
        let standing = match (told.0[0], stays) {
            (BEGINS, _) => NEVER_WAITS,
            (_, false) => LEAVES,
            (_, true) => STAYS,
        };
        [
            head << RANK_BITS | rank,
            !head << RANK_BITS | rank,
            standing,
        ]
    }

    /// Of the words of all ranks, joined; of ranks that differ, if they are not as many.
    pub(crate) fn of(words: &[u64]) -> Self {
        Self(words.try_into().unwrap_or_default())
    }

    /// Returns `true` if all ranks call the same.
    pub(crate) fn is_equal(self) -> bool {
        self.0[0] >> RANK_BITS == !self.0[1] >> RANK_BITS
    }

    /// Returns `true` if some rank does not wait for the others.
    pub(crate) fn any_begins(self) -> bool {
        self.0[2] == NEVER_WAITS
    }

    /// Returns `true` if all ranks take part in what follows.
    pub(crate) fn all_stay(self) -> bool {
        self.0[2] == STAYS
    }

    /// The error of a rank that has told this, where not all ranks take part in what follows.
    pub(crate) fn differ(self, operation: &'static str, told: &CallDescription) -> Error {
        let [one, other] = [self.0[0], self.0[1]].map(|word| word & !(u64::MAX << RANK_BITS));
        let (low, high) = (one.min(other), one.max(other));
        let verb = if told.0[0] == REFUSES {
            "refuses its arguments,"
        } else {
            "calls"
        };
        let what = get_text(&told.0[9..]);
        let text = format!(
            "collective calls are mismatched: ranks {low} and {high} call differently, and not all wait for the \
             others to find out more; this rank {verb} {what}"
        );
        Error::new(ErrorKind::Mismatch, operation, text)
    }
}

/// Ranks by the digests of what they tell, the first few of them.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: Vec<(u64, RankList)>,
    /// The ranks that are in none.
    others: RankList,
}

impl Groups {
    /// By the digests of all ranks, in rank order.
    pub(crate) fn of(digests: impl IntoIterator<Item = u64>) -> Self {
        let mut all = Self::default();
        for (rank, digest) in digests.into_iter().enumerate() {
            let full = all.groups.len() == MOST;
            match all.groups.iter_mut().find(|(other, _)| *other == digest) {
                Some((_, ranks)) => ranks.push(rank),
                None if full => all.others.push(rank),
                None => all.groups.push((digest, RankList::from_iter([rank]))),
            }
        }
        all
    }

    /// The error of all ranks, none of which goes on before it knows; `exchange` gives the bytes of
    /// all ranks, and `join` their words, joined by
    /// [`Join::Or`](crate::transport::join::Join::Or).
    ///
    /// # Errors
    /// Those of the two.
    pub(crate) fn find_out(
        operation: &'static str,
        told: &CallDescription,
        rank: usize,
        exchange: impl FnOnce(&[u8]) -> Result<Arc<[u8]>>,
        join: impl FnOnce(&[u64]) -> Result<Vec<u64>>,
    ) -> Result<Error> {
        let digests = exchange(&told.digest().to_ne_bytes())?;
        let groups = Self::of(bytemuck::pod_collect_to_vec(&digests));
        let words = join(&groups.words(told, rank))?;
        Ok(groups.differ_by_words(operation, &words))
    }

    /// The first rank of each, which tells what it calls.
    fn firsts(&self) -> impl Iterator<Item = usize> + '_ {
        self.groups.iter().filter_map(|(_, ranks)| ranks.first())
    }

    /// The words of this rank, each group's in a place of its own.
    pub(crate) fn words(&self, told: &CallDescription, rank: usize) -> Vec<u64> {
        let mut words = vec![0; self.groups.len() * WORDS];
        let mine = self.firsts().position(|first| first == rank);
        let place = mine.and_then(|mine| words.chunks_mut(WORDS).nth(mine));
        if let Some(place) = place {
            bytemuck::must_cast_slice_mut(place).copy_from_slice(&told.0);
        }
        words
    }

    /// The error of all ranks, given the words of all of them.
    pub(crate) fn differ_by_words(&self, operation: &'static str, words: &[u64]) -> Error {
        let bytes: &[u8] = bytemuck::must_cast_slice(words);
        self.differ(operation, &bytes.chunks(ROOM).collect::<Vec<_>>())
    }

    /// The error of all ranks, given what the first rank of each group tells.
    fn differ(&self, operation: &'static str, texts: &[&[u8]]) -> Error {
        let mut text = "collective calls are mismatched:".to_owned();
        for (number, ((_, ranks), told)) in self.groups.iter().zip(texts).enumerate() {
            let separator = if number == 0 { " " } else { "; " };
            let verb = match (told.first() == Some(&REFUSES), ranks.count()) {
                (true, 1) => "refuses its arguments,",
                (true, _) => "refuse their arguments,",
                (false, 1) => "calls",
                (false, _) => "call",
            };
            let what = get_text(told.get(9..).unwrap_or_default());
            if what.is_empty() {
                let _ = write!(
                    text,
                    "{separator}{ranks} told no call (RANKS_CHECK has to be the same on all ranks)"
                );
                continue;
            }
            // Writing to a string does not fail.
            let _ = write!(text, "{separator}{ranks} {verb} {what}");
        }
        if self.others.count() > 0 {
            let _ = write!(text, "; {} otherwise", self.others);
        }
        Error::new(ErrorKind::Mismatch, operation, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::join::Join;

    fn joined(join: Join, all: &[Vec<u64>]) -> Vec<u64> {
        let join = |one: Vec<u64>, other: &Vec<u64>| {
            let words = one.iter().zip(other);
            words.map(|(one, other)| join.of(*one, *other)).collect()
        };
        all[1..].iter().fold(all[0].clone(), join)
    }

    fn standing(all: &[CallDescription], stays: bool) -> Joined {
        let words = all.iter().enumerate();
        let words = words.map(|(rank, told)| Joined::words(told, rank, stays).to_vec());
        Joined::of(&joined(Join::Min, &words.collect::<Vec<_>>()))
    }

    fn calls() -> [CallDescription; 3] {
        ["MPI_Barrier", "MPI_Comm_dup", "MPI_Barrier"].map(CallDescription::named)
    }

    #[test]
    fn different_calls_are_grouped() {
        let bytes =
            |all: &[CallDescription]| all.iter().flat_map(|told| told.0).collect::<Vec<_>>();
        let [one, other, _] = calls();
        assert!(CallDescription::compare("MPI_Barrier", &bytes(&[one.clone(), one])).is_ok());
        let error = CallDescription::compare("MPI_Barrier", &bytes(&calls())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = "MPI_Barrier: collective calls are mismatched: ranks 0 and 2 call MPI_Barrier; rank 1 calls MPI_Comm_dup";
        assert_eq!(error.to_string(), text);
        // By their digests, and then the words of those who tell.
        let groups = Groups::of(calls().iter().map(CallDescription::digest));
        let words = calls();
        let words: Vec<Vec<u64>> = words
            .iter()
            .enumerate()
            .map(|(rank, told)| groups.words(told, rank))
            .collect();
        let error = groups.differ_by_words("MPI_Barrier", &joined(Join::Or, &words));
        assert_eq!(error.to_string(), text);
        let refuses = CallDescription::refusing(&Error::new(ErrorKind::Root, "MPI_Bcast", "no"));
        let error = CallDescription::compare("MPI_Bcast", &bytes(&[other, refuses])).unwrap_err();
        let text = error.to_string();
        assert!(
            text.ends_with("; rank 1 refuses its arguments, MPI_Bcast: no"),
            "{text}"
        );
    }

    #[test]
    fn digests_tell_who_differs_and_who_waits() {
        let [one, other, _] = calls();
        let same = standing(&[one.clone(), one.clone()], true);
        assert!(same.is_equal() && same.all_stay() && !same.any_begins());
        let differ = standing(&calls(), true);
        assert!(!differ.is_equal() && differ.all_stay());
        let begins = standing(&[one.clone(), one.clone(), one.clone().beginning()], true);
        assert!(!begins.is_equal() && begins.any_begins() && !begins.all_stay());
        let leaves = standing(&[one.clone(), other.clone()], false);
        assert!(!leaves.any_begins() && !leaves.all_stay());
        let text = leaves.differ("MPI_Barrier", &other).to_string();
        assert!(text.contains("ranks 0 and 1 call differently"), "{text}");
        assert!(text.ends_with("this rank calls MPI_Comm_dup"), "{text}");
        assert!(!Joined::of(&[]).is_equal());
    }

    #[test]
    fn calls_that_are_all_different_are_counted() {
        let groups = Groups::of(0..1_000_000);
        let told = CallDescription::named("MPI_Barrier");
        let text = groups
            .differ("MPI_Barrier", &[told.bytes(); MOST])
            .to_string();
        assert!(
            text.ends_with("rank 7 calls MPI_Barrier; ranks 8-999999 otherwise"),
            "{text}"
        );
    }
}
