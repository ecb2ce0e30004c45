//! Teams of PEs that have nothing in common but an id.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::abi::{self, Code, TeamConfig};
use super::founding::{Offer, add, agree};
use super::meeting::{self, Call};
use super::pe::{self, Pe};
use super::region::for_all;
use super::{fatal, hooks};

/// `nvshmemx_team_get_uniqueid`: no two are the same among these PEs.
pub(crate) fn unique_id() -> u64 {
    let pe = pe::unlimited("nvshmemx_team_get_uniqueid");
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let next = NEXT.fetch_add(1, Ordering::Relaxed) as u64;
    (pe.my_pe as u64 + 1) << 40 | next
}

/// Words of a place where the PEs that pass one id find each other: the id, how many they are, how
/// many have come, how many have their part, and who.
const PLACE: usize = 72;
const ID: usize = 0;
const SIZE: usize = 1;
const COME: usize = 2;
const READY: usize = 3;
const PES: usize = 8;
/// The number of such places.
const PLACES: usize = 64;
/// Behind them: whether a PE is looking for a place.
const TURN: usize = PLACE * PLACES;
const _: () = assert!(for_all::TEAMS + TURN < 8192);

/// `nvshmemx_team_init`
pub(crate) fn init(config: Option<TeamConfig>, n_pes: c_int, me: c_int) -> (Code, abi::Team) {
    const NAME: &str = "nvshmemx_team_init";
    let pe = pe::unlimited(NAME);
    if let Some(code) = hooks::failure_asked_of(NAME) {
        return (code, abi::TEAM_INVALID);
    }
    let refused = |code: Code, text: &str| {
        eprintln!("nvshmem double: {NAME}: {text}");
        (code, abi::TEAM_INVALID)
    };
    let Some(config) = config else {
        return refused(1, "Unable to initialize unstrided team with NULL config");
    };
    if config.version == abi::word(1, 64) {
        return refused(
            1,
            "Version 1 team config on unstrided team is not supported",
        );
    }
    if config.uniqueid == u64::MAX {
        return refused(
            1,
            "Unique ID not initialized. This is required for unstrided teams",
        );
    }
    let sizes = (usize::try_from(n_pes), usize::try_from(me));
    let (Ok(n_pes), Ok(me)) = sizes else {
        fatal::abort(format_args!("{NAME}: PE {me} of {n_pes}"))
    };
    if me >= n_pes || n_pes > pe.n_pes {
        fatal::abort(format_args!(
            "{NAME}: PE {me} of {n_pes}, of {} in all",
            pe.n_pes
        ));
    }
    let place = place_of(&pe, config.uniqueid);
    let word = |index: usize| pe.region.word(for_all::TEAMS + place * PLACE + index);
    let exchange = |index: usize, value: usize| {
        let order = Ordering::AcqRel;
        let found = word(index).compare_exchange(0, value as u64, order, Ordering::Acquire);
        found.err()
    };
    if let Some(other) = exchange(SIZE, n_pes)
        && other != n_pes as u64
    {
        fatal::abort(format_args!(
            "{NAME}: PE {} makes a team of {n_pes} PEs, another makes it of {other}",
            pe.my_pe
        ));
    }
    Offer::say(&pe);
    if exchange(PES + me, pe.my_pe + 1).is_some() {
        fatal::abort(format_args!("{NAME}: two PEs want to be PE {me}"));
    }
    let all = |index: usize| {
        word(index).fetch_add(1, Ordering::AcqRel);
        let all = || word(index).load(Ordering::Acquire) == n_pes as u64;
        meeting::wait_until(all, || {
            format!("{NAME}: PE {} waits for the others", pe.my_pe)
        });
    };
    all(COME);
    let number = |index| word(PES + index).load(Ordering::Acquire);
    let pes = (0..n_pes).map(number);
    let pes: Vec<usize> = pes
        .filter_map(|pe| usize::try_from(pe).ok()?.checked_sub(1))
        .collect();
    let Some(agreed) = agree(&pe, &pes) else {
        return refused(2, "No more teams available");
    };
    let Some(team) = add(&pe, agreed, &pes, Some(config)) else {
        return refused(2, "team setup failed");
    };
    // Who meets there already counts on.
    all(READY);
    pe.meet(&pes, agreed.1, Call::new(NAME));
    if me == 0 {
        // All have seen what they were to see here.
        for index in (ID..PES + n_pes).rev() {
            word(index).store(0, Ordering::Release);
        }
    }
    (abi::SUCCESS, team)
}

/// The place of an id: the one that another PE has taken for it, or one that is free.
///
/// One PE at a time looks: between a look at all places and the taking of one, a place before it
/// may become free.
fn place_of(pe: &Pe, id: u64) -> usize {
    let word = |place: usize| pe.region.word(for_all::TEAMS + place * PLACE + ID);
    let turn = pe.region.word(for_all::TEAMS + TURN);
    let taken = || {
        let order = Ordering::AcqRel;
        turn.compare_exchange(0, 1, order, Ordering::Acquire)
            .is_ok()
    };
    meeting::wait_until(taken, || {
        format!("PE {} waits for its turn to make a team", pe.my_pe)
    });
    let holds =
        |value: u64| (0..PLACES).find(|place| word(*place).load(Ordering::Acquire) == value);
    let place = holds(id).or_else(|| holds(0));
    if let Some(place) = place {
        word(place).store(id, Ordering::Release);
    }
    turn.store(0, Ordering::Release);
    place.unwrap_or_else(|| fatal::abort("too many teams are made by ids at once"))
}
