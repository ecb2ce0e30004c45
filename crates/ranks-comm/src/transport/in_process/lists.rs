//! Items in lists by the pattern that finds them, each in the order in which they came.
//!
//! The items lie in one table, and lists are links between them: an item is found, added and taken
//! out of the middle in constant time, however many there are, and without allocation while the
//! table has room.

use std::hash::{Hash, Hasher};

use super::ends::Ends;

/// The messages that a receive matches; `None` is a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) context: u64,
    pub(crate) source: Option<usize>,
    pub(crate) tag: Option<i32>,
}

/// The number of kinds of patterns: each of source and tag is a wildcard or not.
pub(super) const KINDS: usize = 4;

impl Pattern {
    /// The kind: 0 without a wildcard.
    pub(super) fn kind(&self) -> usize {
        usize::from(self.source.is_none()) | usize::from(self.tag.is_none()) << 1
    }

    /// The pattern of that kind that takes what this one takes.
    pub(super) fn of_kind(self, kind: usize) -> Self {
        Self {
            context: self.context,
            source: self.source.filter(|_| kind & 1 == 0),
            tag: self.tag.filter(|_| kind & 2 == 0),
        }
    }
}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.context);
        // Every pattern is compared as a whole after that.
        state.write_u64(self.source.map_or(u64::MAX, |source| source as u64));
        state.write_u64(
            self.tag
                .map_or(u64::MAX, |tag| u64::from(tag.cast_unsigned())),
        );
    }
}

/// The number of items for which memory is kept.
pub(super) const KEPT: usize = 1024;

/// No item.
const NONE: u32 = u32::MAX;
const NEXT: usize = 0;
const BEFORE: usize = 1;

/// The kinds of a set, a bit for each.
pub(super) fn each(mut kinds: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let kind = kinds.trailing_zeros() as usize;
        kinds &= kinds.wrapping_sub(1);
        (kind < KINDS).then_some(kind)
    })
}

/// The table, and the first and the last item of each list.
#[derive(Debug)]
pub(super) struct Lists<T> {
    items: Vec<Entry<T>>,
    unused: Vec<u32>,
    ends: Ends,
    next_number: u64,
}

#[derive(Debug)]
struct Entry<T> {
    /// `None` if it is unused.
    item: Option<T>,
    /// The number of items that came before.
    number: u64,
    pattern: Pattern,
    /// The kinds of patterns in whose lists it is, a bit for each.
    listed: u8,
    links: [[u32; 2]; KINDS],
}

/// An item, as long as it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    index: u32,
    number: u64,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            unused: Vec::new(),
            ends: Ends::default(),
            next_number: 0,
        }
    }
}

