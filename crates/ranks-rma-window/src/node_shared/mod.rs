//! An array of which each node has one copy, which all of its ranks read.

pub(crate) mod arena;
mod backend;
mod builder;
mod fill;
mod having;
mod panics;
mod update;
mod whole;

use std::fmt;
use std::io::Read;
use std::ops::{Deref, Range};

use bytemuck::Pod;
use ranks_collectives::Hierarchy;
use ranks_comm::{Communicator, Result};

pub use backend::NodeBackend;
pub(crate) use builder::Home;
pub use builder::{NodeSharedBuilder, Progress};
pub(crate) use fill::{FillSource, Wishes};
pub(crate) use having::{Having, all_alone};
use whole::Array;
pub(crate) use whole::Whole;

/// An array of which each node has one copy, read by all of its ranks as a slice: a table that is
/// too large to be had by each.
///
/// It is filled once, by the [root](Self::from_root) in place, by [each node](Self::from_each_node)
/// for itself, from a [reader](Self::from_reader), or [in parts](Self::fill_striped) by all ranks
/// of each node. Then it is sealed: it derefs to `[T]`, is `Send` and `Sync`, a clone is another
/// handle of it, and reading it costs what reading any slice costs. The system guards it as well
/// where it can: a stray write to one of its whole pages, which safe code cannot make, ends the
/// process. [`update`](Self::update) changes a part of it on all nodes together, when no rank has
/// another handle.
///
/// ```
/// use ranks::Communicator;
/// use ranks::rma::NodeShared;
///
/// /// Squares, computed once on rank 0, and there once on each node.
/// fn squares(world: &Communicator) -> ranks::Result<NodeShared<u64>> {
///     NodeShared::from_root(world, 0, 1000, |out| {
///         for (i, square) in out.iter_mut().enumerate() {
///             *square = (i * i) as u64;
///         }
///     })
/// }
/// # ranks::run(|world| {
/// let squares = squares(&world)?;
/// assert_eq!(squares[30], 900);
/// std::thread::scope(|threads| {
///     threads.spawn(|| assert_eq!(squares.iter().sum::<u64>(), 332_833_500));
/// });
/// # Ok::<(), ranks::Error>(())
/// # }).unwrap();
/// ```
///
/// It can be read, and no more:
///
/// ```compile_fail,E0594
/// # fn change(squares: ranks::rma::NodeShared<u64>) {
/// squares[0] = 1;
/// # }
/// ```
///
/// # Memory
/// A node's leader, its lowest rank, receives the array in chunks straight into the common memory,
/// whatever its length: nothing is copied twice. What that memory is the [`backend`](Self::backend)
/// tells; whether each node has enough of it is [asked](crate::preflight) before any is taken. It
/// goes when the last handle of the last rank does, but a window of the MPI library, which has to
/// be freed by all ranks together, waits for the next call that makes or frees something on all
/// ranks of the communicator; [`free`](Self::free) frees immediately.
///
/// Values written to it must not be changed by others: elements are plain data, without addresses,
/// which differ among ranks.
pub struct NodeShared<T: Pod>(Array<T>);

