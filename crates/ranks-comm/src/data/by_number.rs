//! Values by number, in ascending order.

/// A map of few values. `BTreeMap` is compiled for each type of them, at ten times the size.
#[derive(Debug)]
pub(crate) struct ByNumber<T>(Vec<(u64, T)>);

impl<T> Default for ByNumber<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByNumber<T> {
    fn place(&self, number: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, |(number, _)| *number)
    }

    /// Returns the value that this one replaces.
    pub(crate) fn insert(&mut self, number: u64, value: T) -> Option<T> {
        match self.place(number) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (number, value));
                None
            }
        }
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        let place = self.place(number).ok()?;
        Some(&self.0[place].1)
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let place = self.place(number).ok()?;
        Some(self.0.remove(place).1)
    }

    /// Removes those of the lowest numbers.
    pub(crate) fn remove_first(&mut self, most: usize) -> Vec<(u64, T)> {
        self.0.drain(..most.min(self.0.len())).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_iter().map(|(_, value)| value)
    }

    pub(crate) fn as_slice(&self) -> &[(u64, T)] {
        &self.0
    }
}

impl<T> FromIterator<(u64, T)> for ByNumber<T> {
    /// `values` are in ascending order.
    fn from_iter<I: IntoIterator<Item = (u64, T)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}
