//! Thousands of messages of every kind in flight, each of which must arrive once and whole.
//!
//! All that is random follows from numbers that every rank knows, so that a run can be repeated. In
//! each round every rank first posts its receives, then starts its sends, and waits only then: no
//! order of the ranks can make them wait for each other.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    reason = "numbers of ranks and messages are small"
)]

mod messages;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use ranks_comm::{
    Backend, Communicator, Error, ErrorKind, Outbox, Request, Result, Runtime, ScopedRequest,
    Source, Tag,
};

use messages::{Item, Load, Receive, Sending, hash, items};

/// Of 4 ranks: 10 000 messages.
const FULL: Load = Load {
    rounds: 25,
    tagged: 16,
    ordered: 16,
    wild: 5,
    longest: 1 << 20,
};

/// The load for a tool that slows everything down: of 2 ranks some hundred messages.
const SMALL: Load = Load {
    // Miri is a thousand times slower.
    rounds: if cfg!(miri) { 1 } else { 4 },
    tagged: 12,
    ordered: 8,
    wild: 4,
    longest: if cfg!(miri) { 600 } else { 12_000 },
};

/// A request of some kind.
enum Owned {
    Vector(Request<Vec<u8>>),
    Boxed(Request<Box<[u8]>>),
}

impl Owned {
    fn over_after(&mut self, limit: Option<Duration>) -> Result<bool> {
        match (self, limit) {
            (Self::Vector(request), Some(limit)) => request.wait_timeout(limit),
            (Self::Boxed(request), Some(limit)) => request.wait_timeout(limit),
            (Self::Vector(request), None) => request.test(),
            (Self::Boxed(request), None) => request.test(),
        }
    }

    /// Waits, and returns the bytes that have arrived.
    fn wait(self) -> Result<Vec<u8>> {
        let (mut buffer, status) = match self {
            Self::Vector(request) => request.wait()?,
            Self::Boxed(request) => {
                let (buffer, status) = request.wait()?;
                (buffer.into_vec(), status)
            }
        };
        buffer.truncate(status.bytes());
        Ok(buffer)
    }
}

/// The rank's own choices.
struct Dice(usize, usize);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.1 += 1;
        hash(&[self.0, self.1]) % sides
    }
}

/// Waits for all of them in a random order and in every way, and passes each to `over` with its
/// index.
fn complete(
    dice: &mut Dice,
    requests: Vec<Owned>,
    mut over: impl FnMut(usize, Vec<u8>),
) -> Result<()> {
    let mut left: Vec<(usize, Owned)> = requests.into_iter().enumerate().collect();
    while !left.is_empty() {
        let (place, mut request) = left.swap_remove(dice.roll(left.len()));
        let limit = match dice.roll(4) {
            0 => None,
            1 => Some(Duration::from_micros(200)),
            _ => Some(Duration::MAX),
        };
        match limit {
            Some(Duration::MAX) => over(place, request.wait()?),
            limit => {
                if request.over_after(limit)? {
                    over(place, request.wait()?);
                } else {
                    left.push((place, request));
                }
            }
        }
    }
    Ok(())
}

fn begin_receive(
    dice: &mut Dice,
    comm: &Communicator,
    room: usize,
    source: impl Into<Source>,
    tag: impl Into<Tag>,
) -> Result<Owned> {
    Ok(match dice.roll(3) {
        0 => Owned::Vector(comm.irecv(vec![0xee; room], source, tag)?),
        1 => Owned::Boxed(comm.irecv(vec![0xee; room].into_boxed_slice(), source, tag)?),
        _ => Owned::Vector(comm.irecv_vec(source, tag)?),
    })
}

/// Returns when all ranks have come here.
fn meet(world: &Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut step = 1;
    while step < size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        world.sendrecv(&[0u8], to, 32_000, &mut [0u8], from, 32_000)?;
        step *= 2;
    }
    Ok(())
}

/// A scope that panics gives back its memory, and leaves nothing behind.
fn unwind(comm: &Communicator) {
    let mut never = vec![0x11u8; 3000];
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        comm.scope(|s| -> Result<()> {
            s.irecv(&mut never, Source::Any, 31_000)?;
            resume_unwind(Box::new("half-way"));
        })
    }));
    assert!(outcome.is_err());
    assert!(never.iter().all(|&byte| byte == 0x11));
    let error: Result<()> = comm.scope(|s| {
        s.irecv(&mut never, Source::Any, 31_000)?;
        s.isend(&[1u8], comm.size(), 0).map(drop)
    });
    assert!(error.is_err(), "no such rank");
}

