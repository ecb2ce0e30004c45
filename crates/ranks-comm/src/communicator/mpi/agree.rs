//! Reductions of a few words over all ranks.

use std::ffi::c_int;
use std::mem::ManuallyDrop;

use ranks_mpi_sys as sys;

use crate::data::source::{Destination, Ends, Source};
use crate::data::tag::Tag;
use crate::result::Result;
use crate::transport::join::Join;
use crate::transport::mpi::communicator::{Comm, rank_and_size};
use crate::transport::mpi::error::check;
use crate::transport::mpi::exchange::op;
use crate::transport::mpi::send_mode::SendMode;

impl Comm {
    /// Joins the words of all ranks. Collective.
    pub(crate) fn join<const N: usize>(&self, words: [u64; N], join: Join) -> Result<[u64; N]> {
        let count = c_int::try_from(N).unwrap_or(0);
        // After an error messages may be on their way to it: it is not given back then.
        let mut joined = ManuallyDrop::new(Box::new([0u64; N]));
        let (mine, all) = (words.as_ptr().cast(), joined.as_mut_ptr().cast());
        // SAFETY: as many 64-bit words each way as the lists hold; the communicator is alive.
        let code = unsafe {
            sys::MPI_Allreduce(
                mine,
                all,
                count,
                sys::MPI_UINT64_T,
                op(join),
                self.canonical,
            )
        };
        check(code, "MPI_Allreduce")?;
        Ok(*ManuallyDrop::into_inner(joined))
    }

    /// Joins the words of all ranks of both groups of an intercommunicator that has no other
    /// traffic yet. Collective.
    ///
    /// The first rank of each group collects the words of the other one. No collective operation of
    /// the library is used: where the groups have different numbers of communicators, those of
    /// Intel MPI 2021.19 on intercommunicators give wrong results or deadlock.
    pub(crate) fn join_groups<const N: usize>(
        &self,
        words: [u64; N],
        join: Join,
    ) -> Result<[u64; N]> {
        const TAG: i32 = 0;
        let first = Ends {
            dest: Destination::Rank(0),
            send_tag: TAG,
            source: Source::Rank(0),
            recv_tag: Tag::Value(TAG),
        };
        let (rank, _) = rank_and_size(self.canonical)?;
        let mut all = [0u64; N];
        if rank != 0 {
            // SAFETY: a standard send promises nothing.
            unsafe { self.send(SendMode::Standard, &words, first.dest, TAG)? };
            self.recv(&mut all, first.source, first.recv_tag)?;
            return Ok(all);
        }
        let mut theirs = [0u64; N];
        self.sendrecv(&words, &mut theirs, first)?;
        let others = 1..self.remote_size()?;
        for source in others.clone() {
            let mut more = [0u64; N];
            self.recv(&mut more, Source::Rank(source), first.recv_tag)?;
            theirs = std::array::from_fn(|index| join.of(theirs[index], more[index]));
        }
        let mut ours = [0u64; N];
        self.sendrecv(&theirs, &mut ours, first)?;
        all = std::array::from_fn(|index| join.of(ours[index], theirs[index]));
        for dest in others {
            // SAFETY: a standard send promises nothing.
            unsafe { self.send(SendMode::Standard, &all, Destination::Rank(dest), TAG)? };
        }
        Ok(all)
    }
}
