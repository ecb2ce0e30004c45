//! Predefined attributes: values behind pointers.

use std::ffi::{c_int, c_void};
use std::ptr;

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::{Comm, ok};

fn comm_attribute(comm: MPI_Comm, keyval: c_int) -> Option<c_int> {
    let (mut value, mut flag) = (ptr::null::<c_int>(), 0);
    // SAFETY: the communicator or window is live; a value is a word, and places are for one.
    ok(unsafe { MPI_Comm_get_attr(comm, keyval, (&raw mut value).cast(), &raw mut flag) });
    // SAFETY: where there is such an attribute, its value is the address of an `int` (MPI 5.0
    // §9.1.2).
    (flag != 0).then(|| unsafe { value.read() })
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn attributes_of_a_communicator(world: Communicator) {
    let _ = world;
    assert!(comm_attribute(MPI_COMM_WORLD, MPI_TAG_UB).unwrap() >= 32767);
    let global = comm_attribute(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL);
    assert!(global.is_none_or(|global| global == 0 || global == 1));
    // Any rank, this one, or none: in the standard's numbers.
    let io = comm_attribute(MPI_COMM_WORLD, MPI_IO);
    assert!(
        io.is_none_or(|io| io >= 0 || io == MPI_ANY_SOURCE || io == MPI_PROC_NULL),
        "{io:?}"
    );
    let host = comm_attribute(MPI_COMM_WORLD, MPI_HOST);
    assert!(
        host.is_none_or(|host| host >= 0 || host == MPI_PROC_NULL),
        "{host:?}"
    );
}

#[ranks_test::ranks(1, 2, mpi_only)]
fn attributes_of_a_window(world: Communicator) {
    let _ = world;
    let comm = Comm::new();
    let (mut base, mut win) = (ptr::null_mut::<c_void>(), MPI_WIN_NULL);
    // SAFETY: `comm` is live; places for the address and the window.
    ok(unsafe {
        MPI_Win_allocate(
            64,
            8,
            MPI_INFO_NULL,
            comm.0,
            (&raw mut base).cast(),
            &raw mut win,
        )
    });
    let attribute = |keyval| {
        let (mut value, mut flag) = (ptr::null::<c_int>(), 0);
        // SAFETY: the communicator or window is live; a value is a word, and places are for one.
        ok(unsafe { MPI_Win_get_attr(win, keyval, (&raw mut value).cast(), &raw mut flag) });
        assert_eq!(flag, 1);
        value
    };
    assert_eq!(attribute(MPI_WIN_BASE).addr(), base.addr());
    let size = attribute(MPI_WIN_SIZE).cast::<MPI_Aint>();
    // SAFETY: the value of this attribute is the address of an `MPI_Aint` (MPI 5.0 §12.2.6).
    assert_eq!(unsafe { size.read() }, 64);
    let number = |keyval| {
        let value = attribute(keyval);
        // SAFETY: the values of the other attributes are addresses of an `int` (MPI 5.0 §12.2.6).
        unsafe { value.read() }
    };
    assert_eq!(number(MPI_WIN_DISP_UNIT), 8);
    assert_eq!(number(MPI_WIN_CREATE_FLAVOR), MPI_WIN_FLAVOR_ALLOCATE);
    assert!([MPI_WIN_UNIFIED, MPI_WIN_SEPARATE].contains(&number(MPI_WIN_MODEL)));
    // SAFETY: the window is live; nobody has an epoch open that forbids it.
    ok(unsafe { MPI_Win_fence(MPI_MODE_NOPRECEDE, win) });
    // SAFETY: as above.
    ok(unsafe { MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, win) });
    // SAFETY: the window is live; nobody has an epoch open that forbids it.
    ok(unsafe { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) });
    // SAFETY: as above.
    ok(unsafe { MPI_Win_unlock(0, win) });
    for standard in [MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE] {
        // SAFETY: the library is loaded.
        let win = unsafe { native::win(win) };
        // SAFETY: the window is live, and not locked.
        ok(unsafe { native::MPI_Win_lock(native::lock_type(standard), 0, 0, win) });
        // SAFETY: it is locked.
        ok(unsafe { native::MPI_Win_unlock(0, win) });
    }
    // SAFETY: made above, and freed once.
    ok(unsafe { MPI_Win_free(&raw mut win) });
    assert_eq!(win, MPI_WIN_NULL);
}