impl<T> Lists<T> {
    /// Adds an item, at the end of the lists of the patterns of those kinds.
    pub(super) fn add(&mut self, item: T, pattern: Pattern, kinds: u8) -> Ticket {
        let number = self.next_number;
        self.next_number += 1;
        let index = self.unused.pop().unwrap_or_else(|| {
            self.items.push(Entry {
                item: None,
                number,
                pattern,
                listed: 0,
                links: [[NONE; 2]; KINDS],
            });
            self.last_index()
        });
        let entry = &mut self.items[index as usize];
        entry.item = Some(item);
        entry.number = number;
        entry.pattern = pattern;
        for kind in each(kinds) {
            self.link(index, kind);
        }
        Ticket { index, number }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "a table of 2^32 entries takes half a terabyte"
    )]
    fn last_index(&self) -> u32 {
        (self.items.len() - 1) as u32
    }

    /// The first item of the list of that very pattern.
    pub(super) fn first(&self, pattern: &Pattern) -> Option<Ticket> {
        let &[index, _] = self.ends.get(pattern)?;
        let number = self.items[index as usize].number;
        Some(Ticket { index, number })
    }

    /// The one of two items that came first.
    pub(super) fn earlier(one: Option<Ticket>, other: Option<Ticket>) -> Option<Ticket> {
        match (one, other) {
            (Some(one), Some(other)) if other.number < one.number => Some(other),
            (one, other) => one.or(other),
        }
    }

    pub(super) fn get(&self, ticket: Ticket) -> Option<&T> {
        let entry = self.items.get(ticket.index as usize)?;
        entry
            .item
            .as_ref()
            .filter(|_| entry.number == ticket.number)
    }

    pub(super) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut T> {
        let entry = self.items.get_mut(ticket.index as usize)?;
        let number = entry.number;
        entry.item.as_mut().filter(|_| number == ticket.number)
    }

    /// The items, in the order in which they came.
    pub(super) fn in_order(&self) -> Vec<(Pattern, &T)> {
        self.sorted(|_| true)
            .into_iter()
            .filter_map(|(_, index)| {
                let entry = &self.items[index as usize];
                Some((entry.pattern, entry.item.as_ref()?))
            })
            .collect()
    }

    /// Takes an item out of its lists; it stays in the table.
    pub(super) fn unlist(&mut self, ticket: Ticket) {
        if self.get(ticket).is_some() {
            let listed = self.items[ticket.index as usize].listed;
            for kind in each(listed) {
                self.unlink(ticket.index, kind);
            }
        }
    }

    /// Takes an item out.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        self.get(ticket)?;
        self.unlist(ticket);
        self.unused.push(ticket.index);
        if self.items.capacity() > KEPT && self.unused.len() == self.items.len() {
            return self.take_last(ticket.index);
        }
        self.items[ticket.index as usize].item.take()
    }

    /// Takes the item that is left, and gives back memory that a burst of them took.
    #[cold]
    fn take_last(&mut self, index: u32) -> Option<T> {
        let item = self.items[index as usize].item.take();
        self.items.clear();
        self.unused.clear();
        self.items.shrink_to(KEPT);
        self.unused.shrink_to(KEPT);
        self.ends.shrink_to(KEPT);
        item
    }

    /// Puts all items into the lists of the patterns of one more kind.
    pub(super) fn list_by(&mut self, kind: usize) {
        for (_, index) in self.sorted(|entry| entry.listed & 1 << kind == 0) {
            self.link(index, kind);
        }
    }

    /// The numbers and indices of items, in the order in which they came.
    fn sorted(&self, wanted: impl Fn(&Entry<T>) -> bool) -> Vec<(u64, u32)> {
        let entries = self.items.iter().zip(0..);
        let mut all: Vec<(u64, u32)> = entries
            .filter(|(entry, _)| entry.item.is_some() && wanted(entry))
            .map(|(entry, index)| (entry.number, index))
            .collect();
        all.sort_unstable();
        all
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.unused.len() == self.items.len() && self.ends.is_empty()
    }

    fn link(&mut self, index: u32, kind: usize) {
        let entry = &mut self.items[index as usize];
        entry.listed |= 1 << kind;
        let key = entry.pattern.of_kind(kind);
        let ends = self.ends.or_insert(key, [index, NONE]);
        let last = std::mem::replace(&mut ends[1], index);
        self.items[index as usize].links[kind] = [NONE, last];
        if last != NONE {
            self.items[last as usize].links[kind][NEXT] = index;
        }
    }

    fn unlink(&mut self, index: u32, kind: usize) {
        let entry = &mut self.items[index as usize];
        entry.listed &= !(1 << kind);
        let [next, before] = entry.links[kind];
        if next != NONE && before != NONE {
            self.items[next as usize].links[kind][BEFORE] = before;
            self.items[before as usize].links[kind][NEXT] = next;
            return;
        }
        let key = entry.pattern.of_kind(kind);
        if next == NONE && before == NONE {
            self.ends.remove(&key);
            return;
        }
        if let Some(ends) = self.ends.get_mut(&key) {
            if before == NONE {
                ends[0] = next;
                self.items[next as usize].links[kind][BEFORE] = NONE;
            } else {
                ends[1] = before;
                self.items[before as usize].links[kind][NEXT] = NONE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Pattern = Pattern {
        context: 2,
        source: Some(3),
        tag: Some(-1),
    };

    #[test]
    fn kinds_are_what_is_left_open() {
        let all: Vec<Pattern> = (0..KINDS).map(|kind| EXACT.of_kind(kind)).collect();
        for (kind, pattern) in all.iter().enumerate() {
            assert_eq!(pattern.kind(), kind);
            assert_eq!(all.iter().filter(|other| *other == pattern).count(), 1);
        }
    }

    #[test]
    fn items_leave_from_any_place_in_any_order() {
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let mut lists = Lists::default();
            let tickets: Vec<Ticket> = (0..3).map(|item| lists.add(item, EXACT, 0b1001)).collect();
            let mut left = vec![0, 1, 2];
            for item in order {
                assert_eq!(lists.remove(tickets[item]), Some(item));
                assert_eq!(lists.remove(tickets[item]), None);
                left.retain(|&other| other != item);
                for kind in [0, 3] {
                    let first = lists.first(&EXACT.of_kind(kind));
                    let first = first.and_then(|first| lists.get(first));
                    assert_eq!(first, left.first());
                }
            }
            assert!(lists.is_empty());
        }
    }

    #[test]
    fn a_kind_that_is_added_later_has_the_order_of_arrival() {
        let mut lists = Lists::default();
        let first = lists.add(1, EXACT, 1);
        let gone = lists.add(2, EXACT, 1);
        lists.add(3, EXACT, 1);
        lists.remove(gone);
        // It takes the place of the one that is gone.
        lists.add(4, EXACT, 1);
        lists.list_by(2);
        lists.remove(first);
        let mut order = Vec::new();
        while let Some(next) = lists.first(&EXACT.of_kind(2)) {
            order.extend(lists.remove(next));
        }
        assert_eq!(order, [3, 4]);
        assert!(lists.is_empty());
    }
}
