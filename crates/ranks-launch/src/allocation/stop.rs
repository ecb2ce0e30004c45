//! Requests to stop: by the batch system before it ends a job, by a user, by a launcher.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use signal_hook::consts::FORBIDDEN;
use signal_hook::flag;

/// Remembers that this process was asked to stop, instead of ending it, so that the program can
/// write a checkpoint and stop by itself.
///
/// Batch systems send `SIGTERM` before they end a job (Slurm after `--time` or a preemption, and
/// `KillWait` seconds later `SIGKILL`), and other signals earlier if they are asked to
/// (`sbatch --signal=USR1@300`). Not every rank gets it, and not at the same time. So ranks agree:
///
/// ```no_run
/// use ranks_launch::StopRequest;
///
/// # fn agreed(_: bool) -> bool { true } // an allreduce with Max
/// let stop = StopRequest::watch()?;
/// loop {
///     // … a step of the computation …
///     if agreed(stop.is_made()) {
///         break; // all ranks write their checkpoints
///     }
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// From then on these signals do not end this process, also when the value is dropped: a program
/// that has stopped watching has decided to end.
#[derive(Debug, Clone)]
pub struct StopRequest {
    /// The number of the last signal that came, or 0.
    came: Arc<AtomicUsize>,
}

/// The signals by which a process is asked to stop.
#[cfg(unix)]
const ASKING: &[i32] = {
    use signal_hook::consts::{SIGTERM, SIGUSR1, SIGUSR2};
    &[SIGTERM, SIGUSR1, SIGUSR2]
};
#[cfg(not(unix))]
const ASKING: &[i32] = &[signal_hook::consts::SIGTERM];

/// The signals that anybody watches for, a bit each.
static WATCHED: AtomicU64 = AtomicU64::new(0);

impl StopRequest {
    /// Returns `true` if anybody in this process has ever watched for the signal of that number.
    #[doc(hidden)]
    #[must_use]
    pub fn is_watched(signal: i32) -> bool {
        WATCHED.load(Ordering::Relaxed) & bit(signal) != 0
    }

    /// Watches for `SIGTERM`, `SIGUSR1` and `SIGUSR2`; on Windows for `SIGTERM`.
    ///
    /// # Errors
    /// The errors of [`on`](Self::on).
    pub fn watch() -> io::Result<Self> {
        Self::on(ASKING)
    }

    /// Watches for the signals of these numbers, as in `signal_hook::consts` or `libc`.
    ///
    /// # Errors
    /// The error of the system, such as for `SIGKILL`, which cannot be watched for, or for a number
    /// that is none.
    pub fn on(signals: &[i32]) -> io::Result<Self> {
        if let Some(signal) = signals.iter().find(|signal| FORBIDDEN.contains(signal)) {
            let text = format!("signal {signal} cannot be watched for");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let came = Arc::new(AtomicUsize::new(0));
        for &signal in signals {
            WATCHED.fetch_or(bit(signal), Ordering::Relaxed);
            let number = usize::try_from(signal).unwrap_or(0);
            flag::register_usize(signal, Arc::clone(&came), number)?;
        }
        Ok(Self { came })
    }

    /// Returns `true` if this process was asked to stop.
    pub fn is_made(&self) -> bool {
        self.came.load(Ordering::Relaxed) != 0
    }

    /// The number of the signal that asked for it, the last one if there were several.
    pub fn signal(&self) -> Option<i32> {
        let number = self.came.load(Ordering::Relaxed);
        i32::try_from(number).ok().filter(|&number| number != 0)
    }
}

/// No bit for what is no signal.
fn bit(signal: i32) -> u64 {
    let shift = u32::try_from(signal).ok();
    shift.and_then(|shift| 1u64.checked_shl(shift)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGKILL, SIGTERM, SIGUSR1, SIGUSR2};
    use signal_hook::low_level::raise;

    use super::*;

    #[test]
    fn a_signal_is_remembered_and_ends_nothing() {
        let stop = StopRequest::on(&[SIGUSR2, SIGTERM]).unwrap();
        assert!(!stop.is_made());
        assert_eq!(stop.signal(), None);
        raise(SIGUSR2).unwrap();
        assert_eq!(stop.signal(), Some(SIGUSR2));
        raise(SIGTERM).unwrap();
        assert!(stop.is_made());
        assert_eq!(stop.clone().signal(), Some(SIGTERM));
        assert!(StopRequest::is_watched(SIGTERM) && !StopRequest::is_watched(SIGUSR1));
    }

    #[test]
    fn what_cannot_be_caught_is_an_error() {
        let error = StopRequest::on(&[SIGTERM, SIGKILL]).unwrap_err();
        assert!(error.to_string().contains("signal 9"), "{error}");
        for number in [-1, 0, 1000] {
            StopRequest::on(&[number]).unwrap_err();
        }
    }
}
