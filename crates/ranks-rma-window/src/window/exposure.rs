//! Epochs that only those ranks open which deal with each other: targets post their memory, origins
//! start to access it.

use std::fmt;

use bytemuck::Pod;
use ranks_comm::record::{Class, Kind};
use ranks_comm::{Error, ErrorKind, Result};

use crate::epoch::table::Targets;
use crate::in_process::LocalWindow;
use crate::window::Window;
use crate::window::inner::Inner;
use crate::window::operations::{self, Operations};

const POST: &Kind = &Kind::of(Class::Message, "MPI_Win_post");
const START: &Kind = &Kind::of(Class::Message, "MPI_Win_start");
const COMPLETE: &Kind = &Kind::of(Class::Message, "MPI_Win_complete");
const WAIT: &Kind = &Kind::of(Class::Message, "MPI_Win_wait");
const TEST: &Kind = &Kind::of(Class::Message, "MPI_Win_test");

/// A window whose part on this rank is open to some ranks, from when each of them
/// [starts](Window::start) until it completes. From [`Window::post`].
///
/// Nobody looks at the part until [`wait`](Self::wait) has given the window back:
///
/// ```compile_fail,E0599
/// # fn f(exposed: ranks::rma::Exposed<f64>) {
/// exposed.local(); // origins may write there now
/// # }
/// ```
///
/// If it is dropped, the free of the window is deferred, with the epoch open. When it is freed,
/// origins that have not started do so without doing anything.
#[must_use = "the window is this rank's again when the origins were waited for"]
pub struct Exposed<T: Pod> {
    inner: Box<Inner<T>>,
    origins: Vec<usize>,
    /// This rank is one of the origins, and has not started.
    to_itself: bool,
}

impl<T: Pod> Window<T> {
    /// Opens this rank's part to `origins`, each of which accesses it between
    /// [`start`](Self::start) and the end of its closure, once. Nonblocking. Local.
    ///
    /// ```
    /// use ranks::rma::Window;
    ///
    /// # ranks::run(|world| {
    /// let (rank, size) = (world.rank(), world.size());
    /// let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    /// let window = Window::<u64>::allocate(&world, 1)?;
    /// let mut exposed = window.post(&[left])?;
    /// let mine = [rank as u64];
    /// exposed.start(&[right], |ops| ops.put(&mine, right, 0))?;
    /// let window = exposed.wait()?;
    /// assert_eq!(window.local(), [left as u64]);
    /// # window.free()?;
    /// # Ok::<(), ranks::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) if one is not in the window, [`Argument`](ErrorKind::Argument) if
    /// one is named twice; otherwise what the library reports. The free of the window is deferred
    /// then.
    ///
    /// MPI 5.0 §12.5.2 (`MPI_Win_post`).
    #[doc(alias = "MPI_Win_post")]
    pub fn post(self, origins: &[usize]) -> Result<Exposed<T>> {
        let inner = self.inner;
        check(&inner, POST.operation, origins)?;
        if !origins.is_empty() {
            inner.call(
                POST,
                |window| window.exposure(POST.operation)?.post(origins),
                |window| window.post(origins),
            )?;
            inner.epochs.open().dealings.post(origins);
        }
        Ok(Exposed {
            to_itself: origins.contains(&inner.comm.rank()),
            inner,
            origins: origins.to_vec(),
        })
    }

    /// Waits until each of `targets` has [posted](Self::post) its part to this rank, lends `f` the
    /// operations on them, and completes the operations it has started, also if it fails. Local,
    /// but for the targets, which have to post.
    ///
    /// This rank's own part is closed meanwhile, so this rank is none of the targets; see
    /// [`Exposed::start`].
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) if one is not in the window, [`Argument`](ErrorKind::Argument) if
    /// one is named twice or this rank; in process [`PeerFailed`](ErrorKind::PeerFailed) if one is
    /// gone; what `f` returns; otherwise what the library reports.
    ///
    /// MPI 5.0 §12.5.2 (`MPI_Win_start`, `MPI_Win_complete`).
    #[doc(alias = "MPI_Win_start")]
    #[doc(alias = "MPI_Win_complete")]
    pub fn start<'env, R>(
        &mut self,
        targets: &[usize],
        f: impl for<'scope> FnOnce(&Operations<'scope, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        let inner = &self.inner;
        let me = inner.comm.rank();
        if targets.contains(&me) {
            let detail = format_args!(
                "rank {me} is among the targets, but its own part is closed; post it to itself first"
            );
            return Err(Error::new(ErrorKind::Argument, START.operation, detail));
        }
        start(inner, targets)?;
        epoch(inner, targets, f)
    }
}

