//! The parts of watching a process that kernels have in different ways.

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;
pub(super) use system::{die_with, wait_for_end};

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::process::Child;

    use nix::errno::Errno;
    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::signal::Signal;
    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    use nix::unistd::{Pid, getppid};

    /// Has this process signalled when the thread that started it is gone; `parent` is its process.
    pub(in crate::job) fn die_with(parent: Pid, signal: Signal) -> io::Result<()> {
        set_pdeathsig(signal)?;
        // If the parent went before the call, the signal will never come.
        if getppid() != parent {
            return Err(Errno::ESRCH.into());
        }
        Ok(())
    }

    /// Waits until `child` has ended, and leaves it to be reaped.
    pub(in crate::job) fn wait_for_end(child: &Child) {
        let Ok(pid) = i32::try_from(child.id()) else {
            return;
        };
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        // Only waits: an error here shows again when it is reaped.
        while waitid(Id::Pid(Pid::from_raw(pid)), flags) == Err(Errno::EINTR) {}
    }
}

#[cfg(any(test, not(target_os = "linux")))]
pub(super) mod elsewhere {
    use std::process::Child;
    use std::thread::sleep;
    use std::time::Duration;

    /// Does nothing: a job whose parent is killed goes on.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::job) fn die_with(
        _: nix::unistd::Pid,
        _: nix::sys::signal::Signal,
    ) -> std::io::Result<()> {
        Ok(())
    }

    /// Passes a little time, after which `child` may have ended.
    pub(in crate::job) fn wait_for_end(_: &Child) {
        sleep(Duration::from_millis(5));
    }
}
