//! The library's names of its typed reductions.

use crate::backend::{Kind, Reduce};

/// `nvshmem_float_sum_reduce`, and the name of what enqueues the same.
pub(crate) fn reduce(kind: Kind, op: Reduce) -> [&'static str; 2] {
    [&REDUCE, &REDUCE_ON_STREAM].map(|names| names[kind as usize][op as usize])
}

/// `nvshmem_int32_and_reducescatter`, and the name of what enqueues the same.
pub(crate) fn reducescatter(kind: Kind, op: Reduce) -> [&'static str; 2] {
    [&REDUCESCATTER, &REDUCESCATTER_ON_STREAM].map(|names| names[kind as usize][op as usize])
}

/// The number of kinds of elements.
const KINDS: usize = 12;

/// The number of operations.
const OPERATIONS: usize = 7;

macro_rules! table {
    ($prefix:literal, $suffix:literal) => {
        [
            table!(@ $prefix, "int8", $suffix),
            table!(@ $prefix, "uint8", $suffix),
            table!(@ $prefix, "int16", $suffix),
            table!(@ $prefix, "uint16", $suffix),
            table!(@ $prefix, "int32", $suffix),
            table!(@ $prefix, "uint32", $suffix),
            table!(@ $prefix, "int64", $suffix),
            table!(@ $prefix, "uint64", $suffix),
            table!(@ $prefix, "float", $suffix),
            table!(@ $prefix, "double", $suffix),
            table!(@ $prefix, "half", $suffix),
            table!(@ $prefix, "bfloat16", $suffix),
        ]
    };
    (@ $prefix:literal, $type:literal, $suffix:literal) => {
        [
            concat!($prefix, "_", $type, "_sum_", $suffix),
            concat!($prefix, "_", $type, "_prod_", $suffix),
            concat!($prefix, "_", $type, "_min_", $suffix),
            concat!($prefix, "_", $type, "_max_", $suffix),
            concat!($prefix, "_", $type, "_and_", $suffix),
            concat!($prefix, "_", $type, "_or_", $suffix),
            concat!($prefix, "_", $type, "_xor_", $suffix),
        ]
    };
}

/// By kind, then by operation, in the order in which both are declared.
type Names = [[&'static str; OPERATIONS]; KINDS];

static REDUCE: Names = table!("nvshmem", "reduce");
static REDUCE_ON_STREAM: Names = table!("nvshmemx", "reduce_on_stream");
static REDUCESCATTER: Names = table!("nvshmem", "reducescatter");
static REDUCESCATTER_ON_STREAM: Names = table!("nvshmemx", "reducescatter_on_stream");

#[cfg(test)]
mod tests {
    use super::{reduce, reducescatter};
    use crate::backend::{Kind, Reduce};

    #[test]
    fn the_names_are_the_librarys() {
        let names = [
            (
                reduce(Kind::F32, Reduce::Sum)[0],
                "nvshmem_float_sum_reduce",
            ),
            (
                reduce(Kind::I8, Reduce::Xor)[1],
                "nvshmemx_int8_xor_reduce_on_stream",
            ),
            (
                reducescatter(Kind::U64, Reduce::And)[0],
                "nvshmem_uint64_and_reducescatter",
            ),
            (
                reducescatter(Kind::Bf16, Reduce::Max)[1],
                "nvshmemx_bfloat16_max_reducescatter_on_stream",
            ),
            (
                reduce(Kind::F64, Reduce::Min)[0],
                "nvshmem_double_min_reduce",
            ),
            (
                reduce(Kind::F16, Reduce::Prod)[0],
                "nvshmem_half_prod_reduce",
            ),
            (reduce(Kind::U16, Reduce::Or)[0], "nvshmem_uint16_or_reduce"),
        ];
        for (name, text) in names {
            assert_eq!(name, text);
        }
    }
}
