//! An MPI that was brought and initialised by somebody else: it is taken as it is, and left
//! running.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use ranks::ops::Sum;
use ranks::{Backend, Collectives, ErrorKind, Runtime};
use ranks_launch::Environment;
use ranks_load::{Candidate, Library};
use ranks_mpi_sys as sys;

use crate::finalized::has_ended;
use crate::outcome::{Outcome, refused};

fn candidates() -> Result<Vec<Candidate>, ranks_launch::ConfigError> {
    ranks_launch::candidates(&Environment::detect())
}

/// Another part of the program has opened the library and called it, as a solver written in C
/// would.
pub(crate) fn opened_by_others() -> Outcome {
    // SAFETY: these are MPI libraries, made to be loaded into processes.
    let library = unsafe { Library::open("MPI library", &candidates()?, |_| Ok(())) }?;
    let address = |name: &CStr| {
        library
            .own_symbol(name)
            .ok_or_else(|| format!("the library has no {name:?}"))
    };
    type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
    type Finalize = unsafe extern "C" fn() -> c_int;
    let of = address(c"MPI_Init")?.as_ptr();
    // SAFETY: the function of that name has this type in every library.
    let init = unsafe { std::mem::transmute::<*mut c_void, Init>(of) };
    let of = address(c"MPI_Finalize")?.as_ptr();
    // SAFETY: as above.
    let finalize = unsafe { std::mem::transmute::<*mut c_void, Finalize>(of) };

    // SAFETY: nobody has initialised, and MPI takes null for the arguments.
    let code = unsafe { init(ptr::null_mut(), ptr::null_mut()) };
    done("MPI_Init", code)?;
    adopt(true)?;
    // SAFETY: this program has initialised, and no handle of a runtime is left.
    let code = unsafe { finalize() };
    done("MPI_Finalize", code)?;
    ended()
}

/// Another part of the program uses the table of `ranks-mpi-sys` itself.
pub(crate) fn loaded_by_others() -> Outcome {
    load_and_init()?;
    let own = own_handlers()?;
    adopt(false)?;
    for (comm, own) in own {
        let mut handler = sys::MPI_ERRHANDLER_NULL;
        // SAFETY: the communicator is there from the start, and the handle is ours.
        let code = unsafe { sys::MPI_Comm_get_errhandler(comm, &raw mut handler) };
        done("MPI_Comm_get_errhandler", code)?;
        if handler != own {
            return Err(format!("an error handler was {own:?} and is {handler:?}").into());
        }
    }
    // SAFETY: this program has initialised, and no handle of a runtime is left.
    let code = unsafe { sys::MPI_Finalize() };
    done("MPI_Finalize", code)?;
    ended()
}

/// Another part of the program finalizes MPI too early, while handles are left: these end quietly.
pub(crate) fn finalized_by_others() -> Outcome {
    load_and_init()?;
    let runtime = Runtime::builder().init()?;
    let duplicate = runtime.world().dup()?;
    duplicate.barrier()?;
    let world = runtime.world();
    runtime.finalize()?;
    let again = Runtime::builder().init().map(drop);
    match again {
        Err(error) if error.to_string().contains("has handles still") => {}
        other => return Err(format!("a start beside handles of another: {other:?}").into()),
    }
    // SAFETY: this program has initialised, and nothing is called afterwards.
    let code = unsafe { sys::MPI_Finalize() };
    done("MPI_Finalize", code)?;
    refused("barrier", world.barrier(), ErrorKind::Finalized)?;
    drop(duplicate);
    drop(world);
    ended()
}

fn load_and_init() -> Outcome {
    // SAFETY: MPI libraries of this machine.
    unsafe { sys::load(&candidates()?) }?;
    let (null, mut level) = (ptr::null_mut(), 0);
    // SAFETY: the library is loaded, nobody has initialised, and MPI takes null for the arguments.
    let code = unsafe {
        sys::MPI_Init_thread(
            null,
            ptr::null_mut(),
            sys::MPI_THREAD_MULTIPLE,
            &raw mut level,
        )
    };
    Ok(done("MPI_Init_thread", code)?)
}

/// Sets handlers of errors, and returns them: on the world a function of this program is called, on
/// this process alone the job ends.
fn own_handlers() -> Result<[(sys::MPI_Comm, sys::MPI_Errhandler); 2], String> {
    type Function = sys::MPI_Comm_errhandler_function;
    // SAFETY: it takes what handlers of errors on communicators take, and reads none of it.
    let function =
        unsafe { std::mem::transmute::<*const c_void, Function>(on_error as *const c_void) };
    let mut handler = sys::MPI_ERRHANDLER_NULL;
    // SAFETY: the function lives as long as the program, and the handle is ours.
    let code = unsafe { sys::MPI_Comm_create_errhandler(Some(function), &raw mut handler) };
    done("MPI_Comm_create_errhandler", code)?;
    // SAFETY: the communicator is there from the start, and the handler was just made.
    let code = unsafe { sys::MPI_Comm_set_errhandler(sys::MPI_COMM_WORLD, handler) };
    done("MPI_Comm_set_errhandler", code)?;
    let fatal = sys::MPI_ERRORS_ARE_FATAL;
    Ok([(sys::MPI_COMM_WORLD, handler), (sys::MPI_COMM_SELF, fatal)])
}

extern "C" fn on_error(_: *mut sys::MPI_Comm, _: *mut c_int) {}

fn done(what: &str, code: c_int) -> Result<(), String> {
    match code {
        0 => Ok(()),
        code => Err(format!("{what} returned {code}")),
    }
}

/// Starts a runtime over it, twice; each works and ends nothing.
fn adopt(brought_in: bool) -> Outcome {
    for _ in 0..2 {
        let runtime = Runtime::builder().init()?;
        if runtime.facts().backend() != Backend::Mpi {
            return Err(format!("this is no MPI: {}", runtime.facts()).into());
        }
        let loaded = sys::loaded().ok_or("nothing was loaded")?;
        if loaded.adopted() != brought_in {
            return Err(format!("adopted: {} ({loaded:?})", loaded.adopted()).into());
        }
        let world = runtime.world();
        let mut ranks = [0];
        world.allreduce(&[1], &mut ranks, Sum)?;
        if ranks != [world.size()] || world.size() != 2 {
            return Err(format!("{ranks:?} of {} ranks were there", world.size()).into());
        }
        // Handles that are dropped, and one that is closed, leave the library running.
        drop(world.dup()?);
        runtime.finalize()?;
        refused("barrier", world.barrier(), ErrorKind::Finalized)?;
        drop(world);
        if has_ended() {
            return Err("a runtime ended an MPI that is not its own".into());
        }
    }
    Ok(())
}

/// After the owner has finalized there is nothing to adopt.
fn ended() -> Outcome {
    refused(
        "start",
        Runtime::builder().init().map(drop),
        ErrorKind::Finalized,
    )?;
    Ok(())
}
