//! The element types that NVSHMEM computes with.

use bytemuck::Pod;

/// A type that [reductions](crate::Team::reduce) compute with: the integers from 8 to 64 bits,
/// `f32` and `f64`; with the feature `half` also `half::f16` and `half::bf16`.
///
/// NVSHMEM has no complex numbers and no integers of 128 bits. What is only moved (broadcast,
/// collected, …) may be of any [`Pod`] type instead.
///
/// The trait is sealed: what a type is called in NVSHMEM decides how many bytes are written.
///
/// ```compile_fail,E0277
/// fn is_an_element<T: ranks::nvshmem::Element>() {}
/// is_an_element::<i128>();
/// ```
///
/// ```compile_fail,E0277
/// # use bytemuck::{Pod, Zeroable};
/// # use ranks::nvshmem::Element;
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(transparent)]
/// struct Wide(u8);
///
/// impl Element for Wide {}
/// ```
#[diagnostic::on_unimplemented(
    message = "reductions do not compute with `{Self}`",
    label = "not an integer of 8 to 64 bits, `f32` or `f64`",
    note = "any `Pod` type can be moved by broadcast, fcollect and alltoall; `half::f16` and `half::bf16` need the feature `half`"
)]
pub trait Element: Pod + kind::OfKind {}

/// An [`Element`] with bits: the integers from 8 to 64 bits, signed and unsigned.
#[diagnostic::on_unimplemented(
    message = "bitwise reductions are not defined for `{Self}`",
    label = "not an integer of 8 to 64 bits"
)]
pub trait Bits: Element {}

/// The backends' names of types; out of reach from outside, which seals [`Element`].
pub(crate) mod kind {
    use crate::backend::Kind;

    /// An element type in the backends' terms.
    pub trait OfKind {
        /// Its name there; an element has as many bytes as here.
        #[doc(hidden)]
        const KIND: Kind;
    }
}

macro_rules! elements {
    ($($type:ty: $kind:ident;)*) => { $(
        impl Element for $type {}
        impl kind::OfKind for $type {
            const KIND: crate::backend::Kind = crate::backend::Kind::$kind;
        }
    )* };
}

elements! {
    i8: I8;
    u8: U8;
    i16: I16;
    u16: U16;
    i32: I32;
    u32: U32;
    i64: I64;
    u64: U64;
    f32: F32;
    f64: F64;
}

#[cfg(feature = "half")]
elements! {
    half::f16: F16;
    half::bf16: Bf16;
}

macro_rules! integers {
    ($($type:ty)*) => { $( impl Bits for $type {} )* };
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);
