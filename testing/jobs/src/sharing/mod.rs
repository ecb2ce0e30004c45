//! Communicators, datatypes, requests and windows that this program shares with a part of it in C,
//! which is `c/sharing.c`.

mod datatypes;
mod lent;
mod requests;
mod windows;

use std::ffi::{CStr, c_char, c_int, c_void};

use ranks::interop::{CHandle, Ownership};
use ranks::ops::Sum;
use ranks::{Collectives, Communicator, ErrorKind, Runtime};
use ranks_load::{Candidate, Library};
use ranks_mpi_sys::MPI_Aint;

use crate::outcome::{Failure, Outcome, refused};

/// The part in C, whose handles are `H`.
struct Side<H> {
    init: unsafe extern "C" fn() -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    make: unsafe extern "C" fn() -> H,
    make_between: unsafe extern "C" fn() -> H,
    null: unsafe extern "C" fn() -> H,
    world: unsafe extern "C" fn() -> H,
    free: unsafe extern "C" fn(H) -> c_int,
    rank: unsafe extern "C" fn(H) -> c_int,
    send: unsafe extern "C" fn(H, c_int, f64) -> c_int,
    recv: unsafe extern "C" fn(H, c_int) -> f64,
    sum: unsafe extern "C" fn(H, f64) -> f64,
    make_type: unsafe extern "C" fn() -> H,
    make_backward_type: unsafe extern "C" fn() -> H,
    null_type: unsafe extern "C" fn() -> H,
    free_type: unsafe extern "C" fn(H) -> c_int,
    send_of: unsafe extern "C" fn(H, c_int, *const c_void, c_int, H) -> c_int,
    recv_of: unsafe extern "C" fn(H, c_int, *mut c_void, c_int, H) -> c_int,
    sum_of: unsafe extern "C" fn(H, *const c_void, *mut c_void, H) -> c_int,
    isend: unsafe extern "C" fn(H, c_int, *const f64, c_int) -> H,
    irecv: unsafe extern "C" fn(H, c_int, *mut f64, c_int) -> H,
    null_request: unsafe extern "C" fn() -> H,
    wait: unsafe extern "C" fn(H) -> c_int,
    put: unsafe extern "C" fn(H, c_int, MPI_Aint, f64) -> c_int,
    is_named: unsafe extern "C" fn(H, *const c_char) -> c_int,
}

/// The forms in C of an `MPI_Comm`, an `MPI_Datatype`, an `MPI_Request` and an `MPI_Win`.
trait Handle: Copy {
    fn to_c(self) -> CHandle;
    fn from_c(c: CHandle) -> Option<Self>;
}

impl Handle for c_int {
    fn to_c(self) -> CHandle {
        CHandle::Int(self)
    }

    fn from_c(c: CHandle) -> Option<Self> {
        match c {
            CHandle::Int(handle) => Some(handle),
            CHandle::Pointer(_) => None,
        }
    }
}

impl Handle for *mut c_void {
    fn to_c(self) -> CHandle {
        CHandle::Pointer(self)
    }

    fn from_c(c: CHandle) -> Option<Self> {
        match c {
            CHandle::Pointer(handle) => Some(handle),
            CHandle::Int(_) => None,
        }
    }
}

/// `handles` says how the library's `mpi.h` has them: `int` or `pointer`.
pub(crate) fn main(file: &str, handles: &str) -> Outcome {
    let candidate = Candidate::new(file, "the argument");
    // SAFETY: it is the part in C, built for this program.
    let library = unsafe { Library::open("part in C", &[candidate], |_| Ok(())) }?;
    match handles {
        "int" => both(&Side::<c_int>::of(&library)?),
        "pointer" => both(&Side::<*mut c_void>::of(&library)?),
        other => Err(format!("handles are no {other}").into()),
    }
}

