//! Requests to callgrind: where counting starts and stops, and the name of what was counted.
//!
//! Valgrind recognises a sequence of instructions that has no effect on a processor (its manual,
//! "The client request mechanism"; `valgrind.h` has the sequence and `callgrind.h` the numbers).
//! Outside valgrind nothing happens.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::hint::black_box;

use ranks::Result;

/// The numbers of callgrind's requests begin here: its initials, in the two upper bytes.
const BASE: usize = (b'C' as usize) << 24 | (b'T' as usize) << 16;
const DUMP_AT: usize = BASE + 3;
const START: usize = BASE + 4;
const STOP: usize = BASE + 5;

/// Turns before the counting begins: what is done once only is done by then.
const WARM_UP: usize = 20;

/// Makes `call` so many times and dumps what that took as the profile `name`.
#[inline(never)]
pub(crate) fn count<S>(
    name: &'static str,
    calls: usize,
    state: &mut S,
    call: impl Fn(&mut S) -> Result<()>,
) -> Result<()> {
    let repeat = |turns: usize, state: &mut S| {
        for _ in 0..turns {
            call(black_box(&mut *state))?;
        }
        Ok(())
    };
    repeat(WARM_UP, state)?;
    start();
    let outcome = repeat(calls, state);
    stop();
    dump(name);
    outcome
}

/// Counting starts, from nothing.
#[inline(always)]
fn start() {
    request(START, 0);
}

/// Counting stops.
#[inline(always)]
fn stop() {
    request(STOP, 0);
}

/// Writes what was counted to a file of its own, which says `name`.
fn dump(name: &str) {
    if let Ok(name) = CString::new(name) {
        request(DUMP_AT, name.as_ptr().addr());
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn request(number: usize, argument: usize) {
    let request = [number, argument, 0, 0, 0, 0];
    // SAFETY: rdi is rotated by 3 + 13 + 61 + 51 = 128 bits, which leaves it as it was, and rbx is
    // exchanged with itself. Valgrind reads the six words at rax and writes rdx, which is declared;
    // the array outlives the block.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") request.as_ptr(),
            inout("rdx") 0_usize => _,
        );
    }
}

/// The sequence of other processors is not known here: there nothing is counted, and the reader of
/// the profiles says so.
#[cfg(not(target_arch = "x86_64"))]
fn request(_number: usize, _argument: usize) {}
