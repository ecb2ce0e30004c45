//! Ranks that wait, and the ranks that they wait for.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Serialize, Serializer};

use super::collectives::Group;
use super::dump::{Communicator, Dump, RecordedCall, placed};
use super::job::Job;
use super::messages;
use super::rank_list::RankList;

/// A rank in a call that has not come back, or has come back at its time limit.
#[derive(Debug, Serialize)]
pub(super) struct Wait {
    pub(super) rank: usize,
    /// Set if it has come back.
    pub(super) over: bool,
    /// The call, with ranks of the world.
    pub(super) call: String,
    pub(super) communicator: String,
    /// The time in the call, if it was measured.
    pub(super) seconds: Option<f64>,
    /// The ranks of the world that must act before it goes on, as far as that is known.
    #[serde(serialize_with = "as_ranges")]
    pub(super) on: Rc<[usize]>,
    /// The reason why a message that it waits for is not there.
    pub(super) why: Option<String>,
    /// Set if another rank ended the job while it waited, so that what it waits for may only have
    /// been late.
    pub(super) cut_short: bool,
}

impl Wait {
    /// Returns `true` if what it waits for was not coming.
    pub(super) fn is_trouble(&self) -> bool {
        self.why.is_some() && !self.cut_short
    }

    /// The call and its communicator.
    pub(super) fn place(&self) -> String {
        placed(&self.call, &self.communicator)
    }
}

fn as_ranges<S: Serializer>(ranks: &Rc<[usize]>, serializer: S) -> Result<S::Ok, S::Error> {
    let ranks: RankList = ranks.iter().copied().collect();
    ranks.serialize(serializer)
}

