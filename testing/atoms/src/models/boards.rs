//! Rounds of a board.

use std::sync::Arc;
use std::thread;

use super::{Memory, shared};
use crate::transport::in_process::board::{Board, Came};

/// A board, and memory of each rank.
type Places = (Board, Vec<Memory>);

fn board(ranks: usize) -> Arc<Places> {
    shared((
        Board::new(ranks),
        (0..ranks).map(|_| Memory::default()).collect(),
    ))
}

/// The value that a rank writes in a round.
fn mine(number: u64, rank: usize) -> u64 {
    10 * number + rank as u64
}

/// Goes through so many rounds as rank `me`: each rank's words and memory are those of the
/// round when it is over, although the next one is begun by others.
fn rounds(places: &Places, me: usize, count: u64) {
    let (board, memory) = places;
    for number in 0..count {
        let writes = number % 2 == 0;
        if writes {
            memory[me].write(mine(number, me));
        }
        let (Came::Last(round) | Came::Waiting(round)) = board.come(me, (1, number), &[]) else {
            panic!("nobody breaks it off");
        };
        while !board.is_over(round) {
            thread::yield_now();
        }
        assert_eq!(round, number);
        for rank in (0..board.size()).filter(|&rank| rank != me) {
            assert_eq!(board.words(rank, round), (1, number));
        }
        // The next round is for all to have read, as that is after which a loan is taken back.
        if writes {
            for (rank, memory) in memory.iter().enumerate() {
                assert_eq!(memory.read(), mine(number, rank));
            }
        }
    }
}

/// The values that ranks have written before they came are read by all when the round is over, in
/// three rounds that take turns with two notices. Fails if the counting in `come`, the store that
/// begins the next round or the load of `is_over` is relaxed, and with one notice for all rounds.
pub(super) fn notices_of_a_round_are_read() {
    let it = board(2);
    let other = it.clone();
    let other = thread::spawn(move || rounds(&other, 1, 3));
    rounds(&it, 0, 3);
    other.join().unwrap();
}

/// The same of three ranks: one of them sees what two others did, which come in any order.
pub(super) fn notices_of_three_ranks_are_read() {
    let it = board(3);
    let others = [1, 2].map(|me| {
        let it = it.clone();
        thread::spawn(move || {
            it.1[me].write(mine(0, me));
            it.0.come(me, (1, 0), &mine(0, me).to_ne_bytes());
        })
    });
    rounds(&it, 0, 1);
    assert_eq!(it.0.differing(0), None);
    for rank in 1..3 {
        assert_eq!(it.0.carried(rank, 0)[..8], mine(0, rank).to_ne_bytes());
    }
    for other in others {
        other.join().unwrap();
    }
}

/// A rank gives up while the other one comes: the round is over for both, or broken for both.
/// Fails if a round is broken off without a look at how many have come.
pub(super) fn a_round_ends_for_all_or_nobody() {
    let it = board(2);
    let other = it.clone();
    let other = thread::spawn(move || other.0.come(1, (0, 0), &[]));
    let board = &it.0;
    let broken = match board.come(0, (0, 0), &[]) {
        Came::Waiting(round) => board.break_off(0, round, true),
        Came::Last(_) => false,
        Came::Broken => panic!("the other one waits"),
    };
    while !broken && !board.is_over(0) {
        thread::yield_now();
    }
    assert!(!(broken && board.is_over(0)));
    assert_eq!(board.is_broken(), broken);
    assert_eq!(board.broken_by(), broken.then_some(0));
    match other.join().unwrap() {
        Came::Broken => assert!(broken),
        Came::Last(round) | Came::Waiting(round) => assert!(!broken && round == 0),
    }
}
