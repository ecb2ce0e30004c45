//! Probes that wait their turn: a message for a receive that was started before must not match them
//! (see `claims`).

use super::communicator::Comm;
use super::message::Message;
use crate::call::limit::Pause;
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::Result;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};

impl Comm {
    pub(crate) fn probe_in_turn(
        &self,
        source: Source,
        tag: Tag,
        words: &mut Words,
    ) -> Result<Kind> {
        let mut pause = Pause::default();
        while self.claims.is_waiting() {
            if let Some(kind) = self.iprobe_in_turn(source, tag, words)? {
                return Ok(kind);
            }
            pause.rest();
        }
        Self::probe(self, source, tag, words)
    }

    pub(crate) fn iprobe_in_turn(
        &self,
        source: Source,
        tag: Tag,
        words: &mut Words,
    ) -> Result<Option<Kind>> {
        while self.claims.is_waiting() {
            self.claims.look_at_some();
            let mut seen = None;
            let is_for_one = self.claims.is_for_one(|| {
                seen = self.iprobe(source, tag, words)?;
                Ok(seen.map(|kind| Status::new(kind, *words)))
            })?;
            if is_for_one != Some(true) {
                return Ok(seen);
            }
        }
        self.iprobe(source, tag, words)
    }

    pub(crate) fn mprobe_in_turn(&self, source: Source, tag: Tag) -> Result<(Message, Status)> {
        let mut pause = Pause::default();
        while self.claims.is_waiting() {
            if let Some(found) = self.improbe_in_turn(source, tag)? {
                return Ok(found);
            }
            pause.rest();
        }
        self.mprobe(source, tag)
    }

    pub(crate) fn improbe_in_turn(
        &self,
        source: Source,
        tag: Tag,
    ) -> Result<Option<(Message, Status)>> {
        while self.claims.is_waiting() {
            let mut words = EMPTY_STATUS;
            let Some(kind) = self.iprobe_in_turn(source, tag, &mut words)? else {
                return Ok(None);
            };
            // Another thread may have been faster.
            let seen = Status::new(kind, words);
            let (Some(from), Some(under)) = (seen.source(), seen.tag()) else {
                break;
            };
            if let Some(found) = self.improbe(Source::Rank(from), Tag::Value(under))? {
                return Ok(Some(found));
            }
        }
        self.improbe(source, tag)
    }
}
