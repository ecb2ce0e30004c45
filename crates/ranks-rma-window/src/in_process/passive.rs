//! Locks on the memory of ranks: shared and exclusive.

use ranks_comm::{Error, ErrorKind, Result};

use super::segment::Phase;
use super::window::LocalWindow;

const LOCK: &str = "MPI_Win_lock";
const LOCK_ALL: &str = "MPI_Win_lock_all";

impl LocalWindow {
    /// Locks the memory of `rank`; waits for those who hold it.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`]; [`ErrorKind::Argument`] if this rank holds it; [`ErrorKind::Mismatch`]
    /// if the window is not open for locks at `rank`; [`ErrorKind::PeerFailed`] if a rank that
    /// holds it is gone.
    pub(crate) fn lock(&self, exclusive: bool, rank: usize) -> Result<()> {
        self.acquire(LOCK, exclusive, rank)
    }

    /// Lets go of the memory of `rank`.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`]; [`ErrorKind::Argument`] if this rank does not hold it.
    pub(crate) fn unlock(&self, rank: usize) -> Result<()> {
        self.release("MPI_Win_unlock", rank)
    }

    /// Locks the memory of every rank, shared.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); nothing is locked then.
    pub(crate) fn lock_all(&self) -> Result<()> {
        for rank in 0..self.comm().size() {
            if let Err(error) = self.acquire(LOCK_ALL, false, rank) {
                for locked in 0..rank {
                    self.release(LOCK_ALL, locked)?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Lets go of the memory of every rank.
    ///
    /// # Errors
    /// As [`unlock`](Self::unlock), for the first rank that is not held; the others are let go.
    pub(crate) fn unlock_all(&self) -> Result<()> {
        let mut outcome = Ok(());
        for rank in 0..self.comm().size() {
            outcome = outcome.and(self.release("MPI_Win_unlock_all", rank));
        }
        outcome
    }

    fn acquire(&self, operation: &'static str, exclusive: bool, rank: usize) -> Result<()> {
        let me = self.comm().rank();
        let segment = self.segment(operation, rank)?;
        self.wait_for(operation, || {
            let mut state = segment.state();
            if state.phase != Phase::Passive {
                let why = format!(
                    "rank {me} cannot lock the window of rank {rank}, which is not open for locks; all ranks must \
                     open and close epochs alike"
                );
                return Ok(Err(Error::new(ErrorKind::Mismatch, operation, why)));
            }
            if state.is_held_by(me) {
                let why = format!("rank {me} holds a lock on rank {rank} already");
                return Ok(Err(Error::new(ErrorKind::Argument, operation, why)));
            }
            let reader = state.shared.first().copied().filter(|_| exclusive);
            match state.exclusive.or(reader) {
                Some(holder) => Err(holder),
                None if exclusive => {
                    state.exclusive = Some(me);
                    Ok(Ok(()))
                }
                None => {
                    state.shared.push(me);
                    Ok(Ok(()))
                }
            }
        })?
    }

    fn release(&self, operation: &'static str, rank: usize) -> Result<()> {
        let me = self.comm().rank();
        let mut state = self.segment(operation, rank)?.state();
        if !state.is_held_by(me) {
            let detail = format_args!("rank {me} holds no lock on rank {rank}");
            return Err(Error::new(ErrorKind::Argument, operation, detail));
        }
        state.exclusive = state.exclusive.filter(|&holder| holder != me);
        state.shared.retain(|&holder| holder != me);
        drop(state);
        self.comm().wake_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::tests::on;
    use ranks_comm::ErrorKind;

    #[test]
    fn additions_under_a_lock_are_not_lost() {
        on(3, |comm, window| {
            window.open_passive("open")?;
            for _ in 0..20 {
                window.lock(true, 0)?;
                let mut value = [0];
                window.get(&mut value, 0, 0)?;
                window.put(&[value[0] + 1], 0, 0)?;
                window.unlock(0)?;
            }
            window.close("close")?;
            window.open_passive("open")?;
            window.lock(false, 0)?;
            let sum = window.update(0, 0, 1, |bytes: &mut [u8]| bytes[0])?;
            assert_eq!(usize::from(sum), 20 * comm.size());
            window.unlock(0)?;
            window.close("close")
        });
    }

    #[test]
    fn readers_hold_a_lock_together() {
        on(2, |comm, window| {
            window.open_passive("open")?;
            window.lock(false, 0)?;
            // Both are here, each with its lock.
            window.barrier("test")?;
            window.put(&[1], 0, comm.rank())?;
            window.unlock(0)?;
            window.lock_all()?;
            let other = 1 - comm.rank();
            assert_eq!(
                window.lock(true, other).unwrap_err().kind(),
                ErrorKind::Argument
            );
            window.unlock_all()?;
            assert_eq!(window.unlock_all().unwrap_err().kind(), ErrorKind::Argument);
            window.close("close")
        });
    }

    #[test]
    fn access_without_a_lock_or_lock_without_epoch_is_refused() {
        on(2, |_, window| {
            let refused = |outcome: ranks_comm::Result<()>| outcome.unwrap_err().kind();
            assert_eq!(refused(window.lock(true, 1)), ErrorKind::Mismatch);
            window.barrier("test")?;
            window.open_passive("open")?;
            assert_eq!(refused(window.put(&[1], 1, 0)), ErrorKind::Mismatch);
            assert_eq!(refused(window.lock(true, 2)), ErrorKind::Rank);
            window.close("close")
        });
    }

    #[test]
    fn who_waits_for_a_rank_that_is_gone_is_told() {
        on(3, |comm, window| {
            window.open_passive("open")?;
            if comm.rank() == 0 {
                window.lock(true, 2)?;
                window.barrier("test")?;
                // It lets go of the window with the lock held.
                return Ok(());
            }
            window.barrier("test")?;
            let error = window.lock(false, 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerFailed);
            Ok(())
        });
    }
}
