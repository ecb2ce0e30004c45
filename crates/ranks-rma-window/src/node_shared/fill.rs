//! Filling of the memory of all nodes with the same array.
//!
//! Ranks take turns: whoever writes does so before it comes to a step that all ranks take together,
//! and orders its stores before it; whoever reads what another has written does so after that step.
#![allow(unsafe_code)]

use std::any::type_name;
use std::fmt;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use ranks_collectives::Collectives;
use ranks_comm::backend::{Count, digest, unused_number};
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use super::NodeShared;
use super::backend::NodeBackend;
use super::builder::Progress;
use super::having::Words;
use super::panics::Panics;
use super::whole::{Array, Whole};
use crate::page::{page_size, stripe};
use crate::preflight;
use crate::shared_window::Placement;

pub(super) const OPERATION: &str = "NodeShared";

/// Source of the array's elements: the ranks that write them, and from what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FillSource {
    /// The root, in place.
    Root(usize),
    /// The root, of a slice.
    Slice(usize),
    /// The root, of a reader.
    Reader(usize),
    /// Each leader.
    EachNode,
    /// Each rank.
    Striped,
    /// Nobody yet: many arrays will lie there.
    Arena,
}

/// Parameters that all ranks have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Number of elements.
    pub(crate) length: usize,
    /// Number of bytes.
    pub(crate) bytes: usize,
    /// Number of elements sent at once.
    chunk: usize,
    /// Number that identifies the new array or arena on all ranks.
    pub(crate) number: u64,
}

/// Options of an array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wishes {
    /// The backend that was chosen, but for its folder.
    pub(super) backend: &'static str,
    /// Number of bytes sent at once.
    pub(super) chunk: usize,
    pub(super) placement: Placement,
    pub(super) huge_pages: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            backend: NodeBackend::Auto.kind(),
            chunk: 128 << 20,
            placement: Placement::Owner,
            huge_pages: true,
        }
    }
}

impl FillSource {
    fn root(self) -> Option<usize> {
        match self {
            Self::Root(root) | Self::Slice(root) | Self::Reader(root) => Some(root),
            Self::EachNode | Self::Striped | Self::Arena => None,
        }
    }

    /// A number that differs where ranks call different things.
    fn number<T: Pod>(self, wishes: Wishes) -> u64 {
        let name = format!(
            "{self:?} {} {:?} {} {}",
            wishes.backend,
            wishes.placement,
            wishes.huge_pages,
            type_name::<T>()
        );
        let name = name.bytes().map(u64::from);
        digest(name.chain([size_of::<T>() as u64]))
    }

