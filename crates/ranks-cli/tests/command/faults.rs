//! Faults that the processor or the system finds, as C code has them: none of them is a signal that
//! somebody sends, as far as there is a way.
#![allow(unsafe_code)]

use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::{mem, ptr};

use libc::{BUS_MCEERR_AO, SIGBUS, siginfo_t};

/// The status of a process whose handler was told of such memory.
pub(crate) const HANDLED: c_int = 42;

/// Writes to where no memory is.
pub(crate) fn write_to_null() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the page at zero is never there, so that the process ends here.
    unsafe {
        asm!("mov byte ptr [{}], 1", in(reg) 0_usize);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("strb wzr, [{}]", in(reg) 0_usize);
    }
}

/// Does what no processor can.
pub(crate) fn illegal_instruction() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the process ends here.
    unsafe {
        asm!("ud2");
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("udf #0");
    }
}

/// Reads from a mapped file of which another has taken away the end.
pub(crate) fn read_what_was_cut() {
    let path = std::env::temp_dir().join(format!("ranks-cut-{}", std::process::id()));
    let file = File::create_new(&path).unwrap();
    file.set_len(1).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
    // SAFETY: a new mapping, wherever there is room.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), 1, read, shared, file.as_raw_fd(), 0) };
    assert_ne!(mapped, libc::MAP_FAILED);
    file.set_len(0).unwrap();
    // SAFETY: the mapping is there, but nothing behind it, so that the process ends here.
    unsafe { mapped.cast::<u8>().read_volatile() };
}

/// Is told by the system, as far as the process can see, of memory that it has found broken and
/// that nobody is just using.
pub(crate) fn broken_memory() {
    // SAFETY: all of it are numbers and pointers, for which zeros are values.
    let mut info: siginfo_t = unsafe { mem::zeroed() };
    info.si_signo = SIGBUS;
    info.si_code = BUS_MCEERR_AO;
    // SAFETY: asks for a number.
    let process = unsafe { libc::getpid() };
    // SAFETY: the same.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    let number = libc::SYS_rt_tgsigqueueinfo;
    // SAFETY: the information is there; a process may send itself any.
    unsafe { libc::syscall(number, process, thread, SIGBUS, &raw mut info) };
}

/// From now on a handler ends the process when it is told so.
pub(crate) fn handle_broken_memory() {
    extern "C" fn ends(_signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
        // SAFETY: the handler asks for the information.
        let code = unsafe { (*info).si_code };
        let status = if code == BUS_MCEERR_AO { HANDLED } else { 1 };
        // SAFETY: it does not come back.
        unsafe { libc::_exit(status) };
    }
    // SAFETY: all of it are numbers and pointers, for which zeros are values.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = ends as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler calls only what one may.
    unsafe { libc::sigaction(SIGBUS, &raw const action, ptr::null_mut()) };
}
