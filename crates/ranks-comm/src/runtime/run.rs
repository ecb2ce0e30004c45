//! The run of a closure on every rank, and the end of the others when one fails.

use std::any::Any;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt::Display;
use std::iter;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ranks_launch::Count;

use crate::call::checks::Comparing;
use crate::call::last_words::{bounded, last_words};
use crate::call::record::dump::{self, Reason};
use crate::call::thread_level::ThreadLevel;
use crate::communicator::Communicator;
use crate::result::{Error, ErrorKind, Result};
use crate::runtime::{self, Runtime};
use crate::transport::in_process::membership::Membership;
use crate::transport::in_process::world::{Failure, World};
use crate::transport::mpi::unreceived;

/// A type that every error can be turned into.
pub(crate) type BoxedError = Box<dyn StdError + Send + Sync>;

/// The exit status of a process that panicked; an aborted job exits with the same.
const PANIC: i32 = 101;

/// Runs `f` on every rank, and returns its value when all ranks have returned: over MPI that of
/// this process's rank, in process that of rank 0.
///
/// Under a launcher (`mpiexec`, `srun`) each process is a rank over MPI. Without one, `RANKS_NP`
/// threads (one if it is not set) are the ranks. See [`Runtime::builder`] for more settings.
///
/// A program runs it once. Within `f` it joins the world of this process over MPI, and starts
/// further threads, a world of their own, in process.
///
/// If `f` fails or panics on a rank of an MPI job of several, the job is aborted with a message
/// that names the rank, the error and its sources. In process the waits of the other ranks end with
/// [`ErrorKind::PeerFailed`], and the first failure is returned; a rank that calls
/// [`std::process::exit`] there ends all of them with that status, with 0 as a success.
///
/// # Errors
/// Those of `f`, or of the start or the end of the runtime: [`ErrorKind::InUse`] where a handle
/// outlives `f`, for which reason `MPI_Finalize` is not called over MPI.
///
/// They are of any type that a [`ranks::Error`](Error) can be turned into and that goes from one
/// thread to another: `anyhow::Error`, `eyre::Report`, `Box<dyn Error + Send + Sync>`, or one of
/// the program's own.
///
/// ```
/// let seconds = ranks::run(|world| {
///     let started = world.wtime()?;
///     let sending = world.isend(vec![1.0], world.rank(), 7)?;
///     let mut message = [0.0];
///     world.recv(&mut message, world.rank(), 7)?;
///     sending.wait()?;
///     Ok::<f64, ranks::Error>(world.wtime()? - started)
/// })?;
/// assert!(seconds >= 0.0);
/// # Ok::<(), ranks::Error>(())
/// ```
///
/// ```
/// ranks::run(|world| {
///     let (rank, size) = (world.rank(), world.size());
///     let mut before = [0.0];
///     world.sendrecv(&[rank as f64], (rank + 1) % size, 7, &mut before, (rank + size - 1) % size, 7)?;
///     Ok::<(), ranks::Error>(())
/// })
/// # .unwrap();
/// ```
pub fn run<T, E>(f: impl Fn(Communicator) -> Result<T, E> + Send + Sync) -> Result<T, E>
where
    T: Send,
    E: From<Error> + Into<BoxedError> + Display + Send,
{
    Runtime::builder().run(f)
}

/// Runs `f` on this process's rank and ends the runtime, unless another part of the program started
/// it.
///
/// A rank of several that fails aborts the job: the others may wait for it for ever.
pub(crate) fn over_mpi<T, E>(
    runtime: Runtime,
    joined: bool,
    f: impl Fn(Communicator) -> Result<T, E>,
) -> Result<T, E>
where
    E: From<Error> + Into<BoxedError>,
{
    let world = runtime.world();
    let alone = world.size() == 1;
    let end = |runtime: Runtime| if joined { Ok(()) } else { to_its_end(runtime) };
    match catch_unwind(AssertUnwindSafe(|| f(world.clone()))) {
        Ok(Ok(value)) => {
            drop(world);
            end(runtime)?;
            Ok(value)
        }
        Ok(Err(error)) if alone => {
            unreceived::say_nothing();
            drop(world);
            if let Err(second) = end(runtime) {
                eprintln!("ranks: {second}");
            }
            Err(error)
        }
        Ok(Err(error)) => {
            let error = bounded(chain(&*error.into()));
            dump::write(Reason::Error, Some(&error), None);
            report(&world, &error);
            world.abort(1)
        }
        Err(panic) if alone => {
            drop((world, runtime));
            resume_unwind(panic)
        }
        Err(panic) => {
            let message = bounded(message_of_panic(&*panic));
            dump::write(Reason::Panic, Some(&message), None);
            report(&world, message);
            world.abort(PANIC)
        }
    }
}

