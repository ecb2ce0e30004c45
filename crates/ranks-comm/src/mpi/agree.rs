//! A few words of all ranks, joined.

use std::ffi::c_int;

use ranks_mpi_sys as sys;

use super::communicator::Comm;
use super::error::check;
use crate::agree::Join;
use crate::error::Result;

impl Comm {
    /// Joins the words of all ranks; of both groups, if there are two. Collective.
    pub(crate) fn join<const N: usize>(&self, words: [u64; N], join: Join) -> Result<[u64; N]> {
        let joined = self.allreduce(words, join)?;
        if !self.between {
            return Ok(joined);
        }
        // Each group has got what the other one's ranks passed, all of them the same, and tells it back.
        let ours = self.allreduce(joined, Join::And)?;
        Ok(std::array::from_fn(|index| match join {
            Join::And => ours[index] & joined[index],
            Join::Sum => ours[index].wrapping_add(joined[index]),
        }))
    }

    fn allreduce<const N: usize>(&self, words: [u64; N], join: Join) -> Result<[u64; N]> {
        let op = match join {
            Join::And => sys::MPI_BAND,
            Join::Sum => sys::MPI_SUM,
        };
        let count = c_int::try_from(N).unwrap_or(0);
        let mut joined = [0u64; N];
        let (mine, all) = (words.as_ptr().cast(), joined.as_mut_ptr().cast());
        // SAFETY: as many 64-bit words each way as the lists hold; the communicator is alive.
        let code =
            unsafe { sys::MPI_Allreduce(mine, all, count, sys::MPI_UINT64_T, op, self.canonical) };
        check(code, "MPI_Allreduce")?;
        Ok(joined)
    }
}
