//! NVSHMEM's reductions of the elements of all PEs.

use ranks_collectives::ops::{Band, Bor, Bxor, Max, Min, Prod, Sum};

use crate::backend::Reduce;
use crate::team::element::{Bits, Element};

/// An operation of a [reduction](crate::Team::reduce) of the elements of all PEs of a team:
/// [`Sum`], [`Prod`], [`Min`] and [`Max`], and of integers also [`Band`], [`Bor`] and [`Bxor`].
///
/// Integers wrap. In which order floating-point numbers are added is NVSHMEM's choice.
///
/// The trait is sealed. NVSHMEM has neither averages nor logical operations:
///
/// ```compile_fail,E0277
/// fn is_a_reduction<O: ranks::nvshmem::Reduction<f32>>() {}
/// is_a_reduction::<ranks::collectives::ops::Avg>();
/// ```
///
/// ```compile_fail,E0277
/// fn is_a_reduction<O: ranks::nvshmem::Reduction<f32>>() {}
/// is_a_reduction::<ranks::collectives::ops::Band>();
/// ```
#[diagnostic::on_unimplemented(
    message = "NVSHMEM does not reduce `{T}` with `{Self}`",
    label = "not an operation of NVSHMEM on `{T}`",
    note = "NVSHMEM has Sum, Prod, Min and Max, and Band, Bor and Bxor for integers"
)]
pub trait Reduction<T: Element>: operation::Operation {}

/// The backends' names of operations; out of reach from outside, which seals [`Reduction`].
pub(crate) mod operation {
    use crate::backend::Reduce;

    /// An operation in the backends' terms.
    pub trait Operation: Copy {
        /// Its name there.
        #[doc(hidden)]
        const REDUCE: Reduce;
    }
}

macro_rules! operations {
    ($($name:ident: $bound:ident, $reduce:ident;)*) => { $(
        impl<T: $bound> Reduction<T> for $name {}
        impl operation::Operation for $name {
            const REDUCE: Reduce = Reduce::$reduce;
        }
    )* };
}

operations! {
    Sum: Element, Sum;
    Prod: Element, Prod;
    Min: Element, Min;
    Max: Element, Max;
    Band: Bits, And;
    Bor: Bits, Or;
    Bxor: Bits, Xor;
}
