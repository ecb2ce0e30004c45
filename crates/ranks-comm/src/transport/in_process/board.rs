//! The board of a communicator: all ranks come to one round after another, put up a notice each,
//! and read those of the others when all have come.
//!
//! Ranks are counted in one word. The last to come compares the notices and begins the next round
//! in that word. A rank that cannot wait any longer breaks the board off, in the same word: either
//! it is broken, for good, and no rank ends the round; or all have come, and it ends for all. There
//! are two notices for each rank, for rounds in turn: a rank that puts up its second next one knows
//! that all others have come to the one between, and so have read the one that it replaces.
//!
//! Notices are atomics. Memory of ranks is reached by [`Loan`]s and [`Places`] alone.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::loan::Loan;
use super::places::Places;

/// The bytes that a notice can carry.
pub const INLINE: usize = 64;
const WORDS: usize = INLINE / 8;

/// The bit of the first word of a notice from which on it tells the kind of elements; 0 is any.
pub const KIND: u32 = 32;

/// The bits of a board that was broken off, and of one that was at a time limit; below them is the
/// number of ranks that have come, above them the number of the round.
const BROKEN: u64 = 1 << 31;
const LATE: u64 = 1 << 30;
const ROUND: u32 = 32;

/// The board of a communicator.
#[derive(Debug)]
pub(crate) struct Board {
    state: AtomicU64,
    /// Of the last two rounds: the first rank whose notice differs from that of rank 0; 0 if none.
    verdicts: [AtomicUsize; 2],
    /// The rank that broke it off.
    broken_by: AtomicUsize,
    places: Box<[Place]>,
}

/// A rank's place at the board, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Place {
    /// The number of rounds that it has come to.
    came: AtomicU64,
    notices: [Notice; 2],
    /// Memory that the rank lends.
    pub(crate) loan: Loan,
    /// Memory that others write to.
    pub(crate) places: Places,
}

/// Words of a rank in a round.
#[derive(Debug, Default)]
struct Notice {
    what: AtomicU64,
    bytes: AtomicU64,
    carried: [AtomicU64; WORDS],
}

/// The outcome of coming to a round.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// As the last one, so that the round is over.
    Last(u64),
    /// The round of that number goes on.
    Waiting(u64),
    /// The board was broken off.
    Broken,
}

impl Board {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            state: AtomicU64::new(0),
            verdicts: Default::default(),
            broken_by: AtomicUsize::new(0),
            places: (0..size).map(|_| Place::default()).collect(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn place(&self, rank: usize) -> &Place {
        &self.places[rank]
    }

    /// Comes to the next round, with two words, which are compared (of the first, the bits from
    /// [`KIND`] on are a kind), and at most [`INLINE`] bytes.
    pub(crate) fn come(&self, me: usize, words: (u64, u64), carried: &[u8]) -> Came {
        let place = &self.places[me];
        let number = place.came.load(Ordering::Relaxed);
        let notice = place.notice(number);
        notice.what.store(words.0, Ordering::Relaxed);
        notice.bytes.store(words.1, Ordering::Relaxed);
        for (word, bytes) in notice.carried.iter().zip(carried.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
        place.came.store(number + 1, Ordering::Release);
        let before = self.state.fetch_add(1, Ordering::AcqRel);
        if before & BROKEN != 0 {
            return Came::Broken;
        }
        let round = before >> ROUND;
        if came(before) + 1 < self.size() as u64 {
            return Came::Waiting(round);
        }
        let mut first = self.words(0, round);
        let differs = (1..self.size()).find(|&rank| !agree(&mut first, self.words(rank, round)));
        self.verdicts[parity(round)].store(differs.unwrap_or(0), Ordering::Relaxed);
        let next = (round + 1) & u64::from(u32::MAX);
        self.state.store(next << ROUND, Ordering::Release);
        Came::Last(round)
    }

    /// Returns `true` if all have come to the round of that number.
    #[inline]
    pub(crate) fn is_over(&self, round: u64) -> bool {
        self.state.load(Ordering::Acquire) >> ROUND != round
    }

    /// As [`break_off`](Self::break_off), by a rank that is in no round, so that none can end.
    pub(crate) fn break_off_between(&self, me: usize, late: bool) -> bool {
        self.break_off(me, self.state.load(Ordering::Acquire) >> ROUND, late)
    }

    /// Ends the round for nobody, unless all have come; returns whether it is so. A rank is `late`
    /// if it has come to a time limit.
    pub(crate) fn break_off(&self, me: usize, round: u64, late: bool) -> bool {
        let bits = if late { BROKEN | LATE } else { BROKEN };
        let all = self.size() as u64;
        let broken = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                let goes_on = state >> ROUND == round && state & BROKEN == 0 && came(state) < all;
                goes_on.then_some(state | bits)
            });
        match broken {
            Ok(_) => {
                self.broken_by.store(me + 1, Ordering::Release);
                true
            }
            Err(state) => state >> ROUND == round && state & BROKEN != 0,
        }
    }

    /// Returns `true` if it was broken off for another reason than a time limit.
    pub(crate) fn is_broken_in_time(&self) -> bool {
        self.state.load(Ordering::Acquire) & (BROKEN | LATE) == BROKEN
    }

    /// Returns `true` if it was broken off.
    pub(crate) fn is_broken(&self) -> bool {
        self.state.load(Ordering::Acquire) & BROKEN != 0
    }