/// Ends a rank. A handle that outlives it prevents `MPI_Finalize` for good: the program is about to
/// end.
///
/// # Errors
/// [`ErrorKind::InUse`] for such a handle, which is told as well; what `MPI_Finalize` reports.
pub fn to_its_end(runtime: Runtime) -> Result<()> {
    let (rank, size) = (runtime.facts().rank(), runtime.facts().size());
    let number = runtime.end()?;
    let verb = match number {
        0 => return Ok(()),
        1 => "lives",
        _ => "live",
    };
    let error = Error::new(
        ErrorKind::InUse,
        "MPI_Finalize",
        format_args!(
            "not called on rank {rank} of {size}, since {} (communicators, and what was made of them) {verb} on: in a static, \
             forgotten, or with a thread that was not joined; drop all of them before the closure of `run` returns",
            Count(number, "handle")
        ),
    );
    // A program may ignore the result of `run`, and the launcher may end all ranks when the first
    // has exited.
    eprintln!("ranks: {error}");
    Err(error)
}

/// An error and its sources, in one line; a source whose text has been printed already is left out.
fn chain(error: &(dyn StdError + 'static)) -> String {
    /// An error may be its own source.
    const SOURCES: usize = 64;
    let mut text = error.to_string();
    let sources = iter::successors(error.source(), |&error| error.source());
    for cause in sources.take(SOURCES).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn report(world: &Communicator, what: impl Display) {
    let (rank, size) = (world.rank(), world.size());
    last_words(format_args!("rank {rank} of {size} failed: {what}"));
}

/// Runs `f` on a thread for each rank of the world, or on this thread if there is only one rank.
///
/// The first failure is returned, because later ones may only have followed from it.
pub(crate) fn in_process<T, E>(
    world: World,
    level: ThreadLevel,
    comparing: Comparing,
    f: impl Fn(Communicator) -> Result<T, E> + Sync,
) -> Result<T, E>
where
    T: Send,
    E: From<Error> + Display + Send,
{
    let (ranks, world) = (world.size(), Arc::new(world));
    dump::at_every_end();
    if ranks == 1 {
        return rank(&world, 0, level, comparing, &f).unwrap_or_else(Panic::go_on);
    }
    let mut outcomes: Vec<RankOutcome<T, E>> = thread::scope(|scope| {
        let (world, f) = (&world, &f);
        let mut started = Vec::with_capacity(ranks);
        let (ending, ends) = mpsc::channel::<Infallible>();
        for number in 0..ranks {
            let ending = ending.clone();
            let thread = thread::Builder::new().name(format!("rank {number}"));
            let thread = thread.spawn_scoped(scope, move || {
                let _ending = ending;
                rank(world, number, level, comparing, f)
            });
            let thread = thread.map_err(|reason| not_started(world, number, &reason));
            let enough = thread.is_err();
            started.push(thread);
            if enough {
                break;
            }
        }
        drop(ending);
        tell_while_they_run(world, &ends);
        started
            .into_iter()
            .map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| Err(Panic::of(panic))),
                Err(reason) => Ok(Err(reason.into())),
            })
            .collect()
    });
    world.end_observing();
    let first = world.failure().map_or(0, |failure| failure.rank);
    outcomes.swap(0, first);
    let values: Result<Vec<T>, E> = outcomes
        .into_iter()
        .map(|outcome| outcome.unwrap_or_else(Panic::go_on))
        .collect();
    values.map(|mut values| values.swap_remove(0))
}

