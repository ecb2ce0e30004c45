//! Faults of MPICH over UCX in jobs with ranks on several hosts.
//!
//! * From 4.1 on, a receive from any source does not see messages that are there; see `recv`.
//! * Before 4.2, `MPI_Finalize` hangs if ranks come to it with messages still in flight: 4.0.2 as
//!   Debian has it did so in 16 of 32 jobs that had just sent 16 MiB, also in C. With two barriers
//!   and a pause of 100 ms after each it was 1 of 32 (and 2 of 18 jobs of this library) on a
//!   machine with ten times as much work as cores; pauses of 10 ms do not help.

use std::ffi::c_int;
use std::thread;
use std::time::Duration;

use ranks_launch::Environment;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::Loaded;

use super::error::check;
use crate::result::Result;

/// The time for messages in flight to arrive.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns `true` if a receive from any source may wait for ever for a message that is there.
pub(crate) fn loses_messages(loaded: &Loaded, environment: &Environment) -> bool {
    are_several(environment)
        && ucx_release(loaded.description()).is_some_and(|release| release >= (4, 1))
}

/// Lets messages in flight arrive before `MPI_Finalize`, where that may hang. Collective over the
/// world, as that is.
pub(crate) fn quiesce() -> Result<()> {
    let text = sys::loaded().map_or("", Loaded::description);
    let hangs = ucx_release(text).is_some_and(|release| release < (4, 2));
    if hangs && are_several(&Environment::detect()) {
        for _ in 0..2 {
            // SAFETY: MPI is alive, and every rank comes here.
            let code: c_int = unsafe { sys::MPI_Barrier(sys::MPI_COMM_WORLD) };
            check(code, "MPI_Barrier")?;
            thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// Returns `true` if ranks are on several hosts, as far as the launcher says.
pub(crate) fn are_several(environment: &Environment) -> bool {
    let Some(size) = environment.size.filter(|size| *size > 1) else {
        return false;
    };
    environment.local_size.is_none_or(|here| here < size)
}

/// The release of an MPICH whose first transport to other hosts is UCX, from the library's
/// description.
fn ucx_release(text: &str) -> Option<(u32, u32)> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.map(str::trim)
    };
    if !value("MPICH Device:")?.starts_with("ch4:ucx") {
        return None;
    }
    let mut numbers = value("MPICH Version:")?.split(|letter: char| !letter.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str, device: &str) -> Option<(u32, u32)> {
        let text = format!(
            "MPICH Version:      {version}\nMPICH Release date: x\nMPICH Device:       {device}\n"
        );
        ucx_release(&text)
    }

    #[test]
    fn what_moves_messages_is_in_what_the_library_says() {
        assert_eq!(release("4.3.2", "ch4:ucx"), Some((4, 3)));
        assert_eq!(release("5.0.2", "ch4:ucx ofi"), Some((5, 0)));
        assert_eq!(release("4.1rc1", "ch4:ucx"), Some((4, 1)));
        for (version, device) in [
            ("5.0.2", "ch4:ofi"),
            ("3.4.3", "ch3:nemesis"),
            ("", "ch4:ucx"),
        ] {
            assert_eq!(release(version, device), None, "{version} {device}");
        }
        assert_eq!(ucx_release("Open MPI v5.0.11"), None);
    }

    #[test]
    fn ranks_are_on_several_hosts_unless_all_are_here() {
        let of = |size, local_size| {
            let mut environment = Environment::from_vars(|_| None);
            environment.size = size;
            environment.local_size = local_size;
            are_several(&environment)
        };
        assert!(of(Some(4), Some(2)) && of(Some(4), None));
        assert!(!of(Some(4), Some(4)) && !of(Some(1), None) && !of(None, None));
    }
}
