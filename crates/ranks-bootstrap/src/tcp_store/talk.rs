//! The talk of a server with one client, whatever carries it.

use std::collections::BTreeSet;

use super::values::{MOST_ANSWER, Values};
use super::wire::{self, Request};

/// Both sides of a talk, as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// Bytes of the client that are not yet a whole request.
    pub(super) input: Vec<u8>,
    /// Bytes for the client that it has not taken yet.
    pub(super) output: Vec<u8>,
    /// `true` once the client has shown that it means a store.
    pub(super) valid: bool,
    /// Keys that it waits for.
    awaited: Option<BTreeSet<Vec<u8>>>,
    /// `true` once the client has left, or is to be left.
    pub(super) gone: bool,
}

impl Talk {
    /// Carries out the requests that have come whole, and gives the keys that are set by them.
    pub(super) fn answer(&mut self, values: &mut Values) -> Vec<Vec<u8>> {
        let mut set = Vec::new();
        let input = std::mem::take(&mut self.input);
        let mut done = 0;
        loop {
            let (request, length) = match Request::parse(&input[done..]) {
                Ok(Some(parsed)) => parsed,
                Ok(None) => break,
                Err(wire::Garbage) => {
                    self.gone = true;
                    return set;
                }
            };
            done += length;
            // Whoever does not begin as a client does is none, and changes nothing.
            self.valid |= request == Request::Validate;
            let effect = if self.valid {
                values.apply(&request)
            } else {
                None
            };
            let Some(effect) = effect else {
                self.gone = true;
                return set;
            };
            if effect.canceled {
                self.awaited = None;
            }
            if effect.awaited.is_some() {
                self.awaited = effect.awaited;
            }
            self.output.extend(effect.answer);
            if self.output.len() > MOST_ANSWER {
                self.gone = true;
                return set;
            }
            set.extend(effect.set);
        }
        self.input = input[done..].to_vec();
        set
    }

    /// Tells it that a key is there now, if it waits for that.
    pub(super) fn hears_of(&mut self, key: &[u8]) {
        if let Some(awaited) = &mut self.awaited {
            awaited.remove(key);
            if awaited.is_empty() {
                self.awaited = None;
                self.output.push(wire::STOP_WAITING);
            }
        }
    }
}
