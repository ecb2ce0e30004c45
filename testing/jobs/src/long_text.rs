//! Errors about which the library has as much to say as `MPI_MAX_ERROR_STRING` allows, or more, and
//! a name as long as `MPI_MAX_OBJECT_NAME`.
//!
//! Some releases of MPICH write past the end of a buffer of that size then, Open MPI 5 past its own
//! for the name of the world.

use std::ffi::{CStr, CString, c_int};

use ranks::{Backend, Collectives, Communicator, Runtime};
use ranks_comm::backend::check;
use ranks_mpi_sys as sys;

use crate::outcome::Outcome;

pub(crate) fn main() -> Outcome {
    let runtime = Runtime::builder().backend(Backend::Mpi).init()?;
    let world = runtime.world();
    let loaded = sys::loaded().ok_or("nothing was loaded")?;
    let mut codes = vec![("MPI_Add_error_string", own_error()?)];
    // The errors of MPICH tell the arguments of the calls.
    if loaded.is_intel() {
        codes.push(("MPI_File_open", no_such_file()?));
    } else if !loaded.is_openmpi() {
        codes.push(("MPI_Lookup_name", no_such_service()?));
        codes.push(("MPI_Comm_connect", no_such_port()?));
        codes.extend(different_lengths(&world)?.map(|code| ("MPI_Bcast", code)));
    }
    for (operation, code) in codes {
        let Err(error) = check(code, operation) else {
            return Err(format!("{operation}: {code} is no error").into());
        };
        let text = error.to_string();
        let readable = text.starts_with(operation)
            && text.contains(world.library())
            && !text.contains(char::is_control)
            && !text.contains(char::REPLACEMENT_CHARACTER);
        if !readable {
            return Err(format!("this cannot be read: {text:?}").into());
        }
        println!("{operation}: the library wrote {} bytes", length(code)?);
    }
    world.send::<u8>(&[], None, 0)?;
    Ok(())
}

pub(crate) fn name_of_the_world() -> Outcome {
    let runtime = Runtime::builder().backend(Backend::Mpi).init()?;
    let world = runtime.world();
    let long = "x".repeat(5000);
    world.set_name(&long)?;
    let name = world.name()?;
    if name.len() < 13 || !long.starts_with(&name) {
        return Err(format!("the name is {name:?}").into());
    }
    Ok(())
}

/// The code of an error of this program's own, with a text as long as the library takes.
fn own_error() -> Result<c_int, Box<dyn std::error::Error + Send + Sync>> {
    let (mut class, mut code) = (0, 0);
    // SAFETY: MPI is initialised, and the class is ours.
    let added = unsafe { sys::MPI_Add_error_class(&raw mut class) };
    check(added, "MPI_Add_error_class")?;
    // SAFETY: as above.
    let added = unsafe { sys::MPI_Add_error_code(class, &raw mut code) };
    check(added, "MPI_Add_error_code")?;
    for length in [700, 511, 255] {
        let text = CString::new("long ".repeat(length / 5))?;
        // SAFETY: the text ends in a zero, and the library copies it.
        if unsafe { sys::MPI_Add_error_string(code, text.as_ptr()) } == sys::MPI_SUCCESS {
            return Ok(code);
        }
    }
    Err("the library takes no text for an error".into())
}

/// The code of an error that tells a long argument.
fn no_such_service() -> Result<c_int, std::ffi::NulError> {
    let name = CString::new("no such service ".repeat(60))?;
    let mut port = [0_u8; 8192];
    let to = port.as_mut_ptr().cast();
    // SAFETY: the name ends in a zero, and there is more room than any library's ports need.
    Ok(unsafe { sys::MPI_Lookup_name(name.as_ptr(), sys::MPI_INFO_NULL, to) })
}

/// The code of an error whose stack of calls ends where the text must end.
fn no_such_port() -> Result<c_int, std::ffi::NulError> {
    let name = CString::new("no such port ".repeat(60))?;
    let (comm, info, mut new) = (sys::MPI_COMM_SELF, sys::MPI_INFO_NULL, sys::MPI_COMM_NULL);
    // SAFETY: the name ends in a zero, the handle is ours, and the communicator is this process
    // alone.
    Ok(unsafe { sys::MPI_Comm_connect(name.as_ptr(), info, 0, comm, &raw mut new) })
}

/// The same from deep inside of the library, on the ranks that notice.
fn different_lengths(world: &Communicator) -> ranks::Result<Option<c_int>> {
    let mut data = [0_u64; 4];
    let length = if world.rank() == 0 { 4 } else { 2 };
    let outcome = world.dup()?.bcast(&mut data[..length], 0);
    Ok(outcome.err().and_then(|error| error.code()))
}

/// As [`no_such_service`]; Intel's launcher does not survive that one.
fn no_such_file() -> Result<c_int, std::ffi::NulError> {
    let name = CString::new("/no/such/file".repeat(60))?;
    let (mode, mut file) = (sys::MPI_MODE_RDONLY, sys::MPI_FILE_NULL);
    let (comm, info) = (sys::MPI_COMM_SELF, sys::MPI_INFO_NULL);
    // SAFETY: the name ends in a zero, the handle is ours, and the communicator is this process
    // alone.
    Ok(unsafe { sys::MPI_File_open(comm, name.as_ptr(), mode, info, &raw mut file) })
}

/// How long the library's text is.
fn length(code: c_int) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    let mut text = [0_u8; 8192];
    let mut length = 0;
    let to = text.as_mut_ptr().cast();
    // SAFETY: there is room for many times the longest text, and zeros follow it.
    let code = unsafe { sys::MPI_Error_string(code, to, &raw mut length) };
    check(code, "MPI_Error_string")?;
    Ok(CStr::from_bytes_until_nul(&text)?.count_bytes())
}
