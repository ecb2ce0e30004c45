//! Memory that ranks have in common: still there when the runtime ends, dropped in any order, or
//! left by a rank that fails.

use std::any::Any;
use std::cell::Cell;
use std::sync::Mutex;
use std::time::Duration;

use ranks::ops::{Land, UserOp};
use ranks::phase::{Concurrent, Read, Write};
use ranks::rma::NodeBackend;
use ranks::{
    Checks, Collectives, Communicator, ErrorKind, Fenced, LockKind, Locked, NodeShared,
    PassiveWindow, Runtime, SharedWindow, Source, Window,
};

use crate::finalized::has_ended;
use crate::outcome::{Outcome, refused};

/// Everything that there is, in every state.
struct Everything {
    quiet: Window<u64>,
    vector: Window<u16>,
    fenced: Fenced<f64>,
    passive: PassiveWindow<u32>,
    written: SharedWindow<f32, Write>,
    read: SharedWindow<u64, Read>,
    concurrent: SharedWindow<i64, Concurrent>,
    table: NodeShared<u64>,
    in_window: NodeShared<u8>,
}

impl Everything {
    fn new(world: &Communicator, node: &Communicator) -> ranks::Result<Self> {
        let me = world.rank();
        let mut read = SharedWindow::allocate(node, 5)?;
        read.mine_mut().fill(me as u64);
        let in_window = NodeShared::builder(world).backend(NodeBackend::MpiWindow);
        Ok(Self {
            quiet: Window::allocate(world, 3)?,
            vector: Window::from_vec(world, vec![7; me])?,
            fenced: Window::allocate(world, me)?.fence()?,
            passive: Window::allocate(node, 2)?.passive()?,
            written: SharedWindow::allocate(node, me)?,
            read: read.fence()?,
            concurrent: SharedWindow::allocate(node, 1)?.concurrent()?,
            table: NodeShared::from_root(world, 0, 100, |out| out.fill(9))?,
            in_window: in_window.from_root(1, 100, |out| out.fill(8))?,
        })
    }

    /// After the end: what is here can be read, and nothing can be done together.
    fn after_the_end(self) -> Result<[Box<dyn Any>; 4], String> {
        let Self {
            quiet,
            vector,
            fenced,
            passive,
            written,
            read,
            concurrent,
            table,
            in_window,
        } = self;
        if has_ended() {
            return Err("MPI ended under living windows".into());
        }
        let seen = read.segment(1)[4] + table[99] + u64::from(in_window[99]);
        if seen != 18 || quiet.local() != [0; 3] {
            return Err(format!("the memory has changed: {seen} in all"));
        }
        let kind = ErrorKind::Finalized;
        refused("fence", quiet.fence(), kind)?;
        refused("free", vector.free(), kind)?;
        refused("close", fenced.close(), kind)?;
        refused("lock", passive.lock_all(), kind)?;
        refused("a phase", written.fence(), kind)?;
        refused("another phase", read.fence(), kind)?;
        Ok([
            Box::new(passive),
            Box::new(concurrent),
            Box::new(table),
            Box::new(in_window),
        ])
    }
}

/// All of it lives on when [`ranks::run`] is over.
pub(crate) fn kept() -> Outcome {
    let kept = Mutex::new(None);
    let outcome = ranks::run(|world| {
        let everything = Everything::new(&world, &world.split_shared(0)?)?;
        *kept.lock().map_err(|_| unexpected())? = Some(everything);
        Ok::<(), ranks::Error>(())
    });
    if outcome.map_err(|error| error.kind()) != Err(ErrorKind::InUse) {
        return Err("handles live on, and run does not say so".into());
    }
    let everything = kept.into_inner()?.ok_or_else(unexpected)?;
    drop(everything.after_the_end()?);
    if !has_ended() {
        return Err("the last handle has gone, and MPI has not ended".into());
    }
    Ok(())
}

/// Ranks that do not compare their calls take a window to different states.
pub(crate) fn apart() -> Outcome {
    Runtime::builder()
        .checks(Checks::Local)
        .run(|world| -> Outcome {
            let first = world.rank() == 0;
            let window = Window::<u64>::allocate(&world, 1)?;
            let outcome = match first {
                true => window.fence().map(drop),
                false => window.passive().map(drop),
            };
            refused("fence against passive", outcome, ErrorKind::Mismatch)?;
            let window = Window::<u64>::allocate(&world, 1)?;
            let outcome = match first {
                true => window.fence().map(drop),
                false => window.free().map(drop),
            };
            Ok(refused("fence against free", outcome, ErrorKind::Mismatch)?)
        })
}

/// Rank 0 closes a fenced window while the others go on to another step; the limit is that of
/// `RANKS_TIMEOUT`.
pub(crate) fn closes_alone() -> Outcome {
    Runtime::builder()
        .checks(Checks::Local)
        .run(|world| -> Outcome {
            let mut fenced = Window::<u64>::allocate(&world, 1)?.fence()?;
            if world.rank() == 0 {
                let window = fenced.close()?;
                eprintln!("rank 0 alone has {:?}", window.local());
                return Ok(());
            }
            fenced.fence()?;
            Ok(fenced.step(|ops| ops.put(&[22], 0, 0))?)
        })
}

