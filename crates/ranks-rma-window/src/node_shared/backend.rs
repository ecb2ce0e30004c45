//! Memory that the one copy of a node consists of.

use std::fmt;
use std::path::PathBuf;

use ranks_collectives::Hierarchy;
use ranks_comm::backend::Backend;
use ranks_comm::{ErrorKind, Result};

use crate::region::{Backing, Nameless, Region};

/// Memory in which the ranks of a node have their copy of an array.
///
/// In process it is the heap, whatever is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NodeBackend {
    /// The best that works on all nodes: [`Memfd`](Self::Memfd), or else
    /// [`MpiWindow`](Self::MpiWindow).
    #[default]
    Auto,
    /// The heap: of a process that is its node's only rank.
    Heap,
    /// A shared window of the MPI library, which takes room in `/dev/shm`; the heap on a node with
    /// one rank.
    MpiWindow,
    /// A file in memory (`memfd_create`), which needs no room in `/dev/shm`, counts no window of
    /// the library, and goes when the last rank has dropped it. The ranks of a node open it through
    /// `/proc`. On Linux.
    Memfd,
    /// A file without a name in this folder, such as that of a disk of the node: for what is larger
    /// than the memory.
    File(PathBuf),
}

impl NodeBackend {
    /// The name of its kind.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Heap => "heap",
            Self::MpiWindow => "MPI window",
            Self::Memfd => "memfd",
            Self::File(_) => "file",
        }
    }
}

impl fmt::Display for NodeBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(folder) => write!(f, "{} in {}", self.kind(), folder.display()),
            other => f.write_str(other.kind()),
        }
    }
}

/// Memory for a node, what it is, and why it is that.
pub(super) struct Chosen {
    pub(super) region: Region,
    pub(super) backend: NodeBackend,
    pub(super) why: String,
}

const ASKED: &str = "it was asked for";

impl Chosen {
    /// `bytes` bytes for each node, the same number on every rank, if all nodes have them.
    /// Collective over all ranks.
    ///
    /// The requested backend is of the same kind everywhere.
    pub(super) fn make(nodes: &Hierarchy, bytes: usize, asked: &NodeBackend) -> Result<Self> {
        let making = Making { nodes, bytes };
        if matches!(nodes.whole().backend(), Backend::InProcess(_)) {
            return making.allocated(Backing::Heap, "its ranks are threads of one process");
        }
        match asked {
            NodeBackend::Auto if nodes.n_nodes() == nodes.whole().size() => {
                making.allocated(Backing::Heap, "each node has one rank")
            }
            NodeBackend::Auto => making.best(),
            NodeBackend::Heap => making.allocated(Backing::Heap, ASKED),
            NodeBackend::MpiWindow => making.allocated(Backing::MpiWindow, ASKED),
            NodeBackend::Memfd => making.memfd(ASKED),
            NodeBackend::File(folder) => making.mapped(Nameless::In(folder), asked.clone(), ASKED),
        }
    }
}

/// Parameters of an allocation.
#[derive(Clone, Copy)]
struct Making<'a> {
    nodes: &'a Hierarchy,
    bytes: usize,
}

impl Making<'_> {
    fn best(self) -> Result<Chosen> {
        let why =
            "the ranks of a node can open each other's files, and it needs no room in /dev/shm";
        match self.memfd(why) {
            // Windows need memory, too.
            Err(error) if error.kind() != ErrorKind::Memory => {
                let why = format!("memfd cannot be had ({error})");
                self.allocated(Backing::MpiWindow, &why)
            }
            chosen => chosen,
        }
    }

    fn memfd(self, why: &str) -> Result<Chosen> {
        self.mapped(Nameless::Memory, NodeBackend::Memfd, why)
    }

    fn mapped(self, kind: Nameless<'_>, backend: NodeBackend, why: &str) -> Result<Chosen> {
        let (whole, node) = (self.nodes.whole(), self.nodes.node());
        Ok(Chosen {
            region: Region::mapped(whole, node, self.bytes, kind)?,
            backend,
            why: why.to_owned(),
        })
    }

    fn allocated(self, backing: Backing, why: &str) -> Result<Chosen> {
        let (whole, node) = (self.nodes.whole(), self.nodes.node());
        let region = Region::allocate(whole, node, self.bytes, backing, None)?;
        let (backend, why) = match region.backing() {
            Backing::Heap if backing == Backing::Heap => (NodeBackend::Heap, why),
            Backing::Heap => (NodeBackend::Heap, "this node has one rank"),
            Backing::MpiWindow => (NodeBackend::MpiWindow, why),
            Backing::Mapping => (NodeBackend::Memfd, why),
        };
        Ok(Chosen {
            region,
            backend,
            why: why.to_owned(),
        })
    }
}
