//! The library's names of its typed reductions.

use crate::backend::{Kind, Order, Reduce};

/// The form of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Reduce,
    ReduceOnStream,
    Reducescatter,
    ReducescatterOnStream,
}

/// `nvshmem_float_sum_reduce`, `nvshmemx_int32_and_reducescatter_on_stream`.
fn name(kind: Kind, op: Reduce, form: Form) -> &'static str {
    let (kind, op) = (index_of(kind), op as usize);
    let names = match form {
        Form::Reduce => &REDUCE,
        Form::ReduceOnStream => &REDUCE_ON_STREAM,
        Form::Reducescatter => &REDUCESCATTER,
        Form::ReducescatterOnStream => &REDUCESCATTER_ON_STREAM,
    };
    names[kind][op]
}

/// As it is called now, or on a stream.
pub(crate) fn reduce(kind: Kind, op: Reduce, order: Order<'_>) -> &'static str {
    let form = match order {
        Order::Now => Form::Reduce,
        Order::On(_) => Form::ReduceOnStream,
    };
    name(kind, op, form)
}

/// As it is called now, or on a stream.
pub(crate) fn reducescatter(kind: Kind, op: Reduce, order: Order<'_>) -> &'static str {
    let form = match order {
        Order::Now => Form::Reducescatter,
        Order::On(_) => Form::ReducescatterOnStream,
    };
    name(kind, op, form)
}

/// The number of kinds of elements.
const KINDS: usize = 12;

/// The number of operations.
const OPERATIONS: usize = 7;

/// Its place in the tables.
const fn index_of(kind: Kind) -> usize {
    kind as usize
}

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
    use super::{Form, name};
    use crate::backend::{Kind, Reduce};

    #[test]
    fn the_names_are_the_librarys() {
        let names = [
            (
                Kind::F32,
                Reduce::Sum,
                Form::Reduce,
                "nvshmem_float_sum_reduce",
            ),
            (
                Kind::I8,
                Reduce::Xor,
                Form::ReduceOnStream,
                "nvshmemx_int8_xor_reduce_on_stream",
            ),
            (
                Kind::U64,
                Reduce::And,
                Form::Reducescatter,
                "nvshmem_uint64_and_reducescatter",
            ),
            (
                Kind::Bf16,
                Reduce::Max,
                Form::ReducescatterOnStream,
                "nvshmemx_bfloat16_max_reducescatter_on_stream",
            ),
            (
                Kind::F64,
                Reduce::Min,
                Form::Reduce,
                "nvshmem_double_min_reduce",
            ),
            (
                Kind::F16,
                Reduce::Prod,
                Form::Reduce,
                "nvshmem_half_prod_reduce",
            ),
            (
                Kind::U16,
                Reduce::Or,
                Form::Reduce,
                "nvshmem_uint16_or_reduce",
            ),
        ];
        for (kind, op, form, text) in names {
            assert_eq!(name(kind, op, form), text);
        }
    }
}
