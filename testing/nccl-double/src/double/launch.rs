//! From a group to its streams: what is sent is copied to the host when the stream comes to it, the
//! exchange runs as a function of the stream, and what has come is copied to the device.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::abi::{self, Stream};
use super::arithmetic;
use super::comm::Comm;
use super::exchange::Exchange;
use super::failure::Outcome;
use super::lock;
use super::operation::{Kind, Task, head_of_collective, head_of_message, head_of_put};
use super::operator::{Factor, Operator};
use super::pinned::Pinned;
use super::region::Channel;
use super::waiting::{Stop, Waiting};
use super::world::World;

/// The order in which what is enqueued on a communicator runs, on whichever streams.
#[derive(Default)]
pub(crate) struct Turns(Mutex<Order>);

#[derive(Default)]
struct Order {
    next: u64,
    running: u64,
    /// The number of plans that are not freed yet.
    open: usize,
    /// The number of collective operations so far.
    collectives: u64,
    /// Turns that nobody will take.
    skipped: BTreeSet<u64>,
}

impl Turns {
    fn take(&self) -> u64 {
        let mut order = lock(&self.0);
        order.next += 1;
        order.next - 1
    }

    fn end(&self, turn: u64) {
        let mut order = lock(&self.0);
        order.skipped.insert(turn);
        loop {
            let running = order.running;
            if !order.skipped.remove(&running) {
                break;
            }
            order.running += 1;
        }
    }

    /// The number of the next collective operation.
    fn number(&self) -> u64 {
        let mut order = lock(&self.0);
        order.collectives += 1;
        order.collectives
    }

    fn is_running(&self, turn: u64) -> bool {
        lock(&self.0).running == turn
    }

    fn open(&self) {
        lock(&self.0).open += 1;
    }

    fn close(&self) {
        lock(&self.0).open -= 1;
    }

    /// Returns `true` if all that was enqueued is over, and its results are on the device.
    pub(crate) fn are_over(&self) -> bool {
        lock(&self.0).open == 0
    }
}

/// A task with the memory that it needs on the host.
struct Staged {
    task: Task,
    /// The number of collective operations before it.
    number: u64,
    /// What this rank sends.
    input: Pinned,
    /// What comes: a block of each rank, or of one.
    landing: Pinned,
    /// What a reduction makes of it.
    result: Pinned,
    /// The factor of this rank, if it has one.
    factor: Pinned,
    /// The factor of each rank.
    factors: Vec<[u8; 8]>,
}

/// What a group does on one communicator.
struct Plan {
    comm: Arc<Comm>,
    staged: Vec<Staged>,
    /// Operations that wait for signals alone are in no order.
    turn: Option<u64>,
}

/// The number of plans that are on streams.
pub(crate) static PENDING: AtomicUsize = AtomicUsize::new(0);

/// What is found in memory that an operation was to fill which was stopped.
const POISON: u8 = 0xdd;

/// Enqueues the tasks of a group.
pub(crate) fn enqueue(comm: &Arc<Comm>, tasks: Vec<Task>) -> Outcome {
    let (driver, world) = (comm.driver, comm.world()?);
    let _entered = driver.enter(comm.place.context)?;
    let Some(main) = tasks.first().map(|task| task.stream) else {
        return Ok(());
    };
    let mut others: Vec<Stream> = tasks.iter().map(|task| task.stream).collect();
    others.retain(|&stream| stream != main);
    others.dedup();
    for &other in &others {
        // SAFETY: streams of the caller, who keeps them alive for the call.
        unsafe { driver.order(other, main) }?;
    }
    let in_order = tasks.iter().any(|task| task.kind != Kind::WaitSignal);
    let stage = |task| Staged::new(task, comm, world);
    let staged: Outcome<Vec<_>> = tasks.into_iter().map(stage).collect();
    let mut plan = Box::new(Plan {
        comm: Arc::clone(comm),
        staged: staged?,
        turn: in_order.then(|| comm.turns.take()),
    });
    if let Err(failure) = plan.fetch(main) {
        // A copy that is enqueued already may still write to the plan: it stays.
        if let Some(turn) = plan.turn {
            comm.turns.end(turn);
        }
        std::mem::forget(plan);
        return Err(failure);
    }
    let homes: Vec<Home> = plan.staged.iter_mut().filter_map(Staged::home).collect();
    comm.turns.open();
    PENDING.fetch_add(1, Ordering::AcqRel);
    let plan: *mut Plan = Box::into_raw(plan);
    // SAFETY: the plan stays until `finish` has run, behind this on the same stream.
    if let Err(failure) = unsafe { driver.cuLaunchHostFunc(main, run, plan.cast()) } {
        PENDING.fetch_sub(1, Ordering::AcqRel);
        comm.turns.close();
        // SAFETY: nobody else was given the plan.
        let plan = unsafe { &*plan };
        if let Some(turn) = plan.turn {
            comm.turns.end(turn);
        }
        return Err(failure.into());
    }
    let bring = |home: &Home| {
        // SAFETY: the memory is the plan's, which stays until `finish`; whose device memory it is,
        // the driver checks.
        unsafe { driver.cuMemcpyHtoDAsync(home.to, home.from, home.length, main) }
    };
    let brought = homes.iter().try_for_each(bring);
    // SAFETY: as above; the plan is not touched here any more.
    let finished = unsafe { driver.cuLaunchHostFunc(main, finish, plan.cast()) };
    brought.and(finished)?;
    for &other in &others {
        // SAFETY: streams of the caller.
        unsafe { driver.order(main, other) }?;
    }
    Ok(())
}

