//! A communicator, and the handles that programs have of communicators.
//!
//! A handle is never used again for another communicator: who uses one after destroying or aborting
//! it is told, and counted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::abi::{self, Code, CommHandle};
use super::config::Wishes;
use super::cuda::{Driver, Place};
use super::failure::{Failure, Outcome};
use super::group::Background;
use super::launch::Turns;
use super::lock;
use super::one_sided::Signals;
use super::operator::PreMulSum;
use super::windows::Window;
use super::world::World;

/// One rank's communicator.
pub(crate) struct Comm {
    pub(crate) driver: &'static Driver,
    pub(crate) place: Place,
    pub(crate) wishes: Wishes,
    /// Set once all ranks have come.
    world: OnceLock<World>,
    /// What `ncclCommGetAsyncError` says.
    state: AtomicI32,
    /// Everything is to stop: the communicator is aborted, or one that it shares its resources
    /// with.
    pub(crate) aborted: Arc<AtomicBool>,
    /// What is on streams is to stop: it is revoked, or shrunk after a fault.
    pub(crate) stopped: AtomicBool,
    pub(crate) finalized: AtomicBool,
    pub(crate) suspended: AtomicBool,
    /// The group that works on it in the background.
    pub(crate) background: Mutex<Option<Arc<Background>>>,
    /// The order of what is enqueued.
    pub(crate) turns: Turns,
    /// The number of calls of each kind that all ranks have made together.
    calls: AtomicU64,
    pub(crate) operators: Mutex<HashMap<c_int, PreMulSum>>,
    pub(crate) registrations: Mutex<HashSet<usize>>,
    pub(crate) windows: Mutex<BTreeMap<u64, Arc<Window>>>,
    pub(crate) signals: Signals,
    /// An id for more ranks was made, and not used yet.
    pub(crate) id_for_growth: AtomicBool,
}

impl Comm {
    pub(crate) fn new(driver: &'static Driver, place: Place, wishes: Wishes) -> Arc<Self> {
        Self::sharing(driver, place, wishes, Arc::default())
    }

    /// One that is aborted when others of the same flag are.
    pub(crate) fn sharing(
        driver: &'static Driver,
        place: Place,
        wishes: Wishes,
        aborted: Arc<AtomicBool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            driver,
            place,
            wishes,
            world: OnceLock::new(),
            state: AtomicI32::new(abi::SUCCESS),
            aborted,
            stopped: AtomicBool::new(false),
            finalized: AtomicBool::new(false),
            suspended: AtomicBool::new(false),
            background: Mutex::new(None),
            turns: Turns::default(),
            calls: AtomicU64::new(0),
            operators: Mutex::default(),
            registrations: Mutex::default(),
            windows: Mutex::default(),
            signals: Signals::default(),
            id_for_growth: AtomicBool::new(false),
        })
    }

    pub(crate) fn begin_in(&self, world: World) {
        // Only the job that makes the communicator calls this.
        let _ = self.world.set(world);
    }

    pub(crate) fn world(&self) -> Outcome<&World> {
        let none = || Failure::argument("the communicator was not initialized");
        self.world.get().ok_or_else(none)
    }

    /// The number of the next call that all ranks make together.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn state(&self) -> Code {
        self.state.load(Ordering::Acquire)
    }

    /// Something has gone wrong that no call returns.
    pub(crate) fn fail(&self, code: Code) {
        self.state.store(code, Ordering::Release);
    }

    /// A group works on it in the background.
    pub(crate) fn begin(&self) {
        self.state.store(abi::IN_PROGRESS, Ordering::Release);
    }

    /// The group is over. An error that came up in the meantime stays.
    pub(crate) fn end(&self, code: Code) {
        let _ = self.state.compare_exchange(
            abi::IN_PROGRESS,
            code,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
    }

    /// Refuses a communicator that has failed, or whose former call goes on.
    pub(crate) fn ready(&self) -> Outcome {
        match self.state() {
            abi::SUCCESS => Ok(()),
            abi::IN_PROGRESS => Err(Failure::argument(
                "Attempt to use communicator before the previous operation returned ncclSuccess",
            )),
            code => Err(Failure::new(
                code,
                format!("the communicator has failed before, with code {code}"),
            )),
        }
    }

    /// Refuses one on which nothing more can be enqueued.
    pub(crate) fn ready_for_operations(&self) -> Outcome {
        self.ready()?;
        let refuse = |when| Err(Failure::usage(format!("the communicator {when}")));
        if self.finalized.load(Ordering::Acquire) {
            return refuse("was finalized");
        }
        if self.stopped.load(Ordering::Acquire) {
            return refuse("was revoked");
        }
        if self.suspended.load(Ordering::Acquire) {
            return refuse("is suspended");
        }
        Ok(())
    }

    /// What stops the calls of hosts.
    pub(crate) fn stop<'a>(&'a self, background: &'a Background) -> [&'a AtomicBool; 2] {
        [&self.aborted, &background.stop]
    }
}

/// What a handle points at: it tells whether its communicator is alive, and stays for ever.
struct Handle {
    comm: Mutex<Option<Arc<Comm>>>,
}

/// Every handle that was ever given.
static HANDLES: Mutex<BTreeMap<CommHandle, &'static Handle>> = Mutex::new(BTreeMap::new());
/// The number of communicators that are alive.
pub(crate) static LIVE: AtomicUsize = AtomicUsize::new(0);
/// The number of them in each context.
static IN_CONTEXT: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());
/// How often one was used that was not.
pub(crate) static USES_AFTER_FREE: AtomicUsize = AtomicUsize::new(0);

/// Gives a communicator a handle.
pub(crate) fn publish(comm: Arc<Comm>) -> CommHandle {
    *lock(&IN_CONTEXT).entry(comm.place.context).or_default() += 1;
    let handle: &'static Handle = Box::leak(Box::new(Handle {
        comm: Mutex::new(Some(comm)),
    }));
    let number = std::ptr::from_ref(handle).addr();
    lock(&HANDLES).insert(number, handle);
    LIVE.fetch_add(1, Ordering::Relaxed);
    number
}

/// The communicator of a handle.
pub(crate) fn of(number: CommHandle) -> Outcome<Arc<Comm>> {
    let comm = known(number)?;
    let comm = lock(&comm.comm).clone();
    comm.ok_or_else(used_after_free)
}

/// Takes the communicator from its handle, which is not to be used any more.
pub(crate) fn take(number: CommHandle) -> Outcome<Arc<Comm>> {
    let comm = known(number)?;
    let comm = lock(&comm.comm).take();
    let comm = comm.ok_or_else(used_after_free)?;
    LIVE.fetch_sub(1, Ordering::Relaxed);
    if let Some(count) = lock(&IN_CONTEXT).get_mut(&comm.place.context) {
        *count -= 1;
    }
    Ok(comm)
}

/// Returns `true` if there is a communicator in a context.
pub(crate) fn is_any_in(context: usize) -> bool {
    lock(&IN_CONTEXT)
        .get(&context)
        .is_some_and(|&count| count > 0)
}

fn known(number: CommHandle) -> Outcome<&'static Handle> {
    if number == 0 {
        return Err(Failure::argument("comm argument is NULL"));
    }
    let found = lock(&HANDLES).get(&number).copied();
    found.ok_or_else(|| Failure::argument("Error: corrupted comm object detected"))
}

fn used_after_free() -> Failure {
    USES_AFTER_FREE.fetch_add(1, Ordering::Relaxed);
    Failure::argument("Error: corrupted comm object detected: it was destroyed or aborted")
}
