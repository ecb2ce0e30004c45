//! Operations in two steps: within nodes, and among one rank of each.

use std::sync::Arc;

use bytemuck::Pod;
use ranks_comm::backend::unused_number;
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use crate::agreement::{CallSignature, all_ready};
use crate::arguments::call::Call;
use crate::arguments::transfer::Transfer;
use crate::composed::part;
use crate::ops::Op;
use crate::{Collectives, InPlaceCollectives};

/// The ranks of a communicator by node, and one rank of each node, its leader: for operations of
/// which only the leaders' part goes from node to node.
///
/// A good MPI library does this by itself where it knows the machine; this is for those that do
/// not, and for groups that they do not know of. Nothing chooses it by itself. Make it once, and
/// measure: of all ranks the leaders alone send from one node to another, however ranks are
/// numbered.
///
/// Times as long as the plain operation, 8 ranks on emulated hosts with links of 200 Mbit/s:
///
/// | | Open MPI 5.0.11 | MPICH 4.3.2, 5.0.2 |
/// |---|---|---|
/// | `allreduce` of 8 KiB, 4 hosts | 0.35 | 0.9 |
/// | the same of 1 MiB | 0.6 | 1.0 |
/// | `bcast` of 1 MiB, 4 hosts | 0.55 | 1.1 |
/// | the same, 2 hosts | 0.8 | 0.7 |
/// | the same, ranks of both hosts by turns | 0.9 | 0.25 |
///
/// A `bcast` of less takes 0.7 to 1.3 times as long. On a single machine there is nothing to gain:
/// an `allreduce` of 8 words took 0.9 to 1.3 times as long.
///
/// Nodes are numbered in the order of their leaders. A clone is another handle of the same.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    whole: Communicator,
    node: Communicator,
    leaders: Option<Communicator>,
    /// For each rank its node, numbered in the order of their leaders, and its rank there.
    places: Arc<[[u64; 2]]>,
    number: u64,
}

impl Hierarchy {
    /// By node: ranks that can share memory. In process that is all of them. Collective.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_split_type`, `MPI_Comm_split`).
    pub fn new(comm: &Communicator) -> Result<Self> {
        all_ready(comm, CallSignature::of("Hierarchy::new"), Ok(()))?;
        Self::of(comm, comm.split_shared(0)?)
    }

    /// By what the program knows: ranks that pass the same color, such as that of a rack or a
    /// socket, are a node. Collective.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if the color is negative; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §7.4.2 (`MPI_Comm_split`).
    pub fn by_color(comm: &Communicator, color: i32) -> Result<Self> {
        all_ready(comm, CallSignature::of("Hierarchy::by_color"), Ok(()))?;
        Self::of(comm, part(comm, color)?)
    }

    fn of(comm: &Communicator, node: Communicator) -> Result<Self> {
        let leaders = comm.split((node.rank() == 0).then_some(0), 0)?;
        let number = leaders.as_ref().map_or(0, Communicator::rank);
        let mut place = [number as u64];
        node.bcast(&mut place, 0)?;
        let mut all = vec![[0; 3]; comm.size()];
        let told = [place[0], node.rank() as u64, unused_number()];
        comm.allgather(&[told], &mut all)?;
        Ok(Self {
            whole: comm.clone(),
            node,
            leaders,
            places: all.iter().map(|&[node, rank, _]| [node, rank]).collect(),
            number: all[0][2],
        })
    }

    /// The ranks of this node.
    #[must_use]
    pub fn node(&self) -> &Communicator {
        &self.node
    }

    /// The leaders, the lowest rank of each node; `None` on the others.
    #[must_use]
    pub fn leaders(&self) -> Option<&Communicator> {
        self.leaders.as_ref()
    }

    /// All of the ranks.
    #[must_use]
    pub fn whole(&self) -> &Communicator {
        &self.whole
    }

    /// Its number, by which all ranks know it, among those that they have made of the whole.
    #[doc(hidden)]
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns `true` if this rank is its node's leader.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.leaders.is_some()
    }

    /// The number of this node, which is its leader's rank among the leaders.
    #[must_use]
    pub fn node_id(&self) -> usize {
        self.node_of(self.whole.rank()).unwrap_or(0)
    }

    /// The number of nodes.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        let ids = (0..self.places.len()).filter_map(|rank| self.node_of(rank));
        ids.max().map_or(0, |last| last + 1)
    }

    /// The number of the node of a rank of the whole; `None` if there is no such rank.
    #[must_use]
    pub fn node_of(&self, rank: usize) -> Option<usize> {
        let [node, _] = self.places.get(rank)?;
        usize::try_from(*node).ok()
    }

    /// Copies `data` of `root` to every rank: within its node, to the other leaders, and within
    /// their nodes. Collective.
    ///
    /// # Errors
    /// [`Root`](ErrorKind::Root) if there is no such rank; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.4 (`MPI_Bcast`).
    pub fn bcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        const OPERATION: &str = "Hierarchy::bcast";
        let proven = Transfer::broadcast(Call::new(OPERATION, &self.whole), data, root);
        all_ready(
            &self.whole,
            CallSignature::moving::<T>(OPERATION)
                .at(root)
                .on(self.number),
            proven,
        )?;
        let ([node, there], [own, _]) = (self.place(root), self.place(self.whole.rank()));
        // After an error others still wait for the other steps.
        let mut outcome = Ok(());
        if own == node {
            outcome = self.node.bcast(data, there);
        }
        if let Some(leaders) = &self.leaders {
            outcome = outcome.and(leaders.bcast(data, node));
        }
        if own != node {
            outcome = outcome.and(self.node.bcast(data, 0));
        }
        outcome.map_err(|error| error.of(OPERATION))
    }

    /// Reduces the `send` of all ranks with `op`, element by element, into `recv` of every rank:
    /// within nodes, among the leaders, and back. Collective.
    ///
    /// Results are rounded in another order than by [`allreduce`](crate::Collectives::allreduce).
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if `send` and `recv` differ in length;
    /// [`Argument`](ErrorKind::Argument) if operands may not be swapped and the ranks of a node do
    /// not follow each other, so that the order of ranks cannot be kept; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.9.6 (`MPI_Allreduce`).
    pub fn allreduce<T: Pod, O: Op<T>>(&self, send: &[T], recv: &mut [T], op: O) -> Result<()> {
        const OPERATION: &str = "Hierarchy::allreduce";
        let proven = match Transfer::equal(OPERATION, send, recv) {
            Ok(_) if !op.commutes() && !self.places.is_sorted() => Err(out_of_order(OPERATION)),
            proven => proven,
        };
        all_ready(
            &self.whole,
            CallSignature::reducing::<T, O>(OPERATION)
                .on(self.number)
                .in_order(!op.commutes()),
            proven,
        )?;
        // After an error, as of an operation that has panicked, others still wait for the other
        // steps.
        let mut outcome = self.node.reduce(send, recv, op, 0);
        if let Some(leaders) = &self.leaders {
            outcome = outcome.and(leaders.allreduce_in_place(recv, op));
        }
        outcome = outcome.and(self.node.bcast(recv, 0));
        outcome.map_err(|error| error.of(OPERATION))
    }

    /// The node of a rank that there is, and its rank there.
    fn place(&self, rank: usize) -> [usize; 2] {
        // Every rank has passed what is a rank and so a usize.
        self.places[rank].map(|place| usize::try_from(place).unwrap_or(0))
    }
}

#[cold]
fn out_of_order(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::Argument,
        operation,
        "the operands of this operation may not be swapped, and not all nodes have ranks that follow each other; \
         use allreduce of the communicator, or an operation that commutes",
    )
}
