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

/// The library's own word of a handle whose word in the standard's form this is.
///
/// # Safety
/// [`crate::load()`] has returned, or the caller is inside of it and has filled [`PREDEFINED`].
#[inline(always)]
pub(crate) unsafe fn to_native_word(word: *mut c_void) -> *mut c_void {
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
    /// Once for all shims, which are many.
    #[inline(never)]
    unsafe extern "C" fn native(word: *mut c_void) -> *mut c_void {
        // SAFETY: the same contract.
        unsafe { to_native_word(word) }
    }
    // SAFETY: the same contract.
    NativeHandle::from_word(unsafe { native(handle.to_word()) })
}

/// The standard's form of a handle that the library gave.
///
/// # Safety
/// As [`to_native_word`].
#[inline(always)]
pub(crate) unsafe fn to_standard<A: Abi, H: HandleKind>(native: A::Handle<H>) -> H {
    let constants = H::CONSTANTS;
    // SAFETY: the same contract.
    H::from_word(unsafe { to_standard_word::<A>(native.to_word(), constants.start, constants.end) })
}

/// The standard's word of a handle that the library gave, whose constants lie between `null`, the
/// first of them, and `end`. As a function of C it needs no landing pad in the shims.
///
/// # Safety
/// As [`to_native_word`].
#[inline(never)]
unsafe extern "C" fn to_standard_word<A: Abi>(
    word: *mut c_void,
    null: usize,
    end: usize,
) -> *mut c_void {
    // SAFETY: the table is complete, by this function's contract.
    let predefined = unsafe { PREDEFINED.get() };
    // Every completed request becomes the null request, so this path is hot.
    if word == predefined[null] {
        return ptr::without_provenance_mut(null);
    }
    if A::is_made_by_user(word) {
        return word;
    }
    constant_of(word, null..end, predefined)
}

/// The standard's constant of a predefined handle; a word that is none stays as it is.
#[cold]
fn constant_of(
    word: *mut c_void,
    mut constants: Range<usize>,
    predefined: &[*mut c_void; CONSTANTS],
) -> *mut c_void {
    let constant = constants.find(|&constant| predefined[constant] == word);
    constant.map_or(word, ptr::without_provenance_mut)
}
