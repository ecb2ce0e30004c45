//! Shims that no rule generates: arrays of handles and statuses, arrays of ranks, callbacks,
//! attributes, and what a library may lack altogether.
//!
//! Each has the name of its function and is generic over the family.

mod alltoallw;
mod attributes;
#[cfg(feature = "whole")]
mod contents;
#[cfg(feature = "whole")]
mod convert;
#[cfg(feature = "whole")]
mod darray;
#[cfg(feature = "whole")]
mod datarep;
#[cfg(feature = "whole")]
mod errhandlers;
#[cfg(feature = "whole")]
mod grequest;
#[cfg(feature = "whole")]
mod idup;
#[cfg(feature = "whole")]
mod keyvals;
mod ops;
mod ranks;
mod requests;
#[cfg(feature = "whole")]
mod spawn;
#[cfg(feature = "whole")]
mod tool;
mod trampolines;
mod types;

pub(crate) use alltoallw::*;
pub(crate) use attributes::*;
#[cfg(feature = "whole")]
pub(crate) use contents::*;
#[cfg(feature = "whole")]
pub(crate) use convert::*;
#[cfg(feature = "whole")]
pub(crate) use darray::*;
#[cfg(feature = "whole")]
pub(crate) use datarep::*;
#[cfg(feature = "whole")]
pub(crate) use errhandlers::*;
#[cfg(feature = "whole")]
pub(crate) use grequest::*;
#[cfg(feature = "whole")]
pub(crate) use idup::*;
#[cfg(feature = "whole")]
pub(crate) use keyvals::*;
pub(crate) use ops::*;
pub(crate) use ranks::*;
pub(crate) use requests::*;
#[cfg(feature = "whole")]
pub(crate) use spawn::*;
#[cfg(feature = "whole")]
pub(crate) use tool::*;
pub(crate) use types::*;

/// Functions that need nothing of the library: there are none among those that ranks calls.
#[cfg(not(feature = "whole"))]
pub(crate) const EMULATED: &[&str] = &[];

use std::ffi::c_int;
use std::mem::MaybeUninit;

use super::Abi;
use super::handle::{self, HandleKind};
use super::kinds::{Arg, Conversion};
use super::numbers::Codes;

/// The library's own form of a code in the standard's terms.
fn code<A: Abi>(standard: c_int) -> c_int {
    Codes::to_native::<A>(standard)
}

/// Calls with one argument that the library writes, converted in before and back after.
///
/// # Safety
/// The argument meets the contract of the call, and the tables are filled.
unsafe fn through<A: Abi, K: Arg<A>>(
    argument: K::Standard,
    call: impl FnOnce(K::Native) -> c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    let mut held = unsafe { K::enter(argument) };
    let code = call(K::pass(&mut held));
    // SAFETY: the call has returned.
    unsafe { K::leave(held) };
    code
}

/// A copy of an array of handles in the library's own form. Up to 64 stay on the stack.
struct Handles<A: Abi, H: HandleKind> {
    few: [MaybeUninit<A::Handle<H>>; 64],
    many: Vec<A::Handle<H>>,
}

impl<A: Abi, H: HandleKind> Handles<A, H> {
    /// # Safety
    /// `array` has `count` handles; the tables are filled.
    unsafe fn new(array: *const H, count: usize) -> Self {
        let mut handles = Handles {
            few: [const { MaybeUninit::uninit() }; 64],
            many: Vec::new(),
        };
        let is_few = count <= handles.few.len();
        for i in 0..count {
            // SAFETY: inside the array, by this function's contract.
            let handle = unsafe { array.add(i) };
            // SAFETY: as above.
            let handle = unsafe { handle.read() };
            // SAFETY: the tables are filled, by this function's contract.
            let native = unsafe { handle::to_native::<A, H>(handle) };
            if is_few {
                handles.few[i].write(native);
            } else {
                handles.many.push(native);
            }
        }
        handles
    }

    fn as_ptr(&self) -> *const A::Handle<H> {
        if self.many.is_empty() {
            self.few.as_ptr().cast()
        } else {
            self.many.as_ptr()
        }
    }
}

/// A count that a C function was given; negative ones are the library's to refuse.
fn length(count: impl TryInto<usize>) -> usize {
    count.try_into().unwrap_or(0)
}
