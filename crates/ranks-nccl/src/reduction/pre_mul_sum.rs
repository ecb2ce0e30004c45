//! Sums of what was multiplied before.
//!
//! # Safety
//!
//! NCCL reads a factor on the host before its call returns (`ncclScalarHostImmediate`), and one on
//! the device while operations run (`ncclScalarDevice`): that one is owned here, and told of the
//! end of each operation that uses it.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{DeviceSlice, Event, Stream};
use ranks_nccl_sys::{
    ncclDataType_t, ncclRedOp_t, ncclScalarDevice, ncclScalarHostImmediate, ncclScalarResidence_t,
    ncclSum,
};

use crate::NcclCommunicator;
use crate::element::Element;
use crate::element::datatype::Datatype;
use crate::reduction::Reduction;
use crate::reduction::operation::{Operation, Which};
use crate::state::Shared;

const CREATE: &str = "ncclRedOpCreatePreMulSum";

/// The sum over all ranks of what each of them has, multiplied by its factor before.
///
/// It belongs to the communicator that it is borrowed from, and is passed to reductions of that one
/// by reference. Its number cannot be made up, and it does not outlive its communicator:
///
/// ```compile_fail,E0597
/// use ranks::nccl::NcclCommunicator;
///
/// fn escapes(make: impl Fn() -> NcclCommunicator) {
///     let half = {
///         let comm = make();
///         comm.pre_mul_sum(0.5_f32).unwrap()
///     };
///     drop(half);
/// }
/// ```
///
/// Nor does it reduce elements of another type than its factor:
///
/// ```compile_fail,E0277
/// use ranks::nccl::{NcclCommunicator, Reduction};
///
/// fn is_a_reduction_of_f64(_: impl Reduction<f64>) {}
/// fn of_another_type(comm: &NcclCommunicator) {
///     is_a_reduction_of_f64(&comm.pre_mul_sum(0.5_f32).unwrap());
/// }
/// ```
#[doc(alias = "ncclRedOpCreatePreMulSum")]
#[doc(alias = "ncclRedOpDestroy")]
pub struct PreMulSum<'c, T: Element> {
    operator: Operator<'c>,
    /// A factor that lies on the device.
    factor: Option<Box<dyn DeviceSlice<Element = T> + 'c>>,
}

impl NcclCommunicator {
    /// An operation that multiplies the elements of this rank by `factor` before they are added to
    /// those of the others, which have factors of their own.
    ///
    /// # Errors
    /// As [all](crate#operations).
    #[doc(alias = "ncclRedOpCreatePreMulSum")]
    pub fn pre_mul_sum<T: Element>(&self, factor: T) -> Result<PreMulSum<'_, T>> {
        let scalar = (&raw const factor).cast_mut().cast();
        // SAFETY: the factor is one of that type, and is read before the call returns.
        let operator = unsafe { Operator::immediate(self.shared(), scalar, T::DATATYPE)? };
        let factor = None;
        Ok(PreMulSum { operator, factor })
    }

    /// The same with a factor that lies on the device, one element, and is read there by each
    /// operation while it runs.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) unless `factor` is one element; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclRedOpCreatePreMulSum")]
    pub fn pre_mul_sum_on_device<'c, S>(&'c self, factor: S) -> Result<PreMulSum<'c, S::Element>>
    where
        S: DeviceSlice<Element: Element> + 'c,
    {
        if factor.len() != 1 {
            let len = factor.len();
            let detail = format_args!("a factor is one element, and not {len}");
            return Err(Error::new(ErrorKind::Length, CREATE, detail));
        }
        let shared = self.shared();
        shared.own_memory(CREATE, &factor)?;
        let scalar = factor.address() as *mut c_void;
        let datatype = <S::Element as Datatype>::DATATYPE;
        // SAFETY: the factor is one of that type, and owned by what is made, which tells it of each
        // operation.
        let operator = unsafe { Operator::new(shared, scalar, datatype, ncclScalarDevice)? };
        Ok(PreMulSum {
            operator,
            factor: Some(Box::new(factor)),
        })
    }
}

impl<T: Element> Reduction<T> for &PreMulSum<'_, T> {}

impl<T: Element> Operation for &PreMulSum<'_, T> {
    fn number(&self, comm: Which) -> Result<ncclRedOp_t> {
        if Which::of(self.operator.shared) == comm {
            return Ok(self.operator.number);
        }
        let text = "a PreMulSum reduces on the communicator that made it, and this is another one";
        Err(Error::new(ErrorKind::Argument, CREATE, text))
    }

    fn order_after_use(&self, stream: &dyn Stream) -> ranks_cuda::Result<()> {
        let factor = self.factor.as_ref();
        factor.map_or(Ok(()), |factor| factor.order_after_use(stream))
    }

    fn used_until(&self, event: &Event) {
        if let Some(factor) = &self.factor {
            factor.used_until(event);
        }
    }
}

impl<T: Element> fmt::Debug for PreMulSum<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreMulSum").finish_non_exhaustive()
    }
}

/// An operation that the library keeps in a table of a communicator, destroyed when this is
/// dropped.
#[derive(Debug)]
pub(crate) struct Operator<'c> {
    shared: &'c Arc<Shared>,
    pub(crate) number: ncclRedOp_t,
}

impl<'c> Operator<'c> {
    /// With a factor on the host.
    ///
    /// # Safety
    /// `scalar` points at an element of that type.
    pub(crate) unsafe fn immediate(
        shared: &'c Arc<Shared>,
        scalar: *mut c_void,
        datatype: ncclDataType_t,
    ) -> Result<Self> {
        // SAFETY: passed on; it is read before the call returns.
        unsafe { Self::new(shared, scalar, datatype, ncclScalarHostImmediate) }
    }

    /// # Safety
    /// `scalar` points at an element of that type where `residence` says: on the host until this
    /// returns, on the device as long as it is used.
    unsafe fn new(
        shared: &'c Arc<Shared>,
        scalar: *mut c_void,
        datatype: ncclDataType_t,
        residence: ncclScalarResidence_t,
    ) -> Result<Self> {
        let mut number = ncclSum;
        shared.call(CREATE, |table, comm| {
            let create = table.ncclRedOpCreatePreMulSum?;
            // SAFETY: the communicator is alive, the caller vouches for the scalar, and the number
            // is written to a place for one.
            Some(unsafe { create(&raw mut number, scalar, datatype, residence, comm) })
        })?;
        Ok(Self { shared, number })
    }
}

impl Drop for Operator<'_> {
    fn drop(&mut self) {
        // What cannot be destroyed went with its communicator.
        let _gone = self.shared.ask("ncclRedOpDestroy", |table, comm| {
            let destroy = table.ncclRedOpDestroy?;
            // SAFETY: the communicator is alive, and the number is one of its own that was not
            // destroyed before. Operations that were called with it do not need it any more.
            Some(unsafe { destroy(self.number, comm) })
        });
    }
}
