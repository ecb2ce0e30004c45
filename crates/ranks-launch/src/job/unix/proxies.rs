//! Proxies of a launcher that end before it.

use std::time::{Duration, Instant};

use super::tree;

/// The looks at the proxies of a launcher, which are its children.
///
/// Hydra's `mpiexec` waits for ever where its proxy has ended before the ranks that it has started:
/// that of MPICH 4.0.2 does so in one of some hundred jobs that a rank aborts.
#[derive(Debug)]
pub(super) struct Proxies {
    next: Instant,
    /// `true` if there was none at the look before.
    none: bool,
}

impl Default for Proxies {
    fn default() -> Self {
        Self {
            next: Instant::now() + Self::PAUSE,
            none: false,
        }
    }
}

impl Proxies {
    /// The time between two looks.
    const PAUSE: Duration = Duration::from_secs(1);

    /// Returns `true` if all of them had ended at two looks, and were not reaped.
    pub(super) fn are_lost(&mut self, launcher: u32) -> bool {
        if Instant::now() < self.next {
            return false;
        }
        self.next = Instant::now() + Self::PAUSE;
        let before = std::mem::replace(&mut self.none, tree::all_children_are_dead(launcher));
        before && self.none
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::job::system::Supervised;
    use crate::job::system::tree::Mark;

    #[test]
    fn a_launcher_whose_proxies_have_ended_is_ended() {
        let ends = |script: &str, is_hydra| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let started = Supervised::start(command, Mark::new(), None, None, is_hydra);
            let mut launcher = started.unwrap();
            let mut looks = (0..40).map(|_| {
                let step = Instant::now() + Duration::from_millis(100);
                launcher.wait(step)
            });
            looks.any(|status| status.is_some())
        };
        std::thread::scope(|scope| {
            for (script, is_hydra, expected) in [
                ("true & exec sleep 60", true, true),
                ("true & exec sleep 60", false, false),
                ("true & sleep 60 & exec sleep 60", true, false),
                ("exec sleep 60", true, false),
            ] {
                scope.spawn(move || assert_eq!(ends(script, is_hydra), expected, "{script}"));
            }
        });
    }
}
