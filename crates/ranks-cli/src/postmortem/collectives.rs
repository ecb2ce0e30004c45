//! The first collective in which the ranks of a communicator differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::dump::{Communicator, Dump, RecordedCall};
use super::job::Job;
use super::rank_list::RankList;

/// A communicator, as its ranks know it; ranks are those of the world.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) title: String,
    pub(super) members: Vec<usize>,
    pub(super) parts: BTreeMap<usize, &'a Communicator>,
}

/// The report on the collectives of a communicator.
#[derive(Debug, Serialize)]
pub(super) struct Story {
    pub(super) communicator: String,
    pub(super) members: RankList,
    /// Ranks that have left a dump, in which there is no such communicator.
    pub(super) without: RankList,
    pub(super) difference: Option<Difference>,
    pub(super) progress: Vec<Progress>,
    /// Reasons why not all calls could be compared.
    pub(super) gaps: Vec<String>,
}

/// A collective that is not the same everywhere, or to which some ranks have not come.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    pub(super) number: u64,
    /// The calls, and the ranks that make each; more than one if the ranks disagree.
    pub(super) calls: Vec<(String, RankList)>,
    /// Ranks that have not called it yet.
    pub(super) not_there: RankList,
    /// Ranks of which that is not known.
    pub(super) unknown: RankList,
}

/// The progress of a rank.
#[derive(Debug, Serialize)]
pub(super) struct Progress {
    pub(super) rank: usize,
    pub(super) begun: u64,
    /// The number of calls that have come back.
    pub(super) ended: u64,
    /// The last that it has called.
    pub(super) last: Option<String>,
    /// Set if that one has come back with the error that the rank failed with.
    pub(super) failed: bool,
}

/// The communicators of a job, the world first.
pub(super) fn groups(job: &Job) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<u64, Group<'_>> = BTreeMap::new();
    for (&rank, dump) in &job.dumps {
        for part in &dump.communicators {
            let group = groups.entry(part.id).or_insert_with(|| Group {
                title: part.name.clone(),
                members: Vec::new(),
                parts: BTreeMap::new(),
            });
            if group.members.len() < part.world_ranks.len() {
                group.members.clone_from(&part.world_ranks);
            }
            if !part.name.is_empty() {
                group.title.clone_from(&part.name);
            }
            group.parts.entry(rank).or_insert(part);
        }
    }
    let mut groups: Vec<Group<'_>> = groups.into_values().collect();
    for group in &mut groups {
        group.members.extend(group.parts.keys());
        group.members.sort_unstable();
        group.members.dedup();
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    for (at, group) in groups.iter_mut().enumerate() {
        if group.title.is_empty() {
            group.title = format!("communicator {at}");
        }
    }
    groups
}

