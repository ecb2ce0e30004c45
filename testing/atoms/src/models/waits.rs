//! Waits in process: who waits is woken by what it waits for, and sees it. Where a wakeup is lost,
//! no thread of the model can go on, which loom says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Memory, shared};
use crate::ErrorKind;
use crate::data::raw_slice::Element;
use crate::transport::in_process::mailbox::{Envelope, Pattern, Receipt};
use crate::transport::in_process::payload::Payload;
use crate::transport::in_process::world::World;

const RANKS: [usize; 2] = [0, 1];

fn world() -> Arc<World> {
    let world = World::limited(RANKS.len(), None);
    // How a world is shown leaves out what it holds.
    drop(format!("{:?}", world.mailboxes));
    drop(format!("{:?}{:?}", world.failures, world.failed));
    drop(format!("{:?}{:?}", world.revoked, world.any_revoked));
    Arc::new(world)
}

/// A message of rank 1.
fn message(byte: u8, receipt: Option<Receipt>) -> Envelope {
    Envelope {
        source: 1,
        tag: 7,
        payload: Payload(byte),
        element: Element,
        collective: None,
        receipt,
    }
}

/// The pattern that matches it.
const PATTERN: Pattern = Pattern {
    context: 0,
    source: Some(1),
    tag: Some(7),
};

/// A flag that no lock protects: who waits sees it, or is woken. Fails without the fence in
/// `sleeper` or in `wake_each`.
pub(super) fn a_change_wakes_who_waits_for_it() {
    let world = world();
    let it = shared((AtomicBool::new(false), Memory::default()));
    let (changer, change) = (world.clone(), it.clone());
    let changer = thread::spawn(move || {
        change.1.write(5);
        change.0.store(true, Ordering::Release);
        changer.wake(0);
    });
    let found = world.wait_for("MPI_Barrier", 0, || match it.0.load(Ordering::Acquire) {
        true => Ok(it.1.read()),
        false => Err((1, 1)),
    });
    assert_eq!(found.unwrap(), 5);
    changer.join().unwrap();
}

/// A message wakes who waits for it, and is taken whole. Fails if who sleeps does not say for
/// what.
pub(super) fn a_message_wakes_its_receiver() {
    let world = world();
    let sender = world.clone();
    let sender = thread::spawn(move || sender.deliver(0, 0, message(3, None)));
    let message = world.receive("MPI_Recv", 0, &PATTERN, &RANKS).unwrap();
    assert_eq!((message.payload.0, message.tag), (3, 7));
    sender.join().unwrap();
}

/// A rank sends and ends: its message is received, and whoever waits for another one is told that
/// there is none. Fails if `end` wakes nobody.
pub(super) fn an_end_wakes_the_receiver() {
    let world = world();
    let sender = world.clone();
    let sender = thread::spawn(move || {
        sender.deliver(0, 0, message(3, None));
        sender.end(1);
    });
    let receive = || world.receive("MPI_Recv", 0, &PATTERN, &RANKS);
    assert_eq!(receive().unwrap().payload.0, 3);
    assert_eq!(receive().unwrap_err().kind(), ErrorKind::PeerFailed);
    sender.join().unwrap();
}

/// A rank sets a flag and ends: who waits for the flag finds it, and is not told that the rank has
/// ended without doing its part. Fails if the load of `ended` in `look_for` is relaxed.
pub(super) fn what_a_rank_did_before_its_end_is_seen() {
    let world = world();
    let flag = shared(AtomicBool::new(false));
    let (other, set) = (world.clone(), flag.clone());
    let other = thread::spawn(move || {
        set.store(true, Ordering::Relaxed);
        other.end(1);
    });
    let found = world.wait_for("MPI_Barrier", 0, || {
        flag.load(Ordering::Relaxed).then_some(()).ok_or((1, 1))
    });
    assert!(found.is_ok());
    other.join().unwrap();
}

/// A rank fails: who waits for another one is told. Fails if `fail` wakes nobody.
pub(super) fn a_failure_ends_a_wait() {
    let world = world();
    let other = world.clone();
    let other = thread::spawn(move || other.fail(1, "no memory".to_owned()));
    let outcome = world.receive("MPI_Recv", 0, &PATTERN, &RANKS);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::PeerFailed);
    other.join().unwrap();
}

/// A communicator is revoked: who waits on it is told. Fails if `revoke` wakes before it has set
/// the flag.
pub(super) fn a_revocation_ends_a_wait() {
    let world = world();
    let other = world.clone();
    let other = thread::spawn(move || other.revoke(0));
    let outcome = world.receive("MPI_Recv", 0, &PATTERN, &RANKS);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Revoked);
    other.join().unwrap();
}

/// A synchronous send waits until its message is matched. Fails if `acknowledge` wakes nobody.
pub(super) fn a_match_wakes_its_sender() {
    let world = world();
    let receipt = shared(Receipt::new(1, 0));
    let (sender, mine) = (world.clone(), receipt);
    let sender = thread::spawn(move || {
        sender.deliver(0, 0, message(3, Some(Receipt::clone(&mine))));
        sender.await_receipt("MPI_Ssend", &mine, 0).unwrap();
    });
    world.receive("MPI_Recv", 0, &PATTERN, &RANKS).unwrap();
    sender.join().unwrap();
}