impl<H: Handle> Side<H> {
    fn of(library: &Library) -> Result<Self, String> {
        let address = |name: &CStr| {
            let found = library.own_symbol(name);
            found.ok_or_else(|| format!("the part in C has no {name:?}"))
        };
        /// Makes a function of an address.
        ///
        /// # Safety
        /// `F` is the type of a pointer to the function there.
        unsafe fn function<F: Copy>(address: std::ptr::NonNull<c_void>) -> F {
            assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
            // SAFETY: a pointer to a function is as large as an address, and this one has that
            // type.
            unsafe { std::mem::transmute_copy(&address) }
        }
        Ok(Self {
            // SAFETY: the function of that name has this type in c/sharing.c, where `H` is any
            // handle.
            init: unsafe { function(address(c"side_init")?) },
            // SAFETY: as above.
            finalize: unsafe { function(address(c"side_finalize")?) },
            // SAFETY: as above.
            make: unsafe { function(address(c"side_make")?) },
            // SAFETY: as above.
            make_between: unsafe { function(address(c"side_make_between")?) },
            // SAFETY: as above.
            null: unsafe { function(address(c"side_null")?) },
            // SAFETY: as above.
            world: unsafe { function(address(c"side_world")?) },
            // SAFETY: as above.
            free: unsafe { function(address(c"side_free")?) },
            // SAFETY: as above.
            rank: unsafe { function(address(c"side_rank")?) },
            // SAFETY: as above.
            send: unsafe { function(address(c"side_send")?) },
            // SAFETY: as above.
            recv: unsafe { function(address(c"side_recv")?) },
            // SAFETY: as above.
            sum: unsafe { function(address(c"side_sum")?) },
            // SAFETY: as above.
            make_type: unsafe { function(address(c"side_make_type")?) },
            // SAFETY: as above.
            make_backward_type: unsafe { function(address(c"side_make_backward_type")?) },
            // SAFETY: as above.
            null_type: unsafe { function(address(c"side_null_type")?) },
            // SAFETY: as above.
            free_type: unsafe { function(address(c"side_free_type")?) },
            // SAFETY: as above.
            send_of: unsafe { function(address(c"side_send_of")?) },
            // SAFETY: as above.
            recv_of: unsafe { function(address(c"side_recv_of")?) },
            // SAFETY: as above.
            sum_of: unsafe { function(address(c"side_sum_of")?) },
            // SAFETY: as above.
            isend: unsafe { function(address(c"side_isend")?) },
            // SAFETY: as above.
            irecv: unsafe { function(address(c"side_irecv")?) },
            // SAFETY: as above.
            null_request: unsafe { function(address(c"side_null_request")?) },
            // SAFETY: as above.
            wait: unsafe { function(address(c"side_wait")?) },
            // SAFETY: as above.
            put: unsafe { function(address(c"side_put")?) },
            // SAFETY: as above.
            is_named: unsafe { function(address(c"side_is_named")?) },
        })
    }
}

/// Both parts of the program at work.
fn both<H: Handle>(side: &Side<H>) -> Outcome {
    // SAFETY: nobody has initialised MPI.
    done("side_init", unsafe { (side.init)() })?;
    let runtime = Runtime::builder().init()?;
    let loaded = ranks_mpi_sys::loaded().ok_or("nothing was loaded")?;
    if !loaded.adopted() {
        return Err(format!("this is not the library of the part in C: {loaded:?}").into());
    }
    theirs(side, &runtime)?;
    ours(side, &runtime)?;
    owned(side, &runtime)?;
    not_taken(side, &runtime)?;
    lent::what_is_left_takes_nothing(side, &runtime)?;
    lent::handles_have_one_order(side, &runtime)?;
    lent::duplicates_are_freed(side, &runtime)?;
    datatypes::ours(side, &runtime)?;
    datatypes::theirs(side, &runtime)?;
    datatypes::not_taken(side, &runtime)?;
    requests::ours(side, &runtime)?;
    requests::theirs(side, &runtime)?;
    requests::not_taken(side, &runtime)?;
    windows::ours(side, &runtime)?;
    runtime.finalize()?;
    // SAFETY: the part in C has initialised, and no handle of the runtime is left.
    done("side_finalize", unsafe { (side.finalize)() })
}

fn done(what: &str, code: c_int) -> Outcome {
    match code {
        0 => Ok(()),
        code => Err(format!("{what} returned {code}").into()),
    }
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, is: &T, should: &T) -> Outcome {
    if is == should {
        Ok(())
    } else {
        Err(format!("{what}: {is:?}, should be {should:?}").into())
    }
}

/// On one of theirs, which stays theirs.
fn theirs<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    let world = runtime.world();
    // SAFETY: MPI is initialised; all ranks do this.
    let handle = unsafe { (side.make)() };
    // SAFETY: the part in C has just made it, and frees it below, when `comm` is gone.
    let comm = unsafe { runtime.communicator_from_native_raw(handle.to_c(), Ownership::Borrowed) }?;
    same("size", &comm.size(), &world.size())?;
    same("rank", &comm.rank(), &(world.size() - 1 - world.rank()))?;
    talk(side, &comm, handle)?;
    let own = comm.dup()?;
    let canonical = own.as_raw().ok_or("no handle")?;
    // SAFETY: it is ours and alive until after `again` is gone.
    let again = unsafe { runtime.communicator_from_raw(canonical, Ownership::Borrowed) }?;
    same(
        "comparison",
        &own.compare(&again)?,
        &ranks::communicator::Comparison::Identical,
    )?;
    drop(again);
    own.free()?;
    refused("free", comm.free(), ErrorKind::Argument)?;
    // Nothing of it was freed here, so it can be used there, and freed.
    // SAFETY: no handle of it is left here; all ranks do this.
    let sum = unsafe { (side.sum)(handle, 1.0) };
    same("sum of theirs", &sum, &(world.size() as f64))?;
    // SAFETY: as above.
    done("side_free", unsafe { (side.free)(handle) })
}

/// On ours, which they are given.
fn ours<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    for comm in [runtime.world(), runtime.world().dup()?] {
        let handle = comm.as_native_raw().and_then(H::from_c);
        let handle = handle.ok_or("handles of another form")?;
        // SAFETY: `comm` is alive.
        let rank = unsafe { (side.rank)(handle) };
        same("rank there", &usize::try_from(rank)?, &comm.rank())?;
        talk(side, &comm, handle)?;
    }
    Ok(())
}

