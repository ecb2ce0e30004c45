//! This PE, and whether functions may be called.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};

use super::abi::{self, Stream};
use super::cuda::{Place, must};
use super::heap::Heap;
use super::outbox::Outbox;
use super::region::{LINES, Region};
use super::stream::Pool;
use super::teams::Table;
use super::{fatal, hooks, lock};

/// How often functions were called after the end.
pub(crate) static CALLS_AFTER_FINALIZE: AtomicUsize = AtomicUsize::new(0);

/// How often functions were called on another thread than that of the init.
pub(crate) static CALLS_OF_OTHER_THREADS: AtomicUsize = AtomicUsize::new(0);

/// This process, once it has found the others.
pub(crate) struct Pe {
    pub(crate) region: Region,
    pub(crate) my_pe: usize,
    pub(crate) n_pes: usize,
    /// All PEs.
    pub(crate) everyone: Vec<usize>,
    /// One thread of this PE at a time is at a line.
    pub(crate) lines: Vec<Mutex<()>>,
    pub(crate) outbox: Outbox,
    pub(crate) teams: Mutex<Table>,
    machine: OnceLock<Machine>,
    /// Whose init it was.
    thread: ThreadId,
}

/// What a PE has once it has a device.
pub(crate) struct Machine {
    pub(crate) place: Place,
    pub(crate) heap: Heap,
    pub(crate) pinned: Pool,
    /// What the host waits for: it waits for no other stream itself.
    pub(crate) copies: Stream,
    /// Where operations with `nbi` that streams begin go on.
    pub(crate) internal: Stream,
}

impl Pe {
    pub(crate) fn new(region: Region, n_pes: usize, my_pe: usize) -> Self {
        Self {
            region,
            my_pe,
            n_pes,
            everyone: (0..n_pes).collect(),
            lines: (0..LINES).map(|_| Mutex::default()).collect(),
            outbox: Outbox::default(),
            teams: Mutex::new(Table::new(n_pes, my_pe)),
            machine: OnceLock::new(),
            thread: thread::current().id(),
        }
    }

    /// Takes a device, and meets the heaps of the others.
    pub(crate) fn take(&self, place: Place) -> Result<(), String> {
        let entered = place.enter();
        let heap = Heap::create(&place, &self.region, self.n_pes, self.my_pe)?;
        let mut streams = [0; 2];
        for stream in &mut streams {
            // SAFETY: it writes the stream there.
            unsafe { place.driver.cuStreamCreate(stream, 1) }?;
        }
        drop(entered);
        let [copies, internal] = streams;
        let machine = Machine {
            place,
            heap,
            pinned: Pool::default(),
            copies,
            internal,
        };
        let _ = self.machine.set(machine);
        Ok(())
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.machine.get().is_some()
    }

    /// The device, and what lies there. A PE that `live` gave has it.
    pub(crate) fn machine(&self) -> &Machine {
        self.machine
            .get()
            .unwrap_or_else(|| fatal::exit("there is no device"))
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.machine().heap
    }

    /// A PE that an operation is for.
    pub(crate) fn target(&self, name: &str, pe: c_int) -> usize {
        let number = usize::try_from(pe).ok().filter(|&pe| pe < self.n_pes);
        number
            .unwrap_or_else(|| fatal::abort(format_args!("{name}: PE {pe} of {} PEs", self.n_pes)))
    }

    /// The end of what `take` has begun.
    pub(crate) fn release(&self) {
        let machine = self.machine();
        let _entered = machine.place.enter();
        let driver = machine.place.driver;
        for stream in [machine.copies, machine.internal] {
            // SAFETY: made by `take`.
            must(unsafe { driver.cuStreamSynchronize(stream) });
            // SAFETY: the same, and nobody uses it any more.
            must(unsafe { driver.cuStreamDestroy(stream) });
        }
        machine.pinned.release(&machine.place);
        machine.heap.release(&machine.place);
        // SAFETY: retained by `Place::find`.
        must(unsafe { driver.cuDevicePrimaryCtxRelease(machine.place.device) });
    }
}

/// Where the process is in its life.
pub(crate) struct Life {
    /// Inits, those that have failed too, less finalizes.
    pub(crate) inits: usize,
    pub(crate) pe: Option<Arc<Pe>>,
    /// Set if there was an end.
    pub(crate) ended: bool,
}

static LIFE: Mutex<Life> = Mutex::new(Life {
    inits: 0,
    pe: None,
    ended: false,
});

/// Looks at, or changes, where the process is. Nobody waits for others meanwhile.
pub(crate) fn life<T>(look: impl FnOnce(&mut Life) -> T) -> T {
    look(&mut lock(&LIFE))
}

/// This PE, if it has found the others; whether it is complete or not.
pub(crate) fn found() -> Option<Arc<Pe>> {
    life(|life| {
        if life.ended {
            CALLS_AFTER_FINALIZE.fetch_add(1, Ordering::Relaxed);
        }
        life.pe.clone()
    })
}

/// This PE, if it is complete.
pub(crate) fn complete() -> Option<Arc<Pe>> {
    found().filter(|pe| pe.is_complete())
}

/// This PE, or the end of the process.
pub(crate) fn live(name: &str) -> Arc<Pe> {
    let pe = complete().unwrap_or_else(|| {
        let when = life(|life| {
            if life.ended {
                " (it was finalized)"
            } else {
                ""
            }
        });
        fatal::exit(format_args!(
            "{name} called before NVSHMEM initialization has completed{when}"
        ))
    });
    if pe.thread != thread::current().id() {
        CALLS_OF_OTHER_THREADS.fetch_add(1, Ordering::Relaxed);
    }
    pe
}

/// This PE, or the end of the process, in limited mode as well.
pub(crate) fn unlimited(name: &str) -> Arc<Pe> {
    let pe = live(name);
    if status() == abi::LIMITED_MPG {
        fatal::exit(format_args!(
            "{name} is not supported with limited MPG support: several PEs share a GPU without MPS"
        ));
    }
    pe
}

/// `nvshmemx_init_status`
pub(crate) fn status() -> c_int {
    let pe = life(|life| life.pe.clone());
    match pe {
        None => abi::NOT_INITIALIZED,
        Some(pe) if !pe.is_complete() => abi::BOOTSTRAPPED,
        Some(_) if hooks::LIMITED.get() => abi::LIMITED_MPG,
        Some(_) if hooks::FULL.get() => abi::FULL_MPG,
        Some(_) => abi::INITIALIZED,
    }
}
