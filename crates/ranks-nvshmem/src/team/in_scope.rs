//! Operations of teams, of a scope.

use std::rc::Rc;

use ranks_comm::Result;

use crate::heap::arguments::{Symmetric, SymmetricMut};
use crate::stream::queue::Queue;
use crate::stream::reach::What;
use crate::team::TeamState;
use crate::team::any_team::AnyTeam;
use crate::team::element::Element;
use crate::team::movement::{Moved, Movement};
use crate::team::reduction::Reduction;

impl<'env> Queue<'env> {
    /// The stream goes on when those of all PEs of the team have come here, and all has arrived
    /// that was put on them before. Collective over the team.
    ///
    /// # Errors
    /// As [all operations on teams](crate::Team#operations);
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if another scope that is open works on the
    /// team. So below.
    #[doc(alias = "nvshmemx_barrier_on_stream")]
    pub fn barrier(&self, team: impl AnyTeam<'env>) -> Result<()> {
        self.together(team, Movement::Barrier, (), |()| Ok(None))
    }

    /// The stream goes on when those of all PEs of the team have come here. Collective over the
    /// team.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    #[doc(alias = "nvshmemx_team_sync_on_stream")]
    pub fn sync(&self, team: impl AnyTeam<'env>) -> Result<()> {
        self.together(team, Movement::Sync, (), |()| Ok(None))
    }

    /// As [`Team::broadcast`](crate::Team::broadcast), enqueued.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    #[doc(alias = "nvshmemx_broadcastmem_on_stream")]
    pub fn broadcast<D, S>(
        &self,
        team: impl AnyTeam<'env>,
        dest: D,
        source: S,
        root: usize,
    ) -> Result<()>
    where
        D: SymmetricMut + 'env,
        S: Symmetric<Element = D::Element> + 'env,
    {
        self.moves(team, Movement::Broadcast(root), dest, source)
    }

    /// As [`Team::broadcast_in_place`](crate::Team::broadcast_in_place), enqueued.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    #[doc(alias = "nvshmemx_broadcastmem_on_stream")]
    pub fn broadcast_in_place<B: SymmetricMut + 'env>(
        &self,
        team: impl AnyTeam<'env>,
        buffer: B,
        root: usize,
    ) -> Result<()> {
        self.moves_in_place(team, Movement::Broadcast(root), buffer)
    }

    /// As [`Team::fcollect`](crate::Team::fcollect), enqueued.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    #[doc(alias = "nvshmemx_fcollectmem_on_stream")]
    pub fn fcollect<D, S>(&self, team: impl AnyTeam<'env>, dest: D, source: S) -> Result<()>
    where
        D: SymmetricMut + 'env,
        S: Symmetric<Element = D::Element> + 'env,
    {
        self.moves(team, Movement::Fcollect, dest, source)
    }

    /// As [`Team::alltoall`](crate::Team::alltoall), enqueued.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    #[doc(alias = "nvshmemx_alltoallmem_on_stream")]
    pub fn alltoall<D, S>(&self, team: impl AnyTeam<'env>, dest: D, source: S) -> Result<()>
    where
        D: SymmetricMut + 'env,
        S: Symmetric<Element = D::Element> + 'env,
    {
        self.moves(team, Movement::Alltoall, dest, source)
    }

    /// As [`Team::reduce`](crate::Team::reduce), enqueued.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    #[doc(alias = "nvshmemx_float_sum_reduce_on_stream")]
    pub fn reduce<T, D, S, O>(
        &self,
        team: impl AnyTeam<'env>,
        dest: D,
        source: S,
        op: O,
    ) -> Result<()>
    where
        T: Element,
        D: SymmetricMut<Element = T> + 'env,
        S: Symmetric<Element = T> + 'env,
        O: Reduction<T>,
    {
        self.moves(team, Movement::reduce::<T, O>(op), dest, source)
    }

    /// As [`Team::reduce_in_place`](crate::Team::reduce_in_place), enqueued.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    #[doc(alias = "nvshmemx_float_sum_reduce_on_stream")]
    pub fn reduce_in_place<T, B, O>(&self, team: impl AnyTeam<'env>, buffer: B, op: O) -> Result<()>
    where
        T: Element,
        B: SymmetricMut<Element = T> + 'env,
        O: Reduction<T>,
    {
        self.moves_in_place(team, Movement::reduce::<T, O>(op), buffer)
    }

    /// As [`Team::reducescatter`](crate::Team::reducescatter), enqueued.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    #[doc(alias = "nvshmemx_float_sum_reducescatter_on_stream")]
    pub fn reducescatter<T, D, S, O>(
        &self,
        team: impl AnyTeam<'env>,
        dest: D,
        source: S,
        op: O,
    ) -> Result<()>
    where
        T: Element,
        D: SymmetricMut<Element = T> + 'env,
        S: Symmetric<Element = T> + 'env,
        O: Reduction<T>,
    {
        self.moves(team, Movement::reducescatter::<T, O>(op), dest, source)
    }

    fn moves<D, S>(
        &self,
        team: impl AnyTeam<'env>,
        movement: Movement,
        dest: D,
        source: S,
    ) -> Result<()>
    where
        D: Symmetric + 'env,
        S: Symmetric<Element = D::Element> + 'env,
    {
        let (n_pes, order) = (team.state().n_pes, self.order());
        self.together(team, movement, (dest, source), |(dest, source)| {
            movement.check(n_pes, order, dest, source)
        })
    }

    fn moves_in_place<B: Symmetric + 'env>(
        &self,
        team: impl AnyTeam<'env>,
        movement: Movement,
        buffer: B,
    ) -> Result<()> {
        let (n_pes, order) = (team.state().n_pes, self.order());
        self.together(team, movement, buffer, |buffer| {
            movement.check(n_pes, order, buffer, buffer)
        })
    }

    /// Enqueues it with memory that is borrowed for as long as the queue, after what the team is
    /// doing.
    fn together<K: 'env>(
        &self,
        team: impl AnyTeam<'env>,
        movement: Movement,
        kept: K,
        check: impl for<'k> FnOnce(&'k K) -> Result<Option<Moved<'k>>>,
    ) -> Result<()> {
        let moved = check(&kept)?;
        if movement.is_nothing(moved) {
            return Ok(());
        }
        let order = self.order();
        let name = movement.name(order);
        let state = team.state();
        self.enter(state, name)?;
        let backend = self.reach.backend;
        let called = self.enqueue_wait(name, None, || {
            backend.moves(state.handle, movement, moved, order)
        });
        // References and slices need not be kept: what they borrow outlives the queue.
        if std::mem::needs_drop::<K>() {
            self.kept.borrow_mut().push(Box::new(move |_| drop(kept)));
        }
        called
    }

    /// Has the team do one thing at a time: what it does elsewhere comes before, and what comes
    /// after waits for the end of this.
    pub(crate) fn enter(&self, state: &Rc<TeamState>, name: &'static str) -> Result<()> {
        let number = std::ptr::from_ref(self).addr();
        if !state.in_use.enter(name, number, self.stream)? {
            return Ok(());
        }
        // There is an end, also if nothing is enqueued after all.
        self.last.set(Some(What::of(name)));
        let state = Rc::clone(state);
        let tell = move |mark: Option<&crate::backend::stream::Mark>| state.in_use.leave(mark);
        self.kept.borrow_mut().push(Box::new(tell));
        Ok(())
    }
}
