//! Epochs that targets post and origins start, each naming the others.

use ranks_comm::Result;

use super::segment::Phase;
use super::window::LocalWindow;

const WAIT: &str = "MPI_Win_wait";

impl LocalWindow {
    /// Lets `origins`, none of which is named twice, access this rank's memory, from when each
    /// starts until it completes. Does not wait.
    ///
    /// # Errors
    /// `ErrorKind::Rank`.
    pub(crate) fn post(&self, origins: &[usize]) -> Result<()> {
        for &origin in origins {
            self.segment("MPI_Win_post", origin)?;
        }
        let mut state = self.mine("MPI_Win_post")?.state();
        state.phase = Phase::Posted;
        state.posted = origins.to_vec();
        for &origin in origins {
            state.dealings[origin].posts += 1;
        }
        drop(state);
        for &origin in origins {
            self.comm().wake(origin);
        }
        Ok(())
    }

    /// Waits until each of `targets`, none of which is named twice, has posted its memory to this
    /// rank, which may access it from then on.
    ///
    /// # Errors
    /// `ErrorKind::Rank`; `ErrorKind::PeerFailed` if one is gone. Nothing is started then.
    pub(crate) fn start(&self, targets: &[usize]) -> Result<()> {
        const OPERATION: &str = "MPI_Win_start";
        let me = self.comm().rank();
        for &target in targets {
            let segment = self.segment(OPERATION, target)?;
            self.wait_for(OPERATION, || {
                let dealings = segment.state().dealings[me];
                let posted = dealings.posts > dealings.starts;
                posted.then_some(()).ok_or(target)
            })?;
        }
        for &target in targets {
            self.segment(OPERATION, target)?.state().dealings[me].starts += 1;
        }
        *self.started() = targets.to_vec();
        Ok(())
    }

    /// Ends this rank's accesses to those with whom it started.
    ///
    /// # Errors
    /// None that can be met.
    pub(crate) fn complete(&self) -> Result<()> {
        let me = self.comm().rank();
        for target in std::mem::take(&mut *self.started()) {
            let segment = self.segment("MPI_Win_complete", target)?;
            segment.state().dealings[me].completes += 1;
            self.comm().wake(target);
        }
        Ok(())
    }

    /// Waits until all to whom this rank's memory is posted have completed; it is this rank's alone
    /// then.
    ///
    /// # Errors
    /// `ErrorKind::PeerFailed` if one is gone; the memory stays posted then.
    pub(crate) fn wait(&self) -> Result<()> {
        self.wait_for(WAIT, || self.is_completed())?;
        self.mine(WAIT)?.set_phase(Phase::Quiet);
        Ok(())
    }

    /// Tests whether all have completed; the same as [`wait`](Self::wait) then.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn test(&self) -> Result<bool> {
        let over = self.try_for("MPI_Win_test", || self.is_completed())?;
        if over.is_some() {
            self.mine("MPI_Win_test")?.set_phase(Phase::Quiet);
        }
        Ok(over.is_some())
    }

    /// Returns `Ok` if all have completed; else an origin that has not.
    fn is_completed(&self) -> Result<(), usize> {
        // One that is not there would have been refused before.
        let Ok(mine) = self.mine(WAIT) else {
            return Ok(());
        };
        let state = mine.state();
        let busy = state.posted.iter().copied().find(|&origin| {
            let dealings = state.dealings[origin];
            dealings.completes < dealings.posts
        });
        busy.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::tests::on;
    use ranks_comm::ErrorKind;

    fn mark(round: usize, rank: usize) -> u8 {
        (10 * round + rank).try_into().unwrap()
    }

    #[test]
    fn each_puts_to_its_right() {
        on(3, |comm, window| {
            let (me, size) = (comm.rank(), comm.size());
            let (left, right) = ((me + size - 1) % size, (me + 1) % size);
            for round in 0..5 {
                window.post(&[left])?;
                window.start(&[right])?;
                window.put(&[mark(round, me)], right, 0)?;
                assert_eq!(
                    window.put(&[1], left, 0).unwrap_err().kind(),
                    ErrorKind::Mismatch
                );
                window.complete()?;
                if round % 2 == 0 {
                    window.wait()?;
                } else {
                    while !window.test()? {
                        std::thread::yield_now();
                    }
                }
                window.post(&[me])?;
                window.start(&[me])?;
                let got = window.update(me, 0, 1, |bytes: &mut [u8]| bytes[0])?;
                assert_eq!(got, mark(round, left));
                window.complete()?;
                window.wait()?;
            }
            Ok(())
        });
    }

    #[test]
    fn posts_of_a_rank_that_is_gone_do_not_come() {
        on(2, |comm, window| {
            if comm.rank() == 1 {
                return Ok(());
            }
            window.post(&[1])?;
            assert_eq!(window.wait().unwrap_err().kind(), ErrorKind::PeerFailed);
            assert_eq!(
                window.start(&[1]).unwrap_err().kind(),
                ErrorKind::PeerFailed
            );
            Ok(())
        });
    }
}
