//! Elements that have an atomic twin.

use std::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};

use bytemuck::Pod;

/// An element that all ranks may load and store at the same time, as its atomic.
///
/// The integers; and `f32` and `f64`, as the integers of their bits (`f64::from_bits`,
/// `f64::to_bits`). Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no atomic",
    label = "not an element that ranks may load and store at the same time",
    note = "integers have one, and `f32` and `f64` as their bits"
)]
pub trait HasAtomic: Pod + Sealed {
    /// Its atomic: of the same size, and of no more than that alignment.
    type Atomic: Sync + 'static;
}

/// Out of reach from outside.
pub trait Sealed {}

macro_rules! has_atomic {
    ($($element:ty: $atomic:ty,)*) => {$(
        impl Sealed for $element {}

        impl HasAtomic for $element {
            type Atomic = $atomic;
        }

        const _: () = assert!(
            size_of::<$element>() == size_of::<$atomic>()
                && align_of::<$atomic>() <= size_of::<$atomic>()
        );
    )*};
}

has_atomic! {
    i8: AtomicI8,
    i16: AtomicI16,
    i32: AtomicI32,
    i64: AtomicI64,
    isize: AtomicIsize,
    u8: AtomicU8,
    u16: AtomicU16,
    u32: AtomicU32,
    u64: AtomicU64,
    usize: AtomicUsize,
    f32: AtomicU32,
    f64: AtomicU64,
}