impl<T: Pod> NodeShared<T> {
    /// Returns a builder with the options of an array, on the ranks of `comm` by node.
    ///
    /// It finds out which rank is on which node, and makes communicators of them; where there are
    /// many arrays, [`on_nodes`](Self::on_nodes) does that once.
    pub fn builder(comm: &Communicator) -> NodeSharedBuilder<'_, T> {
        NodeSharedBuilder::new(Home::Comm(comm))
    }

    /// As [`builder`](Self::builder), on nodes that are known: those of the machine, or any sets of
    /// ranks that share memory.
    ///
    /// Such sets may be parts of a node, with a copy each: one for each socket, or "nodes" of a
    /// test on one machine.
    pub fn on_nodes(nodes: &Hierarchy) -> NodeSharedBuilder<'_, T> {
        NodeSharedBuilder::new(Home::Nodes(nodes))
    }

    /// `length` elements that `fill` writes on `root`, into the memory that the ranks of that node
    /// share; they are zero at first. Collective.
    ///
    /// Values of `length` and `fill` on other ranks do not matter.
    ///
    /// # Errors
    /// The same on every rank: [`ErrorKind::Root`](ranks_comm::ErrorKind::Root),
    /// [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) if elements are aligned to more
    /// than a page, [`ErrorKind::Length`](ranks_comm::ErrorKind::Length) if so many are more than
    /// the address space holds, [`ErrorKind::Memory`](ranks_comm::ErrorKind::Memory) if a node has
    /// too little, [`ErrorKind::Mismatch`](ranks_comm::ErrorKind::Mismatch) if ranks call different
    /// things, [`ErrorKind::PeerFailed`](ranks_comm::ErrorKind::PeerFailed) if something fails on
    /// one rank; otherwise what the library reports.
    pub fn from_root(
        comm: &Communicator,
        root: usize,
        length: usize,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<Self> {
        Self::builder(comm).from_root(root, length, fill)
    }

    /// The elements that `root` has in a slice; `None` on all ranks if it has none. Collective.
    ///
    /// Arguments of other ranks do not matter.
    ///
    /// # Errors
    /// As [`from_root`](Self::from_root).
    pub fn from_slice(
        comm: &Communicator,
        root: usize,
        values: Option<&[T]>,
    ) -> Result<Option<Self>> {
        Self::builder(comm).from_slice(root, values)
    }

    /// `length` elements that `fill` writes on the leader of each node, for its node. Collective.
    ///
    /// All pass the same length, and `fill` had better write the same everywhere: nothing is sent.
    ///
    /// # Errors
    /// As [`from_root`](Self::from_root).
    pub fn from_each_node(
        comm: &Communicator,
        length: usize,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<Self> {
        Self::builder(comm).from_each_node(length, fill)
    }

    /// `length` elements whose bytes `root` reads from what `open` returns, chunk by chunk.
    /// Collective.
    ///
    /// Arguments of other ranks do not matter.
    ///
    /// # Errors
    /// As [`from_root`](Self::from_root);
    /// [`ErrorKind::PeerFailed`](ranks_comm::ErrorKind::PeerFailed), with the reason, if it cannot
    /// be opened or ends too early.
    pub fn from_reader<R: Read>(
        comm: &Communicator,
        root: usize,
        length: usize,
        open: impl FnOnce() -> std::io::Result<R>,
    ) -> Result<Self> {
        Self::builder(comm).from_reader(root, length, open)
    }

    /// `length` elements of which each rank writes a part for its node: `fill` is told which, and
    /// given their memory. Collective.
    ///
    /// So a page lies near the rank that wrote it first. All pass the same length, and `fill` had
    /// better write on each node the same: nothing is sent.
    ///
    /// # Errors
    /// As [`from_root`](Self::from_root).
    pub fn fill_striped(
        comm: &Communicator,
        length: usize,
        fill: impl FnOnce(Range<usize>, &mut [T]),
    ) -> Result<Self> {
        Self::builder(comm).fill_striped(length, fill)
    }

    /// The ranks by node, each node of which has one copy.
    #[must_use]
    pub fn nodes(&self) -> &Hierarchy {
        self.0.whole().nodes()
    }

    /// Backend of this node's copy; never [`NodeBackend::Auto`].
    #[must_use]
    pub fn backend(&self) -> &NodeBackend {
        self.0.whole().backend()
    }

    /// Reason for that backend, in words.
    #[must_use]
    pub fn why(&self) -> &str {
        self.0.whole().why()
    }

    /// Frees the memory immediately. Collective.
    ///
    /// Not needed: a handle that is dropped releases the array too.
    ///
    /// # Errors
    /// The same on every rank: [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) if a rank
    /// has other handles of the array, or it lies in an [arena](crate::NodeArena); the memory goes
    /// with the last of them then. Otherwise what the library reports.
    pub fn free(mut self) -> Result<()> {
        const OPERATION: &str = "NodeShared::free";
        let having = self.0.having_all();
        let told = [self.0.number(), 0, 0];
        all_alone(self.nodes().whole(), OPERATION, having, told)??;
        self.0.into_whole().map_or(Ok(()), Whole::free)
    }
}

impl<T: Pod> Deref for NodeShared<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Pod> AsRef<[T]> for NodeShared<T> {
    #[inline(always)]
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Pod> Clone for NodeShared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Pod> fmt::Debug for NodeShared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeShared")
            .field("len", &self.len())
            .field("backend", self.backend())
            .finish_non_exhaustive()
    }
}
