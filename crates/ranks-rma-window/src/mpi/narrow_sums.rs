//! Sums of integers of one and two bytes, which Open MPI stops at the largest value on processors
//! with AVX, without an error (<https://github.com/open-mpi/ompi/issues/8045>): where it adds as
//! many at once as a vector holds, and not where it adds fewer.
//!
//! A trial, made once, finds out if the library does so. Then such sums are requested in pieces,
//! each so short that it is added element by element; and where those are wrong as well, they are
//! refused.

use std::ffi::c_int;
use std::sync::OnceLock;

use ranks_comm::backend::last_words;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{
    MPI_Datatype, MPI_INT8_T, MPI_INT16_T, MPI_Op, MPI_SUM, MPI_UINT8_T, MPI_UINT16_T,
};

/// Number of elements that is less than any vector of a processor holds.
const FEW: usize = 7;

/// Result of the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sums {
    Right,
    RightOfFew,
    Wrong,
}

/// Returns true if an operation is such a sum. The compiler knows the answer where the operation is
/// known.
#[inline(always)]
pub(super) fn may_be_wrong(op: MPI_Op, size: usize) -> bool {
    size <= 2 && op == MPI_SUM
}

/// Number of elements of such a sum to request at once.
///
/// # Errors
/// [`ErrorKind::NotInLibrary`] if sums come out wrong for any number of elements.
pub(super) fn piece(operation: &'static str) -> Result<usize> {
    static SUMS: OnceLock<Sums> = OnceLock::new();
    match SUMS.get_or_init(tried) {
        Sums::Right => Ok(usize::MAX),
        Sums::RightOfFew => Ok(FEW),
        Sums::Wrong => Err(Error::new(
            ErrorKind::NotInLibrary,
            operation,
            "this library stops sums of integers of one and two bytes at the largest value; use elements of 4 bytes",
        )),
    }
}

/// Checks the outcome of a piece. If it failed and was not the first, others are in flight on
/// memory that would be given back with the error: the process ends.
///
/// # Errors
/// That of the first piece.
#[inline]
pub(super) fn all_or_none(begun: Result<()>, is_first: bool) -> Result<()> {
    match begun {
        Err(error) if !is_first => {
            last_words(format_args!(
                "a part of an operation on a window could not be completed, and the process ends, because the memory that it uses \
                 cannot be given back: {error}"
            ));
            std::process::abort()
        }
        outcome => outcome,
    }
}

#[cold]
fn tried() -> Sums {
    /// More than any vector holds, and a rest.
    const MANY: usize = 301;
    let right = |count: usize| {
        let narrow = [
            (MPI_INT8_T, 1),
            (MPI_UINT8_T, 1),
            (MPI_INT16_T, 2),
            (MPI_UINT16_T, 2),
        ];
        narrow
            .into_iter()
            .all(|(datatype, size)| wraps(datatype, size, count))
    };
    if right(MANY) {
        Sums::Right
    } else if (1..=FEW).all(right) {
        Sums::RightOfFew
    } else {
        Sums::Wrong
    }
}

/// Returns true if twice the top bit is zero.
fn wraps(datatype: MPI_Datatype, size: usize, count: usize) -> bool {
    let mut element = vec![0u8; size];
    if let Some(top) = element.last_mut() {
        // The libraries run on machines whose first byte is the lowest.
        *top = 0x80;
    }
    let mine = element.repeat(count);
    let mut sum = mine.clone();
    let Ok(items) = c_int::try_from(count) else {
        return false;
    };
    // SAFETY: the library is initialised, as there is a window; both have so many items of the
    // datatype.
    let code = unsafe {
        sys::MPI_Reduce_local(
            mine.as_ptr().cast(),
            sum.as_mut_ptr().cast(),
            items,
            datatype,
            MPI_SUM,
        )
    };
    code == sys::MPI_SUCCESS && sum.iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use ranks_mpi_sys::{MPI_MAX, MPI_PROD};

    use super::*;

    #[test]
    fn sums_of_narrow_integers_are_looked_at_and_nothing_else() {
        let wrong = [1, 2, 4, 8].map(|size| may_be_wrong(MPI_SUM, size));
        assert_eq!(wrong, [true, true, false, false]);
        assert!(!may_be_wrong(MPI_MAX, 1) && !may_be_wrong(MPI_PROD, 2));
    }
}
