//! Kinds of arguments that point at the caller's memory: buffers and statuses.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use super::Abi;
use super::kinds::{Arg, Kind};
use crate::generated::types::MPI_T_pvar_handle;
use crate::native;
use crate::types::MPI_Status;

/// A pointer to a buffer that is read or written.
pub(crate) trait Pointer: Copy + 'static {
    fn writable(self) -> *mut c_void;
    fn from_writable(pointer: *mut c_void) -> Self;
}

impl Pointer for *const c_void {
    #[inline(always)]
    fn writable(self) -> *mut c_void {
        self.cast_mut()
    }
    #[inline(always)]
    fn from_writable(pointer: *mut c_void) -> Self {
        pointer
    }
}

impl Pointer for *mut c_void {
    #[inline(always)]
    fn writable(self) -> *mut c_void {
        self
    }
    #[inline(always)]
    fn from_writable(pointer: *mut c_void) -> Self {
        pointer
    }
}

/// A buffer, or `MPI_IN_PLACE`.
#[derive(Debug)]
pub(crate) struct AnyBuf<P>(PhantomData<P>);

/// A buffer that is read, or `MPI_IN_PLACE`.
pub(crate) type ConstBuf = AnyBuf<*const c_void>;
/// A buffer that is written, or `MPI_IN_PLACE`.
pub(crate) type Buf = AnyBuf<*mut c_void>;

impl<P: Pointer> Kind for AnyBuf<P> {
    type Standard = P;
    type Wide = P;
}

impl<A: Abi, P: Pointer> Arg<A> for AnyBuf<P> {
    type Native = P;
    type Held = P;

    #[inline(always)]
    unsafe fn enter(standard: P) -> P {
        // Only the MPICH family has another value; elsewhere this folds away.
        if standard.writable().addr() == crate::MPI_IN_PLACE.addr() {
            P::from_writable(A::IN_PLACE)
        } else {
            standard
        }
    }
    #[inline(always)]
    fn pass(held: &mut P) -> P {
        *held
    }
    #[inline(always)]
    fn narrow(wide: P) -> P {
        wide
    }
}

/// A buffer that is attached for buffered sends, or `MPI_BUFFER_AUTOMATIC`.
#[derive(Debug)]
pub(crate) struct AttachBuf;

impl Kind for AttachBuf {
    type Standard = *mut c_void;
    type Wide = *mut c_void;
}

impl<A: Abi> Arg<A> for AttachBuf {
    type Native = *mut c_void;
    type Held = *mut c_void;

    unsafe fn enter(standard: *mut c_void) -> *mut c_void {
        let automatic = standard.addr() == crate::MPI_BUFFER_AUTOMATIC.addr();
        A::BUFFER_AUTOMATIC
            .filter(|_| automatic)
            .unwrap_or(standard)
    }
    fn pass(held: &mut *mut c_void) -> *mut c_void {
        *held
    }
    fn narrow(wide: *mut c_void) -> *mut c_void {
        wide
    }
}

/// A status that the library writes, or `MPI_STATUS_IGNORE`.
#[derive(Debug)]
pub(crate) struct OutStatus;

impl Kind for OutStatus {
    type Standard = *mut MPI_Status;
    type Wide = *mut native::Status;
}

impl<A: Abi> Arg<A> for OutStatus {
    type Native = *mut c_void;
    type Held = (*mut MPI_Status, A::Status);

    #[inline(always)]
    unsafe fn enter(standard: *mut MPI_Status) -> Self::Held {
        // SAFETY: by this function's contract.
        (standard, unsafe { fresh::<A>(standard) })
    }
    #[inline(always)]
    fn pass(held: &mut Self::Held) -> *mut c_void {
        if held.0.is_null() {
            A::STATUS_IGNORE
        } else {
            (&raw mut held.1).cast()
        }
    }
    #[inline(always)]
    unsafe fn leave((standard, native): Self::Held) {
        // SAFETY: by this function's contract.
        unsafe { written::<A>(standard, &native) };
    }
    #[inline(always)]
    fn narrow(wide: *mut native::Status) -> *mut c_void {
        wide.cast()
    }
}

/// A status for the library to write.
///
/// # Safety
/// The status may be read, or is `MPI_STATUS_IGNORE`.
#[inline(never)]
unsafe extern "C" fn fresh<A: Abi>(standard: *mut MPI_Status) -> A::Status {
    // Libraries may leave MPI_ERROR untouched; what it was has to survive the round trip.
    let before = if standard.is_null() {
        MPI_Status::EMPTY
    } else {
        // SAFETY: not IGNORE, which is null.
        unsafe { standard.read() }
    };
    A::status_in(&MPI_Status {
        MPI_ERROR: before.MPI_ERROR,
        ..MPI_Status::EMPTY
    })
}

/// Converts back the status that the library wrote.
///
/// # Safety
/// The status may be written, or is `MPI_STATUS_IGNORE`.
#[inline(never)]
unsafe extern "C" fn written<A: Abi>(standard: *mut MPI_Status, native: &A::Status) {
    if !standard.is_null() {
        // SAFETY: not IGNORE, which is null.
        unsafe { standard.write(A::status_out(native)) };
    }
}