impl Group<'_> {
    pub(super) fn story(&self, job: &Job) -> Story {
        let lacking =
            |rank: &&usize| job.dumps.contains_key(rank) && !self.parts.contains_key(rank);
        Story {
            communicator: self.title.clone(),
            members: self.members.iter().copied().collect(),
            without: self.members.iter().filter(lacking).copied().collect(),
            difference: self.mismatch().or_else(|| self.behind(job)),
            progress: self
                .parts
                .iter()
                .map(|(rank, part)| part.progress(*rank, job.dumps.get(rank)))
                .collect(),
            gaps: self.gaps(),
        }
    }

    /// The calls at each number, of those that are still held.
    fn held(&self) -> BTreeMap<u64, Vec<(usize, &RecordedCall)>> {
        let mut held: BTreeMap<u64, Vec<(usize, &RecordedCall)>> = BTreeMap::new();
        for (&rank, part) in &self.parts {
            for call in &part.collectives {
                held.entry(call.number).or_default().push((rank, call));
            }
        }
        held
    }

    /// The first number at which ranks disagree.
    fn mismatch(&self) -> Option<Difference> {
        let held = self.held();
        let agree = |calls: &[(usize, &RecordedCall)]| match calls {
            [(_, first), others @ ..] => others.iter().all(|(_, call)| call.agrees(first)),
            [] => true,
        };
        let (&number, calls) = held.iter().find(|(_, calls)| !agree(calls))?;
        Some(self.difference(number, calls))
    }

    /// The first number that some ranks have called, and wait in, and others have not.
    fn behind(&self, job: &Job) -> Option<Difference> {
        let least = self.parts.values().map(|part| part.come()).min()?;
        let requests = |rank: &usize, part: &Communicator| {
            let dump = job.dumps.get(rank);
            dump.is_some_and(|dump| part.blocked(dump).any(RecordedCall::completes_requests))
        };
        let waiting = |(rank, part): (&usize, &&Communicator)| {
            part.come() > least && (part.ended < part.come() || requests(rank, part))
        };
        if !self.parts.iter().any(waiting) {
            return None;
        }
        let calls = self.held().remove(&least).unwrap_or_default();
        Some(self.difference(least, &calls))
    }

    /// The ranks that have not come to the collective of that number.
    pub(super) fn not_there(&self, number: u64) -> impl Iterator<Item = usize> {
        let not_there = self
            .parts
            .iter()
            .filter(move |(_, part)| part.come() <= number);
        not_there.map(|(rank, _)| *rank)
    }

    fn difference(&self, number: u64, calls: &[(usize, &RecordedCall)]) -> Difference {
        let mut variants: Vec<(&RecordedCall, Vec<usize>)> = Vec::new();
        for &(rank, call) in calls {
            match variants.iter_mut().find(|(of, _)| of.agrees(call)) {
                Some((_, ranks)) => ranks.push(rank),
                None => variants.push((call, vec![rank])),
            }
        }
        let not_there: RankList = self.not_there(number).collect();
        let called: BTreeSet<usize> = calls.iter().map(|(rank, _)| *rank).collect();
        let told = |rank: &usize| called.contains(rank) || not_there.contains(*rank);
        Difference {
            number,
            calls: variants
                .into_iter()
                .map(|(call, ranks)| (call.to_string(), ranks.into_iter().collect()))
                .collect(),
            unknown: self
                .members
                .iter()
                .filter(|rank| !told(rank))
                .copied()
                .collect(),
            not_there,
        }
    }

    /// Sentences about calls that the rings no longer hold.
    fn gaps(&self) -> Vec<String> {
        let firsts = self.parts.iter().filter_map(|(rank, part)| {
            let first = part.collectives.first()?.number;
            Some((*rank, first, part.come()))
        });
        let firsts: Vec<(usize, u64, u64)> = firsts.collect();
        let mut gaps = Vec::new();
        let latest = firsts.iter().max_by_key(|(_, first, _)| *first);
        if let Some(&(_, first, _)) = latest
            && first > 0
        {
            let ranks: RankList = firsts
                .iter()
                .filter(|(_, first, _)| *first > 0)
                .map(|(rank, ..)| *rank)
                .collect();
            gaps.push(format!(
                "{} no longer those before number {first}: they could not be compared",
                ranks.with("holds", "hold")
            ));
            for (rank, _, come) in firsts.iter().filter(|(_, _, come)| *come <= first) {
                gaps.push(format!(
                    "rank {rank} has come to number {come} only, of which others hold nothing any more: where they parted is not known"
                ));
            }
        }
        gaps
    }
}

impl Communicator {
    /// The number of collectives that its rank has started.
    pub(super) fn come(&self) -> u64 {
        let last = self.collectives.last();
        last.map_or(self.begun, |last| {
            self.begun.max(last.number.saturating_add(1))
        })
    }

    fn progress(&self, rank: usize, dump: Option<&Dump>) -> Progress {
        let last = self.collectives.last();
        Progress {
            rank,
            failed: last.is_some_and(|last| dump.is_some_and(|dump| dump.failed_in(last))),
            begun: self.come(),
            ended: self.ended.min(self.come()),
            last: last.map(RecordedCall::to_string),
        }
    }
}
