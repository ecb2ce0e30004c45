//! Values in the order in which they were added, of which any can be taken.

use std::collections::VecDeque;

/// Values by ascending keys. To add one, and to take one, costs the same however many there are,
/// but for the search of its key.
pub(super) struct Ordered<T> {
    /// The places; `None` where the value was taken. The first one has a value.
    places: VecDeque<(usize, Option<T>)>,
    values: usize,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self {
            places: VecDeque::new(),
            values: 0,
        }
    }
}

impl<T> Ordered<T> {
    pub(super) fn len(&self) -> usize {
        self.values
    }

    /// Adds a value, whose key is above all others.
    pub(super) fn push(&mut self, key: usize, value: T) {
        self.places.push_back((key, Some(value)));
        self.values += 1;
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.places.front().and_then(|(_, value)| value.as_ref())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        let places = self.places.iter_mut();
        places.filter_map(|(key, value)| Some((*key, value.as_mut()?)))
    }

    /// Takes the value of that key.
    pub(super) fn take(&mut self, key: usize) -> Option<(usize, T)> {
        let index = self
            .places
            .binary_search_by_key(&key, |place| place.0)
            .ok()?;
        let value = self.places[index].1.take()?;
        self.values -= 1;
        while self
            .places
            .front()
            .is_some_and(|(_, value)| value.is_none())
        {
            self.places.pop_front();
        }
        // More than half of the places are free: they were taken since the last time.
        if self.places.len() > 2 * self.values + 64 {
            self.places.retain(|(_, value)| value.is_some());
        }
        Some((key, value))
    }

    /// Takes all of them.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = (usize, T)> {
        let all = std::mem::take(self).places.into_iter();
        all.filter_map(|(key, value)| Some((key, value?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_stays_in_order_and_places_are_given_up() {
        const ALL: usize = if cfg!(miri) { 400 } else { 10_000 };
        const LEFT: usize = ALL / 10;
        let mut all = Ordered::default();
        for key in 0..ALL {
            all.push(key, key * 2);
        }
        assert_eq!((all.first(), all.len()), (Some(&0), ALL));
        // The first one stays to the end, so that no place before another one is free.
        for key in (1..ALL - LEFT).rev() {
            assert_eq!(all.take(key), Some((key, key * 2)));
            assert!(all.places.len() <= 2 * all.len() + 64);
        }
        assert_eq!((all.take(1), all.take(ALL)), (None, None));
        assert_eq!(all.take(0), Some((0, 0)));
        assert_eq!((all.first(), all.len()), (Some(&(2 * (ALL - LEFT))), LEFT));
        assert!(all.iter_mut().map(|(key, _)| key).eq(ALL - LEFT..ALL));
        assert!(all.take_all().map(|(key, _)| key).eq(ALL - LEFT..ALL));
        assert!(all.take_all().next().is_none());
        assert_eq!((all.first(), all.len()), (None, 0));
    }
}
