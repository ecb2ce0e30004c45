//! Ranks and tags in the library's own values and in the standard's.

use ranks_mpi_sys::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL, native};

pub(crate) use crate::data::sentinels::{Sentinels, rank};

/// For the functions of the standard.
pub(crate) const STANDARD: Sentinels = Sentinels {
    any_source: MPI_ANY_SOURCE,
    any_tag: MPI_ANY_TAG,
    nobody: MPI_PROC_NULL,
};

/// For the `native` functions.
pub(crate) fn of_library() -> Sentinels {
    Sentinels {
        any_source: native::any_source(),
        any_tag: native::any_tag(),
        nobody: native::proc_null(),
    }
}
