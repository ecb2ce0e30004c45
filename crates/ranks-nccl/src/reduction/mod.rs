//! The reductions of NCCL.

use ranks_comm::Result;
use ranks_nccl_sys::{ncclAvg, ncclMax, ncclMin, ncclProd, ncclRedOp_t, ncclSum};

use super::element::Element;
use crate::state::Shared;
use ranks_collectives::ops::{Avg, Max, Min, Prod, Sum};

pub(crate) mod pre_mul_sum;

/// An operation of reductions over NCCL: [`Sum`], [`Prod`], [`Min`], [`Max`], [`Avg`], and a
/// [`PreMulSum`](super::PreMulSum) by reference.
///
/// Integers wrap, and their average is cut off towards zero.
///
/// The trait is sealed: NCCL looks a number up in a table of the communicator, and so it is never
/// the program's.
///
/// ```compile_fail,E0277
/// fn is_a_reduction<O: ranks::nccl::Reduction<f32>>() {}
/// is_a_reduction::<i32>();
/// ```
///
/// Bitwise and logical operations are not among NCCL's:
///
/// ```compile_fail,E0277
/// fn is_a_reduction<O: ranks::nccl::Reduction<u32>>() {}
/// is_a_reduction::<ranks::collectives::ops::Band>();
/// ```
#[doc(alias = "ncclRedOp_t")]
#[diagnostic::on_unimplemented(
    message = "NCCL does not reduce `{T}` with `{Self}`",
    label = "not an operation of NCCL on `{T}`",
    note = "NCCL has Sum, Prod, Min, Max, Avg, and `&PreMulSum`"
)]
pub trait Reduction<T: Element>: operation::Operation {}

/// NCCL's name of an operation; out of reach from outside, which seals [`Reduction`].
pub(crate) mod operation {
    use ranks_cuda::{Event, Stream};

    use super::{Result, Shared, ncclRedOp_t};

    /// A communicator, by its address.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Which(usize);

    impl Which {
        pub(crate) fn of(shared: &Shared) -> Self {
            Self(std::ptr::from_ref(shared).addr())
        }
    }

    /// An operation in NCCL's terms.
    pub trait Operation {
        /// NCCL's number for it in operations of `comm`.
        ///
        /// # Errors
        /// [`Argument`](ranks_comm::ErrorKind::Argument) if it belongs to another communicator.
        fn number(&self, comm: Which) -> Result<ncclRedOp_t>;

        /// Makes the stream wait for those who are known to write to memory of the device that it
        /// reads.
        ///
        /// # Errors
        /// Errors of the driver.
        fn order_after_use(&self, _stream: &dyn Stream) -> ranks_cuda::Result<()> {
            Ok(())
        }

        /// Memory of the device that it reads stays until the event is over.
        fn used_until(&self, _event: &Event) {}
    }
}

macro_rules! operations {
    ($($name:ident: $number:ident;)*) => { $(
        impl<T: Element> Reduction<T> for $name {}
        impl operation::Operation for $name {
            #[inline(always)]
            fn number(&self, _: operation::Which) -> Result<ncclRedOp_t> { Ok($number) }
        }
    )* };
}

operations! {
    Sum: ncclSum;
    Prod: ncclProd;
    Min: ncclMin;
    Max: ncclMax;
    Avg: ncclAvg;
}
