//! Keeps a thread on some CPUs.

use std::io;

use nix::sched::{CpuSet as KernelSet, sched_setaffinity};
use nix::unistd::Pid;

use super::CpuSet;

impl CpuSet {
    /// Keeps this thread, and those that it starts from now on, on these CPUs.
    ///
    /// # Errors
    /// If there are none of them that this process may run on.
    pub fn bind_this_thread(&self) -> io::Result<()> {
        let mut set = KernelSet::new();
        for cpu in self.iter() {
            set.set(cpu)?;
        }
        sched_setaffinity(Pid::from_raw(0), &set).map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::host::CpuSet;
    use crate::machine::host::processors::allowed;

    #[test]
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
}
