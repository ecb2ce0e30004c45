//! Operations that are under way when the runtime ends and which nobody waits for: their memory is freed when they are over, or never.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use ranks::{Backend, Communicator, Request, Runtime, ThreadLevel};

use crate::allocations::freed_of_that_size;
use crate::outcome::Outcome;

/// Sizes that nothing else in this program asks for.
const RECEIVED: usize = 100_003;
const CLAIMED: usize = 1_000_003;
const ATTACHED: usize = 100_019;

/// Those of which the allocator counts how often they are freed.
pub(crate) const WATCHED: [usize; 3] = [RECEIVED, CLAIMED, ATTACHED];

/// How long ranks wait for each other outside of MPI, of which some do not tell it that they end: the launcher ends the others then.
const LONG: Duration = Duration::from_secs(30);

/// How long a peer keeps out of the library, while this rank's runtime loses its patience.
const LONGER_THAN_THE_PATIENCE: Duration = Duration::from_secs(12);

/// Says that this rank has found nothing wrong.
fn well(folder: &Path, me: usize) -> Outcome {
    Ok(fs::write(folder.join(me.to_string()), "well")?)
}

/// Waits until that rank has found nothing wrong, or so long; whether it has.
fn is_well(folder: &Path, rank: usize, limit: Duration) -> bool {
    let (file, end) = (folder.join(rank.to_string()), Instant::now() + limit);
    while !file.exists() && Instant::now() < end {
        thread::sleep(Duration::from_millis(10));
    }
    file.exists()
}

fn start(level: &str) -> Result<Runtime, String> {
    let level = match level {
        "single" => ThreadLevel::Single,
        "funneled" => ThreadLevel::Funneled,
        "serialized" => ThreadLevel::Serialized,
        "multiple" => ThreadLevel::Multiple,
        other => return Err(format!("no such level here: {other}")),
    };
    let runtime = Runtime::builder().backend(Backend::Mpi).thread_level(level);
    runtime.init().map_err(|error| error.to_string())
}

/// None of the memory of so many bytes was freed.
fn kept(bytes: usize, what: &str) -> Result<(), String> {
    match freed_of_that_size(bytes) {
        0 => Ok(()),
        times => Err(format!("{what} was freed {times} times while MPI had it")),
    }
}

/// The last handle goes on a thread that may not call, with a receive posted and dropped and a buffer attached. MPI goes on in
/// threads of its own if it has them: what peers send then must not come to memory that was freed.
pub(crate) fn elsewhere(folder: &Path, level: &str) -> Outcome {
    let runtime = start(level)?;
    let allowed = runtime.facts().thread_level() == ThreadLevel::Multiple;
    let world = runtime.world();
    let (me, size) = (world.rank(), world.size());
    drop(world.irecv(vec![0_u8; RECEIVED], (me + 1) % size, 5)?);
    drop(world.buffer_attach(vec![0_u8; ATTACHED])?);
    for rank in (0..size).filter(|&rank| rank != me) {
        world.sendrecv(&[0_u8], rank, 1, &mut [0_u8], rank, 1)?;
    }
    drop(runtime);
    thread::spawn(move || drop(world))
        .join()
        .map_err(|_| "the other thread panicked")?;
    if !allowed {
        kept(RECEIVED, "what a receive was posted into")?;
        kept(ATTACHED, "the attached buffer")?;
    }
    well(folder, me)?;
    for rank in 0..size {
        is_well(folder, rank, LONG);
    }
    Ok(())
}

/// A message has been claimed, and its sender does not go on before the runtime has lost its patience.
pub(crate) fn after_the_patience(folder: &Path) -> Outcome {
    let ended = ranks::run(|world| {
        if world.rank() == 0 {
            leave_a_claimed_receive(&world)
        } else {
            let sending = world.isend(vec![1_u8; CLAIMED], 0, 5)?;
            // MPI is not called meanwhile, nor afterwards if the other rank has given it up.
            if is_well(folder, 0, LONGER_THAN_THE_PATIENCE) {
                std::process::exit(0);
            }
            sending.wait().map(drop)
        }
    });
    // Where the message comes without its sender, all is over in time.
    if let Err(error) = ended {
        let text = error.to_string();
        if !text.contains("1 operations that nobody waits for (MPI_Imrecv)") {
            return Err(format!("another error: {text}").into());
        }
        kept(CLAIMED, "what a message was claimed into")?;
    }
    well(folder, 0)
}

fn leave_a_claimed_receive(world: &Communicator) -> ranks::Result<()> {
    let mut receiving = world.irecv_vec::<u8>(1, 5)?;
    let end = Instant::now() + Duration::from_secs(1);
    while !receiving.test()? && Instant::now() < end {
        thread::yield_now();
    }
    drop(receiving);
    Ok(())
}

/// Requests that are dropped, forgotten, leaked, and in a static: the memory of none is freed before its message has come. Those that live
/// on hold the runtime, so that MPI is told of no end.
pub(crate) fn left(folder: &Path, level: &str) -> Outcome {
    static STATIC: Mutex<Option<Request<Vec<u8>>>> = Mutex::new(None);
    let runtime = start(level)?;
    let world = runtime.world();
    let (me, size) = (world.rank(), world.size());
    let (from, to) = ((me + size - 1) % size, (me + 1) % size);
    drop(world.irecv(vec![0_u8; RECEIVED], from, 5)?);
    std::mem::forget(world.irecv(vec![0_u8; RECEIVED], from, 6)?);
    Box::leak(Box::new(world.irecv(vec![0_u8; RECEIVED], from, 7)?));
    let held = world.irecv(vec![0_u8; RECEIVED], from, 8)?;
    *STATIC.lock().map_err(|_| "nobody panics here")? = Some(held);
    kept(RECEIVED, "what receives were begun into")?;
    // Nobody sends before its neighbour has looked.
    world.sendrecv(&[0_u8], from, 9, &mut [0_u8], to, 9)?;
    let sending: Vec<_> = (5..9)
        .map(|tag| world.isend(vec![1_u8; 10], to, tag))
        .collect::<Result<_, _>>()?;
    for request in sending {
        request.wait()?;
    }
    // All of it has come when this has, but may still be looked at.
    world.sendrecv(&[0_u8], to, 9, &mut [0_u8], from, 9)?;
    well(folder, me)?;
    for rank in 0..size {
        is_well(folder, rank, LONG);
    }
    Ok(())
}
