//! Types and operations as any of numr's versions names them.

use ranks_raw::{Dtype, RawOp};

/// The type of elements: made of numr's `DType`, in whichever version, or of a [`Dtype`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element(pub(crate) Option<Dtype>);

impl From<Dtype> for Element {
    fn from(dtype: Dtype) -> Self {
        Self(Some(dtype))
    }
}

/// A reduction: made of numr's `ReduceOp`, in whichever version, or of a [`RawOp`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operation(pub(crate) RawOp);

impl From<RawOp> for Operation {
    fn from(op: RawOp) -> Self {
        Self(op)
    }
}
