//! Expansion of one line of the generated list of functions.
//!
//! For each function of the standard: the public `unsafe fn` of its name, and a module of the same
//! name with its slots and shims. The word before the line says how the slot is filled:
//!
//! | word | older families |
//! |---|---|
//! | `same` | a shim: no argument differs, but codes do that are returned |
//! | `shim` | a shim that converts each argument by its kind |
//! | `hot` | a shim, and an entry of [`crate::native`] that converts nothing |
//! | `hand` | a shim written by hand in `abi/by_hand` |
//! | `large(F)` | a shim; where the library has no such function, `F` carries it out |
//! | `variadic` | the library's own function |
//!
//! A line under `#[cfg(feature = "whole")]` is one of a function that no crate of ranks calls.
//!
//! With a library of the standard ABI every slot holds the library's own function.

/// One family of functions.
macro_rules! functions {
    ($($(#[doc = $doc:literal])* $(#[cfg($when:meta)])? $class:ident $(($base:ident))? $since:literal
       $name:ident($($arg:ident: $kind:ident $(<$of:ty>)?),* $(,)?) -> $ret:ident $(<$returned:ty>)?;)*) => {
        $(
            $(#[doc = $doc])*
            ///
            /// # Safety
            /// The contract of the C function, in the standard's terms; see the [crate](crate) for
            /// what comes on top of it.
            $(#[cfg($when)])?
            #[inline]
            pub unsafe fn $name($($arg: standard!($kind $(<$of>)?)),*) -> standard!($ret $(<$returned>)?) {
                // SAFETY: the caller has seen `load` return.
                let call = unsafe { $name::TABLE.get() };
                // SAFETY: the caller meets the contract of the C function.
                unsafe { call($($arg),*) }
            }

            $(#[cfg($when)])?
            pub(crate) mod $name {
                use super::*;

                type R = <$ret $(<$returned>)? as Kind>::Standard;
                type Call = unsafe extern "C" fn($(<$kind $(<$of>)? as Kind>::Standard),*) -> R;

                /// The function that the function of this name calls.
                pub(crate) static TABLE: Slot<Call> = Slot::new(absent);
                /// The address of the library's own function, null if it has none.
                pub(crate) static LIBRARY: Slot<*const c_void> = Slot::new(std::ptr::null());

                unsafe extern "C" fn absent($($arg: <$kind $(<$of>)? as Kind>::Standard),*) -> R {
                    let _ = ($($arg,)*);
                    <R as Returned>::absent(const { crate::function::absent_code(stringify!($name)) })
                }

                entry!($class $(($base))? $name($($arg: $kind $(<$of>)?),*) -> $ret $(<$returned>)?);
            }
        )*

        pub(crate) static FUNCTIONS: &[Function] = &[$($(#[cfg($when)])? Function {
            name: stringify!($name),
            since: $since,
            library: &$name::LIBRARY,
            table: $name::TABLE.of_any_type(),
            filling: &$name::FILLING,
        }),*];

        #[allow(unused_imports, reason = "not every family has hot functions")]
        pub mod native {
            use super::*;
            $($(#[cfg($when)])? native_entry!($class $name($($arg: $kind $(<$of>)?),*) -> $ret $(<$returned>)?);)*
        }
    };
}

/// The shims of one function, and how its slots are filled.
macro_rules! entry {
    (same $name:ident($($arg:ident: $kind:ty),*) -> $ret:ty) => {
        unsafe extern "C" fn shim<A: Abi>($($arg: <$kind as Kind>::Standard),*) -> R {
            // SAFETY: the slot that holds this shim is filled after LIBRARY, and in every family
            // the function has this type.
            let call: Call = unsafe { std::mem::transmute(*LIBRARY.get()) };
            // SAFETY: the caller meets the contract of the C function.
            <$ret as Reply>::of_library::<A>(unsafe { call($($arg),*) })
        }

        pub(crate) static FILLING: Filling = Filling::shims(of_type!(Call, shim::<Mpich>), of_type!(Call, shim::<OpenMpi>));
    };
    (shim $name:ident($($arg:ident: $kind:ty),*) -> $ret:ty) => {
        shim!(enter $name($($arg: $kind),*) -> $ret);

        pub(crate) static FILLING: Filling = Filling::shims(of_type!(Call, shim::<Mpich>), of_type!(Call, shim::<OpenMpi>));
    };
    (hot $name:ident($($arg:ident: $kind:ty),*) -> $ret:ty) => {
        shim!(enter_inline $name($($arg: $kind),*) -> $ret);

        pub(crate) type Wide = unsafe extern "C" fn($(<$kind as Kind>::Wide),*) -> R;

        /// The function that the function of this name in `native` calls.
        pub(crate) static NATIVE: Slot<Wide> = Slot::new(absent_wide);

        unsafe extern "C" fn absent_wide($($arg: <$kind as Kind>::Wide),*) -> R {
            let _ = ($($arg,)*);
            <R as Returned>::absent(const { crate::function::absent_code(stringify!($name)) })
        }

        /// Narrows the handles; everything else is the library's own already.
        unsafe extern "C" fn narrow<A: Abi>($($arg: <$kind as Kind>::Wide),*) -> R {
            // SAFETY: the slot that holds this shim is filled after LIBRARY.
            let call: Native<A> = unsafe { std::mem::transmute(*LIBRARY.get()) };
            // SAFETY: the caller meets the contract of the C function.
            unsafe { call($(<$kind as Arg<A>>::narrow($arg)),*) }
        }

        pub(crate) static FILLING: Filling = Filling::shims(of_type!(Call, shim::<Mpich>), of_type!(Call, shim::<OpenMpi>))
            .native(NATIVE.of_any_type(), of_type!(Wide, narrow::<Mpich>));
    };
    (hand $name:ident($($arg:ident: $kind:ty),*) -> $ret:ty) => {
        unsafe extern "C" fn shim<A: Abi>($($arg: <$kind as Kind>::Standard),*) -> R {
            // SAFETY: the caller meets the contract of the C function.
            let returned = unsafe { crate::abi::by_hand::$name::<A>($($arg),*) };
            <$ret as Reply>::of_library::<A>(returned)
        }

        pub(crate) static FILLING: Filling = Filling::shims(of_type!(Call, shim::<Mpich>), of_type!(Call, shim::<OpenMpi>));
    };
    (large($base:ident) $name:ident($($arg:ident: $kind:ty),*) -> $ret:ty) => {
        shim!(enter $name($($arg: $kind),*) -> $ret);

        /// Carries the call out with the function that counts in `int`.
        unsafe extern "C" fn emulated($($arg: <$kind as Kind>::Standard),*) -> R {
            let written = crate::abi::large::nothing_written();
            let mut shrink = Shrink::new(stringify!($name), &written);
            $(let $arg = shrink.argument($arg);)*
            if let Some(code) = shrink.refusal() {
                return code;
            }
            // SAFETY: the caller meets the contract of the large-count function, and the arguments
            // mean the same to the one that counts in `int`.
            let code = unsafe { crate::$base($($arg),*) };
            shrink.finish(code)
        }

        pub(crate) static FILLING: Filling = Filling::shims(of_type!(Call, shim::<Mpich>), of_type!(Call, shim::<OpenMpi>))
            .emulation(of_type!(Call, emulated));
    };
    (variadic $name:ident($($arg:ident: $kind:ty),*) -> $ret:ty) => {
        pub(crate) static FILLING: Filling = Filling::DIRECT;
    };
}

/// A function of this type, as one of any type.
macro_rules! of_type {
    ($type:ty, $function:expr) => {{
        let function: $type = $function;
        // SAFETY: it is called only after it has been put into a slot of its own type.
        unsafe { std::mem::transmute::<$type, AnyCall>(function) }
    }};
}

/// The shim of one function, for both older families.
macro_rules! shim {
    ($enter:ident $name:ident($($arg:ident: $kind:ty),*) -> $ret:ty) => {
        type Native<A> = unsafe extern "C" fn($(<$kind as Arg<A>>::Native),*) -> R;

        unsafe extern "C" fn shim<A: Abi>($($arg: <$kind as Kind>::Standard),*) -> R {
            // SAFETY: the caller meets the contract of the C function for this argument.
            $(let mut $arg = unsafe { <$kind as Arg<A>>::$enter($arg) };)*
            // SAFETY: the slot that holds this shim is filled after LIBRARY.
            let call: Native<A> = unsafe { std::mem::transmute(*LIBRARY.get()) };
            // SAFETY: the caller meets the contract of the C function, in the family's own terms.
            let returned = unsafe { call($(<$kind as Arg<A>>::pass(&mut $arg)),*) };
            // SAFETY: the call has returned.
            $(unsafe { <$kind as Arg<A>>::leave($arg) };)*
            <$ret as Reply>::of_library::<A>(returned)
        }
    };
}

/// The function of [`crate::native`], for hot ones.
macro_rules! native_entry {
    (hot $name:ident($($arg:ident: $kind:ident $(<$of:ty>)?),*) -> $ret:ident $(<$returned:ty>)?) => {
        #[doc = concat!("`", stringify!($name), "`, with values in the library's own form.")]
        ///
        /// # Safety
        /// The contract of the C function; [`crate::load()`] has returned.
        #[inline(always)]
        pub unsafe fn $name($($arg: wide!($kind $(<$of>)?)),*) -> standard!($ret $(<$returned>)?) {
            // SAFETY: the caller has seen `load` return.
            let call = unsafe { super::$name::NATIVE.get() };
            // SAFETY: the caller meets the contract of the C function.
            crate::native::code_of_library(unsafe { call($($arg),*) })
        }
    };
    ($class:ident $name:ident($($arg:ident: $kind:ty),*) -> $ret:ty) => {};
}

/// The type of a kind in the standard ABI, spelled out so that it is readable in signatures. That
/// it is the kind's own is checked by the compiler: the arguments are passed on.
macro_rules! standard {
    (Same<$type:ty>) => { $type };
    (Code) => { c_int };
    (ConstBuf) => { *const c_void };
    (Buf) => { *mut c_void };
    (AttachBuf) => { *mut c_void };
    (OutAttachBuf) => { *mut c_void };
    (InStatus) => { *const MPI_Status };
    (OutStatus) => { *mut MPI_Status };
    (InOutStatus) => { *mut MPI_Status };
    (Displacement) => { MPI_Offset };
    (ToolPvar) => { MPI_T_pvar_handle };
    (Comm) => { MPI_Comm };
    (OutComm) => { *mut MPI_Comm };
    (Group) => { MPI_Group };
    (OutGroup) => { *mut MPI_Group };
    (Win) => { MPI_Win };
    (OutWin) => { *mut MPI_Win };
    (File) => { MPI_File };
    (OutFile) => { *mut MPI_File };
    (Session) => { MPI_Session };
    (OutSession) => { *mut MPI_Session };
    (Message) => { MPI_Message };
    (OutMessage) => { *mut MPI_Message };
    (Info) => { MPI_Info };
    (OutInfo) => { *mut MPI_Info };
    (Errhandler) => { MPI_Errhandler };
    (OutErrhandler) => { *mut MPI_Errhandler };
    (Request) => { MPI_Request };
    (OutRequest) => { *mut MPI_Request };
    (Datatype) => { MPI_Datatype };
    (OutDatatype) => { *mut MPI_Datatype };
    (Op) => { MPI_Op };
    (OutOp) => { *mut MPI_Op };
    (OutToolDatatype) => { *mut MPI_Datatype };
    (OutToolInfo) => { *mut MPI_Info };
    (Rank) => { c_int };
    (Tag) => { c_int };
    (ThreadLevel) => { c_int };
    (FileMode) => { c_int };
    (Assert) => { c_int };
    (LockType) => { c_int };
    (SplitType) => { c_int };
    (Order) => { c_int };
    (Whence) => { c_int };
    (CommKeyval) => { c_int };
    (TypeKeyval) => { c_int };
    (WinKeyval) => { c_int };
    (Typeclass) => { c_int };
    (ErrorClass) => { c_int };
    (ToolClass) => { c_int };
    (ToolSafety) => { c_int };
    (OutRank) => { *mut c_int };
    (OutTag) => { *mut c_int };
    (OutThreadLevel) => { *mut c_int };
    (OutFileMode) => { *mut c_int };
    (OutCommKeyval) => { *mut c_int };
    (OutTypeKeyval) => { *mut c_int };
    (OutWinKeyval) => { *mut c_int };
    (OutComparison) => { *mut c_int };
    (OutTopology) => { *mut c_int };
    (OutCombiner) => { *mut c_int };
    (OutErrorClass) => { *mut c_int };
    (ErrorCode) => { c_int };
    (OutErrorCode) => { *mut c_int };
    (OutToolVerbosity) => { *mut c_int };
    (OutToolBind) => { *mut c_int };
    (OutToolScope) => { *mut c_int };
    (OutToolClass) => { *mut c_int };
    (OutToolOrdering) => { *mut c_int };
}

/// The type of a kind for callers with values in the library's own form: of those that hot
/// functions have.
macro_rules! wide {
    (OutStatus) => { *mut crate::native::Status };
    (InStatus) => { *const crate::native::Status };
    (Comm) => { crate::native::Handle<MPI_Comm> };
    (Win) => { crate::native::Handle<MPI_Win> };
    (OutMessage) => { *mut crate::native::Cell<MPI_Message> };
    (Request) => { crate::native::Handle<MPI_Request> };
    (OutRequest) => { *mut crate::native::Cell<MPI_Request> };
    (Datatype) => { crate::native::Handle<MPI_Datatype> };
    (Op) => { crate::native::Handle<MPI_Op> };
    ($kind:ident $(<$of:ty>)?) => { standard!($kind $(<$of>)?) };
}
