//! Reductions of a few words over all ranks, at rank 0.

use crate::result::Result;
use crate::transport::in_process::collective::Collective;
use crate::transport::in_process::comm::Comm;
use crate::transport::join::Join;

impl Comm {
    pub(crate) fn join(
        &self,
        operation: &'static str,
        words: [u64; 2],
        join: Join,
    ) -> Result<[u64; 2]> {
        let call = Collective::named(operation);
        let mut joined = words;
        if self.rank() != 0 {
            self.coll_send(call, 0, bytemuck::cast_slice(&joined))?;
            self.coll_recv(call, 0, bytemuck::cast_slice_mut(&mut joined))?;
            return Ok(joined);
        }
        for rank in 1..self.size() {
            let mut theirs = [0u64; 2];
            self.coll_recv(call, rank, bytemuck::cast_slice_mut(&mut theirs))?;
            for (word, their) in joined.iter_mut().zip(theirs) {
                *word = join.of(*word, their);
            }
        }
        for rank in 1..self.size() {
            self.coll_send(call, rank, bytemuck::cast_slice(&joined))?;
        }
        Ok(joined)
    }
}
