//! The values of a store, and the effect of requests on them.

use std::collections::{BTreeSet, HashMap};

use super::wire::{self, Request};

/// All that a store may hold, in bytes.
const MOST: usize = 1 << 30;

/// Answers that a client has not taken, in bytes, at which it is left.
pub(super) const MOST_ANSWER: usize = 1 << 30;

/// Keys and their values.
#[derive(Default)]
pub(super) struct Values {
    values: HashMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
    /// The beginning of all keys.
    only: Vec<u8>,
}

/// The outcome of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// The answer to the client.
    pub(super) answer: Vec<u8>,
    /// A key that is there now: somebody may wait for it.
    pub(super) set: Option<Vec<u8>>,
    /// The keys that the client waits for from now on.
    pub(super) awaited: Option<BTreeSet<Vec<u8>>>,
    /// `true` if the client no longer waits.
    pub(super) canceled: bool,
}

impl Effect {
    fn answer(answer: impl Into<Vec<u8>>) -> Effect {
        Effect {
            answer: answer.into(),
            ..Effect::default()
        }
    }
}

impl Values {
    /// Of those alone whose keys begin so: nobody else can name one.
    pub(super) fn only(only: &str) -> Values {
        Values {
            only: only.as_bytes().to_vec(),
            ..Values::default()
        }
    }

    /// Returns `true` if there are keys that not everybody can name.
    pub(super) fn has_secret(&self) -> bool {
        !self.only.is_empty()
    }

    /// Carries out a request. `None` if it cannot be, and its client is to be left.
    pub(super) fn apply(&mut self, request: &Request<'_>) -> Option<Effect> {
        if !request.keys().iter().all(|key| key.starts_with(&self.only)) {
            return None;
        }
        Some(match request {
            Request::Validate => Effect::default(),
            Request::Set { key, value } => {
                self.set(key, value.to_vec())?;
                Effect {
                    set: Some(key.to_vec()),
                    ..Effect::default()
                }
            }
            Request::Get { key } => Effect::answer(self.texts(&[key])?),
            Request::Add { key, number } => {
                let before = match self.values.get(*key) {
                    None => 0,
                    Some(digits) => std::str::from_utf8(digits).ok()?.parse::<i64>().ok()?,
                };
                let sum = before.checked_add(*number)?;
                self.set(key, sum.to_string().into_bytes())?;
                Effect {
                    answer: sum.to_ne_bytes().to_vec(),
                    set: Some(key.to_vec()),
                    ..Effect::default()
                }
            }
            Request::Check { keys } => {
                let all = self.missing(keys).is_empty();
                Effect::answer([if all { wire::READY } else { wire::NOT_READY }])
            }
            Request::Wait { keys } => {
                let missing = self.missing(keys);
                if missing.is_empty() {
                    Effect::answer([wire::STOP_WAITING])
                } else {
                    Effect {
                        awaited: Some(missing),
                        ..Effect::default()
                    }
                }
            }
            Request::DeleteKey { key } => {
                let removed = self.values.remove(*key);
                if let Some(value) = &removed {
                    self.bytes = self.bytes.saturating_sub(key.len() + value.len());
                }
                Effect::answer(i64::from(removed.is_some()).to_ne_bytes())
            }
            Request::MultiGet { keys } => Effect::answer(self.texts(keys)?),
            Request::CancelWait => Effect {
                answer: vec![wire::WAIT_CANCELED],
                canceled: true,
                ..Effect::default()
            },
            Request::Ping { number } => Effect::answer(number.to_ne_bytes()),
        })
    }

    fn set(&mut self, key: &[u8], value: Vec<u8>) -> Option<()> {
        let before = self
            .values
            .get(key)
            .map_or(0, |value| key.len() + value.len());
        let bytes = self.bytes.saturating_sub(before) + key.len() + value.len();
        if bytes > MOST {
            return None;
        }
        self.bytes = bytes;
        self.values.insert(key.to_vec(), value);
        Some(())
    }

