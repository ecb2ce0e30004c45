//! Requests as futures, for any executor.
//!
//! MPI has no notification of completion; it must be polled. A future tests its request when it is
//! polled. While any is pending, one thread wakes them at intervals, which grow as long as nothing
//! completes; while none is, it sleeps.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use crate::call::background;
use crate::call::inflight_calls::Callee;
use crate::call::lock::lock;
use crate::call::record;
use crate::op::request::Request;
use crate::result::{Error, ErrorKind, Result, Status};

/// A [`Request`] as a future.
///
/// `request.await` returns the result of [`Request::wait`]; a time limit counts from the first
/// poll, and is looked at when it is polled. It is polled on the thread of the executor, so that
/// the thread level must allow that thread to communicate: `MPI_THREAD_MULTIPLE`, unless the
/// executor runs on the thread that initialised. One thread wakes all pending futures of a process:
/// a waker does not block.
///
/// Dropping the future drops the request, whose operation stays pending: a message that arrives for
/// it is lost. Where a branch of a `select!` may be dropped, await `&mut future` and continue with
/// it later, or take the request out with [`into_request`](Self::into_request).
#[must_use = "nothing is known of the operation before this is awaited"]
pub struct RequestFuture<B: Send + 'static> {
    request: Option<Request<B>>,
    /// The first time that it was pending.
    since: Option<Instant>,
}

impl<B: Send + 'static> IntoFuture for Request<B> {
    type Output = Result<(B, Status)>;
    type IntoFuture = RequestFuture<B>;

    fn into_future(self) -> RequestFuture<B> {
        RequestFuture {
            request: Some(self),
            since: None,
        }
    }
}

impl<B: Send + 'static> RequestFuture<B> {
    /// The request; `None` if it has been waited for.
    #[must_use]
    pub fn into_request(self) -> Option<Request<B>> {
        self.request
    }
}

// Nothing points into a future: a request keeps its buffer at an address that does not change when
// it is moved.
impl<B: Send + 'static> Unpin for RequestFuture<B> {}

impl<B: Send + 'static> Future for RequestFuture<B> {
    type Output = Result<(B, Status)>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(request) = &mut this.request else {
            return Poll::Ready(Err(Error::new(
                ErrorKind::Argument,
                "MPI_Wait",
                "the future has been awaited",
            )));
        };
        let in_time = match request.test() {
            Ok(false) => is_late(request, this.since.get_or_insert_with(Instant::now)),
            Ok(true) => {
                ENDED.fetch_add(1, Ordering::Relaxed);
                return match this.request.take() {
                    Some(request) => Poll::Ready(request.wait()),
                    None => Poll::Pending,
                };
            }
            Err(error) => return Poll::Ready(Err(error)),
        };
        match (in_time, this.request.take()) {
            (Err(late), Some(request)) => {
                let ended = request.complete_late(late);
                Poll::Ready(ended.and_then(|(buffer, status)| Ok((buffer, status?))))
            }
            (_, request) => {
                this.request = request;
                wake_later(context.waker());
                Poll::Pending
            }
        }
    }
}

impl<B: Send + 'static> fmt::Debug for RequestFuture<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestFuture").field(&self.request).finish()
    }
}

/// Applies the time limits to a request that has been awaited since then, and again as long
/// afterwards.
///
/// # Errors
/// [`ErrorKind::TimedOut`].
fn is_late<B: Send + 'static>(request: &mut Request<B>, since: &mut Instant) -> Result<()> {
    let limit = Callee::limit(request.comm(), record::WAIT.operation);
    let is_over = limit.is_some_and(|limit| since.elapsed() >= limit.duration);
    if !is_over && !request.is_overdue(*since) {
        return Ok(());
    }
    let since = std::mem::replace(since, Instant::now());
    let operation = request.operation();
    let entered = request.comm().enter(record::WAIT)?;
    request.is_in_time(since)?;
    entered.is_late(operation)
}

/// The wakers of pending futures; `watched` if the thread that wakes them runs.
static SLEEPERS: Mutex<Sleepers> = Mutex::new(Sleepers {
    wakers: Vec::new(),
    watched: false,
});
static SOMEBODY: Condvar = Condvar::new();
/// The number of futures that have completed: while it grows, they are polled more often.
static ENDED: AtomicU64 = AtomicU64::new(0);

struct Sleepers {
    wakers: Vec<Waker>,
    watched: bool,
}

fn wake_later(waker: &Waker) {
    let mut sleepers = lock(&SLEEPERS);
    if !sleepers.wakers.iter().any(|known| known.will_wake(waker)) {
        sleepers.wakers.push(waker.clone());
    }
    if !sleepers.watched {
        sleepers.watched = background::start("ranks-futures", watch).is_ok();
    }
    if sleepers.watched {
        SOMEBODY.notify_one();
    } else {
        // With no thread to wake it, a future is tested as often as its executor polls.
        drop(sleepers);
        waker.wake_by_ref();
    }
}

fn watch() {
    const SHORTEST: Duration = Duration::from_micros(20);
    const LONGEST: Duration = Duration::from_millis(1);
    let mut pause = SHORTEST;
    let mut ended = ENDED.load(Ordering::Relaxed);
    loop {
        let mut sleepers = lock(&SLEEPERS);
        while sleepers.wakers.is_empty() {
            pause = SHORTEST;
            sleepers = SOMEBODY
                .wait(sleepers)
                .unwrap_or_else(PoisonError::into_inner);
        }
        drop(sleepers);
        thread::sleep(pause);
        let now = ENDED.load(Ordering::Relaxed);
        pause = if now == ended {
            (pause * 2).min(LONGEST)
        } else {
            SHORTEST
        };
        ended = now;
        let wakers = std::mem::take(&mut lock(&SLEEPERS).wakers);
        for waker in wakers {
            // One that panics must not keep the others from being woken.
            ranks_trace::contained(|| waker.wake());
        }
    }
}
