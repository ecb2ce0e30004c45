//! Requests to stop: by the batch system before it ends a job, by a user, by a launcher.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use nix::sys::signal::Signal;
use signal_hook::consts::FORBIDDEN;
use signal_hook::flag;

/// Remembers that this process was asked to stop, instead of ending it, so that the program can write a checkpoint
/// and stop by itself.
///
/// Batch systems send `SIGTERM` before they end a job (Slurm after `--time` or a preemption, and `KillWait` seconds later `SIGKILL`), and
/// other signals earlier if they are asked to (`sbatch --signal=USR1@300`). Not every rank gets it, and not at the same time. So ranks agree:
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
/// From then on these signals do not end this process, also when the value is dropped: a program that has stopped watching has
/// decided to end.
#[derive(Debug, Clone)]
pub struct StopRequest {
    /// The number of the last signal that came, or 0.
    came: Arc<AtomicUsize>,
}

/// The signals that anybody watches for, a bit each.
static WATCHED: AtomicU64 = AtomicU64::new(0);

impl StopRequest {
    /// Returns `true` if anybody in this process has ever watched for the signal of that number.
    #[doc(hidden)]
    #[must_use]
    pub fn is_watched(signal: i32) -> bool {
        let bit = u32::try_from(signal)
            .ok()
            .and_then(|signal| 1u64.checked_shl(signal));
        bit.is_some_and(|bit| WATCHED.load(Ordering::Relaxed) & bit != 0)
    }

    /// Watches for `SIGTERM`, `SIGUSR1` and `SIGUSR2`.
    ///
    /// # Errors
    /// The errors of [`on`](Self::on).
    pub fn watch() -> io::Result<Self> {
        Self::on(&[Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2])
    }

    /// Watches for these signals.
    ///
    /// # Errors
    /// The error of the system, such as for `SIGKILL`, which cannot be watched for.
    pub fn on(signals: &[Signal]) -> io::Result<Self> {
        if let Some(signal) = signals
            .iter()
            .find(|signal| FORBIDDEN.contains(&(**signal as i32)))
        {
            let text = format!("{signal} cannot be watched for");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        for signal in signals {
            WATCHED.fetch_or(1 << (*signal as i32), Ordering::Relaxed);
        }
        let came = Arc::new(AtomicUsize::new(0));
        for &signal in signals {
            let number = signal as i32;
            let value = usize::try_from(number).unwrap_or(0);
            flag::register_usize(number, Arc::clone(&came), value)?;
        }
        Ok(Self { came })
    }

    /// Returns `true` if this process was asked to stop.
    pub fn is_made(&self) -> bool {
        self.came.load(Ordering::Relaxed) != 0
    }

    /// The signal that asked for it, the last one if there were several.
    pub fn signal(&self) -> Option<Signal> {
        let number = i32::try_from(self.came.load(Ordering::Relaxed)).ok()?;
        Signal::try_from(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::raise;

    use super::*;

    #[test]
    fn a_signal_is_remembered_and_ends_nothing() {
        let stop = StopRequest::on(&[Signal::SIGUSR2, Signal::SIGTERM]).unwrap();
        assert!(!stop.is_made());
        assert_eq!(stop.signal(), None);
        raise(Signal::SIGUSR2).unwrap();
        assert_eq!(stop.signal(), Some(Signal::SIGUSR2));
        raise(Signal::SIGTERM).unwrap();
        assert!(stop.is_made());
        assert_eq!(stop.clone().signal(), Some(Signal::SIGTERM));
    }

    #[test]
    fn what_cannot_be_caught_is_an_error() {
        let error = StopRequest::on(&[Signal::SIGTERM, Signal::SIGKILL]).unwrap_err();
        assert!(error.to_string().contains("SIGKILL"), "{error}");
    }
}