/// A status that the library reads.
#[derive(Debug)]
pub(crate) struct InStatus;

impl Kind for InStatus {
    type Standard = *const MPI_Status;
    type Wide = *const native::Status;
}

impl<A: Abi> Arg<A> for InStatus {
    type Native = *const A::Status;
    type Held = A::Status;

    #[inline(always)]
    unsafe fn enter(standard: *const MPI_Status) -> A::Status {
        // SAFETY: the caller of MPI gives a status that may be read.
        A::status_in(&unsafe { standard.read() })
    }
    #[inline(always)]
    fn pass(held: &mut A::Status) -> *const A::Status {
        &raw const *held
    }
    #[inline(always)]
    fn narrow(wide: *const native::Status) -> *const A::Status {
        wide.cast()
    }
}

/// A status that the library reads and changes.
#[derive(Debug)]
pub(crate) struct InOutStatus;

impl Kind for InOutStatus {
    type Standard = *mut MPI_Status;
    type Wide = *mut native::Status;
}

impl<A: Abi> Arg<A> for InOutStatus {
    type Native = *mut A::Status;
    type Held = (*mut MPI_Status, A::Status);

    unsafe fn enter(standard: *mut MPI_Status) -> Self::Held {
        // SAFETY: the caller of MPI gives a status that may be read.
        let status = unsafe { standard.read() };
        (standard, A::status_in(&status))
    }
    fn pass(held: &mut Self::Held) -> *mut A::Status {
        &raw mut held.1
    }
    unsafe fn leave((standard, native): Self::Held) {
        // SAFETY: the caller of MPI gives a status that may be written.
        unsafe { standard.write(A::status_out(&native)) };
    }
    fn narrow(wide: *mut native::Status) -> *mut A::Status {
        wide.cast()
    }
}

/// The displacement of a file view, or `MPI_DISPLACEMENT_CURRENT`.
#[derive(Debug)]
pub(crate) struct Displacement;

impl Kind for Displacement {
    type Standard = crate::MPI_Offset;
    type Wide = crate::MPI_Offset;
}

impl<A: Abi> Arg<A> for Displacement {
    type Native = crate::MPI_Offset;
    type Held = crate::MPI_Offset;

    unsafe fn enter(standard: crate::MPI_Offset) -> crate::MPI_Offset {
        let current = c_int::try_from(standard).ok();
        let native = current.map(super::column::to_native::<A, super::numbers::Displacements>);
        native.map_or(standard, crate::MPI_Offset::from)
    }
    fn pass(held: &mut crate::MPI_Offset) -> crate::MPI_Offset {
        *held
    }
    fn narrow(wide: crate::MPI_Offset) -> crate::MPI_Offset {
        wide
    }
}

/// The place of a buffer that is detached, which may become `MPI_BUFFER_AUTOMATIC`.
#[derive(Debug)]
pub(crate) struct OutAttachBuf;

impl Kind for OutAttachBuf {
    type Standard = *mut c_void;
    type Wide = *mut c_void;
}

impl<A: Abi> Arg<A> for OutAttachBuf {
    type Native = *mut c_void;
    type Held = *mut c_void;

    unsafe fn enter(standard: *mut c_void) -> *mut c_void {
        standard
    }
    fn pass(held: &mut *mut c_void) -> *mut c_void {
        *held
    }
    unsafe fn leave(held: *mut c_void) {
        let place = held.cast::<*mut c_void>();
        // SAFETY: the library has written the address of the buffer.
        let buffer = unsafe { place.read() };
        if A::BUFFER_AUTOMATIC == Some(buffer) {
            // SAFETY: the caller of MPI gives a place that may be written.
            unsafe { place.write(crate::MPI_BUFFER_AUTOMATIC) };
        }
    }
    fn narrow(wide: *mut c_void) -> *mut c_void {
        wide
    }
}

/// A handle of a performance variable, or all of a session.
#[derive(Debug)]
pub(crate) struct ToolPvar;

impl Kind for ToolPvar {
    type Standard = MPI_T_pvar_handle;
    type Wide = MPI_T_pvar_handle;
}

impl<A: Abi> Arg<A> for ToolPvar {
    type Native = MPI_T_pvar_handle;
    type Held = MPI_T_pvar_handle;

    unsafe fn enter(standard: MPI_T_pvar_handle) -> MPI_T_pvar_handle {
        if standard == crate::MPI_T_PVAR_ALL_HANDLES {
            return MPI_T_pvar_handle(super::predefined::pointer("MPI_T_PVAR_ALL_HANDLES"));
        }
        standard
    }
    fn pass(held: &mut MPI_T_pvar_handle) -> MPI_T_pvar_handle {
        *held
    }
    fn narrow(wide: MPI_T_pvar_handle) -> MPI_T_pvar_handle {
        wide
    }
}
