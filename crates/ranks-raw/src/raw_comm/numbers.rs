//! From types and operations that are known at run time to those of Rust.

use ranks_collectives::ops::{Avg, Band, Bor, Bxor, Max, Min, Prod, Reduction, Sum};
use ranks_collectives::{Fractional, Integer, Number, Ordered};

use crate::{Dtype, RawOp};

/// Work with a type and an operation that are known.
pub(crate) trait Task {
    type Outcome;
    fn with<T: Number, O: Reduction<T> + Send + 'static>(self, op: O) -> Self::Outcome;
}

/// Does it with those that are meant; `None` if reductions with `op` do not compute with `dtype`.
///
/// For [`RawOp::PreMulSum`] it is a [`Sum`]: multiplying is up to who calls.
pub(crate) fn with_number<X: Task>(dtype: Dtype, op: RawOp, task: X) -> Option<X::Outcome> {
    match dtype {
        Dtype::F64 => float::<f64, X>(op, task),
        Dtype::F32 => float::<f32, X>(op, task),
        #[cfg(feature = "half")]
        Dtype::F16 => float::<half::f16, X>(op, task),
        #[cfg(feature = "half")]
        Dtype::Bf16 => float::<half::bf16, X>(op, task),
        Dtype::I64 => integer::<i64, X>(op, task),
        Dtype::I32 => integer::<i32, X>(op, task),
        Dtype::I16 => integer::<i16, X>(op, task),
        Dtype::I8 => integer::<i8, X>(op, task),
        Dtype::U64 => integer::<u64, X>(op, task),
        Dtype::U32 => integer::<u32, X>(op, task),
        Dtype::U16 => integer::<u16, X>(op, task),
        Dtype::U8 => integer::<u8, X>(op, task),
        #[cfg(feature = "num-complex")]
        Dtype::Complex64 => fractional::<num_complex::Complex<f32>, X>(op, task),
        #[cfg(feature = "num-complex")]
        Dtype::Complex128 => fractional::<num_complex::Complex<f64>, X>(op, task),
        _ => None,
    }
}

fn float<T: Fractional + Ordered, X: Task>(op: RawOp, task: X) -> Option<X::Outcome> {
    match op {
        RawOp::Min => Some(task.with::<T, Min>(Min)),
        RawOp::Max => Some(task.with::<T, Max>(Max)),
        _ => fractional::<T, X>(op, task),
    }
}

fn fractional<T: Fractional, X: Task>(op: RawOp, task: X) -> Option<X::Outcome> {
    match op {
        RawOp::Sum | RawOp::PreMulSum(_) => Some(task.with::<T, Sum>(Sum)),
        RawOp::Prod => Some(task.with::<T, Prod>(Prod)),
        RawOp::Avg => Some(task.with::<T, Avg>(Avg)),
        _ => None,
    }
}

fn integer<T: Integer, X: Task>(op: RawOp, task: X) -> Option<X::Outcome> {
    match op {
        RawOp::Sum => Some(task.with::<T, Sum>(Sum)),
        RawOp::Prod => Some(task.with::<T, Prod>(Prod)),
        RawOp::Min => Some(task.with::<T, Min>(Min)),
        RawOp::Max => Some(task.with::<T, Max>(Max)),
        RawOp::Band => Some(task.with::<T, Band>(Band)),
        RawOp::Bor => Some(task.with::<T, Bor>(Bor)),
        RawOp::Bxor => Some(task.with::<T, Bxor>(Bxor)),
        _ => None,
    }
}

/// Returns `true` if there is such a reduction.
pub(crate) fn supports(op: RawOp, dtype: Dtype) -> bool {
    with_number(dtype, op, Nothing).is_some()
}

struct Nothing;

impl Task for Nothing {
    type Outcome = ();
    fn with<T: Number, O: Reduction<T> + Send + 'static>(self, _op: O) {}
}

/// Multiplies the elements in `bytes`, which are of a type that has [`RawOp::PreMulSum`].
pub(crate) fn multiply(dtype: Dtype, bytes: &mut [u8], factor: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the factor in the precision of the elements"
    )]
    let narrow = factor as f32;
    match dtype {
        Dtype::F64 | Dtype::Complex128 => each(bytes, |number: f64| number * factor),
        Dtype::F32 | Dtype::Complex64 => each(bytes, |number: f32| number * narrow),
        #[cfg(feature = "half")]
        Dtype::F16 => each(bytes, |number: half::f16| {
            half::f16::from_f32(number.to_f32() * narrow)
        }),
        #[cfg(feature = "half")]
        Dtype::Bf16 => each(bytes, |number: half::bf16| {
            half::bf16::from_f32(number.to_f32() * narrow)
        }),
        _ => {}
    }
}

fn each<T: bytemuck::Pod>(bytes: &mut [u8], change: impl Fn(T) -> T) {
    for bytes in bytes.chunks_exact_mut(size_of::<T>()) {
        let number = change(bytemuck::pod_read_unaligned(bytes));
        bytes.copy_from_slice(bytemuck::bytes_of(&number));
    }
}