    /// The rank that broke it off, once it has said so.
    pub(crate) fn broken_by(&self) -> Option<usize> {
        self.broken_by.load(Ordering::Acquire).checked_sub(1)
    }

    /// The ranks that have not come to the round of that number, to which `me` has.
    pub(crate) fn missing(&self, me: usize) -> impl Iterator<Item = usize> {
        let mine = self.places[me].came.load(Ordering::Relaxed);
        let came = |place: &Place| place.came.load(Ordering::Acquire);
        let places = self.places.iter().enumerate();
        places.filter_map(move |(rank, place)| (came(place) < mine).then_some(rank))
    }

    /// The first rank whose words differ from those of rank 0, in a round that is over.
    pub(crate) fn differing(&self, round: u64) -> Option<usize> {
        let differs = self.verdicts[parity(round)].load(Ordering::Relaxed);
        (differs > 0).then_some(differs)
    }

    /// The words of a rank in a round that is over.
    pub(crate) fn words(&self, rank: usize, round: u64) -> (u64, u64) {
        let notice = self.places[rank].notice(round);
        let [what, bytes] = [&notice.what, &notice.bytes].map(|word| word.load(Ordering::Relaxed));
        (what, bytes)
    }

    /// The bytes that the notice of a rank carries, in a round that is over.
    pub(crate) fn carried(&self, rank: usize, round: u64) -> [u8; INLINE] {
        let mut bytes = [0; INLINE];
        let notice = self.places[rank].notice(round);
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(&notice.carried) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        bytes
    }
}

impl Place {
    fn notice(&self, round: u64) -> &Notice {
        &self.notices[parity(round)]
    }
}

/// Compares the words of two ranks; their kinds must be equal if both have one.
fn agree(first: &mut (u64, u64), other: (u64, u64)) -> bool {
    if first.0 >> KIND == 0 {
        first.0 |= other.0 >> KIND << KIND;
    }
    let same_kind = other.0 >> KIND == 0 || other.0 >> KIND == first.0 >> KIND;
    same_kind && other.0 << (64 - KIND) == first.0 << (64 - KIND) && other.1 == first.1
}

fn came(state: u64) -> u64 {
    state & (LATE - 1)
}

fn parity(round: u64) -> usize {
    usize::from(round & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_round_is_over_when_all_have_come_and_not_before() {
        const RANKS: usize = 3;
        let rounds = if cfg!(miri) { 20 } else { 2000 };
        let board = Board::new(RANKS);
        thread::scope(|scope| {
            for me in 0..RANKS {
                let board = &board;
                scope.spawn(move || {
                    for number in 0..rounds {
                        let word = number * 10 + me as u64;
                        let carried = word.to_ne_bytes();
                        let (Came::Last(round) | Came::Waiting(round)) =
                            board.come(me, (number, 5), &carried)
                        else {
                            panic!("nobody breaks it off");
                        };
                        while !board.is_over(round) {
                            thread::yield_now();
                        }
                        assert_eq!((round, board.differing(round)), (number, None));
                        for rank in 0..RANKS {
                            let told = number * 10 + rank as u64;
                            assert_eq!(board.carried(rank, round)[..8], told.to_ne_bytes());
                            assert_eq!(board.words(rank, round), (number, 5));
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn who_differs_is_known_to_all() {
        let board = Board::new(3);
        assert_eq!(board.come(0, (1, 7), &[]), Came::Waiting(0));
        assert_eq!(board.come(2, (1, 8), &[]), Came::Waiting(0));
        assert_eq!(board.missing(0).collect::<Vec<_>>(), [1]);
        assert_eq!(board.come(1, (1, 7), &[]), Came::Last(0));
        assert_eq!(board.differing(0), Some(2));
        assert_eq!(board.words(2, 0), (1, 8));
    }

    #[test]
    fn kinds_differ_only_where_both_have_one() {
        let kinds = [
            (0, 0, 7, None),
            (5, 0, 5, None),
            (0, 5, 6, Some(2)),
            (5, 6, 0, Some(1)),
        ];
        for (one, two, three, differing) in kinds {
            let board = Board::new(3);
            for (rank, kind) in [one, two, three].into_iter().enumerate() {
                board.come(rank, (kind << KIND | 3, 8), &[]);
            }
            assert_eq!(board.differing(0), differing, "{one}, {two}, {three}");
        }
    }

    #[test]
    fn a_round_ends_for_all_or_for_nobody() {
        let board = Board::new(2);
        assert_eq!(board.come(0, (0, 0), &[]), Came::Waiting(0));
        assert!(board.break_off(0, 0, true) && !board.is_over(0));
        assert_eq!(board.broken_by(), Some(0));
        assert!(board.is_broken() && !board.is_broken_in_time());
        assert!(board.break_off(0, 0, true));
        assert_eq!(board.come(1, (0, 0), &[]), Came::Broken);
        assert!(!board.is_over(0));

        let board = Board::new(2);
        assert_eq!(board.come(0, (0, 0), &[]), Came::Waiting(0));
        assert_eq!(board.come(1, (0, 0), &[]), Came::Last(0));
        assert!(!board.break_off(0, 0, true) && board.is_over(0));
        assert_eq!(board.broken_by(), None);
        assert_eq!(board.come(1, (0, 0), &[]), Came::Waiting(1));
    }
}
