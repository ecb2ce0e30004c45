//! Messages that one side waits for and the other does not have.

use super::collectives::Group;
use super::dump::{Communicator, RecordedCall};
use crate::operations::SENDS;

/// The number of operations or communicators that are named at most.
const MOST: usize = 3;

/// The messages that a rank has sent, or the receives that it has posted, as far as its dump tells.
pub(super) struct KnownMessages {
    /// The number of those that belong to the other side's call.
    pub(super) matching: usize,
    /// Those with other tags: each tag, and how often.
    others: Vec<(i64, usize)>,
    /// Set if the dump goes back to the first one.
    is_whole: bool,
}

/// The side of messages that is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Sends,
    Receives,
}

/// The messages of operations that a rank which waits for requests has begun, and that are not
/// coming: any of them may be what it waits for.
pub(super) fn why_none_completes(
    groups: &[Group<'_>],
    group: &Group<'_>,
    at: usize,
    call: &RecordedCall,
) -> Option<String> {
    let mine = group.parts.get(&at)?;
    let begun = mine.messages.iter().filter(|begun| {
        let waits = ["MPI_Irecv", "MPI_Issend"].contains(&begun.operation.as_str());
        waits && begun.number < call.number
    });
    let whys = begun.filter_map(|begun| {
        let why = why_not(groups, group, at, begun)?;
        let operation = mine.describe(begun);
        Some(format!("{operation} is not complete: {why}"))
    });
    let whys: Vec<String> = whys.take(MOST).collect();
    (!whys.is_empty()).then(|| whys.join("; "))
}

/// The reason why the send or receive that `call`, of the rank `at` of the world, waits for is not
/// coming; `None` if it may be on its way, or if nothing is known.
pub(super) fn why_not(
    groups: &[Group<'_>],
    group: &Group<'_>,
    at: usize,
    call: &RecordedCall,
) -> Option<String> {
    let mine = group.parts.get(&at)?;
    let Some(peer) = call.peer else {
        return nobody_has_sent(group, at, mine, call);
    };
    let other = mine.world_rank(peer)?;
    let Some(theirs) = group.parts.get(&other) else {
        return Some(format!("of rank {other} there is no dump"));
    };
    let before = mine
        .messages
        .iter()
        .filter(|other| other.number < call.number);
    let (told, done, used) = if call.receives() {
        let told = theirs.told(call.tag, Side::Sends, |sent| sent.sends_to(mine.rank));
        let taken = before
            .filter(|one| one.receives_from(peer, call.tag))
            .count();
        (told, "sent it", taken)
    } else {
        let told = theirs.told(call.tag, Side::Receives, |begun| {
            begun.may_receive_from(mine.rank)
        });
        let sent = before
            .filter(|one| one.sends_to(peer) && one.tag == call.tag)
            .count();
        (told, "begun to receive from it", sent)
    };
    let is_lacking = told.matching <= used || !told.is_whole && told.matching == 0;
    is_lacking.then(|| {
        let elsewhere = elsewhere(groups, group, at, other, call);
        told.say(other, done, used, &group.title, &elsewhere)
    })
}

/// The messages for that call which are left on other communicators.
fn elsewhere(
    groups: &[Group<'_>],
    group: &Group<'_>,
    at: usize,
    other: usize,
    call: &RecordedCall,
) -> Vec<String> {
    let others = groups.iter().filter(|one| !std::ptr::eq(*one, group));
    let left = others.filter_map(|one| {
        let (mine, theirs) = (one.parts.get(&at)?, one.parts.get(&other)?);
        let (sender, receiver) = if call.receives() {
            (theirs, mine)
        } else {
            (mine, theirs)
        };
        let sent = sender.told(call.tag, Side::Sends, |sent| sent.sends_to(receiver.rank));
        let begun = receiver.told(call.tag, Side::Receives, |begun| {
            begun.may_receive_from(sender.rank)
        });
        let left = if call.receives() {
            sent.matching.checked_sub(begun.matching)
        } else {
            begun.matching.checked_sub(sent.matching)
        };
        let tag = call.tag.map(|tag| format!(" with tag {tag}"));
        let tag = tag.unwrap_or_default();
        let left = left.filter(|left| *left > 0)?;
        Some(format!("{left}{tag} on {}", one.title))
    });
    left.take(MOST).collect()
}

/// The reason why a message from any rank is not coming.
fn nobody_has_sent(
    group: &Group<'_>,
    at: usize,
    mine: &Communicator,
    call: &RecordedCall,
) -> Option<String> {
    let others = group.members.iter().filter(|rank| **rank != at);
    let silent = |rank: &usize| {
        let told = group
            .parts
            .get(rank)?
            .told(call.tag, Side::Sends, |sent| sent.sends_to(mine.rank));
        (told.is_whole && told.matching == 0).then_some(())
    };
    let all_silent = others.map(silent).collect::<Option<Vec<()>>>().is_some();
    (call.receives() && !call.nobody && all_silent)
        .then(|| "no rank has sent it anything with that tag".to_owned())
}

impl KnownMessages {
    /// The sentence; `elsewhere` is what is left on communicators other than this.
    fn say(
        &self,
        rank: usize,
        done: &str,
        used: usize,
        communicator: &str,
        elsewhere: &[String],
    ) -> String {
        let here = if elsewhere.is_empty() {
            String::new()
        } else {
            format!(" on {communicator}")
        };
        let mut text = if self.matching > 0 {
            format!(
                "rank {rank} has {done} {} with that tag{here}, and {used} were there before",
                self.matching
            )
        } else if self.is_whole {
            format!("rank {rank} has {done} nothing with that tag{here}")
        } else {
            format!(
                "rank {rank} has {done} nothing with that tag{here} lately, as far back as its dump goes"
            )
        };
        // A message with another tag, or on another communicator, may be the one that was meant.
        let others = self.others.iter().take(4);
        let others = others.map(|(tag, count)| format!("{count} with tag {tag}"));
        let others: Vec<String> = others.chain(elsewhere.iter().cloned()).collect();
        if !others.is_empty() {
            text.push_str(&format!(", but {}", others.join(" and ")));
        }
        text
    }
}

impl Communicator {
    /// The calls of this that `belongs` chooses, with that tag or any.
    fn told(
        &self,
        tag: Option<i64>,
        side: Side,
        belongs: impl Fn(&RecordedCall) -> bool,
    ) -> KnownMessages {
        let mut told = KnownMessages {
            matching: 0,
            others: Vec::new(),
            is_whole: self.messages.first().is_none_or(|first| first.number == 0),
        };
        for call in &self.messages {
            // The start of a persistent operation does not tell which operation it is.
            if call.operation.starts_with("MPI_Start")
                || call.operation.starts_with("MPI_P") && call.operation.ends_with("_init")
            {
                told.is_whole = false;
            }
            if !belongs(call) {
                continue;
            }
            match (tag, call.tag) {
                // Of a call that sends and receives, the dump has the tag of what it receives.
                (Some(tag), Some(other))
                    if tag != other && !(side == Side::Sends && call.exchanges()) =>
                {
                    match told.others.iter_mut().find(|(one, _)| *one == other) {
                        Some((_, count)) => *count += 1,
                        None => told.others.push((other, 1)),
                    }
                }
                _ => told.matching += 1,
            }
        }
        told
    }
}

impl RecordedCall {
    /// Returns `true` if it receives a message, or probes for one.
    pub(super) fn receives(&self) -> bool {
        let names = ["MPI_Recv", "MPI_Irecv", "MPI_Mprobe", "MPI_Probe"];
        // One without a rank may be the receive of a message that was matched before.
        let claims = self.operation == "MPI_Mrecv" && self.peer.is_some();
        names.contains(&self.operation.as_str()) || claims || self.exchanges()
    }

    /// Returns `true` if it sends a message.
    pub(super) fn sends(&self) -> bool {
        SENDS.contains(&self.operation.as_str()) || self.exchanges()
    }

    fn exchanges(&self) -> bool {
        self.operation.starts_with("MPI_Sendrecv") || self.operation.starts_with("MPI_Isendrecv")
    }

    fn sends_to(&self, rank: usize) -> bool {
        let to = if self.exchanges() {
            self.dest
        } else {
            self.peer
        };
        self.sends() && to == Some(rank)
    }

    /// Returns `true` if it takes the message away from later ones for certain.
    fn receives_from(&self, rank: usize, tag: Option<i64>) -> bool {
        self.receives()
            && self.operation != "MPI_Probe"
            && self.peer == Some(rank)
            && self.tag == tag
    }

    fn may_receive_from(&self, rank: usize) -> bool {
        self.receives() && !self.nobody && self.peer.is_none_or(|peer| peer == rank)
    }

    /// `MPI_Recv of 4 f64 from rank 0, tag 7`, with the rank of the world.
    pub(super) fn with_peer(&self, peer: Option<usize>) -> String {
        let peer = match peer {
            Some(peer) => format!("rank {peer}"),
            None if self.nobody => "nobody".to_owned(),
            None if self.peer.is_none() => "any rank".to_owned(),
            None => "a rank that is not known".to_owned(),
        };
        let tag = self
            .tag
            .map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
        if self.exchanges() || self.receives() {
            format!("{self} from {peer}, {tag}")
        } else if self.sends() {
            format!("{self} to {peer}, {tag}")
        } else {
            self.to_string()
        }
    }
}