    fn missing(&self, keys: &[&[u8]]) -> BTreeSet<Vec<u8>> {
        let absent = keys.iter().filter(|key| !self.values.contains_key(**key));
        absent.map(|key| key.to_vec()).collect()
    }

    /// The values of keys; that of one that is not there is empty. `None` if they are longer than
    /// any answer.
    fn texts(&self, keys: &[&[u8]]) -> Option<Vec<u8>> {
        let value = |key: &&[u8]| self.values.get(*key).map_or(&[][..], Vec::as_slice);
        // One value may be asked for again and again in one request.
        let mut room = MOST_ANSWER;
        for key in keys {
            room = room.checked_sub(size_of::<u64>() + value(key).len())?;
        }
        let mut answer = Vec::new();
        for key in keys {
            wire::text(value(key), &mut answer);
        }
        Some(answer)
    }

    /// Returns `true` if the values are as long as was counted.
    #[cfg(fuzzing)]
    pub(super) fn is_counted(&self) -> bool {
        let lengths = self
            .values
            .iter()
            .map(|(key, value)| key.len() + value.len());
        lengths.sum::<usize>() == self.bytes && self.bytes <= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_kept_in_digits_and_what_is_none_is_not_added_to() {
        let mut values = Values::default();
        let mut add = |key: &'static [u8], number| {
            let effect = values.apply(&Request::Add { key, number })?;
            Some(i64::from_ne_bytes(effect.answer.try_into().ok()?))
        };
        assert_eq!(add(b"n", 5), Some(5));
        assert_eq!(add(b"n", -7), Some(-2));
        assert_eq!(add(b"m", i64::MAX), Some(i64::MAX));
        assert_eq!(add(b"m", 1), None);
        let get = values.apply(&Request::Get { key: b"n" });
        assert_eq!(get.unwrap().answer, *b"\x02\0\0\0\0\0\0\0-2");
        let set = Request::Set {
            key: b"t",
            value: b"text",
        };
        assert!(values.apply(&set).is_some());
        let add = Request::Add {
            key: b"t",
            number: 1,
        };
        assert_eq!(values.apply(&add), None);
    }

    #[test]
    fn a_value_is_not_given_more_often_than_memory_holds() {
        let mut values = Values::default();
        let set = Request::Set {
            key: b"k",
            value: &vec![0; wire::MAX_VALUE],
        };
        assert!(values.apply(&set).is_some());
        let mut get = |many| {
            let keys = vec![&b"k"[..]; many];
            Some(values.apply(&Request::MultiGet { keys })?.answer.len())
        };
        assert_eq!(get(2), Some(2 * (wire::MAX_VALUE + 8)));
        assert_eq!(get(129), None);
    }

    #[test]
    fn what_is_removed_makes_room() {
        let mut values = Values::default();
        let set = Request::Set {
            key: b"key",
            value: &[0; 1000],
        };
        for _ in 0..3 {
            assert!(values.apply(&set).is_some());
            assert_eq!(values.bytes, 1003);
        }
        let delete = Request::DeleteKey { key: b"key" };
        assert_eq!(values.apply(&delete).unwrap().answer, 1_i64.to_ne_bytes());
        assert_eq!(values.apply(&delete).unwrap().answer, 0_i64.to_ne_bytes());
        assert_eq!(values.bytes, 0);
    }

    #[test]
    fn rank_0_keeps_what_all_have_set_once() {
        ranks_scale::row(
            "the same on rank 0, which serves",
            (400, 1 << 10),
            |_| (),
            |ranks, ()| {
                let mut values = Values::default();
                for rank in 0..ranks {
                    let key = format!("ranks/0/default/1/0/{rank}");
                    let set = Request::Set {
                        key: key.as_bytes(),
                        value: &[7; 64],
                    };
                    values.apply(&set).unwrap();
                }
                values
            },
        );
    }
}
