//! The hot path: calls with values in the library's own form, so that nothing is converted.
//!
//! The functions of this module have the names of the standard's and the library's own meaning of
//! every argument: handles from [`comm`], [`datatype`], [`op`] and [`win`], ranks and tags that are
//! either plain or come from [`any_source`], [`any_tag`] and [`proc_null`], locks from
//! [`lock_type`], statuses that stay as the library wrote them until they are
//! [decoded](Status::source), or [`status_ignore`]. Only the code of an error is converted. A call
//! costs what the C call costs, with a few instructions more in the MPICH family, whose handles are
//! narrower than a word.
//!
//! Everything else (the large-count forms, files, attributes, …) goes through the functions
//! at the crate's root, in the standard's terms.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::Family;
use crate::abi::Abi;
use crate::abi::column;
use crate::abi::handle::{self, HandleKind, NativeHandle};
use crate::abi::kinds::Conversion;
use crate::abi::mpich::{self, Mpich};
use crate::abi::numbers::{Codes, LockTypes, Ranks, Tags};
use crate::abi::openmpi::{self, OpenMpi};
use crate::types::*;

pub use crate::generated::functions::native::*;
pub use requests::*;

mod requests;

/// A handle in the library's own form, held in a word whatever its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Handle<H>(*mut c_void, PhantomData<H>);

// SAFETY: a handle is a name. Which threads may use it is the contract of each MPI call.
unsafe impl<H> Send for Handle<H> {}
// SAFETY: as above; the name itself is immutable.
unsafe impl<H> Sync for Handle<H> {}

impl<H> Handle<H> {
    #[inline(always)]
    pub(crate) fn word(self) -> *mut c_void {
        self.0
    }
}

/// A communicator.
pub type Comm = Handle<MPI_Comm>;
/// A datatype.
pub type Datatype = Handle<MPI_Datatype>;
/// An operation.
pub type Op = Handle<MPI_Op>;
/// A window.
pub type Win = Handle<MPI_Win>;

/// A place in which the library writes a handle in its own width, for example a request.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Cell<H>(MaybeUninit<[u8; 8]>, PhantomData<H>);

impl Cell<MPI_Message> {
    /// The message that a call has written, in the standard's terms.
    ///
    /// # Safety
    /// [`crate::load()`] has returned, and a call has written into the place.
    pub unsafe fn get(&self) -> MPI_Message {
        // SAFETY: by this function's contract.
        unsafe { self.standard() }
    }
}

impl<H> Cell<H> {
    /// The handle that a call has written, in the standard's terms.
    ///
    /// # Safety
    /// [`crate::load()`] has returned, and a call has written into the place.
    unsafe fn standard(&self) -> H
    where
        H: HandleKind<Mpich = c_int>,
    {
        let place = (&raw const *self).cast::<c_void>();
        match crate::load::family() {
            Family::Mpich => {
                // SAFETY: a call of this family has written an int, by this function's contract.
                let int = unsafe { place.cast::<c_int>().read() };
                // SAFETY: the tables are filled, by this function's contract.
                unsafe { handle::to_standard::<Mpich, H>(int) }
            }
            Family::OpenMpi => {
                // SAFETY: a call of this family has written a pointer, by this function's contract.
                let native = unsafe { place.cast::<*mut c_void>().read() };
                // SAFETY: the tables are filled, by this function's contract.
                unsafe { handle::to_standard::<OpenMpi, H>(native) }
            }
            Family::Standard => {
                // SAFETY: as above; what the library writes is the standard's own form.
                H::from_word(unsafe { place.cast::<*mut c_void>().read() })
            }
        }
    }
}

/// A datatype of an array in the library's own form; how wide it is depends on the library.
#[derive(Debug)]
#[repr(transparent)]
pub struct DatatypeWord(usize);

/// Datatypes in the library's own form, side by side.
///
/// They are for `MPI_Ialltoallw`, `MPI_Alltoallw_init` and their kin, which read them until the
/// operation is complete or freed: who starts one keeps them for so long.
#[derive(Debug)]
pub struct Datatypes(Box<[usize]>);

impl Datatypes {
    /// An array of these, in this order.
    ///
    /// # Safety
    /// [`crate::load()`] has returned.
    pub unsafe fn new(datatypes: &[MPI_Datatype]) -> Self {
        let mut words = vec![0; datatypes.len()].into_boxed_slice();
        for (index, &standard) in datatypes.iter().enumerate() {
            // SAFETY: the tables are filled, by this function's contract.
            let word = unsafe { datatype(standard) }.word();
            if crate::load::family() == Family::Mpich {
                let place = words.as_mut_ptr().cast::<c_int>();
                // SAFETY: there are as many words, which are wider.
                let place = unsafe { place.add(index) };
                // SAFETY: as above.
                unsafe { place.write(c_int::from_word(word)) };
            } else {
                words[index] = word.expose_provenance();
            }
        }
        Self(words)
    }

