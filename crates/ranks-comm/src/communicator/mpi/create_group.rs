//! Communicators of some ranks of another one, intercommunicators, and the public communicator of a
//! new one.

use std::ffi::c_int;
use std::sync::Arc;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;
use ranks_trace::Home;

use crate::call::record::Recorder;
use crate::communicator::Communicator;
use crate::result::Result;
use crate::transport::join::Join;
use crate::transport::mpi::children::{Children, Lineage};
use crate::transport::mpi::communicator::{Comm, Group, Origin, rank_and_size};
use crate::transport::mpi::error::check;
use crate::transport::mpi::free_by_group::{Dropped, Members, of_both};
use crate::transport::mpi::{peer, session};

/// The number of words that the first rank sends: the number of the new one, and of those that it
/// proposes to free.
const WORDS: usize = 16;

impl Comm {
    /// Makes a communicator of the processes with these world ranks; only they call.
    pub(crate) fn create_group(
        &self,
        parent: &Communicator,
        world_ranks: &[usize],
        tag: i32,
    ) -> Result<Communicator> {
        let group = Group::of(sys::MPI_COMM_WORLD)?.include(world_ranks)?;
        let mut new = sys::MPI_COMM_NULL;
        // SAFETY: communicator and group are alive, and the new handle is ours.
        let code =
            unsafe { sys::MPI_Comm_create_group(self.canonical, group.0, tag, &raw mut new) };
        check(code, "MPI_Comm_create_group")?;
        self.adopt_freeing(new, world_ranks.into(), false, parent.max_tag())
    }

    /// Makes an intercommunicator of the ranks of this communicator and those of another one, whose
    /// leader is `remote_leader` of `peer`.
    pub(crate) fn intercomm_create(
        &self,
        parent: &Communicator,
        local_leader: usize,
        peer: &Self,
        remote_leader: usize,
        tag: i32,
    ) -> Result<Communicator> {
        let (local_leader, remote_leader) = (peer::rank(local_leader), peer::rank(remote_leader));
        let mut new = sys::MPI_COMM_NULL;
        // SAFETY: both communicators are alive; the leaders are their ranks; the new handle is
        // ours.
        let code = unsafe {
            sys::MPI_Intercomm_create(
                self.canonical,
                local_leader,
                peer.canonical,
                remote_leader,
                tag,
                &raw mut new,
            )
        };
        check(code, "MPI_Intercomm_create")?;
        let mine = Group::of(new)?.world_ranks()?;
        let theirs = Group::remote(new)?.world_ranks()?;
        self.adopt_freeing(new, of_both(&mine, &theirs), true, parent.max_tag())
    }

    /// Wraps a communicator that was made from one whose descent is unknown, as that of another
    /// part of the program is, and frees old ones of the same ranks.
    pub(super) fn adopt_alone(&self, new: MPI_Comm, parent: &Communicator) -> Result<Communicator> {
        let members = if rank_and_size(new)?.1 <= Recorder::MOST {
            // Ranks of another world are unknown.
            Group::of(new)?.world_ranks().unwrap_or_default()
        } else {
            Vec::new()
        };
        self.adopt_freeing(new, members.into(), false, parent.max_tag())
    }

    /// Wraps a new communicator, and frees old ones of the same ranks.
    fn adopt_freeing(
        &self,
        new: MPI_Comm,
        members: Members,
        between: bool,
        max_tag: i32,
    ) -> Result<Communicator> {
        let key = self.session.key();
        let mut comm = self.adopt(new, Children::default(), key, Origin::unnumbered())?;
        comm.between = between;
        let number = comm.free_old(&members, key)?;
        comm.children = Arc::new(Children::of(Lineage::of_number(number)));
        comm.origin = Some((key, Origin::FreeByGroup { members, number }));
        comm.into_communicator(max_tag, number)
    }

