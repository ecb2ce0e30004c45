//! What all ranks pass, with a limit to how long the others are waited for.

use std::time::Duration;

use super::comm::Comm;
use crate::checks::Checks;
use crate::error::{Error, ErrorKind, Result};
use crate::flight::Pause;

/// The number under which these messages travel; collectives that return at once have numbers above 0.
const NUMBER: i32 = -1;

impl Comm {
    /// Whether the calls of ranks are compared.
    pub(crate) fn compares(&self) -> bool {
        self.place.comparing.checks == Checks::Collective
    }

    /// What all ranks pass, in rank order, each as many bytes; `None` if not all of them came in time, or in
    /// what is left of it. Collective.
    pub(crate) fn exchange(&self, mine: &[u8], left: Duration) -> Result<Option<Vec<u8>>> {
        let limit = self.place.comparing.limit.min(left);
        let (me, size) = (self.rank(), self.size());
        for dest in (0..size).filter(|&rank| rank != me) {
            self.numbered_send(dest, NUMBER, mine)?;
        }
        let mut all = Vec::with_capacity(mine.len() * size);
        for source in 0..size {
            if source == me {
                all.extend_from_slice(mine);
                continue;
            }
            let mut came = None;
            Pause::until(limit, || {
                came = self.numbered_recv(source, NUMBER, limit == Duration::MAX)?;
                Ok(came.is_some())
            })?;
            let Some(theirs) = came else { return Ok(None) };
            if theirs.len() != mine.len() {
                let (mine, theirs) = (mine.len(), theirs.len());
                return Err(Error::new(
                    ErrorKind::Mismatch,
                    "a collective",
                    format_args!("rank {me} passes {mine} bytes, and rank {source} {theirs}"),
                ));
            }
            all.extend_from_slice(&theirs);
        }
        Ok(Some(all))
    }
}
