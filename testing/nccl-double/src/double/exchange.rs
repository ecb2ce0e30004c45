//! One loop that lets all transfers of a group go on together, as far as rings have bytes or room.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::abi;
use super::comm::Comm;
use super::failure::Outcome;
use super::hooks;
use super::operation::{FACTOR, HEAD};
use super::region::{CHANNELS, Channel};
use super::waiting::{Stop, Waiting};
use super::world::World;

/// A block on its way to a peer.
pub(crate) struct Outgoing<'a> {
    pub(crate) head: [u8; HEAD],
    pub(crate) body: &'a [u8],
    sent: usize,
}

/// A block that is to come from a peer.
pub(crate) struct Incoming<'a> {
    /// What the peer has to say before it.
    expected: [u8; HEAD],
    head: [u8; HEAD],
    body: &'a mut [u8],
    factor: Option<&'a mut [u8; 8]>,
    got: usize,
}

/// All that is to be moved. What goes to or comes from one peer on one channel keeps its order.
pub(crate) struct Exchange<'a> {
    ranks: usize,
    outgoing: Vec<VecDeque<Outgoing<'a>>>,
    incoming: Vec<VecDeque<Incoming<'a>>>,
}

/// How often ranks have not called the same.
pub(crate) static MISMATCHES: AtomicUsize = AtomicUsize::new(0);

/// The channels that it moves bytes on.
const ALL: [Channel; 3] = [Channel::Collective, Channel::Pairwise, Channel::OneSided];

impl<'a> Exchange<'a> {
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            ranks,
            outgoing: (0..CHANNELS * ranks).map(|_| VecDeque::new()).collect(),
            incoming: (0..CHANNELS * ranks).map(|_| VecDeque::new()).collect(),
        }
    }

    pub(crate) fn send(&mut self, channel: Channel, dest: usize, head: [u8; HEAD], body: &'a [u8]) {
        let sent = 0;
        let queue = &mut self.outgoing[channel as usize * self.ranks + dest];
        queue.push_back(Outgoing { head, body, sent });
    }

    pub(crate) fn recv(
        &mut self,
        channel: Channel,
        source: usize,
        expected: [u8; HEAD],
        body: &'a mut [u8],
        factor: Option<&'a mut [u8; 8]>,
    ) {
        let queue = &mut self.incoming[channel as usize * self.ranks + source];
        queue.push_back(Incoming {
            expected,
            head: [0; HEAD],
            body,
            factor,
            got: 0,
        });
    }

    /// Moves everything. Where a peer says something else than was expected, this waits until it is
    /// told to stop, as NCCL does.
    pub(crate) fn run(mut self, comm: &Comm, world: &World, stop: Stop<'_>) -> Outcome {
        let mut waiting = Waiting::new(stop);
        loop {
            let mut moved = false;
            let mut left = false;
            for channel in ALL {
                for peer in 0..self.ranks {
                    let place = channel as usize * self.ranks + peer;
                    let outgoing = &mut self.outgoing[place];
                    while let Some(first) = outgoing.front_mut() {
                        moved |= first.advance(world, channel, peer);
                        if !first.is_over() {
                            break;
                        }
                        outgoing.pop_front();
                    }
                    let incoming = &mut self.incoming[place];
                    while let Some(first) = incoming.front_mut() {
                        match first.advance(world, channel, peer) {
                            Some(more) => moved |= more,
                            None => return never(comm, world, stop),
                        }
                        if !first.is_over() {
                            break;
                        }
                        incoming.pop_front();
                    }
                    left |= !outgoing.is_empty() || !incoming.is_empty();
                }
            }
            if !left {
                return Ok(());
            }
            if moved {
                hooks::die_if_asked();
                waiting.reset();
                continue;
            }
            if waiting.is_long() {
                notice_death(comm, world);
            }
            waiting.pause()?;
        }
    }
}

/// Waits until it is told to stop.
fn never(comm: &Comm, world: &World, stop: Stop<'_>) -> Outcome {
    MISMATCHES.fetch_add(1, Ordering::Relaxed);
    let mut waiting = Waiting::new(stop);
    loop {
        if waiting.is_long() {
            notice_death(comm, world);
        }
        waiting.pause()?;
    }
}

/// If it is to notice such things: a rank whose process is over is an asynchronous error, and what
/// is under way stays so.
pub(crate) fn notice_death(comm: &Comm, world: &World) {
    if hooks::notices_death() && comm.state() != abi::REMOTE_ERROR && world.dead_rank().is_some() {
        comm.fail(abi::REMOTE_ERROR);
    }
}

impl Outgoing<'_> {
    fn is_over(&self) -> bool {
        self.sent == HEAD + self.body.len()
    }

    /// Returns `true` if anything has moved.
    fn advance(&mut self, world: &World, channel: Channel, dest: usize) -> bool {
        let ring = world.to(channel, dest);
        let before = self.sent;
        if self.sent < HEAD {
            self.sent += ring.write(&self.head[self.sent..]);
        }
        if self.sent >= HEAD {
            self.sent += ring.write(&self.body[self.sent - HEAD..]);
        }
        self.sent != before
    }
}

impl Incoming<'_> {
    fn is_over(&self) -> bool {
        self.got == HEAD + self.body.len()
    }

    /// Whether anything has moved; `None` if what comes is not what was expected.
    fn advance(&mut self, world: &World, channel: Channel, source: usize) -> Option<bool> {
        let ring = world.from(channel, source);
        let before = self.got;
        if self.got < HEAD {
            self.got += ring.read(&mut self.head[self.got..]);
            if self.got == HEAD && !self.is_as_expected() {
                return None;
            }
        }
        if self.got >= HEAD {
            self.got += ring.read(&mut self.body[self.got - HEAD..]);
        }
        Some(self.got != before)
    }

    fn is_as_expected(&mut self) -> bool {
        let factor = FACTOR..FACTOR + 8;
        if let Some(place) = &mut self.factor {
            place.copy_from_slice(&self.head[factor.clone()]);
        }
        self.expected[factor.clone()].copy_from_slice(&self.head[factor]);
        self.head == self.expected
    }
}
