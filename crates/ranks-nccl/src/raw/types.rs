//! NCCL's types and operations that stand for those that are known at run time only.

use ranks_nccl_sys::{
    ncclAvg, ncclBfloat16, ncclDataType_t, ncclFloat8e4m3, ncclFloat8e5m2, ncclFloat16,
    ncclFloat32, ncclFloat64, ncclInt8, ncclInt32, ncclInt64, ncclMax, ncclMin, ncclProd,
    ncclRedOp_t, ncclSum, ncclUint8, ncclUint32, ncclUint64,
};

use crate::call::checks::FP8_SINCE;
use ranks_raw::{Dtype, RawOp};

/// The form in which elements travel: as one of NCCL's each, or as so many as they have bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) datatype: ncclDataType_t,
    /// The size of one of NCCL's elements in bytes.
    pub(super) width: usize,
}

/// NCCL's own type, if a library of that version computes with it.
pub(super) fn computed(dtype: Dtype, version: i32) -> Option<ncclDataType_t> {
    let datatype = match dtype {
        Dtype::F64 => ncclFloat64,
        Dtype::F32 => ncclFloat32,
        Dtype::F16 => ncclFloat16,
        Dtype::Bf16 => ncclBfloat16,
        Dtype::Fp8E4m3 => ncclFloat8e4m3,
        Dtype::Fp8E5m2 => ncclFloat8e5m2,
        Dtype::I64 => ncclInt64,
        Dtype::I32 => ncclInt32,
        Dtype::I8 => ncclInt8,
        Dtype::U64 => ncclUint64,
        Dtype::U32 => ncclUint32,
        Dtype::U8 => ncclUint8,
        _ => return None,
    };
    (datatype <= ncclBfloat16 || version >= FP8_SINCE.0).then_some(datatype)
}

/// As what it is moved: as itself, or as its bytes.
pub(super) fn moved(dtype: Dtype, version: i32) -> Moved {
    match computed(dtype, version) {
        Some(datatype) => Moved {
            datatype,
            width: dtype.size(),
        },
        None => Moved {
            datatype: ncclUint8,
            width: 1,
        },
    }
}

/// NCCL's own operation; `None` for one that it does not have, or makes anew each time.
pub(super) fn operation(op: RawOp) -> Option<ncclRedOp_t> {
    match op {
        RawOp::Sum => Some(ncclSum),
        RawOp::Prod => Some(ncclProd),
        RawOp::Min => Some(ncclMin),
        RawOp::Max => Some(ncclMax),
        RawOp::Avg => Some(ncclAvg),
        _ => None,
    }
}

/// Returns `true` if a library of that version has a reduction of that type.
pub(super) fn reduces(op: RawOp, dtype: Dtype, version: i32) -> bool {
    let wide = matches!(dtype, Dtype::F64 | Dtype::F32);
    let half = matches!(dtype, Dtype::F16 | Dtype::Bf16);
    let known = match op {
        RawOp::Sum | RawOp::Prod | RawOp::Min | RawOp::Max => true,
        RawOp::Avg => wide || half,
        RawOp::PreMulSum(_) => wide || half && cfg!(feature = "half"),
        _ => false,
    };
    known && computed(dtype, version).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nccl_does_not_compute_with_is_moved_as_bytes() {
        for dtype in Dtype::ALL {
            let moved = moved(dtype, 23_203);
            let as_itself = computed(dtype, 23_203).is_some();
            let width = if as_itself { dtype.size() } else { 1 };
            assert_eq!(moved.width, width, "{dtype:?}");
            assert_eq!(
                moved.datatype == ncclUint8,
                !as_itself || dtype == Dtype::U8
            );
        }
        assert_eq!(computed(Dtype::Fp8E5m2, 21_803), None);
        assert_eq!(moved(Dtype::Fp8E5m2, 21_803).datatype, ncclUint8);
    }
}
