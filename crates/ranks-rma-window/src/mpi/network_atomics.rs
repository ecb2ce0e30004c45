//! Operations that Open MPI 5 may compute wrong over TCP. Where that is so, and why, is in
//! ranks-comm's module of the same name.

use ranks_comm::backend::network_atomics_are_wrong;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::NETWORK_ATOMICS;
use ranks_mpi_sys::{
    MPI_BAND, MPI_BOR, MPI_BXOR, MPI_Datatype, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MAX, MPI_MIN,
    MPI_Op, MPI_UINT32_T, MPI_UINT64_T,
};

/// Returns true if an operation on elements of `size` bytes is among them. The compiler knows the
/// answer where the operation is known.
#[inline(always)]
pub(super) fn may_be_wrong(op: MPI_Op, datatype: MPI_Datatype, size: usize) -> bool {
    let is = |ops: &[MPI_Op]| ops.contains(&op);
    (size == 8 && is(&[MPI_BAND, MPI_BOR, MPI_BXOR]))
        || (matches!(size, 4 | 8) && is(&[MPI_LAND, MPI_LOR, MPI_LXOR]))
        || ([MPI_UINT32_T, MPI_UINT64_T].contains(&datatype) && is(&[MPI_MIN, MPI_MAX]))
}

/// The error of such an operation, if this job is one in which they are wrong.
#[cold]
#[inline(never)]
pub(super) fn refuse(operation: &'static str) -> Result<()> {
    if !network_atomics_are_wrong() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::NotInLibrary,
        operation,
        format_args!(
            "Open MPI 5 computes bitwise and logical operations and extremes of unsigned integers wrong over TCP, without an error; start the job \
             with {NETWORK_ATOMICS}=0 in its environment, as `ranks run` does, or initialise MPI by ranks before other threads run"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use ranks_mpi_sys::{
        MPI_FLOAT, MPI_INT32_T, MPI_INT64_T, MPI_NO_OP, MPI_PROD, MPI_REPLACE, MPI_SUM,
    };

    use super::*;

    #[test]
    fn what_was_measured_wrong_is_refused_and_nothing_else() {
        let bits = [MPI_BAND, MPI_BOR, MPI_BXOR];
        let truths = [MPI_LAND, MPI_LOR, MPI_LXOR];
        let extremes = [MPI_MIN, MPI_MAX];
        let wrong = |ops: &[MPI_Op], datatype, size| -> Vec<bool> {
            let each = ops.iter().map(|&op| may_be_wrong(op, datatype, size));
            each.collect()
        };
        for (datatype, size, of_bits, of_truths, of_extremes) in [
            (MPI_INT32_T, 4, false, true, false),
            (MPI_UINT32_T, 4, false, true, true),
            (MPI_INT64_T, 8, true, true, false),
            (MPI_UINT64_T, 8, true, true, true),
            (ranks_mpi_sys::MPI_UINT16_T, 2, false, false, false),
        ] {
            assert_eq!(wrong(&bits, datatype, size), [of_bits; 3]);
            assert_eq!(wrong(&truths, datatype, size), [of_truths; 3]);
            assert_eq!(wrong(&extremes, datatype, size), [of_extremes; 2]);
            let right = [MPI_SUM, MPI_PROD, MPI_REPLACE, MPI_NO_OP];
            assert_eq!(wrong(&right, datatype, size), [false; 4]);
        }
        assert!(!may_be_wrong(MPI_MAX, MPI_FLOAT, 4));
    }
}