impl<T: Pod> Exposed<T> {
    /// To whom this rank's part is open.
    #[must_use]
    pub fn origins(&self) -> &[usize] {
        &self.origins
    }

    /// As [`Window::start`], while this rank's own part is open; it may be among the targets if it
    /// is open to itself.
    ///
    /// # Errors
    /// As [`Window::start`]; [`Argument`](ErrorKind::Argument) if this rank is among the targets
    /// and not among the [origins](Self::origins).
    ///
    /// MPI 5.0 §12.5.2 (`MPI_Win_start`, `MPI_Win_complete`).
    #[doc(alias = "MPI_Win_start")]
    #[doc(alias = "MPI_Win_complete")]
    pub fn start<'env, R>(
        &mut self,
        targets: &[usize],
        f: impl for<'scope> FnOnce(&Operations<'scope, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        let me = self.inner.comm.rank();
        let with_itself = targets.contains(&me);
        if with_itself && !self.to_itself {
            let detail = format_args!(
                "rank {me} is among the targets, but its own part is not open to it; a post lets each origin start once"
            );
            return Err(Error::new(ErrorKind::Argument, START.operation, detail));
        }
        start(&self.inner, targets)?;
        self.to_itself &= !with_itself;
        epoch(&self.inner, targets, f)
    }

    /// Waits until all origins have completed; this rank's part is its own again then.
    ///
    /// # Errors
    /// In process [`PeerFailed`](ErrorKind::PeerFailed) if one is gone that has not;
    /// [`Argument`](ErrorKind::Argument) if it is open to this rank itself, which has not started;
    /// otherwise what the library reports. The free of the window is deferred then.
    ///
    /// MPI 5.0 §12.5.2 (`MPI_Win_wait`).
    #[doc(alias = "MPI_Win_wait")]
    pub fn wait(self) -> Result<Window<T>> {
        if self.to_itself {
            let why = "the part is open to this rank itself, which has not started; it would wait for ever";
            return Err(Error::new(ErrorKind::Argument, WAIT.operation, why));
        }
        if !self.origins.is_empty() {
            self.inner.call(
                WAIT,
                |window| window.exposure(WAIT.operation)?.wait(&self.origins),
                LocalWindow::wait,
            )?;
        }
        Ok(self.closed())
    }

    /// Tests whether all origins have completed; nonblocking. Returns the window if they have, else
    /// this again.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    ///
    /// MPI 5.0 §12.5.2 (`MPI_Win_test`).
    #[doc(alias = "MPI_Win_test")]
    pub fn test(self) -> Result<Result<Window<T>, Self>> {
        let over = self.origins.is_empty()
            || self.inner.dispatch(
                TEST,
                |window| window.exposure(TEST.operation)?.test(&self.origins),
                LocalWindow::test,
            )?;
        Ok(if over { Ok(self.closed()) } else { Err(self) })
    }

    fn closed(self) -> Window<T> {
        self.inner.epochs.open().dealings.close();
        Window { inner: self.inner }
    }
}

/// Starts an access epoch.
fn start<T: Pod>(inner: &Inner<T>, targets: &[usize]) -> Result<()> {
    check(inner, START.operation, targets)?;
    if targets.is_empty() {
        return Ok(());
    }
    inner.call(
        START,
        |window| window.exposure(START.operation)?.start(targets),
        |window| window.start(targets),
    )?;
    inner.epochs.open().dealings.start(targets);
    Ok(())
}

/// Lends `f` the access epoch that was started, and completes it.
fn epoch<'env, T: Pod, R>(
    inner: &Inner<T>,
    targets: &[usize],
    f: impl for<'scope> FnOnce(&Operations<'scope, 'env, T>) -> Result<R>,
) -> Result<R> {
    let end = |_| {
        if targets.is_empty() {
            return Ok(());
        }
        inner.call_to_end(
            COMPLETE,
            |window| window.exposure(COMPLETE.operation)?.complete(targets),
            LocalWindow::complete,
        )
    };
    operations::run(inner, Targets::Some(&targets), end, f)
}

/// Compares ranks with those of the window.
fn check<T: Pod>(inner: &Inner<T>, operation: &'static str, ranks: &[usize]) -> Result<()> {
    for (index, &rank) in ranks.iter().enumerate() {
        inner.table.check_rank(operation, rank)?;
        if ranks[..index].contains(&rank) {
            let detail = format_args!("rank {rank} is named twice; name each once");
            return Err(Error::new(ErrorKind::Argument, operation, detail));
        }
    }
    Ok(())
}

impl<T: Pod> fmt::Debug for Exposed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exposed")
            .field("name", &self.inner.comm.name_in_reports())
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}