/// Where a result lies on the host, and goes to on the device.
struct Home {
    to: u64,
    from: *const u8,
    length: usize,
}

impl Staged {
    fn new(task: Task, comm: &Comm, world: &World) -> Outcome<Self> {
        let (ranks, rank) = (world.ranks, world.rank);
        let bytes = |length| Pinned::zeroed(comm.driver, comm.place.context, length);
        let received = task.blocks_received(ranks, rank);
        let reduced = if task.reduces() { received.min(1) } else { 0 };
        let block = task.block();
        let number = if task.is_collective() {
            comm.turns.number()
        } else {
            0
        };
        Ok(Self {
            number,
            input: bytes(block.saturating_mul(task.blocks_sent(ranks, rank)))?,
            landing: bytes(block.saturating_mul(received))?,
            result: bytes(block.saturating_mul(reduced))?,
            factor: bytes(8)?,
            factors: vec![[0; 8]; ranks],
            task,
        })
    }

    /// Where its result goes to, if it has one.
    fn home(&mut self) -> Option<Home> {
        let result = if self.task.reduces() {
            &mut self.result
        } else {
            &mut self.landing
        };
        let home = Home {
            to: self.task.recv,
            from: result.as_mut_ptr(),
            length: result.len(),
        };
        (home.length > 0).then_some(home)
    }

    /// The block that this rank has for itself goes its way here.
    fn keep_own(&mut self, rank: usize) {
        let block = self.task.block();
        let from = self.task.block_for(rank, rank);
        let to = self.task.block_from(rank, rank);
        if let (Some(from), Some(to)) = (from, to) {
            let from = &self.input[from * block..(from + 1) * block];
            self.landing[to * block..(to + 1) * block].copy_from_slice(from);
        }
        self.factors[rank] = self.own_factor();
    }

    fn own_factor(&self) -> [u8; 8] {
        self.factor[..].try_into().unwrap_or([0; 8])
    }

    fn reduce(&mut self) {
        if !self.result.is_empty() {
            let blocks: Vec<&[u8]> = self.landing.chunks(self.task.block().max(1)).collect();
            let operator = self.task.operator;
            let (dtype, factors) = (self.task.dtype, &self.factors);
            arithmetic::reduce(dtype, operator, &blocks, factors, &mut self.result);
        }
    }
}

