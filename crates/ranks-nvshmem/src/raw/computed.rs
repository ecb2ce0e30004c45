//! The elements that are reduced, and the operations on them.

use ranks_comm::{Error, ErrorKind, Result};
use ranks_raw::{Dtype, RawOp};

use super::RawNvshmem;
use crate::backend::{Kind, Reduce};

impl RawNvshmem {
    /// The kind and the operation by which the elements are computed, if anything computes them.
    pub(super) fn computes(&self, op: RawOp, dtype: Dtype) -> Option<(Kind, Reduce)> {
        // In process it is this crate.
        let is_half = matches!(dtype, Dtype::F16 | Dtype::Bf16);
        if is_half && !cfg!(feature = "half") && self.home.in_process {
            return None;
        }
        computed(op, dtype)
    }

    pub(super) fn reduction(
        &self,
        name: &'static str,
        op: RawOp,
        dtype: Dtype,
    ) -> Result<(Kind, Reduce)> {
        self.computes(op, dtype).ok_or_else(|| {
            let backend = &self.home.name;
            let text = format_args!("{dtype:?} is not reduced with {op:?} ({backend})");
            Error::new(ErrorKind::Type, name, text)
        })
    }
}

/// NVSHMEM's kind for a type that it computes with.
fn kind(dtype: Dtype) -> Option<Kind> {
    Some(match dtype {
        Dtype::F64 => Kind::F64,
        Dtype::F32 => Kind::F32,
        Dtype::F16 => Kind::F16,
        Dtype::Bf16 => Kind::Bf16,
        Dtype::I64 => Kind::I64,
        Dtype::I32 => Kind::I32,
        Dtype::I16 => Kind::I16,
        Dtype::I8 => Kind::I8,
        Dtype::U64 => Kind::U64,
        Dtype::U32 => Kind::U32,
        Dtype::U16 => Kind::U16,
        Dtype::U8 => Kind::U8,
        _ => return None,
    })
}

/// The kind and the operation of a reduction that NVSHMEM computes.
fn computed(op: RawOp, dtype: Dtype) -> Option<(Kind, Reduce)> {
    let kind = kind(dtype)?;
    let is_float = matches!(kind, Kind::F64 | Kind::F32 | Kind::F16 | Kind::Bf16);
    let op = match op {
        RawOp::Sum => Reduce::Sum,
        RawOp::Prod => Reduce::Prod,
        RawOp::Min => Reduce::Min,
        RawOp::Max => Reduce::Max,
        RawOp::Band if !is_float => Reduce::And,
        RawOp::Bor if !is_float => Reduce::Or,
        RawOp::Bxor if !is_float => Reduce::Xor,
        _ => return None,
    };
    Some((kind, op))
}