/// One round on the communicators of the three kinds.
fn round(comms: &[Communicator; 3], load: Load, dice: &mut Dice, number: usize) -> Result<()> {
    let (me, size) = (comms[0].rank(), comms[0].size());
    let [tagged, ordered, wild] = comms;
    let to_me = |kind| items(load, size, number, kind, |item| item.dest == me);
    let of_mine = |kind| items(load, size, number, kind, |item| item.source == me);

    // Receives.
    let (mut arriving, mut expected, mut scoped) = (Vec::new(), Vec::new(), Vec::new());
    for item in to_me(0) {
        let (room, tag) = (item.bytes(load) + item.random(6) % 3, item.tag(load, size));
        let source = if item.random(7) % 3 == 0 {
            Source::Any
        } else {
            Source::Rank(item.source)
        };
        let request = match item.ways().1 {
            Receive::Vector => Owned::Vector(tagged.irecv(vec![0xee; room], source, tag)?),
            Receive::Boxed => {
                Owned::Boxed(tagged.irecv(vec![0xee; room].into_boxed_slice(), source, tag)?)
            }
            Receive::AnyLength => Owned::Vector(tagged.irecv_vec(source, tag)?),
            Receive::Dropped => {
                drop(tagged.irecv(vec![0xee; room], source, tag)?);
                continue;
            }
            Receive::DroppedAnyLength => {
                drop(tagged.irecv_vec::<u8>(source, tag)?);
                continue;
            }
            Receive::Scoped => {
                scoped.push((item, vec![0xee; room], source));
                continue;
            }
        };
        arriving.push(request);
        expected.push(item);
    }
    let line = to_me(1);
    let (early, late) = line.split_at(line.len() * 3 / 4);
    for item in early {
        let source = if dice.roll(2) == 0 {
            Source::Any
        } else {
            Source::Rank(item.source)
        };
        let tag = if dice.roll(2) == 0 {
            Tag::Any
        } else {
            Tag::Value(item.tag(load, size))
        };
        arriving.push(begin_receive(dice, ordered, item.bytes(load), source, tag)?);
        expected.push(*item);
    }
    let mut anybody = Vec::new();
    for source in 0..size {
        for _ in 0..load.wild - 2 {
            anybody.push(begin_receive(dice, wild, 5000, source, Tag::Any)?);
        }
    }
    for _ in 0..2 * size {
        anybody.push(begin_receive(dice, wild, 5000, Source::Any, Tag::Any)?);
    }

    // Sends.
    let (mut leaving, mut borrowed) = (Vec::new(), Vec::new());
    let mut queues = [of_mine(0), of_mine(1), of_mine(2)].map(Vec::into_iter);
    let mut open = vec![0, 1, 2];
    while !open.is_empty() {
        let place = dice.roll(open.len());
        let Some(item) = queues[open[place]].next() else {
            open.swap_remove(place);
            continue;
        };
        let (payload, tag) = (item.payload(load), item.tag(load, size));
        let (comm, way) = (&comms[item.kind], item.ways().0);
        match way {
            _ if item.kind != 0 => {
                leaving.push(Owned::Vector(comm.isend(payload, item.dest, tag)?));
            }
            Sending::Standard => leaving.push(Owned::Vector(comm.isend(payload, item.dest, tag)?)),
            Sending::Synchronous => {
                leaving.push(Owned::Vector(comm.issend(payload, item.dest, tag)?));
            }
            Sending::Dropped => drop(comm.isend(payload, item.dest, tag)?),
            Sending::DroppedSynchronous => drop(comm.issend(payload, item.dest, tag)?),
            Sending::Scoped | Sending::ScopedSynchronous => {
                borrowed.push((item, payload, tag, way))
            }
        }
    }

    // From here on ranks may wait for each other.
    if dice.roll(3) == 0 {
        unwind(tagged);
    }
    tagged.scope(|s| {
        let mut begun: Vec<ScopedRequest<'_, &mut [u8]>> = Vec::new();
        for (item, room, source) in &mut scoped {
            let request = s.irecv(&mut room[..], *source, item.tag(load, size))?;
            match dice.roll(3) {
                0 => std::mem::forget(request),
                1 => drop(request),
                _ => begun.push(request),
            }
        }
        for (item, payload, tag, way) in &borrowed {
            let request = if *way == Sending::Scoped {
                s.isend(payload, item.dest, *tag)?
            } else {
                s.issend(payload, item.dest, *tag)?
            };
            match dice.roll(4) {
                0 => std::mem::forget(request),
                1 => drop(request.wait()?),
                _ => {}
            }
        }
        while !begun.is_empty() {
            let mut request = begun.swap_remove(dice.roll(begun.len()));
            match dice.roll(4) {
                0 => drop(request.test()?),
                1 => drop(request.wait_timeout(Duration::from_micros(100))?),
                2 => drop(request),
                _ => {
                    request.wait()?;
                }
            }
        }
        Ok::<(), Error>(())
    })?;
    for (item, room, _) in &scoped {
        let length = item.bytes(load);
        item.check(load, &room[..length]);
        assert!(room[length..].iter().all(|&byte| byte == 0xee), "{item:?}");
    }
    for item in late {
        let mut room = vec![0u8; item.bytes(load)];
        ordered.recv(&mut room, item.source, item.tag(load, size))?;
        item.check(load, &room);
    }
    complete(dice, arriving, |place, got| {
        expected[place].check(load, &got);
    })?;

    // The messages of one sender match the receives in the order of both.
    let mut received = vec![None; anybody.len()];
    complete(dice, anybody, |place, got| {
        let word =
            |at: usize| u64::from_le_bytes(got[at..at + 8].try_into().expect("8 bytes")) as usize;
        let (source, index) = (word(0), word(8));
        assert!(source < size && index < load.wild);
        let item = Item {
            source,
            dest: me,
            round: number,
            kind: 2,
            index,
        };
        item.check(load, &got);
        received[place] = Some((source, index));
    })?;
    for source in 0..size {
        let order: Vec<usize> = received
            .iter()
            .flatten()
            .filter(|(from, _)| *from == source)
            .map(|(_, index)| *index)
            .collect();
        assert_eq!(
            order,
            (0..load.wild).collect::<Vec<_>>(),
            "of rank {source}"
        );
    }
    complete(dice, leaving, |_, _| ())
}