    /// Frees what is old and was dropped, of the same ranks as this new communicator, and returns
    /// a number for it, which is made of its key. Collective.
    fn free_old(&self, members: &Members, key: u64) -> Result<u64> {
        let me = session::whoami().map_or(0, |(rank, _)| rank);
        let is_first = members.first() == Some(&me);
        let apart = &self.session.free_by_group;
        let can_go = self.session.are_at_rest();
        let mut words = [0u64; WORDS];
        let mut old = Vec::new();
        if is_first {
            old = apart.take_some(members, WORDS - 1, &can_go);
            words[0] = (me as u64) << 32 | (key & u64::from(u32::MAX));
            for (word, &(number, _)) in words[1..].iter_mut().zip(&old) {
                *word = number;
            }
        }
        // All but the first pass zeros.
        let numbers = self.join_all(words, Join::Sum)?;
        let proposed = numbers[1..].iter().copied().filter(|&number| number != 0);
        let proposed: Vec<u64> = proposed.collect();
        if proposed.is_empty() {
            return Ok(numbers[0]);
        }
        if !is_first {
            let mine = |&number: &u64| Some((number, apart.take(members, number, &can_go)?));
            old = proposed.iter().filter_map(mine).collect();
        }
        let mut mask = [0u64];
        for (bit, number) in proposed.iter().enumerate() {
            if old.iter().any(|(mine, _)| mine == number) {
                mask[0] |= 1 << bit;
            }
        }
        let [agreed] = self.join_all(mask, Join::And)?;
        let mut outcome = Ok(());
        for (bit, &number) in proposed.iter().enumerate() {
            let Some(&(_, key)) = old.iter().find(|(mine, _)| *mine == number) else {
                continue;
            };
            if agreed & 1 << bit == 0 {
                let members = Arc::clone(members);
                apart.are_dropped([Dropped {
                    members,
                    number,
                    key,
                }]);
            } else {
                outcome = outcome.and(self.session.free(key));
            }
        }
        outcome.map(|()| numbers[0])
    }

    /// Joins the words of all ranks of this new communicator. Collective.
    pub(crate) fn join_all<const N: usize>(&self, words: [u64; N], join: Join) -> Result<[u64; N]> {
        if self.between {
            self.join_groups(words, join)
        } else {
            self.join(words, join)
        }
    }

    /// Makes the public communicator, with rank and size from the library.
    ///
    /// `origin` is the same on all its ranks.
    pub(crate) fn into_communicator(mut self, max_tag: i32, origin: u64) -> Result<Communicator> {
        let (rank, size) = rank_and_size(self.canonical)?;
        let peers = if self.between {
            self.remote_size()?
        } else {
            size
        };
        let recorder = self.recorder(origin, rank, size);
        if !self.between {
            self.members = Arc::clone(&recorder.world_ranks);
            // Those of groups have done it.
            let by_parent = matches!(self.origin, Some((_, Origin::Parent { .. })));
            if by_parent && self.children.of.is_due() {
                self.free_old(&self.members, 0)?;
            }
        }
        Ok(Communicator::over_mpi(
            self, rank, size, peers, max_tag, recorder,
        ))
    }

    pub(crate) fn recorder(&self, origin: u64, rank: usize, size: usize) -> Arc<Recorder> {
        let world = &self.session.world_recorder;
        let is_world = !self.between && self.is_world().unwrap_or(false);
        let ranks = if is_world {
            Arc::clone(&world.world_ranks)
        } else if size <= Recorder::MOST {
            // Ranks of another world are unknown.
            self.world_ranks().unwrap_or_default().into()
        } else {
            Arc::default()
        };
        let home = Home::PROCESS.world;
        Recorder::with(home, origin, (rank, size), ranks, is_world, world.place)
    }

    pub(crate) fn remote_size(&self) -> Result<usize> {
        let mut size: c_int = 0;
        // SAFETY: an intercommunicator, which is alive; the number is ours.
        let code = unsafe { sys::MPI_Comm_remote_size(self.canonical, &raw mut size) };
        check(code, "MPI_Comm_remote_size")?;
        Ok(usize::try_from(size).unwrap_or(0))
    }

    /// The world ranks of the remote group.
    pub(crate) fn remote_world_ranks(&self) -> Result<Vec<usize>> {
        Group::remote(self.canonical)?.world_ranks()
    }

    /// Makes one communicator of both groups; the one that passes `high` comes second.
    pub(crate) fn intercomm_merge(
        &self,
        parent: &Communicator,
        high: bool,
    ) -> Result<Communicator> {
        self.make_one(parent, "MPI_Intercomm_merge", &mut |new| {
            // SAFETY: an intercommunicator, which is alive; the new handle is ours.
            unsafe { sys::MPI_Intercomm_merge(self.canonical, c_int::from(high), new) }
        })
    }
}
