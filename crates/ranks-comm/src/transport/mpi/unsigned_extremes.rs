//! The smallest and largest of unsigned integers, which MPICH 4.0 to 4.0.2 compares as signed ones,
//! without an error (<https://github.com/pmodels/mpich/issues/6083>).

use ranks_mpi_sys::{
    MPI_Datatype, MPI_MAX, MPI_MIN, MPI_Op, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T,
    loaded,
};

/// Returns `true` if the library computes that operation on such elements wrong. The compiler knows
/// most of the answer where the operation is known.
#[inline(always)]
pub fn is_wrong_extreme(op: MPI_Op, datatype: MPI_Datatype) -> bool {
    (op == MPI_MIN || op == MPI_MAX)
        && [MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T].contains(&datatype)
        && compares_as_signed()
}

#[cold]
#[inline(never)]
fn compares_as_signed() -> bool {
    loaded().is_some_and(|loaded| compares_as_signed_in(loaded.name()))
}

fn compares_as_signed_in(library: &str) -> bool {
    let patch = library.strip_prefix("MPICH 4.0");
    patch.is_some_and(|patch| matches!(patch, "" | ".1" | ".2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_compare_so_are_known() {
        let so = ["MPICH 4.0", "MPICH 4.0.1", "MPICH 4.0.2"];
        assert!(so.into_iter().all(compares_as_signed_in));
        let rightly = ["MPICH 4.0.3", "MPICH 3.4.3", "MPICH 4.1", "Open MPI 4.0.2"];
        assert!(!rightly.into_iter().any(compares_as_signed_in));
    }
}
