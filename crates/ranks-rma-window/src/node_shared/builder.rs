//! Options of an array before it is made, and the ways to fill it.

use std::fmt;
use std::io::Read;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use ranks_collectives::Hierarchy;
use ranks_comm::{Communicator, Error, Result};

use super::fill::{FillSource, Filling, Wishes};
use super::{NodeBackend, NodeShared, Whole};
use crate::node_shared::arena::NodeArena;
use crate::shared_window::Placement;

/// Number of bytes of an array that a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Number of bytes that are there.
    pub done: usize,
    /// Number of bytes in all.
    pub total: usize,
}

/// TargetRange in which an array is made.
pub(crate) enum Home<'a> {
    /// Ranks whose nodes are to be found out.
    Comm(&'a Communicator),
    /// Nodes that are known.
    Nodes(&'a Hierarchy),
    /// Memory that is there.
    Arena(&'a mut NodeArena),
}

/// Chooses how a [`NodeShared`] is made. All ranks choose the same, but for what is said.
#[must_use]
pub struct NodeSharedBuilder<'a, T: Pod> {
    home: Home<'a>,
    backend: NodeBackend,
    wishes: Wishes,
    progress: Option<&'a mut dyn FnMut(Progress)>,
    elements: PhantomData<fn() -> T>,
}

impl<'a, T: Pod> NodeSharedBuilder<'a, T> {
    pub(crate) fn new(home: Home<'a>) -> Self {
        Self {
            home,
            backend: NodeBackend::Auto,
            wishes: Wishes::default(),
            progress: None,
            elements: PhantomData,
        }
    }

    /// Backend of the memory; the folder of a file may differ. In an arena it is the arena's.
    pub fn backend(mut self, backend: NodeBackend) -> Self {
        self.wishes.backend = backend.kind();
        Self { backend, ..self }
    }

    /// Number of bytes sent at once; 128 MiB if nothing else is chosen, and one element at least.
    pub fn chunk(mut self, bytes: usize) -> Self {
        self.wishes.chunk = bytes;
        self
    }

    /// Asks the system for huge pages, or does not; it is asked if nothing else is chosen: fewer of
    /// them are faster to fill and to look up, where it has any.
    pub fn huge_pages(mut self, huge_pages: bool) -> Self {
        self.wishes.huge_pages = huge_pages;
        self
    }

    /// Near which ranks of its node the memory is to lie. [`Placement::Owner`], which is chosen if
    /// nothing else is, leaves that to who fills it: a leader, or the ranks in stripes. With the
    /// others pages are touched before.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.wishes.placement = placement;
        self
    }

    /// Sets a function that is called on each node's leader, whenever another chunk is there. Each
    /// rank may choose.
    pub fn progress(self, progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self {
            progress: Some(progress),
            ..self
        }
    }

    /// As [`NodeShared::from_root`].
    ///
    /// # Errors
    /// As there.
    pub fn from_root(
        self,
        root: usize,
        length: usize,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<NodeShared<T>> {
        self.try_from_root(root, length, |out| {
            fill(out);
            Ok::<(), Error>(())
        })
    }

    /// As [`NodeShared::from_root`], with a `fill` that may fail.
    ///
    /// # Errors
    /// As there; [`ErrorKind::PeerFailed`](ranks_comm::ErrorKind::PeerFailed) on every rank, with
    /// the reason, if `fill` fails.
    pub fn try_from_root<E: fmt::Display>(
        self,
        root: usize,
        length: usize,
        fill: impl FnOnce(&mut [T]) -> Result<(), E>,
    ) -> Result<NodeShared<T>> {
        self.of_length(FillSource::Root(root), length)?
            .in_place(root, fill)
    }

    /// As [`NodeShared::from_slice`].
    ///
    /// # Errors
    /// As there.
    pub fn from_slice(self, root: usize, values: Option<&[T]>) -> Result<Option<NodeShared<T>>> {
        let length = values.map(<[T]>::len);
        let filling = self.announced(FillSource::Slice(root), length)?;
        let copy = |out: &mut [T]| {
            if let Some(values) = values.filter(|values| values.len() == out.len()) {
                out.copy_from_slice(values);
            }
            Ok::<(), Error>(())
        };
        filling
            .map(|filling| filling.in_place(root, copy))
            .transpose()
    }

    /// As [`NodeShared::from_reader`].
    ///
    /// # Errors
    /// As there.
    pub fn from_reader<R: Read>(
        self,
        root: usize,
        length: usize,
        open: impl FnOnce() -> std::io::Result<R>,
    ) -> Result<NodeShared<T>> {
        self.of_length(FillSource::Reader(root), length)?
            .reading(root, open)
    }

    /// As [`NodeShared::from_each_node`].
    ///
    /// # Errors
    /// As there.
    pub fn from_each_node(
        self,
        length: usize,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<NodeShared<T>> {
        self.of_length(FillSource::EachNode, length)?
            .by_leaders(fill)
    }

    /// As [`NodeShared::fill_striped`].
    ///
    /// # Errors
    /// As there.
    pub fn fill_striped(
        self,
        length: usize,
        fill: impl FnOnce(Range<usize>, &mut [T]),
    ) -> Result<NodeShared<T>> {
        self.of_length(FillSource::Striped, length)?
            .in_stripes(fill)
    }

    /// As [`announced`](Self::announced), where all ranks pass a length.
    fn of_length(self, source: FillSource, length: usize) -> Result<Filling<'a, T>> {
        let filling = self.announced(source, Some(length))?;
        filling.ok_or_else(|| source.mixed())
    }

    /// Memory to be filled, in a way that all ranks agree on; `None` if the root has nothing to
    /// fill it with. Collective.
    fn announced(
        self,
        source: FillSource,
        length: Option<usize>,
    ) -> Result<Option<Filling<'a, T>>> {
        let (comm, on) = match &self.home {
            Home::Comm(comm) => (*comm, [0; 2]),
            Home::Nodes(nodes) => (nodes.whole(), [nodes.number(), 0]),
            Home::Arena(arena) => (arena.nodes().whole(), arena.state()),
        };
        let Some(plan) = source.agree::<T>(comm, on, length, self.wishes)? else {
            return Ok(None);
        };
        let make = |nodes| Whole::make(nodes, plan.bytes, &self.backend).map(Arc::new);
        let (whole, at) = match self.home {
            Home::Comm(comm) => (make(Hierarchy::new(comm)?)?, 0),
            Home::Nodes(nodes) => (make(nodes.clone())?, 0),
            Home::Arena(arena) => arena.take(plan.bytes, align_of::<T>())?,
        };
        if self.wishes.huge_pages {
            whole.welcome_large_pages();
        }
        let filling = Filling::new(whole, at, plan, self.progress);
        filling.placed(source, self.wishes).map(Some)
    }
}

impl<T: Pod> fmt::Debug for NodeSharedBuilder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeSharedBuilder")
            .field("backend", &self.backend)
            .field("wishes", &self.wishes)
            .finish_non_exhaustive()
    }
}