    /// The same plan on every rank, which all wish for the same but for chunks, where the root's
    /// count, or the same error; `None` everywhere if the root has no length. Collective.
    ///
    /// `on` is the number of the nodes or of the arena that it is made on, and how far that is.
    pub(crate) fn agree<T: Pod>(
        self,
        comm: &Communicator,
        on: [u64; 2],
        length: Option<usize>,
        wishes: Wishes,
    ) -> Result<Option<Plan>> {
        // Elements without a size are one chunk, however many they are.
        let chunk = wishes.chunk.checked_div(size_of::<T>());
        let chunk = chunk.unwrap_or(usize::MAX).max(1);
        // The call, the object it is called on, if it has a length, the length, the chunk in
        // elements, a number for the object that is made.
        let told: Words = [
            self.number::<T>(wishes),
            digest(on),
            u64::from(length.is_some()),
            length.unwrap_or(0) as u64,
            chunk as u64,
            unused_number(),
        ];
        let all = preflight::told_by_all(comm, OPERATION, told)?;
        let same = |words: Range<usize>| {
            all.iter()
                .all(|told| told[words.clone()] == all[0][words.clone()])
        };
        if !same(0..1) || (self.root().is_none() && !same(2..4)) {
            return Err(self.mixed());
        }
        if !same(1..2) {
            let why = "ranks pass different nodes or arenas, or an arena from which they have taken different arrays; all must pass the same";
            return Err(Error::new(ErrorKind::Mismatch, OPERATION, why));
        }
        if align_of::<T>() > page_size() {
            let (element, align) = (type_name::<T>(), align_of::<T>());
            let why = format_args!("{element} is aligned to {align} bytes, more than a page");
            return Err(Error::new(ErrorKind::Argument, OPERATION, why));
        }
        let (size, number) = (comm.size(), all[0][5]);
        let Some(&[_, _, is_there, length, chunk, _]) = all.get(self.root().unwrap_or(0)) else {
            let root = self.root().unwrap_or(0);
            let why = format_args!("root {root} is not in this communicator of {size}");
            return Err(Error::new(ErrorKind::Root, OPERATION, why));
        };
        if is_there == 0 {
            return Ok(None);
        }
        let of = |number: u64| usize::try_from(number).ok();
        let bytes = of(length).and_then(|length| length.checked_mul(size_of::<T>()));
        match (
            of(length),
            bytes.filter(|bytes| isize::try_from(*bytes).is_ok()),
        ) {
            (Some(length), Some(bytes)) => Ok(Some(Plan {
                length,
                bytes,
                chunk: of(chunk).unwrap_or(usize::MAX),
                number,
            })),
            _ => {
                let element = type_name::<T>();
                let why = format_args!(
                    "{length} elements of {element} are more than the address space holds"
                );
                Err(Error::new(ErrorKind::Length, OPERATION, why))
            }
        }
    }

    /// Ranks do not call the same.
    #[cold]
    pub(crate) fn mixed(self) -> Error {
        let why = "ranks call different things; all must call the same, with the same options, element type, root and, where no root \
                   has it, the same length";
        Error::new(ErrorKind::Mismatch, OPERATION, why)
    }
}

/// Memory of all nodes that is being filled. No rank has an array there yet.
pub(crate) struct Filling<'a, T: Pod> {
    whole: Arc<Whole>,
    at: usize,
    plan: Plan,
    progress: Option<&'a mut dyn FnMut(Progress)>,
    panics: Panics,
    elements: PhantomData<fn() -> T>,
}

impl<'a, T: Pod> Filling<'a, T> {
    pub(super) fn new(
        whole: Arc<Whole>,
        at: usize,
        plan: Plan,
        progress: Option<&'a mut dyn FnMut(Progress)>,
    ) -> Self {
        Self {
            whole,
            at,
            plan,
            progress,
            panics: Panics::default(),
            elements: PhantomData,
        }
    }

    fn comm(&self) -> &Communicator {
        self.whole.nodes().whole()
    }

    /// Takes the pages from the system, near the ranks of each node that they are to be near.
    /// Collective.
    ///
    /// All ranks pass the same.
    ///
    /// # Errors
    /// The same on every rank: [`ErrorKind::Memory`] if a node has none for them; the memory goes
    /// at once then.
    pub(super) fn placed(self, source: FillSource, wishes: Wishes) -> Result<Self> {
        let taken = self.take(source, wishes);
        let taken = taken.and_then(|()| self.whole.sync());
        let Err(error) = preflight::all_have(self.comm(), OPERATION, taken) else {
            return Ok(self);
        };
        if error.kind() == ErrorKind::Memory
            && let Some(whole) = Arc::into_inner(self.whole)
        {
            // All have come here, and nobody uses it.
            whole.free()?;
        }
        Err(error)
    }

