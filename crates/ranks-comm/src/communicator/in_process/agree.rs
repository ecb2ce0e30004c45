//! Words from all ranks to one and from one to all, and reductions of a few.

use crate::data::element::Pod;
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
        let all = self.gather_first(call, &[words])?;
        let joined = self.told_by(call, 0, || {
            let others = all.into_iter().flatten().flatten().skip(1);
            let of = |a: [u64; 2], b: [u64; 2]| [join.of(a[0], b[0]), join.of(a[1], b[1])];
            Ok(vec![others.fold(words, of)])
        })?;
        Ok(joined.first().copied().unwrap_or(words))
    }

    /// The words of `teller`, which sends them to all other ranks. Collective.
    pub(crate) fn told_by<T: Pod>(
        &self,
        call: Collective,
        teller: usize,
        tell: impl FnOnce() -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
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
    pub(crate) fn gather_first<T: Pod>(
        &self,
        call: Collective,
        mine: &[T],
    ) -> Result<Option<Vec<Vec<T>>>> {
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
