//! Several PEs come together, compare what they call, and tell each other something small.

use std::sync::Arc;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use super::part::Part;
use super::world::{State, Waiting, World, gone};

/// A meeting, by what tells it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// The meeting of a team with this number in the order of its calls, and its step.
    Team {
        team: (u64, usize),
        number: u64,
        step: u8,
    },
    /// That of a team that is to be made, by its id.
    Unique(u64),
}

/// The contribution of a PE.
#[derive(Debug, Clone)]
pub(super) enum Gift {
    Nothing,
    /// Its part of a new block, or why it has none.
    Part(Result<Arc<Part>, String>),
    /// The number of the PE in the world.
    Pe(usize),
}

/// The contributions of all, which each takes with it.
#[derive(Debug)]
pub(super) struct Met {
    /// Drawn for this meeting.
    pub(super) number: u64,
    /// In the order of places.
    pub(super) gifts: Vec<Gift>,
}

/// The PEs that are to come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Members<'a> {
    /// These PEs, in the order of places.
    Known(&'a [usize]),
    /// So many of this world.
    Any(usize),
}

/// The call of one PE, and its position.
#[derive(Debug)]
pub(super) struct PeCall<'a> {
    pub(super) key: Key,
    pub(super) members: Members<'a>,
    pub(super) place: usize,
    pub(super) me: usize,
    /// The text of the call, with all that must be the same.
    pub(super) text: String,
    pub(super) gift: Gift,
}

/// A meeting under way, or one that not all have left.
#[derive(Debug)]
pub(super) struct Meeting {
    /// The call of who came first.
    text: String,
    first: usize,
    seats: Vec<Option<(usize, Gift)>>,
    outcome: Option<Outcome>,
    left: usize,
}

type Outcome = Result<Arc<Met>, (ErrorKind, String)>;

impl Members<'_> {
    fn count(self) -> usize {
        match self {
            Members::Known(pes) => pes.len(),
            Members::Any(count) => count,
        }
    }
}

impl World {
    /// Waits until all have come.
    ///
    /// # Errors
    /// The same on all: `Mismatch` if they do not call the same, `PeerFailed` if one of them has
    /// gone, `TimedOut`.
    pub(super) fn meet(&self, waiting: Waiting, call: PeCall<'_>) -> Result<Arc<Met>> {
        let PeCall {
            key, members, me, ..
        } = call;
        let mut state = self.lock();
        if state.arrive(call) {
            self.wake_after(state);
        } else {
            drop(state);
        }
        let met = self.wait(
            waiting,
            |state| {
                self.settle(state, key, members);
                let outcome = state.meetings.get(&key)?.outcome.clone()?;
                Some(outcome.map_err(|(kind, text)| Error::new(kind, waiting.operation, text)))
            },
            |state| match state.meetings.get_mut(&key) {
                Some(meeting) => meeting.missing(members),
                None => "nobody came".to_owned(),
            },
        );
        self.part(key, members, me, met.as_ref().err());
        met
    }

    /// One of them goes, and the meeting with the last.
    fn part(&self, key: Key, members: Members<'_>, me: usize, error: Option<&Error>) {
        let mut state = self.lock();
        let Some(meeting) = state.meetings.get_mut(&key) else {
            return;
        };
        if let Some(error) = error {
            // Who comes later, or waits longer, is told the same.
            let text = format!("PE {me} gave up: {error}");
            meeting.outcome.get_or_insert(Err((error.kind(), text)));
        }
        meeting.left += 1;
        // How many come to a meeting by an id is known only if they agree.
        let counted = error.is_none() || matches!(members, Members::Known(_));
        if counted && meeting.left == members.count() {
            state.meetings.remove(&key);
        }
        if error.is_some() {
            self.wake_after(state);
        }
    }

    /// Gives up a meeting that somebody will never come to.
    fn settle(&self, state: &mut State, key: Key, members: Members<'_>) {
        let Some(meeting) = state.meetings.get(&key) else {
            return;
        };
        if meeting.outcome.is_some() {
            return;
        }
        let lost = |pe: usize| Some((pe, self.lost(state, pe)?));
        let absent = match members {
            Members::Known(pes) => pes
                .iter()
                .zip(&meeting.seats)
                .filter(|(_, seat)| seat.is_none())
                .find_map(|(&pe, _)| lost(pe)),
            Members::Any(count) => {
                let here = |pe: &usize| !meeting.seats.iter().flatten().any(|(at, _)| at == pe);
                let absent = (0..self.size()).filter(here);
                let (gone, left): (Vec<_>, Vec<_>) = absent.partition(|&pe| lost(pe).is_some());
                let missing = count - meeting.seats.iter().flatten().count();
                let too_few = left.len() < missing;
                gone.first().copied().filter(|_| too_few).and_then(lost)
            }
        };
        if let (Some((pe, how)), Some(meeting)) = (absent, state.meetings.get_mut(&key)) {
            meeting.outcome = Some(Err((ErrorKind::PeerFailed, gone(pe, how))));
        }
    }
}

impl State {
    /// Takes a seat. Whether the meeting has an outcome now.
    fn arrive(&mut self, call: PeCall<'_>) -> bool {
        let count = call.members.count();
        let meeting = self.meetings.entry(call.key).or_insert_with(|| Meeting {
            text: call.text.clone(),
            first: call.me,
            seats: (0..count).map(|_| None).collect(),
            outcome: None,
            left: 0,
        });
        if meeting.outcome.is_some() {
            return true;
        }
        let wrong = if meeting.text != call.text {
            let (first, its, me, mine) = (meeting.first, &meeting.text, call.me, &call.text);
            Some(format!("PE {first} calls {its}, PE {me} calls {mine}"))
        } else {
            match meeting.seats.get_mut(call.place) {
                Some(seat @ None) => {
                    *seat = Some((call.me, call.gift));
                    None
                }
                Some(Some((other, _))) => Some(format!(
                    "PE {other} and PE {} are both number {}",
                    call.me, call.place
                )),
                None => Some(format!("there is no number {} of {count}", call.place)),
            }
        };
        if let Some(text) = wrong {
            meeting.outcome = Some(Err((ErrorKind::Mismatch, text)));
        } else if meeting.seats.iter().all(Option::is_some) {
            self.drawn += 1;
            let gifts = meeting.seats.iter_mut().filter_map(Option::take);
            meeting.outcome = Some(Ok(Arc::new(Met {
                number: self.drawn,
                gifts: gifts.map(|(_, gift)| gift).collect(),
            })));
        }
        meeting.outcome.is_some()
    }
}

impl Meeting {
    /// Names the PEs that have not come.
    fn missing(&self, members: Members<'_>) -> String {
        match members {
            Members::Known(pes) => {
                let absent = pes
                    .iter()
                    .zip(&self.seats)
                    .filter(|(_, seat)| seat.is_none());
                let absent: Vec<String> = absent.map(|(pe, _)| pe.to_string()).collect();
                format!("PE {} did not call it", absent.join(", "))
            }
            Members::Any(count) => {
                let came = self.seats.iter().flatten().count();
                format!("{} of {} did not call it", count - came, Count(count, "PE"))
            }
        }
    }
}
