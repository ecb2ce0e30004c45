//! Starting processes: arrays of hints.

use std::ffi::{c_char, c_int};

use super::{Handles, length, library};
use crate::abi::Abi;
use crate::abi::handle;
use crate::abi::kinds::{Arg, OutComm};
use crate::generated::functions::spawn as slots;
use crate::types::{MPI_Comm, MPI_Info};

type Texts = *mut *mut c_char;

pub(crate) unsafe extern "C" fn MPI_Comm_spawn_multiple<A: Abi>(
    count: c_int,
    commands: Texts,
    arguments: *mut Texts,
    processes: *const c_int,
    infos: *const MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    children: *mut MPI_Comm,
    codes: *mut c_int,
) -> c_int {
    type Comm<A> = <A as Abi>::Handle<MPI_Comm>;
    type Call<A> = unsafe extern "C" fn(
        c_int,
        Texts,
        *mut Texts,
        *const c_int,
        *const <A as Abi>::Handle<MPI_Info>,
        c_int,
        Comm<A>,
        *mut Comm<A>,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the type of this function in the family's header.
    let call = unsafe { library::<Call<A>>(&slots::MPI_Comm_spawn_multiple::LIBRARY) };
    let mut rank = 0;
    // SAFETY: the caller of MPI gave this communicator; a place for an int.
    unsafe { crate::MPI_Comm_rank(comm, &raw mut rank) };
    // Everything but the root, the communicator and the results is significant at the root only.
    let hints = if rank == root { length(count) } else { 0 };
    // SAFETY: at the root the caller of MPI gives `count` hints.
    let infos = unsafe { Handles::<A, MPI_Info>::new(infos, hints) };
    // SAFETY: the tables are filled: the caller has seen `load` return.
    let comm = unsafe { handle::to_native::<A, _>(comm) };
    // SAFETY: the caller of MPI gives a place for the communicator.
    let mut held = unsafe { <OutComm as Arg<A>>::enter(children) };
    let native = <OutComm as Arg<A>>::pass(&mut held);
    // SAFETY: the arguments are in the family's own form.
    let code = unsafe {
        call(
            count,
            commands,
            arguments,
            processes,
            infos.as_ptr(),
            root,
            comm,
            native,
            codes,
        )
    };
    // SAFETY: the call has returned.
    unsafe { <OutComm as Arg<A>>::leave(held) };
    code
}
