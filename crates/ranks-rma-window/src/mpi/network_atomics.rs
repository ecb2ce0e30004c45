//! Operations that Open MPI may compute wrong. Where that is so, and why, is in ranks-comm's module
//! of the same name.

use ranks_comm::backend::WrongAtomics;
use ranks_comm::{Error, ErrorKind};
use ranks_launch::NETWORK_ATOMICS;
use ranks_mpi_sys::{
    MPI_BAND, MPI_BOR, MPI_BXOR, MPI_Datatype, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MAX, MPI_MIN,
    MPI_Op, MPI_UINT32_T, MPI_UINT64_T,
};

/// Returns true if an operation on elements of `size` bytes is among the `wrong` ones. The compiler
/// knows most of the answer where the operation is known.
#[inline(always)]
pub(super) fn is_wrong(
    wrong: WrongAtomics,
    op: MPI_Op,
    datatype: MPI_Datatype,
    size: usize,
) -> bool {
    let is = |ops: &[MPI_Op]| ops.contains(&op);
    let bitwise = size == 8 && is(&[MPI_BAND, MPI_BOR, MPI_BXOR]);
    let other = (matches!(size, 4 | 8) && is(&[MPI_LAND, MPI_LOR, MPI_LXOR]))
        || ([MPI_UINT32_T, MPI_UINT64_T].contains(&datatype) && is(&[MPI_MIN, MPI_MAX]));
    (other && wrong != WrongAtomics::None) || (bitwise && wrong == WrongAtomics::Bitwise)
}

/// The error of such an operation in a window where they are wrong.
#[cold]
#[inline(never)]
pub(super) fn wrong(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::NotInLibrary,
        operation,
        format_args!(
            "Open MPI computes logical and bitwise operations and extremes of unsigned integers wrong over TCP, and within a host in a window of \
             memory that it has not allocated, without an error; make the window by Window::allocate, get and put under an exclusive lock, or, \
             among hosts, start the job with {NETWORK_ATOMICS}=0 in its environment"
        ),
    )
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
            let of = |wrong| {
                ops.iter()
                    .map(move |&op| is_wrong(wrong, op, datatype, size))
            };
            assert_eq!(of(WrongAtomics::None).find(|is| *is), None);
            of(WrongAtomics::Bitwise).collect()
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
        assert!(!is_wrong(WrongAtomics::Bitwise, MPI_MAX, MPI_FLOAT, 4));
        assert!(is_wrong(WrongAtomics::Logical, MPI_LOR, MPI_INT32_T, 4));
        assert!(!is_wrong(WrongAtomics::Logical, MPI_BOR, MPI_INT64_T, 8));
    }
}
