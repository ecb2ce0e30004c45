//! The order of receives that wait: a list for each pattern, so that the first one that a message
//! matches is found without a search.

use std::collections::HashMap;

use slab::Slab;

use super::entry::Entry;
use crate::data::source::Source;
use crate::data::tag::Tag;

/// A source and a tag; `None` matches any.
pub(super) type Pattern = (Option<usize>, Option<i32>);

pub(super) fn pattern(source: Source, tag: Tag) -> Pattern {
    let source = match source {
        Source::Any => None,
        Source::Rank(rank) => Some(rank),
        // No receive from it waits, and no rank has this number.
        Source::Null => Some(usize::MAX),
    };
    let tag = match tag {
        Tag::Any => None,
        Tag::Value(tag) => Some(tag),
    };
    (source, tag)
}

/// The places of the neighbours of an entry in its list.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Links {
    before: Option<usize>,
    after: Option<usize>,
}

/// Entries in the order in which they were appended. An entry is in one list at most.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) first: Option<usize>,
    last: Option<usize>,
    pub(super) length: usize,
}

impl List {
    pub(super) fn append(&mut self, entries: &mut Slab<Entry>, place: usize) {
        entries[place].links = Links {
            before: self.last,
            after: None,
        };
        match self.last {
            Some(last) => entries[last].links.after = Some(place),
            None => self.first = Some(place),
        }
        self.last = Some(place);
        self.length += 1;
    }

    /// Removes an entry that is in this list.
    pub(super) fn remove(&mut self, entries: &mut Slab<Entry>, place: usize) {
        let Links { before, after } = entries[place].links;
        match before {
            Some(before) => entries[before].links.after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => entries[after].links.before = before,
            None => self.last = before,
        }
        self.length -= 1;
    }
}

/// The entries that have no message yet, by pattern.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// With the place of the pattern in `turn`.
    lists: HashMap<Pattern, (List, usize)>,
    turn: Vec<Pattern>,
    /// The number of patterns with any rank or any tag.
    wild: usize,
    /// The index of the pattern that was looked at last.
    seen: usize,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.turn.is_empty()
    }

    /// The number of patterns.
    pub(super) fn patterns(&self) -> usize {
        self.turn.len()
    }

    /// The first entry of that pattern.
    pub(super) fn first(&self, pattern: Pattern) -> Option<usize> {
        self.lists.get(&pattern)?.0.first
    }

    /// The entry that a message of that sender and tag is for: the one that was started first of
    /// those that it matches.
    pub(super) fn first_that_matches(
        &self,
        entries: &Slab<Entry>,
        source: usize,
        tag: i32,
    ) -> Option<usize> {
        let (source, tag) = (Some(source), Some(tag));
        if self.wild == 0 {
            return self.first((source, tag));
        }
        let patterns = [(source, tag), (source, None), (None, tag), (None, None)];
        let firsts = patterns.iter().filter_map(|&pattern| self.first(pattern));
        firsts.min_by_key(|&place| entries[place].number)
    }

    /// The next pattern, in turn: downwards, since a new one is the last, and the last one takes
    /// the place of one that is removed.
    pub(super) fn next_pattern(&mut self) -> Option<Pattern> {
        let above = match self.seen.min(self.turn.len()) {
            0 => self.turn.len(),
            above => above,
        };
        self.seen = above.checked_sub(1)?;
        self.turn.get(self.seen).copied()
    }

    pub(super) fn append(&mut self, entries: &mut Slab<Entry>, place: usize) {
        let pattern = entries[place].pattern();
        let (list, _) = self.lists.entry(pattern).or_insert_with(|| {
            self.wild += usize::from(is_wild(pattern));
            self.turn.push(pattern);
            (List::default(), self.turn.len() - 1)
        });
        list.append(entries, place);
    }

    /// Removes an entry that waits.
    pub(super) fn remove(&mut self, entries: &mut Slab<Entry>, place: usize) {
        let pattern = entries[place].pattern();
        let Some((list, turn)) = self.lists.get_mut(&pattern) else {
            return;
        };
        list.remove(entries, place);
        if list.first.is_none() {
            let turn = *turn;
            self.lists.remove(&pattern);
            self.wild -= usize::from(is_wild(pattern));
            self.turn.swap_remove(turn);
            let moved = self.turn.get(turn);
            if let Some((_, place)) = moved.and_then(|moved| self.lists.get_mut(moved)) {
                *place = turn;
            }
        }
    }

    /// Removes and returns one that waits.
    pub(super) fn pop(&mut self, entries: &mut Slab<Entry>) -> Option<usize> {
        let place = self.first(*self.turn.last()?)?;
        self.remove(entries, place);
        Some(place)
    }
}

fn is_wild((source, tag): Pattern) -> bool {
    source.is_none() || tag.is_none()
}