    /// The address of the first.
    pub fn as_ptr(&self) -> *const DatatypeWord {
        self.0.as_ptr().cast()
    }
}

/// A communicator in the library's own form.
///
/// # Safety
/// [`crate::load()`] has returned. (The same holds for every function of this module.)
#[inline]
pub unsafe fn comm(standard: MPI_Comm) -> Comm {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { handle(standard) }
}

/// A datatype in the library's own form.
///
/// # Safety
/// [`crate::load()`] has returned.
#[inline]
pub unsafe fn datatype(standard: MPI_Datatype) -> Datatype {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { handle(standard) }
}

/// An operation in the library's own form.
///
/// # Safety
/// [`crate::load()`] has returned.
#[inline]
pub unsafe fn op(standard: MPI_Op) -> Op {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { handle(standard) }
}

/// A window in the library's own form.
///
/// # Safety
/// [`crate::load()`] has returned.
#[inline]
pub unsafe fn win(standard: MPI_Win) -> Win {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { handle(standard) }
}

/// A handle as C code has it that was compiled with the library's `mpi.h`: an `int` in the MPICH
/// family, a pointer elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CHandle {
    /// As MPICH, Intel MPI, MVAPICH and Cray MPICH have it.
    Int(c_int),
    /// As Open MPI and the libraries of the standard ABI have it.
    Pointer(*mut c_void),
}

/// A communicator as C code has it.
///
/// # Safety
/// [`crate::load()`] has returned.
pub unsafe fn comm_to_c(standard: MPI_Comm) -> CHandle {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { to_c(standard) }
}

/// The communicator that C code has; `None` if this is not what the library's handles are.
///
/// # Safety
/// [`crate::load()`] has returned.
pub unsafe fn comm_from_c(c: CHandle) -> Option<MPI_Comm> {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { from_c(c) }
}

/// A datatype as C code has it.
///
/// # Safety
/// [`crate::load()`] has returned.
pub unsafe fn datatype_to_c(standard: MPI_Datatype) -> CHandle {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { to_c(standard) }
}

/// The datatype that C code has; `None` if this is not what the library's handles are.
///
/// # Safety
/// [`crate::load()`] has returned.
pub unsafe fn datatype_from_c(c: CHandle) -> Option<MPI_Datatype> {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { from_c(c) }
}

/// A request as C code has it.
///
/// # Safety
/// [`crate::load()`] has returned.
pub unsafe fn request_to_c(standard: MPI_Request) -> CHandle {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { to_c(standard) }
}

/// The request that C code has; `None` if this is not what the library's handles are.
///
/// # Safety
/// [`crate::load()`] has returned.
pub unsafe fn request_from_c(c: CHandle) -> Option<MPI_Request> {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { from_c(c) }
}

/// A window as C code has it.
///
/// # Safety
/// [`crate::load()`] has returned.
pub unsafe fn win_to_c(standard: MPI_Win) -> CHandle {
    // SAFETY: the tables are filled, by this function's contract.
    unsafe { to_c(standard) }
}

unsafe fn to_c<H: HandleKind>(standard: H) -> CHandle {
    // SAFETY: the tables are filled, by the caller's contract.
    let word = unsafe { handle::to_native_word(standard.to_word()) };
    match crate::load::family() {
        Family::Mpich => CHandle::Int(NativeHandle::from_word(word)),
        Family::Standard | Family::OpenMpi => CHandle::Pointer(word),
    }
}

unsafe fn from_c<H: HandleKind<Mpich = c_int>>(c: CHandle) -> Option<H> {
    match (crate::load::family(), c) {
        (Family::Standard, CHandle::Pointer(word)) => Some(H::from_word(word)),
        // SAFETY: the tables are filled, by the caller's contract.
        (Family::Mpich, CHandle::Int(int)) => Some(unsafe { handle::to_standard::<Mpich, H>(int) }),
        (Family::OpenMpi, CHandle::Pointer(word)) => {
            // SAFETY: as above.
            Some(unsafe { handle::to_standard::<OpenMpi, H>(word) })
        }
        _ => None,
    }
}

#[inline(always)]
unsafe fn handle<H: HandleKind>(standard: H) -> Handle<H> {
    // SAFETY: the tables are filled, by the caller's contract.
    Handle(
        unsafe { handle::to_native_word(standard.to_word()) },
        PhantomData,
    )
}

/// `MPI_ANY_SOURCE` as the library has it.
#[inline]
pub fn any_source() -> c_int {
    special_rank(crate::MPI_ANY_SOURCE)
}

/// `MPI_PROC_NULL` as the library has it.
#[inline]
pub fn proc_null() -> c_int {
    special_rank(crate::MPI_PROC_NULL)
}

/// `MPI_IN_PLACE` as the library has it.
#[inline]
pub fn in_place() -> *mut c_void {
    match crate::load::family() {
        Family::Standard => crate::MPI_IN_PLACE,
        Family::Mpich => <Mpich as Abi>::IN_PLACE,
        Family::OpenMpi => <OpenMpi as Abi>::IN_PLACE,
    }
}

