//! The CPUs that a thread may run on, where the system has that.

use std::io;

use super::CpuSet;

impl CpuSet {
    /// Keeps this thread, and those that it starts from now on, on these CPUs.
    ///
    /// # Errors
    /// If there are none of them that this process may run on. Always, of kind
    /// [`Unsupported`](io::ErrorKind::Unsupported), on systems other than Linux and FreeBSD.
    pub fn bind_this_thread(&self) -> io::Result<()> {
        system::bind(self)
    }
}

/// The CPUs that this thread may run on; none if the kernel does not tell.
pub(super) fn allowed() -> CpuSet {
    system::allowed().unwrap_or_default()
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
mod system {
    use std::io;

    use nix::sched::{CpuSet as KernelSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    use super::CpuSet;

    pub(super) fn bind(cpus: &CpuSet) -> io::Result<()> {
        let mut set = KernelSet::new();
        for cpu in cpus.iter() {
            set.set(cpu)?;
        }
        sched_setaffinity(Pid::from_raw(0), &set).map_err(io::Error::from)
    }

    pub(super) fn allowed() -> Option<CpuSet> {
        let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let cpus = 0..KernelSet::count();
        Some(
            cpus.filter(|cpu| set.is_set(*cpu).unwrap_or(false))
                .collect(),
        )
    }
}

/// As many CPUs as the standard library counts, from the first one on.
#[cfg(any(test, not(any(target_os = "linux", target_os = "freebsd"))))]
mod elsewhere {
    use std::io;
    use std::thread::available_parallelism;

    use super::CpuSet;

    pub(super) fn bind(_: &CpuSet) -> io::Result<()> {
        let why = "threads are bound to CPUs on Linux and FreeBSD only";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    pub(super) fn allowed() -> Option<CpuSet> {
        Some((0..available_parallelism().ok()?.get()).collect())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
use elsewhere as system;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    fn a_thread_stays_where_it_is_bound() {
        std::thread::spawn(|| {
            let one: CpuSet = allowed().iter().take(1).collect();
            one.bind_this_thread().unwrap();
            assert_eq!(allowed(), one);
            let none = CpuSet::parse("1000").unwrap();
            none.bind_this_thread().unwrap_err();
            assert_eq!(allowed(), one);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn where_threads_are_not_bound_there_are_cpus_still() {
        let cpus = elsewhere::allowed().unwrap();
        assert_eq!(cpus.iter().next(), Some(0));
        assert!(std::thread::available_parallelism().is_ok_and(|count| count.get() == cpus.len()));
        let error = elsewhere::bind(&cpus).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
