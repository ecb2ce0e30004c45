//! Words from all ranks to one and from one to all, and reductions of a few.

use crate::result::Result;
use crate::transport::in_process::collective::Collective;
use crate::transport::in_process::comm::Comm;
use crate::transport::join::Join;

impl Comm {
    /// Joins the words of all ranks, at rank 0. Collective.
    pub(crate) fn join(
        &self,
        operation: &'static str,
        words: [u64; 2],
        join: Join,
    ) -> Result<[u64; 2]> {
        let call = Collective::named(operation);
        let all = self.gather_first(call, &words)?;
        let joined = self.told_by(call, 0, || {
            let mut joined = words.to_vec();
            for theirs in all.iter().flatten().skip(1) {
                for (joined, word) in joined.iter_mut().zip(theirs) {
                    *joined = join.of(*joined, *word);
                }
            }
            Ok(joined)
        })?;
        Ok(joined.try_into().unwrap_or(words))
    }

    /// The words of `teller`, which sends them to all other ranks. Collective.
    pub(crate) fn told_by(
        &self,
        call: Collective,
        teller: usize,
        tell: impl FnOnce() -> Result<Vec<u64>>,
    ) -> Result<Vec<u64>> {
        if self.rank != teller {
            let told = self.coll_recv_vec(call, teller)?;
            return Ok(bytemuck::pod_collect_to_vec(&told));
        }
        let told = tell()?;
        for rank in (0..self.size()).filter(|&rank| rank != teller) {
            self.coll_send(call, rank, bytemuck::cast_slice(&told))?;
        }
        Ok(told)
    }

    /// The words of each rank, in rank order, at rank 0; `None` elsewhere. Collective.
    pub(crate) fn gather_first(
        &self,
        call: Collective,
        mine: &[u64],
    ) -> Result<Option<Vec<Vec<u64>>>> {
        if self.rank != 0 {
            self.coll_send(call, 0, bytemuck::cast_slice(mine))?;
            return Ok(None);
        }
        let mut all = vec![mine.to_vec()];
        for rank in 1..self.size() {
            all.push(bytemuck::pod_collect_to_vec(
                &self.coll_recv_vec(call, rank)?,
            ));
        }
        Ok(Some(all))
    }
}