    /// Takes this rank's share of the pages.
    fn take(&self, source: FillSource, wishes: Wishes) -> Result<()> {
        let (nodes, large) = (self.whole.nodes(), wishes.huge_pages);
        let (rank, size) = (nodes.node().rank(), nodes.node().size());
        // In an arena the first page may hold the end of another array.
        let skipped = self.at % page_size();
        let parts = wishes
            .placement
            .parts(skipped + self.plan.bytes, rank, size, large)
            .map(|part| part.start.max(skipped) - skipped..part.end.max(skipped) - skipped);
        let own = match (wishes.placement, source) {
            (Placement::Owner, FillSource::Striped) => {
                let stripe = stripe::<T>(self.plan.length, rank, size);
                Some(stripe.start * size_of::<T>()..stripe.end * size_of::<T>())
            }
            (Placement::Owner, _) if self.is_filled_here(source) => Some(0..self.plan.bytes),
            _ => None,
        };
        for part in own.into_iter().chain(parts) {
            let bytes = self.at + part.start..self.at + part.end;
            // SAFETY: the shares of ranks are apart, and nobody fills them before all have come to
            // `placed`.
            unsafe { self.whole.take(bytes, wishes.placement != Placement::Owner) }?;
        }
        Ok(())
    }

    /// Returns true if it is this rank that writes to its node's memory.
    fn is_filled_here(&self, source: FillSource) -> bool {
        let (nodes, me) = (self.whole.nodes(), self.comm().rank());
        match source.root() {
            Some(root) if nodes.node_of(root) == nodes.node_of(me) => root == me,
            _ => nodes.is_leader(),
        }
    }

    /// The root fills it where it lies on its node, and leaders pass it on.
    pub(super) fn in_place<E: fmt::Display>(
        mut self,
        root: usize,
        fill: impl FnOnce(&mut [T]) -> Result<(), E>,
    ) -> Result<NodeShared<T>> {
        let filled = if self.comm().rank() == root {
            // SAFETY: the others of its node wait for the root in `together`.
            let out = unsafe { self.elements(0..self.plan.length) };
            out.and_then(|out| self.panics.caught(|| fill(out)))
        } else {
            Ok(())
        };
        self.together(filled)?;
        // The other leaders come to every chunk, so that a panic waits until all are sent.
        let sent = self.chunks().try_fold(Ok(()), |told: Result<()>, chunk| {
            self.spread(root, chunk.clone())?;
            Ok(told.and_then(|()| self.tell(chunk)))
        });
        self.publish(sent.flatten())
    }

    /// The root reads chunk by chunk, and leaders pass each on.
    pub(super) fn reading<R: Read>(
        mut self,
        root: usize,
        open: impl FnOnce() -> io::Result<R>,
    ) -> Result<NodeShared<T>> {
        let is_root = self.comm().rank() == root;
        let reader = is_root.then(|| self.panics.caught(open)).transpose();
        let mut reader = self.panics.go_on(self.comm().agree(reader))?;
        for chunk in self.chunks() {
            let read = match &mut reader {
                Some(reader) => {
                    // SAFETY: the others of its node wait for the root in `together`.
                    let out = unsafe { self.elements(chunk.clone()) };
                    out.and_then(|out| {
                        let bytes = bytemuck::cast_slice_mut(out);
                        self.panics.caught(|| {
                            let read = reader.read_exact(bytes);
                            read.map_err(|error| self.ended_early(error, chunk.end))
                        })
                    })
                }
                None => Ok(()),
            };
            self.together(read)?;
            let sent = self.spread(root, chunk.clone());
            let sent = sent.and_then(|()| self.tell(chunk));
            // The root's leader has read the chunk when the root goes on to the next one, which
            // lies elsewhere.
            self.panics.go_on(self.comm().agree(sent))?;
        }
        self.publish(Ok(()))
    }

    /// An error of the reader, which tells of which element there was no end.
    fn ended_early(&self, error: io::Error, end: usize) -> io::Error {
        if error.kind() != io::ErrorKind::UnexpectedEof {
            return error;
        }
        let (length, width) = (self.plan.length, size_of::<T>());
        let text = format!(
            "the reader has ended before the first {} of {length} were there, {} each; ask for fewer, or read more",
            Count(end, "element"),
            Count(width, "byte")
        );
        io::Error::new(error.kind(), text)
    }