/// Every call in which a rank waits, or has waited until its time limit, in the order of ranks.
pub(super) fn waits(job: &Job, groups: &[Group<'_>]) -> Vec<Wait> {
    let mut behind = Behind::default();
    let mut list = Vec::new();
    for (&rank, dump) in &job.dumps {
        let of_id = |id| {
            groups
                .iter()
                .find(|group| group.parts.get(&rank).is_some_and(|part| part.id == id))
        };
        for part in &dump.communicators {
            let Some(group) = of_id(part.id) else {
                continue;
            };
            for call in part.blocked(dump) {
                let seconds = dump.seconds(part, call);
                list.push(group.wait(groups, rank, part, call, seconds, &mut behind));
            }
        }
        list.extend(dump.elsewhere(rank, &list));
    }
    list
}

/// The ranks that have not come to a collective, by the place of their group, its number, and
/// whether it is nonblocking.
#[derive(Default)]
struct Behind(BTreeMap<(u64, u64, bool), Rc<[usize]>>);

impl Behind {
    fn of(&mut self, group: &Group<'_>, id: u64, call: &RecordedCall) -> Rc<[usize]> {
        let nonblocking = call.is_nonblocking();
        let ranks = || {
            let not_there: Rc<[usize]> = group.not_there(call.number).collect();
            // A nonblocking one may be complete.
            if nonblocking || !not_there.is_empty() {
                return not_there;
            }
            let silent = group
                .members
                .iter()
                .filter(|rank| !group.parts.contains_key(rank));
            silent.copied().collect()
        };
        let place = (id, call.number, nonblocking);
        Rc::clone(self.0.entry(place).or_insert_with(ranks))
    }

    /// The ranks that have not come to the first nonblocking collective of this rank that is not
    /// complete, and why it is not.
    fn of_requests(
        &mut self,
        group: &Group<'_>,
        part: &Communicator,
    ) -> Option<(Rc<[usize]>, String)> {
        let mut begun = part.collectives.iter().filter(|call| call.is_nonblocking());
        begun.find_map(|call| {
            let ranks = self.of(group, part.id, call);
            let list: RankList = ranks.iter().copied().collect();
            let come = list.with("has", "have");
            let why = format!(
                "{call} (number {}) is not complete: {come} not come to it",
                call.number
            );
            (!ranks.is_empty()).then_some((ranks, why))
        })
    }
}

impl Communicator {
    /// The last call of each ring, unless it is nonblocking.
    pub(super) fn last(&self) -> impl Iterator<Item = &RecordedCall> {
        let rings = [&self.collectives, &self.messages];
        let last = rings.into_iter().filter_map(|ring| ring.last());
        last.filter(|call| !call.is_nonblocking())
    }

    /// Those of them in which the rank waits, or has timed out.
    pub(super) fn blocked<'a>(&'a self, dump: &'a Dump) -> impl Iterator<Item = &'a RecordedCall> {
        let waits = |call: &&RecordedCall| !call.done || dump.waited_in(call);
        self.last().filter(waits)
    }

    fn is_collective(&self, call: &RecordedCall) -> bool {
        let last = self.collectives.last();
        last.is_some_and(|last| std::ptr::eq(last, call))
    }

    /// A call of this, with ranks of the world.
    pub(super) fn describe(&self, call: &RecordedCall) -> String {
        if self.is_collective(call) {
            format!("{call} (number {})", call.number)
        } else {
            call.with_peer(self.peer(call))
        }
    }

    fn peer(&self, call: &RecordedCall) -> Option<usize> {
        call.peer.and_then(|peer| self.world_rank(peer))
    }
}

impl Group<'_> {
    fn wait(
        &self,
        groups: &[Group<'_>],
        rank: usize,
        part: &Communicator,
        call: &RecordedCall,
        seconds: Option<f64>,
        behind: &mut Behind,
    ) -> Wait {
        let (on, why) = if part.is_collective(call) {
            (behind.of(self, part.id, call), None)
        } else if call.completes_requests() {
            let message = messages::why_none_completes(groups, self, rank, call);
            match (message, behind.of_requests(self, part)) {
                (None, Some((on, why))) => (on, Some(why)),
                // Either may be what it waits for.
                (Some(one), Some((_, other))) => ([].into(), Some(format!("{one}; {other}"))),
                (message, None) => ([].into(), message),
            }
        } else {
            let why = messages::why_not(groups, self, rank, call);
            // A message that may be on its way makes no wait for its rank.
            let on = part.peer(call).filter(|_| why.is_some());
            (on.into_iter().collect(), why)
        };
        Wait {
            rank,
            over: call.done,
            call: part.describe(call),
            communicator: self.title.clone(),
            seconds,
            on,
            why,
            cut_short: false,
        }
    }
}

impl Dump {
    /// The time for which this call has been pending.
    fn seconds(&self, part: &Communicator, call: &RecordedCall) -> Option<f64> {
        let same = self.under_way.iter().find(|under_way| {
            under_way.communicator == part.id
                && under_way.operation == call.operation
                && under_way.number.is_none_or(|number| number == call.number)
        });
        same.map(|same| same.seconds)
    }

    /// The calls that are pending and in no ring.
    fn elsewhere(&self, rank: usize, known: &[Wait]) -> Vec<Wait> {
        let known = |operation: &str| {
            known
                .iter()
                .any(|wait| wait.rank == rank && wait.call.starts_with(operation))
        };
        let others = self.under_way.iter().filter(|one| !known(&one.operation));
        others
            .map(|one| Wait {
                rank,
                over: false,
                call: one.operation.clone(),
                communicator: String::new(),
                seconds: Some(one.seconds),
                on: one.waits_for.iter().copied().collect(),
                why: None,
                cut_short: false,
            })
            .collect()
    }
}

/// Finds a deadlock: ranks each of which waits for the next, and the last for the first, none of
/// them cut short.
pub(super) fn cycle(waits: &[Wait]) -> Option<Vec<usize>> {
    let mut lists: BTreeMap<usize, Vec<&[usize]>> = BTreeMap::new();
    for wait in waits.iter().filter(|wait| !wait.cut_short) {
        lists.entry(wait.rank).or_default().push(&wait.on);
    }
    let next = |rank: usize| {
        let lists = lists.get(&rank).cloned().unwrap_or_default();
        lists.into_iter().flatten().copied()
    };
    // Whether a rank is on the path; those that were are in no cycle.
    let mut seen: BTreeMap<usize, bool> = BTreeMap::new();
    for &start in lists.keys() {
        if seen.contains_key(&start) {
            continue;
        }
        seen.insert(start, true);
        let mut path = vec![(start, next(start))];
        while let Some((rank, others)) = path.last_mut() {
            let Some(to) = others.next() else {
                seen.insert(*rank, false);
                path.pop();
                continue;
            };
            match seen.get(&to) {
                Some(true) => {
                    let cycle = path.iter().map(|(rank, _)| *rank);
                    return Some(cycle.skip_while(|rank| *rank != to).collect());
                }
                Some(false) => {}
                None => {
                    seen.insert(to, true);
                    path.push((to, next(to)));
                }
            }
        }
    }
    None
}