fn unexpected() -> ranks::Error {
    ranks::Error::new(ErrorKind::Argument, "run", "the closure was not called")
}

/// All of it, with the runtime and the communicators, is dropped in an order that each rank has for
/// itself.
pub(crate) fn in_any_order(turn: &str) -> Outcome {
    let turn: usize = turn.parse()?;
    let runtime = Runtime::builder().init()?;
    let world = runtime.world();
    let node = world.split_shared(0)?;
    let me = world.rank();
    let Everything {
        quiet,
        vector,
        fenced,
        passive,
        written,
        read,
        concurrent,
        table,
        in_window,
    } = Everything::new(&world, &node)?;
    let mut all: Vec<Box<dyn Any>> = vec![
        Box::new(quiet),
        Box::new(runtime),
        Box::new(vector),
        Box::new(fenced),
        Box::new(world),
        Box::new(passive),
        Box::new(written),
        Box::new(read),
        Box::new(node),
        Box::new(concurrent),
        Box::new(table),
        Box::new(in_window),
    ];
    let (start, len) = ((turn + 5 * me) % all.len(), all.len());
    all.rotate_left(start);
    if (turn + me) % 2 == 1 {
        all.reverse();
    }
    for left in (0..len).rev() {
        if has_ended() {
            return Err(format!("MPI ended under {} living things", left + 1).into());
        }
        drop(all.pop());
    }
    if !has_ended() {
        return Err("the last handle has gone, and MPI has not ended".into());
    }
    Ok(())
}

/// Windows of each kind come and go, none of them freed by hand: all that was dropped goes when the
/// next ones are made.
pub(crate) fn many(rounds: &str) -> Outcome {
    let rounds: usize = rounds.parse()?;
    ranks::run(|world| {
        let mut early = 0;
        for round in 0..rounds {
            let window = Window::<u64>::allocate(&world, 10)?;
            let shared = SharedWindow::<u64>::allocate(&world, 10)?;
            if round % 10 == 0 {
                let table = NodeShared::<u64>::builder(&world).backend(NodeBackend::MpiWindow);
                drop(table.from_root(0, 10, |out| out.fill(1))?);
            }
            if (round + world.rank()) % 2 == 0 {
                drop((window, shared));
            } else {
                drop((shared, window));
            }
            if round == 15 {
                early = maps();
            }
        }
        match maps() {
            late if late < early + 50 => Ok(()),
            late => Err(format!("{early} pieces of memory have become {late}").into()),
        }
    })
}

/// Combines words of the library's memory and of a vector: rightly, or not at all.
pub(crate) fn words() -> Outcome {
    ranks::run(|world| {
        let right = (world.rank() + 1) % world.size();
        for (memory, mut window) in [
            ("memory of the library", Window::<u64>::allocate(&world, 1)?),
            ("a vector", Window::from_vec(&world, vec![0])?),
        ] {
            window.local_mut()[0] = 12;
            let passive = window.passive()?;
            let locked = passive.lock(LockKind::Exclusive, right)?;
            let combined = locked.accumulate(&[10], Land, right, 0);
            locked.unlock()?;
            let window = passive.close()?;
            match (combined, window.local()) {
                (Ok(()), [1]) => println!("{memory}: right"),
                (Err(error), [12]) if error.kind() == ErrorKind::NotInLibrary => {
                    println!("{memory}: refused, {error}");
                }
                (combined, is) => {
                    return Err(format!("{memory}: {combined:?}, and 12 has become {is:?}").into());
                }
            }
        }
        Ok(())
    })
}

/// The number of pieces of memory that this process has; 0 where the system does not tell.
fn maps() -> usize {
    std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count())
}

/// Rank 1 fails where the others wait for it.
pub(crate) fn failing(how: &str) -> Outcome {
    match how {
        "in-a-fill" => ranks::run(|world| {
            let table = NodeShared::<u64>::from_root(&world, 1, 10, |_| panic!("out of luck"));
            Err(format!("there is a table: {}", table?[0]).into())
        }),
        "missing-fence" => Runtime::builder()
            .checks(Checks::Collective)
            .check_limit(Duration::from_millis(300))
            .run(|world| {
                let mut fenced = Window::<u64>::allocate(&world, 2)?.fence()?;
                if world.rank() == 1 {
                    world.recv(&mut [0_u8], Source::Any, 0)?;
                }
                fenced.step(|ops| ops.put(&[1], 0, 0))?;
                Ok(())
            }),
        "unlocked-in-an-operation" => ranks::run(unlocked_in_an_operation),
        other => Err(format!("there is no way to fail called {other}").into()),
    }
}

/// The operation of a reduction drops a lock, and nothing can be called there.
fn unlocked_in_an_operation(world: Communicator) -> Outcome {
    thread_local! {
        static LOCKED: Cell<Option<Locked<'static, u64>>> = const { Cell::new(None) };
    }
    let window: &_ = Box::leak(Box::new(Window::<u64>::allocate(&world, 1)?.passive()?));
    LOCKED.set(Some(window.lock(LockKind::Exclusive, world.rank())?));
    let op = UserOp::commutative(|a: u64, b: u64| {
        drop(LOCKED.take());
        a + b
    });
    world.allreduce(&[1], &mut [0], op)?;
    Err("the lock was dropped, and the job goes on".into())
}
