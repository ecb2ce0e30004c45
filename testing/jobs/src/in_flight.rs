//! Operations that are under way when the runtime ends and which nobody waits for: their memory is
//! freed when they are over, or never.

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

/// Those of which the allocator counts how often they are freed.
pub(crate) const WATCHED: [usize; 2] = [RECEIVED, CLAIMED];

/// How long ranks wait for each other outside of MPI, of which some do not tell it that they end:
/// the launcher ends the others then.
const LONG: Duration = Duration::from_secs(30);

/// How long a peer keeps out of the library, while this rank's runtime loses its patience.
const LONGER_THAN_THE_PATIENCE: Duration = Duration::from_secs(12);

/// Says something to the others, outside of MPI: a rank by its number that it has found nothing
/// wrong.
fn say(folder: &Path, what: &str) -> std::io::Result<()> {
    fs::write(folder.join(what), "")
}

/// Waits until that was said, or so long, and does something meanwhile; whether it was.
fn is_said(folder: &Path, what: &str, limit: Duration, mut meanwhile: impl FnMut()) -> bool {
    let (file, end) = (folder.join(what), Instant::now() + limit);
    while !file.exists() && Instant::now() < end {
        meanwhile();
        thread::sleep(Duration::from_millis(1));
    }
    file.exists()
}

/// Says that this rank has found nothing wrong, and waits until all have.
fn well(folder: &Path, me: usize, size: usize) -> Outcome {
    say(folder, &me.to_string())?;
    for rank in 0..size {
        is_said(folder, &rank.to_string(), LONG, || ());
    }
    Ok(())
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

/// The last handle goes on a thread that may not call, with a receive posted and dropped. MPI goes
/// on in threads of its own if it has them: what peers send then must not come to memory that was
/// freed.
pub(crate) fn elsewhere(folder: &Path, level: &str) -> Outcome {
    let runtime = start(level)?;
    let allowed = runtime.facts().thread_level() == ThreadLevel::Multiple;
    let world = runtime.world();
    let (me, size) = (world.rank(), world.size());
    drop(world.irecv(vec![0_u8; RECEIVED], (me + 1) % size, 5)?);
    for rank in (0..size).filter(|&rank| rank != me) {
        world.sendrecv(&[0_u8], rank, 1, &mut [0_u8], rank, 1)?;
    }
    drop(runtime);
    thread::spawn(move || drop(world))
        .join()
        .map_err(|_| "the other thread panicked")?;
    if !allowed {
        kept(RECEIVED, "what a receive was posted into")?;
    }
    well(folder, me, size)
}

/// A message has been claimed, and its sender does not go on before the runtime has lost its
/// patience.
pub(crate) fn after_the_patience(folder: &Path) -> Outcome {
    let ended = ranks::run(|world| {
        if world.rank() == 0 {
            leave_a_claimed_receive(&world, folder)
        } else {
            let mut sending = world.isend(vec![1_u8; CLAIMED], 0, 5)?;
            let test = || drop(sending.test());
            is_said(folder, "announced", LONG, test);
            drop(say(folder, "silent"));
            // MPI is not called meanwhile, nor afterwards if the other rank has given it up.
            if is_said(folder, "0", LONGER_THAN_THE_PATIENCE, || ()) {
                std::process::exit(0);
            }
            sending.wait().map(drop)
        }
    });
    // Where the message comes without its sender, all is over in time.
    if let Err(error) = ended {
        let text = error.to_string();
        if !text.contains("1 operation that nobody waits for (MPI_Imrecv)") {
            return Err(format!("another error: {text}").into());
        }
        kept(CLAIMED, "what a message was claimed into")?;
    }
    Ok(say(folder, "0")?)
}

fn leave_a_claimed_receive(world: &Communicator, folder: &Path) -> ranks::Result<()> {
    while world.iprobe(1, 5)?.is_none() {}
    drop(say(folder, "announced"));
    is_said(folder, "silent", LONG, || ());
    let mut receiving = world.irecv_vec::<u8>(1, 5)?;
    receiving.wait_timeout(Duration::from_secs(1))?;
    drop(receiving);
    Ok(())
}

/// Requests that are dropped, forgotten, leaked, and in a static: the memory of none is freed
/// before its message has come. Those that live on hold the runtime, so that MPI is told of no end.
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
    well(folder, me, size)
}