/// In the standard's terms a code that a function of this module got from the library.
#[inline(always)]
pub(crate) fn code_of_library(code: c_int) -> c_int {
    if code == crate::MPI_SUCCESS {
        return code;
    }
    failure_of_library(code)
}

#[cold]
fn failure_of_library(code: c_int) -> c_int {
    match crate::load::family() {
        Family::Standard => code,
        Family::Mpich => Codes::to_standard::<Mpich>(code),
        Family::OpenMpi => Codes::to_standard::<OpenMpi>(code),
    }
}

fn special_rank(standard: c_int) -> c_int {
    match crate::load::family() {
        Family::Standard => standard,
        Family::Mpich => Ranks::to_native::<Mpich>(standard),
        Family::OpenMpi => Ranks::to_native::<OpenMpi>(standard),
    }
}

/// `MPI_ANY_TAG` as the library has it.
#[inline]
pub fn any_tag() -> c_int {
    match crate::load::family() {
        Family::Standard => crate::MPI_ANY_TAG,
        Family::Mpich => Tags::to_native::<Mpich>(crate::MPI_ANY_TAG),
        Family::OpenMpi => Tags::to_native::<OpenMpi>(crate::MPI_ANY_TAG),
    }
}

/// `MPI_LOCK_SHARED` or `MPI_LOCK_EXCLUSIVE`, as the library has it.
#[inline]
pub fn lock_type(standard: c_int) -> c_int {
    match crate::load::family() {
        Family::Standard => standard,
        Family::Mpich => column::to_native::<Mpich, LockTypes>(standard),
        Family::OpenMpi => column::to_native::<OpenMpi, LockTypes>(standard),
    }
}

/// `MPI_STATUS_IGNORE`, as the library has it: null in some.
#[inline]
pub fn status_ignore() -> *mut Status {
    match crate::load::family() {
        Family::Standard => crate::MPI_STATUS_IGNORE.cast(),
        Family::Mpich => <Mpich as Abi>::STATUS_IGNORE.cast(),
        Family::OpenMpi => <OpenMpi as Abi>::STATUS_IGNORE.cast(),
    }
}

/// A status as the library wrote it, decoded on demand.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Status([c_int; 8]);

impl std::fmt::Debug for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Status")
            .field("source", &self.source())
            .field("tag", &self.tag())
            .finish()
    }
}

impl Status {
    /// A status to be written by a call.
    #[inline]
    pub const fn new() -> Self {
        Status([0; 8])
    }

    /// The rank of the sender, or a constant of the standard's (`MPI_PROC_NULL`, `MPI_ANY_SOURCE`).
    pub fn source(&self) -> c_int {
        match crate::load::family() {
            Family::Standard => self.0[0],
            Family::Mpich => Ranks::to_standard::<Mpich>(self.0[mpich::Status::SOURCE_WORD]),
            Family::OpenMpi => Ranks::to_standard::<OpenMpi>(self.0[openmpi::Status::SOURCE_WORD]),
        }
    }

    /// The tag of the message, or `MPI_ANY_TAG`.
    pub fn tag(&self) -> c_int {
        match crate::load::family() {
            Family::Standard => self.0[1],
            Family::Mpich => Tags::to_standard::<Mpich>(self.0[mpich::Status::TAG_WORD]),
            Family::OpenMpi => Tags::to_standard::<OpenMpi>(self.0[openmpi::Status::TAG_WORD]),
        }
    }

    /// The code of an operation that was completed together with others, by a call that answers
    /// `MPI_ERR_IN_STATUS`; no other call writes it.
    pub fn error(&self) -> c_int {
        code_of_library(match crate::load::family() {
            Family::Standard => self.0[2],
            Family::Mpich => self.0[mpich::Status::ERROR_WORD],
            Family::OpenMpi => self.0[openmpi::Status::ERROR_WORD],
        })
    }

    /// The length of the message in bytes; `None` if the library cannot tell.
    ///
    /// # Safety
    /// [`crate::load()`] has returned and MPI is initialised.
    pub unsafe fn bytes(&self) -> Option<usize> {
        let mut count: MPI_Count = 0;
        // SAFETY: the tables are filled, by this function's contract.
        let byte = unsafe { datatype(crate::MPI_BYTE) };
        // SAFETY: MPI is initialised, by this function's contract; the status is one that a call of
        // this module wrote, or an empty one.
        let code = unsafe { MPI_Get_elements_x(self, byte, &raw mut count) };
        if code == crate::MPI_SUCCESS {
            usize::try_from(count).ok()
        } else {
            None
        }
    }
}

impl Default for Status {
    fn default() -> Self {
        Status::new()
    }
}

impl<H> Cell<H> {
    /// A place with nothing in it yet.
    #[inline]
    pub const fn new() -> Self {
        Cell(MaybeUninit::uninit(), PhantomData)
    }
}

impl<H> Default for Cell<H> {
    fn default() -> Self {
        Cell::new()
    }
}
