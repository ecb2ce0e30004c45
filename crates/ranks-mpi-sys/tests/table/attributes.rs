//! Predefined attributes: values behind pointers.

use std::ffi::{c_int, c_void};
use std::ptr;

use ranks_comm::Communicator;
use ranks_mpi_sys::*;

use crate::{Comm, ok};

fn comm_attribute(comm: MPI_Comm, keyval: c_int) -> Option<c_int> {
    let (mut value, mut flag) = (ptr::null::<c_int>(), 0);
    ok(unsafe { MPI_Comm_get_attr(comm, keyval, (&raw mut value).cast(), &raw mut flag) });
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
        ok(unsafe { MPI_Win_get_attr(win, keyval, (&raw mut value).cast(), &raw mut flag) });
        assert_eq!(flag, 1);
        value
    };
    assert_eq!(attribute(MPI_WIN_BASE).addr(), base.addr());
    assert_eq!(
        unsafe { attribute(MPI_WIN_SIZE).cast::<MPI_Aint>().read() },
        64
    );
    assert_eq!(unsafe { attribute(MPI_WIN_DISP_UNIT).read() }, 8);
    assert_eq!(
        unsafe { attribute(MPI_WIN_CREATE_FLAVOR).read() },
        MPI_WIN_FLAVOR_ALLOCATE
    );
    assert!(
        [MPI_WIN_UNIFIED, MPI_WIN_SEPARATE].contains(&unsafe { attribute(MPI_WIN_MODEL).read() })
    );
    ok(unsafe { MPI_Win_fence(MPI_MODE_NOPRECEDE, win) });
    ok(unsafe { MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, win) });
    ok(unsafe { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) });
    ok(unsafe { MPI_Win_unlock(0, win) });
    ok(unsafe { MPI_Win_free(&raw mut win) });
    assert_eq!(win, MPI_WIN_NULL);
}