/// Waits until all ranks have ended, each of which then drops its sender. Tells of a failure whose
/// error cannot be returned for a while, since other ranks do not end.
fn tell_while_they_run(world: &World, ends: &mpsc::Receiver<Infallible>) {
    /// The time that the others have to end.
    const PATIENCE: Duration = Duration::from_secs(1);
    while ends.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        if let Some(Failure { rank, what }) = world.failure() {
            let size = world.size();
            last_words(format_args!(
                "rank {rank} of {size} failed: {what}; other ranks have not ended yet"
            ));
            break;
        }
    }
}

/// The outcome of a rank's closure: it returned, or panicked.
type RankOutcome<T, E> = Result<Result<T, E>, Panic>;

/// The payload of a panic. It may panic in its turn when it is dropped, and so it never is, but for
/// the one that goes on.
struct Panic(ManuallyDrop<Box<dyn Any + Send>>);

impl Panic {
    fn of(payload: Box<dyn Any + Send>) -> Self {
        Self(ManuallyDrop::new(payload))
    }

    fn go_on<R>(self) -> R {
        resume_unwind(ManuallyDrop::into_inner(self.0))
    }
}

/// Runs one rank, from its start to its end.
fn rank<T, E: From<Error> + Display>(
    world: &Arc<World>,
    number: usize,
    level: ThreadLevel,
    comparing: Comparing,
    f: &impl Fn(Communicator) -> Result<T, E>,
) -> RankOutcome<T, E> {
    let runtime = runtime::in_process(Membership::new(Arc::clone(world), number, level, comparing));
    let outcome = catch_unwind(AssertUnwindSafe(|| f(runtime.world()))).map_err(Panic::of);
    match &outcome {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            // With its sources, if its `Display` has them: the error itself goes back to the caller
            // unchanged.
            let error = bounded(format!("{error:#}"));
            dump::write(Reason::Error, Some(&error), Some(number));
            world.fail(number, error);
        }
        Err(panic) => {
            let message = bounded(message_of_panic(&**panic.0));
            dump::write(Reason::Panic, Some(&message), Some(number));
            world.fail(number, message);
        }
    }
    match (outcome, to_its_end(runtime)) {
        (Ok(Ok(_)), Err(error)) if error.kind() != ErrorKind::Finalized => Ok(Err(error.into())),
        (outcome, _) => outcome,
    }
}

fn not_started(world: &World, number: usize, reason: &std::io::Error) -> Error {
    let text = format!(
        "the thread of rank {number} of {} could not be started: {reason}; there is room for {}, so set \
         RANKS_NP to fewer, or raise the limit of threads (ulimit -u, pids.max) or of memory",
        world.size(),
        Count(number, "rank")
    );
    world.fail(number, text.clone());
    Error::with_text(ErrorKind::Launch, "MPI_Init_thread", text)
}

/// The message of a panic: that it was one, and its text.
pub fn message_of_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    match text {
        Some(text) => format!("panicked: {text}"),
        None => "panicked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Because(&'static str, #[source] Option<Box<Because>>);

    #[test]
    fn an_error_is_told_with_what_it_came_from() {
        let cause = Because("MPI_Bcast: failed", None);
        let middle = Because("failed", Some(Box::new(cause)));
        let error = Because("exchanging the mesh", Some(Box::new(middle)));
        assert_eq!(
            chain(&error),
            "exchanging the mesh: failed: MPI_Bcast: failed"
        );
        let said = Because("mesh: MPI_Bcast: failed", error.1);
        assert_eq!(chain(&said), "mesh: MPI_Bcast: failed");
    }

    #[test]
    fn sources_without_end_were_collected_for_ever() {
        #[derive(Debug)]
        struct Endless;
        impl Display for Endless {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("again")
            }
        }
        impl StdError for Endless {
            fn source(&self) -> Option<&(dyn StdError + 'static)> {
                Some(&Endless)
            }
        }
        assert_eq!(chain(&Endless), "again");
    }
}
