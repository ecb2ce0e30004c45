//! Handles: constants of the standard below 0x300, the library's own values above.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;

use super::Abi;
use crate::slot::Slot;
use crate::types::*;

/// Constants of the standard's handles lie below this (they have ten bits, MPI 5.0 §20.3).
pub(crate) const CONSTANTS: usize = 0x300;

/// The library's own value of every predefined handle, as a word, by the standard's constant.
pub(crate) static PREDEFINED: Slot<[*mut c_void; CONSTANTS]> =
    Slot::new([ptr::null_mut(); CONSTANTS]);

/// A handle in the library's own form: an `int` in the MPICH family, a pointer elsewhere.
pub(crate) trait NativeHandle: Copy + Eq + 'static {
    /// From the word that holds it.
    fn from_word(word: *mut c_void) -> Self;
    /// The word that holds it.
    fn to_word(self) -> *mut c_void;
}

impl NativeHandle for c_int {
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the word holds 32 bits, see to_word"
    )]
    fn from_word(word: *mut c_void) -> Self {
        word.addr() as c_int
    }

    #[inline(always)]
    #[expect(
        clippy::cast_sign_loss,
        reason = "the word holds the 32 bits of the int"
    )]
    fn to_word(self) -> *mut c_void {
        ptr::without_provenance_mut(self as u32 as usize)
    }
}

impl NativeHandle for *mut c_void {
    #[inline(always)]
    fn from_word(word: *mut c_void) -> Self {
        word
    }

    #[inline(always)]
    fn to_word(self) -> *mut c_void {
        self
    }
}

/// A kind of handle: communicator, datatype, …
pub(crate) trait HandleKind: Copy + Eq + 'static {
    /// Its form in the MPICH family.
    type Mpich: NativeHandle;
    /// The standard's constants of this kind; the first is its null handle.
    const CONSTANTS: Range<usize>;

    /// From the word of the standard's form.
    fn from_word(word: *mut c_void) -> Self;
    /// The word of the standard's form.
    fn to_word(self) -> *mut c_void;
}

macro_rules! handle_kinds {
    ($($handle:ident: $mpich:ty, $constants:expr;)*) => {$(
        impl HandleKind for $handle {
            type Mpich = $mpich;
            const CONSTANTS: Range<usize> = $constants;

            #[inline(always)]
            fn from_word(word: *mut c_void) -> Self {
                $handle(word)
            }

            #[inline(always)]
            fn to_word(self) -> *mut c_void {
                self.0
            }
        }
    )*};
}

handle_kinds! {
    MPI_Op: c_int, 0x20..0x40;
    MPI_Comm: c_int, 0x100..0x108;
    MPI_Group: c_int, 0x108..0x110;
    MPI_Win: c_int, 0x110..0x118;
    MPI_File: *mut c_void, 0x118..0x120;
    MPI_Session: c_int, 0x120..0x128;
    MPI_Message: c_int, 0x128..0x130;
    MPI_Info: c_int, 0x130..0x140;
    MPI_Errhandler: c_int, 0x140..0x150;
    MPI_Request: c_int, 0x180..0x188;
    MPI_Datatype: c_int, 0x200..CONSTANTS;
}

/// The library's own word of a handle in the standard's form.
///
/// # Safety
/// [`crate::load()`] has returned, or the caller is inside of it and has filled [`PREDEFINED`].
#[inline(always)]
pub(crate) unsafe fn to_native_word<H: HandleKind>(handle: H) -> *mut c_void {
    let word = handle.to_word();
    // SAFETY: the table is complete, by this function's contract.
    let predefined = unsafe { PREDEFINED.get() };
    predefined.get(word.addr()).copied().unwrap_or(word)
}

/// A handle in the library's own form.
///
/// # Safety
/// As [`to_native_word`].
#[inline(always)]
pub(crate) unsafe fn to_native<A: Abi, H: HandleKind>(handle: H) -> A::Handle<H> {
    // SAFETY: the same contract.
    NativeHandle::from_word(unsafe { to_native_word(handle) })
}

/// The standard's form of a handle that the library gave.
///
/// # Safety
/// As [`to_native_word`].
#[inline(always)]
pub(crate) unsafe fn to_standard<A: Abi, H: HandleKind>(native: A::Handle<H>) -> H {
    let word = native.to_word();
    // SAFETY: the table is complete, by this function's contract.
    let predefined = unsafe { PREDEFINED.get() };
    // Every completed request becomes the null request, so this path is hot.
    if word == predefined[H::CONSTANTS.start] {
        return H::from_word(ptr::without_provenance_mut(H::CONSTANTS.start));
    }
    if A::is_made_by_user(word) {
        return H::from_word(word);
    }
    constant_of(word, predefined)
}

/// The standard's constant of a predefined handle; a word that is none stays as it is.
#[cold]
fn constant_of<H: HandleKind>(word: *mut c_void, predefined: &[*mut c_void; CONSTANTS]) -> H {
    let constant = H::CONSTANTS
        .clone()
        .find(|&constant| predefined[constant] == word);
    H::from_word(constant.map_or(word, ptr::without_provenance_mut))
}
