//! Operations of a team that are over when they return.

use ranks_comm::Result;

use super::Team;
use crate::backend::Order;
use crate::heap::arguments::{Symmetric, SymmetricMut};
use crate::team::element::Element;
use crate::team::movement::{Moved, Movement};
use crate::team::reduction::Reduction;

impl Team<'_> {
    /// Waits until all PEs of the team have come, and all has arrived that they have put.
    /// Collective over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_barrier")]
    pub fn barrier(&self) -> Result<()> {
        self.together(Movement::Barrier, Ok(None))
    }

    /// Waits until all PEs of the team have come. What was put may not have arrived. Collective
    /// over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_team_sync")]
    pub fn sync(&self) -> Result<()> {
        self.together(Movement::Sync, Ok(None))
    }

    /// Copies `source` of the PE `root` of the team to `dest` of all, its own as well. Both have as
    /// many elements. Collective over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_broadcastmem")]
    pub fn broadcast<D, S>(&self, dest: D, source: S, root: usize) -> Result<()>
    where
        D: SymmetricMut,
        S: Symmetric<Element = D::Element>,
    {
        self.moves(Movement::Broadcast(root), &dest, &source)
    }

    /// Copies `buffer` of the PE `root` of the team to all. Collective over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_broadcastmem")]
    pub fn broadcast_in_place<B: SymmetricMut>(&self, buffer: B, root: usize) -> Result<()> {
        self.moves(Movement::Broadcast(root), &buffer, &buffer)
    }

    /// Collects `source` of all PEs in `dest` of each: that of PE 0 of the team first. `dest` has
    /// as many elements for each PE as `source` has. Collective over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_fcollectmem")]
    pub fn fcollect<D, S>(&self, dest: D, source: S) -> Result<()>
    where
        D: SymmetricMut,
        S: Symmetric<Element = D::Element>,
    {
        self.moves(Movement::Fcollect, &dest, &source)
    }

    /// Sends a share of `source` to each PE, the first to PE 0 of the team, and puts what comes
    /// from them side by side into `dest`. Both are as many shares as there are PEs. Collective
    /// over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_alltoallmem")]
    pub fn alltoall<D, S>(&self, dest: D, source: S) -> Result<()>
    where
        D: SymmetricMut,
        S: Symmetric<Element = D::Element>,
    {
        self.moves(Movement::Alltoall, &dest, &source)
    }

    /// Reduces `source` of all PEs, element by element, to `dest` of each. Both have as many
    /// elements. Collective over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_float_sum_reduce")]
    pub fn reduce<T, D, S, O>(&self, dest: D, source: S, op: O) -> Result<()>
    where
        T: Element,
        D: SymmetricMut<Element = T>,
        S: Symmetric<Element = T>,
        O: Reduction<T>,
    {
        self.moves(Movement::reduce::<T, O>(op), &dest, &source)
    }

    /// Reduces `buffer` of all PEs, element by element, to where it is. Collective over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_float_sum_reduce")]
    pub fn reduce_in_place<T, B, O>(&self, buffer: B, op: O) -> Result<()>
    where
        T: Element,
        B: SymmetricMut<Element = T>,
        O: Reduction<T>,
    {
        self.moves(Movement::reduce::<T, O>(op), &buffer, &buffer)
    }

    /// Reduces `source` of all PEs, element by element, and gives each PE one share of the result,
    /// the first to PE 0 of the team. `source` is as many shares as there are PEs, `dest` is one.
    /// Collective over the team.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_float_sum_reducescatter")]
    pub fn reducescatter<T, D, S, O>(&self, dest: D, source: S, op: O) -> Result<()>
    where
        T: Element,
        D: SymmetricMut<Element = T>,
        S: Symmetric<Element = T>,
        O: Reduction<T>,
    {
        self.moves(Movement::reducescatter::<T, O>(op), &dest, &source)
    }

    fn moves<D, S>(&self, movement: Movement, dest: &D, source: &S) -> Result<()>
    where
        D: Symmetric,
        S: Symmetric<Element = D::Element>,
    {
        let moved = movement.check(self.n_pes(), Order::Now, dest, source);
        self.together(movement, moved)
    }

    /// Compares the call with those of the others, waits for what the team is doing, and does it.
    fn together(&self, movement: Movement, moved: Result<Option<Moved<'_>>>) -> Result<()> {
        let name = movement.name(Order::Now);
        let reach = self.heap.reach(name)?;
        let (moved, words) = match moved {
            Ok(moved) => (moved, Ok(movement.words(moved))),
            Err(error) => (None, Err(error)),
        };
        if self.heap.pe().compares {
            self.state.meet(self.heap, name, words)?;
        } else {
            words?;
        }
        if movement.is_nothing(moved) {
            return Ok(());
        }
        self.state.rest(&reach, name)?;
        let done = reach.together(name, |order| {
            let team = self.state.handle;
            reach.backend.moves(team, movement, moved, order)
        });
        self.state.in_use.after(done)
    }
}
