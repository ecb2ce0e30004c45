//! Conversion of each kind of argument.
//!
//! The generated list of functions names a kind for every argument. A kind says what the argument
//! is in the standard's terms, what it is in each family's, and how one becomes the other. A shim
//! [enters](Arg::enter) every argument, [passes](Arg::pass) them to the library, and then
//! [leaves](Arg::leave) every argument, which converts back what the library wrote.

use std::ffi::c_int;
use std::marker::PhantomData;

use super::Abi;
use super::column::{self, Enumeration};
use super::handle::{self, HandleKind, NativeHandle};
use super::numbers::Codes;
use crate::native;
use crate::types::*;

/// A kind of argument, in the standard's terms.
pub(crate) trait Kind {
    /// Its type in the standard ABI.
    type Standard: Copy;
    /// Its type for callers that hold values in the library's own form (see [`native`]).
    type Wide: Copy;
}

/// Conversion of a kind for one family.
pub(crate) trait Arg<A: Abi>: Kind {
    /// Its type in the family's `mpi.h`.
    type Native: Copy;
    /// The value that a shim holds during the call.
    type Held;

    /// Converts the argument in.
    ///
    /// # Safety
    /// The argument meets the contract of the MPI call, and the tables are filled.
    unsafe fn enter(standard: Self::Standard) -> Self::Held;
    /// The same without a call, for the shims of hot functions.
    ///
    /// # Safety
    /// As [`enter`](Self::enter).
    #[inline(always)]
    unsafe fn enter_inline(standard: Self::Standard) -> Self::Held {
        // SAFETY: the same contract.
        unsafe { Self::enter(standard) }
    }
    /// The argument for the library.
    fn pass(held: &mut Self::Held) -> Self::Native;
    /// Converts back what the library wrote.
    ///
    /// # Safety
    /// The library call with this argument has returned, and the argument meets its contract.
    unsafe fn leave(_held: Self::Held) {}
    /// From the library's own form, held in a word, to its own type.
    fn narrow(wide: Self::Wide) -> Self::Native;
}

/// The same in every family.
#[derive(Debug)]
pub(crate) struct Same<T>(PhantomData<T>);

impl<T: Copy> Kind for Same<T> {
    type Standard = T;
    type Wide = T;
}

impl<A: Abi, T: Copy> Arg<A> for Same<T> {
    type Native = T;
    type Held = T;

    #[inline(always)]
    unsafe fn enter(standard: T) -> T {
        standard
    }
    #[inline(always)]
    fn pass(held: &mut T) -> T {
        *held
    }
    #[inline(always)]
    fn narrow(wide: T) -> T {
        wide
    }
}

/// The return code of a call: where it is a class of errors the standard's, else the library's own.
#[derive(Debug)]
pub(crate) struct Code;

impl Kind for Code {
    type Standard = c_int;
    type Wide = c_int;
}

/// The return type of a call.
pub(crate) trait Reply: Kind {
    /// In the standard's terms what a library of that family has returned.
    fn of_library<A: Abi>(native: Self::Standard) -> Self::Standard;
}

impl<T: Copy> Reply for Same<T> {
    #[inline(always)]
    fn of_library<A: Abi>(native: T) -> T {
        native
    }
}

impl Reply for Code {
    #[inline(always)]
    fn of_library<A: Abi>(native: c_int) -> c_int {
        Codes::to_standard::<A>(native)
    }
}

/// A handle that is given.
#[derive(Debug)]
pub(crate) struct InHandle<H>(PhantomData<H>);

impl<H: HandleKind> Kind for InHandle<H> {
    type Standard = H;
    type Wide = native::Handle<H>;
}

impl<A: Abi, H: HandleKind> Arg<A> for InHandle<H> {
    type Native = A::Handle<H>;
    type Held = A::Handle<H>;

    #[inline(always)]
    unsafe fn enter(standard: H) -> Self::Held {
        // SAFETY: the tables are filled, by this function's contract.
        unsafe { handle::to_native::<A, H>(standard) }
    }
    #[inline(always)]
    unsafe fn enter_inline(standard: H) -> Self::Held {
        // SAFETY: the same.
        NativeHandle::from_word(unsafe { handle::to_native_word(standard.to_word()) })
    }
    #[inline(always)]
    fn pass(held: &mut Self::Held) -> Self::Native {
        *held
    }
    #[inline(always)]
    fn narrow(wide: native::Handle<H>) -> Self::Native {
        NativeHandle::from_word(wide.word())
    }
}

/// A handle that the library writes, or reads and replaces.
///
/// The value that it holds before the call is converted too, so that it is defined when the call
/// fails.
#[derive(Debug)]
pub(crate) struct OutHandle<H>(PhantomData<H>);

impl<H: HandleKind> Kind for OutHandle<H> {
    type Standard = *mut H;
    type Wide = *mut native::Cell<H>;
}

impl<A: Abi, H: HandleKind> Arg<A> for OutHandle<H> {
    type Native = *mut A::Handle<H>;
    type Held = (*mut H, A::Handle<H>);