fn stress(world: &Communicator, load: Load) -> Result<()> {
    let comms = [world.dup()?, world.dup()?, world.dup()?];
    let mut dice = Dice(world.rank() + 1, 0);
    for number in 0..load.rounds {
        round(&comms, load, &mut dice, number)?;
        meet(world)?;
    }
    for comm in &comms {
        assert!(
            comm.iprobe(Source::Any, Tag::Any)?.is_none(),
            "nothing is left"
        );
    }
    Ok(())
}

#[ranks_test::ranks(4, timeout = 180)]
fn ten_thousand_messages_arrive_once_and_whole(world: Communicator) -> Result<()> {
    stress(&world, FULL)
}

#[ranks_test::ranks(2, timeout = 300)]
fn some_hundred_messages_arrive_once_and_whole(world: Communicator) -> Result<()> {
    stress(&world, SMALL)
}

/// A request that is forgotten leaks its buffer and its communicator, and with that the runtime,
/// which `run` tells: over MPI the job ends without `MPI_Finalize`.
#[test]
fn forgotten_requests_only_leak() {
    for ranks in [1, 2, 4] {
        let builder = Runtime::builder().backend(Backend::InProcess).ranks(ranks);
        let error = builder.run(forget_requests).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InUse, "{error}");
    }
}

fn forget_requests(world: Communicator) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for number in 0..50 {
        std::mem::forget(world.irecv(vec![0u8; 100], left, number)?);
        std::mem::forget(world.irecv_vec::<u8>(left, 1000)?);
        std::mem::forget(world.isend(vec![1u8; 100], right, number)?);
        std::mem::forget(world.issend(vec![2u8; 100], right, 1000)?);
        let receiving = world.irecv(vec![0u8; 10], left, 2000)?;
        world.send(&[number as u8; 10], right, 2000)?;
        assert_eq!(receiving.wait()?.0, [number as u8; 10]);
    }
    Ok(())
}

/// Stages of a pipeline: each sends to its neighbours on both sides before it receives from either.
#[ranks_test::ranks(2, 3, 4)]
fn stages_of_a_pipeline_send_before_they_receive(world: Communicator) -> Result<()> {
    const LENGTH: usize = if cfg!(miri) { 100 } else { 100_000 };
    const STEPS: usize = 6;
    let (rank, last) = (world.rank(), world.size() - 1);
    let mut outbox = Outbox::new(&world, 4 * LENGTH * 8);
    for step in 0..STEPS {
        let value = (1000 * rank + step) as f64;
        if rank < last {
            outbox.send(&vec![value; LENGTH], rank + 1, 1)?;
            outbox.sync()?;
        }
        if rank > 0 {
            outbox.send(&vec![-value; LENGTH], rank - 1, 2)?;
            outbox.sync()?;
        }
        assert!(outbox.held() <= 4 * LENGTH * 8);
        let mut got = vec![0f64; LENGTH];
        if rank < last {
            world.recv(&mut got, rank + 1, 2)?;
            assert!(got.iter().all(|&got| got == -value - 1000.0));
        }
        if rank > 0 {
            world.recv(&mut got, rank - 1, 1)?;
            assert!(got.iter().all(|&got| got == value - 1000.0));
        }
    }
    outbox.finish()
}

/// An outbox without room continues as the receiver takes its messages.
#[ranks_test::ranks(2, 3)]
fn an_outbox_waits_for_room(world: Communicator) -> Result<()> {
    if world.rank() == 0 {
        let mut outbox = Outbox::new(&world, 300_000);
        for number in 0..20u32 {
            for dest in 1..world.size() {
                outbox.send(&vec![number; 50_000], dest, 0)?;
                assert!(outbox.held() <= 300_000);
            }
        }
        // Longer than all the room.
        for dest in 1..world.size() {
            outbox.send(&vec![9u8; 1_000_000], dest, 1)?;
        }
        assert!(outbox.send(&[1u8], world.size(), 0).is_err());
        outbox.finish()
    } else {
        for number in 0..20u32 {
            let (got, _) = world.recv_vec::<u32>(0, 0)?;
            assert_eq!((got.len(), got.first()), (50_000, Some(&number)));
        }
        assert_eq!(world.recv_vec::<u8>(0, 1)?.0.len(), 1_000_000);
        Ok(())
    }
}
