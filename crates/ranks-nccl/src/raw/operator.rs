//! Reductions that are known at run time only, as numbers of NCCL's.
#![allow(unsafe_code)]

use std::sync::Arc;

use ranks_comm::Result;
use ranks_nccl_sys::{ncclDataType_t, ncclRedOp_t};

use super::types;
use crate::reduction::pre_mul_sum::Operator;
use crate::state::Shared;
use ranks_raw::{Dtype, RawOp};

/// A reduction that is there for as long as this is.
#[derive(Debug)]
pub(super) enum Operation<'c> {
    /// One of NCCL's own.
    Own(ncclRedOp_t),
    /// One that was made for a single call.
    Made(Operator<'c>),
}

impl<'c> Operation<'c> {
    /// `None` if NCCL has no such reduction of that type.
    pub(super) fn new(shared: &'c Arc<Shared>, op: RawOp, dtype: Dtype) -> Option<Result<Self>> {
        let version = shared.nccl().version();
        if !types::reduces(op, dtype, version) {
            return None;
        }
        let RawOp::PreMulSum(factor) = op else {
            return types::operation(op).map(|number| Ok(Self::Own(number)));
        };
        let datatype = types::computed(dtype, version)?;
        let made = match dtype {
            Dtype::F64 => multiplied(shared, factor, datatype),
            #[allow(clippy::cast_possible_truncation, reason = "the nearest one is meant")]
            Dtype::F32 => multiplied(shared, factor as f32, datatype),
            #[cfg(feature = "half")]
            Dtype::F16 => multiplied(shared, half::f16::from_f64(factor), datatype),
            #[cfg(feature = "half")]
            Dtype::Bf16 => multiplied(shared, half::bf16::from_f64(factor), datatype),
            _ => return None,
        };
        Some(made.map(Self::Made))
    }

    pub(super) fn number(&self) -> ncclRedOp_t {
        match self {
            Self::Own(number) => *number,
            Self::Made(operator) => operator.number,
        }
    }
}

/// A sum of what was multiplied by `factor`, which is of that type.
fn multiplied<T: bytemuck::Pod>(
    shared: &Arc<Shared>,
    mut factor: T,
    datatype: ncclDataType_t,
) -> Result<Operator<'_>> {
    // SAFETY: the factor has that type.
    unsafe { Operator::immediate(shared, (&raw mut factor).cast(), datatype) }
}
