//! Info objects: hints for the library, as pairs of a key and a value.

use crate::result::{Error, ErrorKind, Result};

/// The longest key in bytes that any library may accept; most accept less.
const KEY: usize = 255;
/// The longest value in bytes that any library may accept; most accept less.
const VALUE: usize = 1023;

/// Hints for a call, as keys with values, in the order in which they were first set.
///
/// It is plain data, needs no library, and becomes a library object for the call that takes it. A
/// library ignores keys that it does not know. The maximum length of keys and values depends on the
/// library: the standard promises 31 bytes for a key; Open MPI takes 35 and 255, MPICH 255 and
/// 1023.
///
/// ```
/// use ranks::communicator::Info;
///
/// let info = Info::new().with("mpi_assert_no_any_tag", "true")?;
/// assert_eq!(info.get("mpi_assert_no_any_tag"), Some("true"));
/// # Ok::<(), ranks::Error>(())
/// ```
///
/// MPI 5.0 §10.
#[doc(alias = "MPI_Info")]
#[doc(alias = "MPI_Info_dup")]
#[doc(alias = "MPI_Info_free")]
#[doc(alias = "MPI_INFO_NULL")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info(Vec<(String, String)>);

impl Info {
    /// An info without keys.
    ///
    /// MPI 5.0 §10 (`MPI_Info_create`).
    #[doc(alias = "MPI_Info_create")]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of `key`, and replaces the one that it may have.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the key is blank or longer than 255 bytes, the value empty or
    /// longer than 1023 bytes, or one of them holds a zero byte.
    ///
    /// MPI 5.0 §10 (`MPI_Info_set`).
    #[doc(alias = "MPI_Info_set")]
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        check("key", key, KEY)?;
        check("value", value, VALUE)?;
        if key.trim().is_empty() {
            return Err(unusable("the key is blank"));
        }
        self.put(key, value);
        Ok(())
    }

    /// This info with `value` for `key`.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn with(mut self, key: &str, value: &str) -> Result<Self> {
        self.set(key, value)?;
        Ok(self)
    }

    /// As [`set`](Self::set), for keys and values of the library, which are not checked.
    pub(crate) fn put(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    /// The value of `key`.
    ///
    /// MPI 5.0 §10 (`MPI_Info_get_string`).
    #[doc(alias = "MPI_Info_get")]
    #[doc(alias = "MPI_Info_get_string")]
    #[doc(alias = "MPI_Info_get_valuelen")]
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter()
            .find(|(known, _)| *known == key)
            .map(|(_, value)| value)
    }

    /// Removes `key` and returns the value that it had.
    ///
    /// MPI 5.0 §10 (`MPI_Info_delete`).
    #[doc(alias = "MPI_Info_delete")]
    pub fn remove(&mut self, key: &str) -> Option<String> {
        let place = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(place).1)
    }

    /// The number of keys.
    ///
    /// MPI 5.0 §10 (`MPI_Info_get_nkeys`).
    #[doc(alias = "MPI_Info_get_nkeys")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The `n`-th key, from 0.
    ///
    /// MPI 5.0 §10 (`MPI_Info_get_nthkey`).
    #[doc(alias = "MPI_Info_get_nthkey")]
    #[must_use]
    pub fn key(&self, n: usize) -> Option<&str> {
        self.0.get(n).map(|(key, _)| key.as_str())
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

fn check(what: &str, text: &str, limit: usize) -> Result<()> {
    if text.is_empty() {
        return Err(unusable(format_args!("the {what} is empty")));
    }
    if text.contains('\0') {
        return Err(unusable(format_args!(
            "the {what} {text:?} holds a zero byte"
        )));
    }
    if text.len() > limit {
        return Err(unusable(format_args!(
            "the {what} has {} bytes; no library takes more than {limit}",
            text.len()
        )));
    }
    Ok(())
}

#[cold]
fn unusable(detail: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Argument, "MPI_Info_set", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_their_last_value() {
        let mut info = Info::new();
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3"), ("c", "4")] {
            info.set(key, value).unwrap();
        }
        assert_eq!(info.len(), 3);
        assert_eq!(
            (info.key(0), info.key(1), info.key(3)),
            (Some("b"), Some("a"), None)
        );
        assert_eq!(
            info.iter().collect::<Vec<_>>(),
            [("b", "3"), ("a", "2"), ("c", "4")]
        );
        let copy = info.clone();
        assert_eq!(info.remove("a").as_deref(), Some("2"));
        assert_eq!((info.remove("a"), info.get("a")), (None, None));
        assert_eq!((copy.get("a"), copy.len(), info.len()), (Some("2"), 3, 2));
    }

    #[test]
    fn what_no_library_takes_is_refused() {
        let mut info = Info::new();
        let (long_key, long_value) = ("k".repeat(256), "v".repeat(1024));
        for (key, value) in [
            ("", "v"),
            (" \t", "v"),
            ("k", ""),
            ("k\0", "v"),
            ("k", "v\0w"),
            (long_key.as_str(), "v"),
            ("k", long_value.as_str()),
        ] {
            let error = info.set(key, value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{key:?} {value:?}");
        }
        assert!(info.is_empty());
        info.set(&long_key[1..], &long_value[1..]).unwrap();
    }
}