    /// Each leader fills its node's.
    pub(super) fn by_leaders(self, fill: impl FnOnce(&mut [T])) -> Result<NodeShared<T>> {
        let filled = if self.whole.nodes().is_leader() {
            // SAFETY: the others of its node wait for the leader in `publish`.
            let out = unsafe { self.elements(0..self.plan.length) };
            out.and_then(|out| self.panics.ran(|| fill(out)))
        } else {
            Ok(())
        };
        self.publish(filled)
    }

    /// Each rank fills its part of its node's.
    pub(super) fn in_stripes(
        self,
        fill: impl FnOnce(Range<usize>, &mut [T]),
    ) -> Result<NodeShared<T>> {
        let node = self.whole.nodes().node();
        let stripe = stripe::<T>(self.plan.length, node.rank(), node.size());
        // SAFETY: the stripes of the node's ranks do not overlap, and nobody reads them before
        // `publish`.
        let out = unsafe { self.elements(stripe.clone()) };
        let filled = out.and_then(|out| self.panics.ran(|| fill(stripe, out)));
        self.publish(filled)
    }

    /// Some of the elements.
    ///
    /// # Safety
    /// No rank of the node has another reference to them as long as this one is in use.
    #[allow(clippy::mut_from_ref, reason = "that is what the contract is for")]
    unsafe fn elements(&self, range: Range<usize>) -> Result<&mut [T]> {
        let length = self.plan.length;
        let range = range.start.min(length)..range.end.min(length);
        let at = self.at + range.start * size_of::<T>();
        // SAFETY: as the caller says.
        unsafe { self.whole.elements_mut(at, range.len()) }.ok_or_else(outside)
    }

    /// Ranges of elements that are sent at once.
    fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<T> {
        let Plan { length, chunk, .. } = self.plan;
        (0..length.div_ceil(chunk)).map(move |number| {
            let start = number * chunk;
            start..length.min(start.saturating_add(chunk))
        })
    }

    /// The leaders send a chunk from the root's node to the others.
    fn spread(&self, root: usize, chunk: Range<usize>) -> Result<()> {
        let nodes = self.whole.nodes();
        let Some(leaders) = nodes.leaders() else {
            return Ok(());
        };
        let from = nodes.node_of(root).unwrap_or(0);
        if leaders.size() > 1 {
            // SAFETY: of its node this rank alone has to do with this chunk now.
            let out = unsafe { self.elements(chunk) };
            leaders.bcast(out?, from)?;
        }
        Ok(())
    }

    /// Tells the program that its leader has a chunk.
    fn tell(&mut self, chunk: Range<usize>) -> Result<()> {
        if let Some(progress) = &mut self.progress
            && self.whole.nodes().is_leader()
        {
            let done = Progress {
                done: chunk.end * size_of::<T>(),
                total: self.plan.bytes,
            };
            self.panics.ran(|| progress(done))?;
        }
        Ok(())
    }

    /// Makes earlier stores visible to all ranks; returns the same error everywhere if one rank has
    /// one. Collective.
    fn together(&self, outcome: Result<()>) -> Result<()> {
        self.panics.go_on(together(&self.whole, outcome))
    }

    /// The array, from now on only read. Collective.
    fn publish(self, outcome: Result<()>) -> Result<NodeShared<T>> {
        self.together(outcome)?;
        self.whole.seal(self.at + self.plan.bytes);
        // SAFETY: all ranks have written what they had to, since they have come here together.
        let array = unsafe { Array::of(self.whole, self.plan.number, self.at, self.plan.length) };
        array.map(NodeShared).ok_or_else(outside)
    }
}

/// Makes earlier stores of a node's ranks visible to all of them; returns the same error everywhere
/// if one rank has one. Collective.
pub(super) fn together(whole: &Whole, outcome: Result<()>) -> Result<()> {
    let outcome = outcome.and_then(|()| whole.sync());
    whole.nodes().whole().agree(outcome)?;
    whole.sync()
}

#[cold]
pub(super) fn outside() -> Error {
    let why = "the array does not lie in its memory, or not where its elements can";
    Error::new(ErrorKind::Length, OPERATION, why)
}
