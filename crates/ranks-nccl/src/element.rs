//! The element types that NCCL knows.

use bytemuck::{Pod, Zeroable};

/// A type that NCCL moves and computes with: `i8`, `u8`, `i32`, `u32`, `i64`, `u64`, `f32`, `f64`,
/// [`Fp8E4m3`], [`Fp8E5m2`], and with the feature `half` also `half::f16` and `half::bf16`.
///
/// Anything else travels as its bytes, as a slice of `u8`. A `char` of Rust has four bytes, and
/// none of NCCL's types is it:
///
/// ```compile_fail,E0277
/// fn is_an_element<T: ranks::nccl::Element>() {}
/// is_an_element::<char>();
/// ```
///
/// ```compile_fail,E0277
/// fn is_an_element<T: ranks::nccl::Element>() {}
/// is_an_element::<bool>();
/// ```
///
/// The trait is sealed: what a type is called in NCCL decides how many bytes are written.
///
/// ```compile_fail,E0277
/// # use ranks::nccl::Element;
/// # use bytemuck::{Pod, Zeroable};
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(transparent)]
/// struct Wide(u8);
///
/// impl Element for Wide {}
/// ```
#[doc(alias = "ncclDataType_t")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is none of NCCL's element types",
    label = "not an integer of 8, 32 or 64 bits, nor a floating-point number that NCCL knows",
    note = "other plain data travels as a slice of `u8`; `half::f16` and `half::bf16` need the feature `half`"
)]
pub trait Element: Pod + datatype::Datatype {}

/// NCCL's name of a type; out of reach from outside, which seals [`Element`].
pub(crate) mod datatype {
    use ranks_nccl_sys::ncclDataType_t;

    /// An element type in NCCL's terms.
    pub trait Datatype {
        /// NCCL's own name, in which an element has as many bytes as here.
        const DATATYPE: ncclDataType_t;
    }
}

/// Eight bits of a floating-point number: four of exponent, three of mantissa, no infinities.
///
/// It is moved and reduced by NCCL from 2.24 on; nothing is computed with it here.
#[doc(alias = "ncclFloat8e4m3")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Fp8E4m3(pub u8);

/// Eight bits of a floating-point number: five of exponent, two of mantissa.
///
/// It is moved and reduced by NCCL from 2.24 on; nothing is computed with it here.
#[doc(alias = "ncclFloat8e5m2")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Fp8E5m2(pub u8);

macro_rules! elements {
    ($($type:ty: $datatype:ident;)*) => { $(
        impl Element for $type {}
        impl datatype::Datatype for $type {
            const DATATYPE: ranks_nccl_sys::ncclDataType_t = ranks_nccl_sys::$datatype;
        }
    )* };
}

elements! {
    i8: ncclInt8;
    u8: ncclUint8;
    i32: ncclInt32;
    u32: ncclUint32;
    i64: ncclInt64;
    u64: ncclUint64;
    f32: ncclFloat32;
    f64: ncclFloat64;
    Fp8E4m3: ncclFloat8e4m3;
    Fp8E5m2: ncclFloat8e5m2;
}

#[cfg(feature = "half")]
elements! {
    half::f16: ncclFloat16;
    half::bf16: ncclBfloat16;
}
