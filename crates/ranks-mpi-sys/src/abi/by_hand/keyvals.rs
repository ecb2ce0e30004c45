//! Keyvals: the callbacks of attributes get handles and keyvals in the library's own form.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::through;
use crate::abi::Abi;
use crate::abi::handle;
use crate::abi::kinds::Conversion;
use crate::abi::numbers::{
    CommAttributes, Keyvals, OutCommKeyval, OutTypeKeyval, OutWinKeyval, TypeAttributes,
    WinAttributes,
};
use crate::generated::functions::attr as slots;
use crate::generated::types::*;
use crate::types::{MPI_Comm, MPI_Datatype, MPI_Win};

/// The caller's functions and state. Attributes outlive their keyval, so these live for ever.
struct Callbacks<C, D> {
    copy: Option<C>,
    delete: Option<D>,
    state: *mut c_void,
}

macro_rules! keyval {
    ($create:ident, $copy:ident, $delete:ident, $object:ty, $conversion:ty, $out:ty, $copy_fn:ty, $delete_fn:ty) => {
        unsafe extern "C" fn $copy<A: Abi>(
            object: A::Handle<$object>,
            keyval: c_int,
            state: *mut c_void,
            value: *mut c_void,
            copied: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: the library passes back the callbacks that it was given, which live for ever.
            let callbacks = unsafe { &*state.cast::<Callbacks<$copy_fn, $delete_fn>>() };
            let Some(function) = callbacks.copy else {
                // SAFETY: the library passes the place of a flag.
                unsafe { flag.write(0) };
                return crate::MPI_SUCCESS;
            };
            // SAFETY: the tables are filled before any keyval is created.
            let object = unsafe { handle::to_standard::<A, $object>(object) };
            let keyval = <$conversion>::to_standard::<A>(keyval);
            // SAFETY: the library's arguments, as it has to give them to the caller's function.
            let code = unsafe { function(object, keyval, callbacks.state, value, copied, flag) };
            super::code::<A>(code)
        }

        unsafe extern "C" fn $delete<A: Abi>(
            object: A::Handle<$object>,
            keyval: c_int,
            value: *mut c_void,
            state: *mut c_void,
        ) -> c_int {
            // SAFETY: the library passes back the callbacks that it was given, which live for ever.
            let callbacks = unsafe { &*state.cast::<Callbacks<$copy_fn, $delete_fn>>() };
            let Some(function) = callbacks.delete else {
                return crate::MPI_SUCCESS;
            };
            // SAFETY: the tables are filled before any keyval is created.
            let object = unsafe { handle::to_standard::<A, $object>(object) };
            let keyval = <$conversion>::to_standard::<A>(keyval);
            // SAFETY: the library's arguments, as it has to give them to the caller's function.
            let code = unsafe { function(object, keyval, value, callbacks.state) };
            super::code::<A>(code)
        }

        pub(crate) unsafe extern "C" fn $create<A: Abi>(
            copy: Option<$copy_fn>,
            delete: Option<$delete_fn>,
            keyval: *mut c_int,
            state: *mut c_void,
        ) -> c_int {
            type Copy<A> = unsafe extern "C" fn(
                <A as Abi>::Handle<$object>,
                c_int,
                *mut c_void,
                *mut c_void,
                *mut c_void,
                *mut c_int,
            ) -> c_int;
            type Delete<A> = unsafe extern "C" fn(
                <A as Abi>::Handle<$object>,
                c_int,
                *mut c_void,
                *mut c_void,
            ) -> c_int;
            type Create<A> =
                unsafe extern "C" fn(Copy<A>, Delete<A>, *mut c_int, *mut c_void) -> c_int;
            // SAFETY: the type of this function in the family's header.
            let call = unsafe { slots::$create::LIBRARY.function::<Create<A>>() };
            let callbacks: &'static _ = Box::leak(Box::new(Callbacks {
                copy,
                delete,
                state,
            }));
            let callbacks = ptr::from_ref(callbacks).cast_mut().cast();
            // SAFETY: the arguments are in the family's own form.
            let call = |keyval| unsafe { call($copy::<A>, $delete::<A>, keyval, callbacks) };
            // SAFETY: the caller of MPI gives a place for the keyval.
            unsafe { through::<A, $out>(keyval, call) }
        }
    };
}

keyval!(
    MPI_Comm_create_keyval,
    copy_comm,
    delete_comm,
    MPI_Comm,
    Keyvals<CommAttributes>,
    OutCommKeyval,
    MPI_Comm_copy_attr_function,
    MPI_Comm_delete_attr_function
);
keyval!(
    MPI_Keyval_create,
    copy,
    delete,
    MPI_Comm,
    Keyvals<CommAttributes>,
    OutCommKeyval,
    MPI_Copy_function,
    MPI_Delete_function
);
keyval!(
    MPI_Type_create_keyval,
    copy_type,
    delete_type,
    MPI_Datatype,
    Keyvals<TypeAttributes>,
    OutTypeKeyval,
    MPI_Type_copy_attr_function,
    MPI_Type_delete_attr_function
);
keyval!(
    MPI_Win_create_keyval,
    copy_win,
    delete_win,
    MPI_Win,
    Keyvals<WinAttributes>,
    OutWinKeyval,
    MPI_Win_copy_attr_function,
    MPI_Win_delete_attr_function
);