    #[inline(always)]
    unsafe fn enter(standard: *mut H) -> Self::Held {
        // SAFETY: the caller of MPI gives a handle that may be read.
        let before = unsafe { standard.read() };
        // SAFETY: the tables are filled, by this function's contract.
        (standard, unsafe { handle::to_native::<A, H>(before) })
    }
    #[inline(always)]
    fn pass(held: &mut Self::Held) -> Self::Native {
        &raw mut held.1
    }
    #[inline(always)]
    unsafe fn leave((standard, native): Self::Held) {
        // SAFETY: the tables are filled, by this function's contract.
        let after = unsafe { handle::to_standard::<A, H>(native) };
        // SAFETY: the caller of MPI gives a handle that may be written.
        unsafe { standard.write(after) };
    }
    #[inline(always)]
    fn narrow(wide: *mut native::Cell<H>) -> Self::Native {
        wide.cast()
    }
}

macro_rules! handle_aliases {
    ($($handle:ident: $given:ident, $written:ident;)*) => {$(
        pub(crate) type $given = InHandle<$handle>;
        pub(crate) type $written = OutHandle<$handle>;
    )*};
}

handle_aliases! {
    MPI_Comm: Comm, OutComm;
    MPI_Group: Group, OutGroup;
    MPI_Win: Win, OutWin;
    MPI_File: File, OutFile;
    MPI_Session: Session, OutSession;
    MPI_Message: Message, OutMessage;
    MPI_Info: Info, OutInfo;
    MPI_Errhandler: Errhandler, OutErrhandler;
    MPI_Request: Request, OutRequest;
    MPI_Datatype: Datatype, OutDatatype;
    MPI_Op: Op, OutOp;
}

/// An `int` that is converted by a function, both ways.
pub(crate) trait Conversion: 'static {
    fn to_native<A: Abi>(standard: c_int) -> c_int;
    fn to_standard<A: Abi>(native: c_int) -> c_int;
}

impl<E: Enumeration> Conversion for E {
    fn to_native<A: Abi>(standard: c_int) -> c_int {
        column::to_native::<A, E>(standard)
    }
    fn to_standard<A: Abi>(native: c_int) -> c_int {
        column::to_standard::<A, E>(native)
    }
}

/// An `int` that is given and means something else in each family.
#[derive(Debug)]
pub(crate) struct InInt<C>(PhantomData<C>);

impl<C: Conversion> Kind for InInt<C> {
    type Standard = c_int;
    type Wide = c_int;
}

impl<A: Abi, C: Conversion> Arg<A> for InInt<C> {
    type Native = c_int;
    type Held = c_int;

    #[inline(always)]
    unsafe fn enter(standard: c_int) -> c_int {
        C::to_native::<A>(standard)
    }
    #[inline(always)]
    fn pass(held: &mut c_int) -> c_int {
        *held
    }
    #[inline(always)]
    fn narrow(wide: c_int) -> c_int {
        wide
    }
}

/// An `int` that the library writes and that means something else in each family.
#[derive(Debug)]
pub(crate) struct OutInt<C>(PhantomData<C>);

impl<C: Conversion> Kind for OutInt<C> {
    type Standard = *mut c_int;
    type Wide = *mut c_int;
}

impl<A: Abi, C: Conversion> Arg<A> for OutInt<C> {
    type Native = *mut c_int;
    /// The caller's place, and what the library may write.
    type Held = (*mut c_int, c_int);

    #[inline(always)]
    unsafe fn enter(standard: *mut c_int) -> Self::Held {
        // SAFETY: the caller of MPI gives a place that may be read.
        let before = unsafe { standard.read() };
        (standard, C::to_native::<A>(before))
    }
    #[inline(always)]
    fn pass(held: &mut Self::Held) -> *mut c_int {
        &raw mut held.1
    }
    #[inline(always)]
    unsafe fn leave((standard, native): Self::Held) {
        // SAFETY: the caller of MPI gives a place that may be written.
        unsafe { standard.write(C::to_standard::<A>(native)) };
    }
    #[inline(always)]
    fn narrow(wide: *mut c_int) -> *mut c_int {
        wide
    }
}

/// A place that may be null, which means that the value is not wanted.
#[derive(Debug)]
pub(crate) struct Nullable<K>(PhantomData<K>);

impl<T, W: Copy, K: Kind<Standard = *mut T, Wide = W>> Kind for Nullable<K> {
    type Standard = *mut T;
    type Wide = W;
}

impl<A: Abi, T, W: Copy, N, K> Arg<A> for Nullable<K>
where
    K: Arg<A, Native = *mut N> + Kind<Standard = *mut T, Wide = W>,
{
    type Native = *mut N;
    type Held = Option<K::Held>;

    unsafe fn enter(standard: *mut T) -> Self::Held {
        // SAFETY: by this function's contract, for a place that is not null.
        (!standard.is_null()).then(|| unsafe { K::enter(standard) })
    }
    fn pass(held: &mut Self::Held) -> *mut N {
        held.as_mut().map_or(std::ptr::null_mut(), K::pass)
    }
    unsafe fn leave(held: Self::Held) {
        if let Some(held) = held {
            // SAFETY: by this function's contract.
            unsafe { K::leave(held) };
        }
    }
    fn narrow(wide: W) -> *mut N {
        K::narrow(wide)
    }
}
