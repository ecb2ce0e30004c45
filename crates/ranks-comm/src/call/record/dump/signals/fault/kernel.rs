//! The parts of a fault that kernels tell in different ways.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use others as system;
pub(super) use system::{is_elsewhere, send_again, this_thread};

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::c_int;

    use libc::{BUS_MCEERR_AO, SIGBUS, SIGSEGV, siginfo_t};

    /// `si_code` of a tag of memory on ARM that did not agree, told later.
    const SEGV_MTEAERR: c_int = 8;

    /// Returns `true` if the fault was not the instruction's.
    pub(in super::super) fn is_elsewhere(signal: c_int, code: c_int) -> bool {
        match signal {
            SIGBUS => code == BUS_MCEERR_AO,
            SIGSEGV => code == SEGV_MTEAERR,
            _ => false,
        }
    }

    /// Sends this thread a signal once more, with all that was told of it.
    pub(in super::super) fn send_again(signal: c_int, info: *mut siginfo_t) {
        let number = libc::SYS_rt_tgsigqueueinfo;
        let process = super::super::process();
        // SAFETY: the information is the system's; a process may send itself any.
        let sent = unsafe { libc::syscall(number, process, thread(), signal, info) };
        if sent != 0 {
            // SAFETY: sends this thread a signal.
            unsafe { libc::raise(signal) };
        }
    }

    /// A number of this thread that no other one has.
    pub(in super::super) fn this_thread() -> usize {
        usize::try_from(thread()).unwrap_or_default()
    }

    fn thread() -> c_int {
        // The C library has a function for it from glibc 2.30 on.
        // SAFETY: asks for a number, without arguments.
        let number = unsafe { libc::syscall(libc::SYS_gettid) };
        c_int::try_from(number).unwrap_or_default()
    }
}

#[cfg(not(target_os = "linux"))]
mod others {
    use std::ffi::c_int;

    use libc::siginfo_t;

    /// Returns `false`: no fault of this kind is known here.
    pub(in super::super) fn is_elsewhere(_: c_int, _: c_int) -> bool {
        false
    }

    /// Sends this thread a signal once more, without what was told of it.
    pub(in super::super) fn send_again(signal: c_int, _: *mut siginfo_t) {
        // SAFETY: sends this thread a signal.
        unsafe { libc::raise(signal) };
    }

    /// A number of this thread that no other one has.
    #[allow(
        clippy::unnecessary_cast,
        reason = "a number on some systems, an address on others"
    )]
    pub(in super::super) fn this_thread() -> usize {
        // SAFETY: asks for a number.
        unsafe { libc::pthread_self() as usize }
    }
}