impl Plan {
    /// Enqueues the copies of what is sent to the host.
    fn fetch(&mut self, stream: Stream) -> Outcome {
        let driver = self.comm.driver;
        for staged in &mut self.staged {
            let task = &staged.task;
            if !staged.input.is_empty() {
                let to = staged.input.as_mut_ptr();
                // SAFETY: the plan stays until the copy is over; whose device memory it is, the
                // driver checks.
                unsafe { driver.cuMemcpyDtoHAsync(to, task.send, staged.input.len(), stream) }?;
            }
            match task.operator {
                Operator::PreMulSum(Factor::Known(bytes)) => staged.factor.copy_from_slice(&bytes),
                Operator::PreMulSum(Factor::OnDevice(address)) => {
                    let to = staged.factor.as_mut_ptr();
                    // SAFETY: the same.
                    unsafe { driver.cuMemcpyDtoHAsync(to, address, task.dtype.size(), stream) }?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What the stream does when it comes to it.
    fn run(&mut self) {
        let comm = Arc::clone(&self.comm);
        let stop: Stop<'_> = &[&comm.aborted, &comm.stopped];
        let outcome = self.exchange(&comm, stop);
        if outcome.is_err() {
            for staged in &mut self.staged {
                staged.landing.fill(POISON);
                staged.result.fill(POISON);
            }
        }
        if let Some(turn) = self.turn {
            comm.turns.end(turn);
        }
    }

    fn exchange(&mut self, comm: &Comm, stop: Stop<'_>) -> Outcome {
        let world = comm.world()?;
        if let Some(turn) = self.turn {
            let mut waiting = Waiting::new(stop);
            while !comm.turns.is_running(turn) {
                waiting.pause()?;
            }
        }
        for staged in &mut self.staged {
            staged.keep_own(world.rank);
        }
        let mut exchange = Exchange::new(world.ranks);
        for staged in &mut self.staged {
            staged.add_to(&mut exchange, world);
        }
        exchange.run(comm, world, stop)?;
        for staged in &mut self.staged {
            staged.reduce();
            comm.signals
                .wait_for(comm, world, &staged.task.waits, stop)?;
        }
        Ok(())
    }
}

impl Staged {
    /// Adds what it sends and receives to what is moved together.
    fn add_to<'a>(&'a mut self, exchange: &mut Exchange<'a>, world: &World) {
        let factor = self.own_factor();
        let Self {
            task,
            number,
            input,
            landing,
            factors,
            ..
        } = self;
        let block = task.block();
        match task.kind {
            Kind::Send => {
                exchange.send(Channel::Pairwise, task.root, head_of_message(task), input);
            }
            Kind::Recv => {
                let expected = head_of_message(task);
                exchange.recv(Channel::Pairwise, task.root, expected, landing, None);
            }
            Kind::PutSignal | Kind::Signal => {
                exchange.send(Channel::OneSided, task.root, head_of_put(task), input);
            }
            Kind::WaitSignal => {}
            _ => {
                let head = head_of_collective(task, *number, factor);
                let mut blocks: Vec<Option<&mut [u8]>> =
                    landing.chunks_mut(block.max(1)).map(Some).collect();
                for (peer, factor) in factors.iter_mut().enumerate() {
                    if peer == world.rank {
                        continue;
                    }
                    let body = task.block_for(world.rank, peer);
                    let body = body.map_or(&[][..], |at| &input[at * block..(at + 1) * block]);
                    exchange.send(Channel::Collective, peer, head, body);
                    let at = task.block_from(world.rank, peer);
                    let room = at.and_then(|at| blocks.get_mut(at)).and_then(Option::take);
                    let room = room.unwrap_or_default();
                    exchange.recv(Channel::Collective, peer, head, room, Some(factor));
                }
            }
        }
    }
}

/// Runs a plan on a stream.
///
/// # Safety
/// `plan` is a plan that nobody else works on.
unsafe extern "C" fn run(plan: *mut c_void) {
    // SAFETY: the caller's promise: `enqueue` has made it, and `finish` comes later on the same
    // stream.
    let plan = unsafe { &mut *plan.cast::<Plan>() };
    if catch_unwind(AssertUnwindSafe(|| plan.run())).is_err() {
        plan.comm.fail(abi::INTERNAL_ERROR);
    }
}

/// Frees a plan when its results are on the device.
///
/// # Safety
/// `plan` is a plan that nobody else works on, now or later.
unsafe extern "C" fn finish(plan: *mut c_void) {
    // SAFETY: the caller's promise: `enqueue` has made it of a box, and what works on it came
    // before on the same stream.
    let plan = unsafe { Box::from_raw(plan.cast::<Plan>()) };
    let comm = Arc::clone(&plan.comm);
    let _ = catch_unwind(AssertUnwindSafe(|| drop(plan)));
    comm.turns.close();
    PENDING.fetch_sub(1, Ordering::AcqRel);
}

/// Waits until all that was enqueued on a communicator is over.
pub(crate) fn drain(comm: &Comm, stop: Stop<'_>) -> Outcome {
    let mut waiting = Waiting::new(stop);
    while !comm.turns.are_over() {
        waiting.pause()?;
    }
    Ok(())
}
