//! The talk of a server with one client, whatever carries it.

use std::collections::{BTreeSet, VecDeque};

use super::values::{MOST_ANSWER, Values};
use super::wire::{self, Request};

/// The most bytes of a stranger that are kept: of a request that is not whole, but for values, more
/// than any of one key.
const MOST_OF_A_STRANGER: usize = 2 * wire::MAX_KEY;

/// Both sides of a talk, as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// Bytes of the client that are not yet a whole request.
    pub(super) input: Vec<u8>,
    /// Bytes for the client that it has not taken yet.
    pub(super) output: VecDeque<u8>,
    /// `true` once the client has begun as clients do.
    greeted: bool,
    /// `true` once the client is no stranger: it has shown that it means a store, and if that has a
    /// secret, that it knows it.
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
        let mut input = std::mem::take(&mut self.input);
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
            self.greeted |= request == Request::Validate;
            let effect = if self.greeted {
                values.apply(&request)
            } else {
                None
            };
            let Some(effect) = effect else {
                self.gone = true;
                return set;
            };
            // A key that does not begin with the secret had no effect.
            self.valid |= !values.has_secret() || !request.keys().is_empty();
            if effect.canceled {
                self.awaited = None;
            }
            if effect.awaited.is_some() {
                self.awaited = effect.awaited;
            }
            self.output.extend(&effect.answer);
            if self.output.len() > MOST_ANSWER {
                self.gone = true;
                return set;
            }
            set.extend(effect.set);
        }
        input.drain(..done);
        self.gone |= !self.valid && input.len() > MOST_OF_A_STRANGER;
        self.input = input;
        set
    }

    /// Tells it that a key is there now, if it waits for that.
    pub(super) fn hears_of(&mut self, key: &[u8]) {
        if let Some(awaited) = &mut self.awaited {
            awaited.remove(key);
            if awaited.is_empty() {
                self.awaited = None;
                self.output.push_back(wire::STOP_WAITING);
            }
        }
    }
}
