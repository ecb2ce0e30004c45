//! What the hosts of ranks tell each other outside of streams: short messages, from pair to pair in
//! order.
//!
//! Whoever waits for a message of one kind lets those of other kinds go: they belong to a call that
//! was given up.

use super::failure::Outcome;
use super::lock;
use super::region::{CAPACITY, Channel};
use super::waiting::{Stop, Waiting};
use super::world::World;

/// What a message is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Split = 1,
    NewId = 2,
    Window = 3,
    Grow = 4,
}

/// Bytes before those of a message: its length, what it is about, and a number that tells its call.
const HEAD: usize = 16;

fn head(about: About, call: u64, length: usize) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&u32::try_from(length).unwrap_or(0).to_ne_bytes());
    head[4..8].copy_from_slice(&(about as u32).to_ne_bytes());
    head[8..].copy_from_slice(&call.to_ne_bytes());
    head
}

impl World {
    /// Tells a rank something.
    pub(crate) fn tell(
        &self,
        dest: usize,
        about: About,
        call: u64,
        data: &[u8],
        stop: Stop<'_>,
    ) -> Outcome {
        let mut message = head(about, call, data.len()).to_vec();
        message.extend_from_slice(data);
        assert!(message.len() <= CAPACITY);
        let mut waiting = Waiting::new(stop);
        loop {
            {
                let _alone = lock(&self.control);
                let ring = self.to(Channel::Control, dest);
                if ring.writable() >= message.len() {
                    ring.write(&message);
                    return Ok(());
                }
            }
            waiting.pause()?;
        }
    }

    /// The next message of that kind from a rank, if it is there.
    pub(crate) fn heard(&self, source: usize, about: About, call: u64) -> Option<Vec<u8>> {
        let _alone = lock(&self.control);
        let ring = self.from(Channel::Control, source);
        while ring.readable() >= HEAD {
            let mut found = [0; HEAD];
            ring.read(&mut found);
            let length = <[u8; 4]>::try_from(&found[..4]).map_or(0, u32::from_ne_bytes);
            let length = usize::try_from(length).unwrap_or(0).min(ring.readable());
            let mut data = vec![0; length];
            ring.read(&mut data);
            if found == head(about, call, length) {
                return Some(data);
            }
        }
        None
    }

    /// Waits for a message of that kind from a rank.
    pub(crate) fn listen(
        &self,
        source: usize,
        about: About,
        call: u64,
        stop: Stop<'_>,
    ) -> Outcome<Vec<u8>> {
        let mut waiting = Waiting::new(stop);
        loop {
            if let Some(data) = self.heard(source, about, call) {
                return Ok(data);
            }
            waiting.pause()?;
        }
    }

    /// Gives each of `ranks`, of which this is one, what all of them say, in their order.
    pub(crate) fn all_say(
        &self,
        ranks: &[usize],
        about: About,
        call: u64,
        data: &[u8],
        stop: Stop<'_>,
    ) -> Outcome<Vec<Vec<u8>>> {
        for &rank in ranks {
            self.tell(rank, about, call, data, stop)?;
        }
        let hear = |&rank: &usize| self.listen(rank, about, call, stop);
        ranks.iter().map(hear).collect()
    }
}
