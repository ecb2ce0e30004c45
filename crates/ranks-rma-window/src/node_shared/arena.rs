//! Memory of each node that many arrays are put into.

use std::sync::Arc;

use bytemuck::Pod;
use ranks_collectives::Hierarchy;
use ranks_comm::backend::digest;
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_launch::Count;

use crate::node_shared::{
    FillSource, Having, Home, NodeBackend, NodeSharedBuilder, Whole, Wishes, all_alone,
};

/// Arrays begin at a multiple of this, a line of the cache: no two share one.
const ALIGNMENT: usize = 64;

/// Memory of each node into which arrays of any types are put one after the other: one piece of
/// memory, however many they are.
///
/// Windows of an MPI library and maps of memory are limited in number, and take a call of all ranks
/// each.
///
/// ```
/// use ranks::rma::NodeArena;
///
/// # ranks::run(|world| {
/// let bytes = NodeArena::room_for::<f64>(1000) + NodeArena::room_for::<u32>(50);
/// let mut arena = NodeArena::allocate(&world, bytes)?;
/// let masses = arena.array::<f64>().from_root(0, 1000, |out| out.fill(1.5))?;
/// let cells = arena.array::<u32>().from_root(0, 50, |out| out.fill(7))?;
/// assert_eq!((masses[999], cells[49]), (1.5, 7));
/// # Ok::<(), ranks::Error>(())
/// # }).unwrap();
/// ```
///
/// The system gives the memory array by array, near the ranks that fill it. If a node has no more,
/// the array is the same error on every rank. The arrays keep the memory: the arena may be dropped
/// before them. The memory of an array that is dropped is not used again.
#[derive(Debug)]
pub struct NodeArena {
    whole: Arc<Whole>,
    /// Number that identifies it on all ranks.
    number: u64,
    used: usize,
}

impl NodeArena {
    /// So many bytes on each node, all zero. Collective; all pass the same.
    ///
    /// # Errors
    /// The same on every rank: [`ErrorKind::Memory`] if a node has too little,
    /// [`ErrorKind::Mismatch`] if ranks pass different numbers, [`ErrorKind::PeerFailed`] if
    /// something fails on one rank; otherwise what the library reports.
    pub fn allocate(comm: &Communicator, bytes: usize) -> Result<Self> {
        Self::allocate_on(&Hierarchy::new(comm)?, bytes, &NodeBackend::Auto)
    }

    /// As [`allocate`](Self::allocate), on nodes that are known, and of what is wanted.
    ///
    /// # Errors
    /// As there.
    pub fn allocate_on(nodes: &Hierarchy, bytes: usize, backend: &NodeBackend) -> Result<Self> {
        const FORM: FillSource = FillSource::Arena;
        let on = [nodes.number(), 0];
        let wishes = Wishes {
            backend: backend.kind(),
            ..Wishes::default()
        };
        let plan = FORM.agree::<u8>(nodes.whole(), on, Some(bytes), wishes)?;
        let plan = plan.ok_or_else(|| FORM.mixed())?;
        let whole = Whole::make(nodes.clone(), bytes, backend)?;
        Ok(Self {
            whole: Arc::new(whole),
            number: plan.number,
            used: 0,
        })
    }

    /// Maximum number of bytes that an array of `length` elements takes; more than there can be
    /// where a `usize` does not hold it.
    #[must_use]
    pub const fn room_for<T: Pod>(length: usize) -> usize {
        let bytes = length.saturating_mul(size_of::<T>());
        let skipped = align_of::<T>().saturating_sub(ALIGNMENT);
        bytes.saturating_add(skipped).saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
    }

    /// The next array, to be filled in one of the ways that its builder has. It begins at a
    /// multiple of 64 bytes, or of what its elements are aligned to, which is a page at most.
    pub fn array<T: Pod>(&mut self) -> NodeSharedBuilder<'_, T> {
        NodeSharedBuilder::new(Home::Arena(self))
    }

    /// Number of bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.whole.len()
    }

    /// Number of bytes that arrays lie in.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// The ranks by node.
    #[must_use]
    pub fn nodes(&self) -> &Hierarchy {
        self.whole.nodes()
    }

    /// Backend of this node's memory; never [`NodeBackend::Auto`].
    #[must_use]
    pub fn backend(&self) -> &NodeBackend {
        self.whole.backend()
    }

    /// Reason for that backend, in words.
    #[must_use]
    pub fn why(&self) -> &str {
        self.whole.why()
    }

    /// Frees the memory immediately. Collective.
    ///
    /// # Errors
    /// The same on every rank: [`ErrorKind::Argument`] if a rank still has an array there; the
    /// memory goes with the last of them then. Otherwise what the library reports.
    pub fn free(mut self) -> Result<()> {
        const OPERATION: &str = "NodeArena::free";
        let having = Having::alone_if(Arc::get_mut(&mut self.whole).is_some());
        let told = [digest(self.state()), 0, 0];
        all_alone(self.nodes().whole(), OPERATION, having, told)??;
        Arc::into_inner(self.whole).map_or(Ok(()), Whole::free)
    }

    /// Its number and how much of it is taken, so that ranks can compare that.
    pub(crate) fn state(&self) -> [u64; 2] {
        [self.number, self.used as u64]
    }

    /// The next bytes, which nobody has: the same on every rank, which pass the same numbers.
    pub(crate) fn take(&mut self, bytes: usize, align: usize) -> Result<(Arc<Whole>, usize)> {
        let at = self.used.checked_next_multiple_of(align.max(ALIGNMENT));
        let end = at.and_then(|at| at.checked_add(bytes));
        match (at, end.filter(|end| *end <= self.capacity())) {
            (Some(at), Some(end)) => {
                self.used = end;
                Ok((Arc::clone(&self.whole), at))
            }
            _ => Err(Error::new(
                ErrorKind::Memory,
                "NodeArena",
                format_args!(
                    "an array of {} does not fit: the arena has {}, {} of them in use",
                    Count(bytes, "byte"),
                    Count(self.capacity(), "byte"),
                    self.used
                ),
            )),
        }
    }
}