/// On those of theirs that become ours.
fn owned<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    for freed in [true, false] {
        // SAFETY: MPI is initialised; all ranks do this.
        let handle = unsafe { (side.make)() };
        // SAFETY: the part in C has just made it, and does not free it.
        let comm =
            unsafe { runtime.communicator_from_native_raw(handle.to_c(), Ownership::Owned) }?;
        talk(side, &comm, handle)?;
        if freed {
            comm.free()?;
        }
    }
    Ok(())
}

/// What is no communicator for us.
fn not_taken<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    let take = |handle: CHandle, ownership| {
        // SAFETY: the callers below pass handles that are alive, or null, or of another form.
        unsafe { runtime.communicator_from_native_raw(handle, ownership) }
    };
    // SAFETY: it only returns a constant.
    let null = unsafe { (side.null)() };
    // SAFETY: as above.
    let world = unsafe { (side.world)() };
    let refuse = |what: &str, result| refused(what, result, ErrorKind::Argument);
    refuse("null", take(null.to_c(), Ownership::Borrowed))?;
    refuse("world", take(world.to_c(), Ownership::Owned))?;
    let other_form = take(other_form(null), Ownership::Borrowed);
    refuse("another form", other_form)?;
    same(
        "the world",
        &take(world.to_c(), Ownership::Borrowed)?.compare(&runtime.world())?,
        &ranks::communicator::Comparison::Identical,
    )?;
    // SAFETY: MPI is initialised; all ranks do this.
    let between = unsafe { (side.make_between)() };
    refuse("two groups", take(between.to_c(), Ownership::Borrowed))?;
    // SAFETY: nobody else has it.
    done("side_free", unsafe { (side.free)(between) })
}

/// A handle that the library cannot have.
fn other_form<H: Handle>(handle: H) -> CHandle {
    match handle.to_c() {
        CHandle::Int(_) => CHandle::Pointer(std::ptr::null_mut()),
        CHandle::Pointer(_) => CHandle::Int(0),
    }
}

/// A new communicator of all ranks, its handle there, and the ranks to the left and to the right.
fn ring<H: Handle>(runtime: &Runtime) -> Result<Ring<H>, Failure> {
    let comm = runtime.world().dup()?;
    let handle = comm.as_native_raw().and_then(H::from_c);
    let (rank, size) = (comm.rank(), comm.size());
    Ok(Ring {
        handle: handle.ok_or("handles of another form")?,
        left: (rank + size - 1) % size,
        right: (rank + 1) % size,
        comm,
    })
}

struct Ring<H> {
    comm: Communicator,
    handle: H,
    left: usize,
    right: usize,
}

impl<H> Ring<H> {
    /// Runs both, of which one sends to the right and the other receives from the left.
    fn pass<T>(
        &self,
        send: impl FnOnce() -> Outcome,
        receive: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.comm.rank() == 0 {
            send()?;
            return receive();
        }
        let got = receive()?;
        send()?;
        Ok(got)
    }

    fn left_in_c(&self) -> Result<c_int, Failure> {
        Ok(c_int::try_from(self.left)?)
    }

    fn right_in_c(&self) -> Result<c_int, Failure> {
        Ok(c_int::try_from(self.right)?)
    }
}

/// Messages and a collective, each with some ranks in Rust and some in C, and the other way round.
fn talk<H: Handle>(side: &Side<H>, comm: &Communicator, handle: H) -> Outcome {
    let (rank, size) = (comm.rank(), comm.size());
    for odd_in_c in [true, false] {
        let in_c = (rank % 2 == 1) == odd_in_c;
        let value = |of: usize| of as f64 + 0.5;
        let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
        let send = || -> Outcome {
            if in_c {
                // SAFETY: the communicator is alive.
                let code = unsafe { (side.send)(handle, c_int::try_from(right)?, value(rank)) };
                done("side_send", code)
            } else {
                Ok(comm.send(&[value(rank)], right, 5)?)
            }
        };
        let receive = || -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
            if in_c {
                // SAFETY: the communicator is alive.
                Ok(unsafe { (side.recv)(handle, c_int::try_from(left)?) })
            } else {
                let mut got = [0.0];
                comm.recv(&mut got, left, 5)?;
                Ok(got[0])
            }
        };
        let got = if rank == 0 {
            send()?;
            receive()?
        } else {
            let got = receive()?;
            send()?;
            got
        };
        same("what the left one sent", &got, &value(left))?;
        let sum = if in_c {
            // SAFETY: the communicator is alive; all ranks do this, here or there.
            unsafe { (side.sum)(handle, value(rank)) }
        } else {
            let mut sum = [0.0];
            comm.allreduce(&[value(rank)], &mut sum, Sum)?;
            sum[0]
        };
        same("sum", &sum, &(0..size).map(value).sum::<f64>())?;
    }
    Ok(())
}
