//! Elements of every type of NCCL's that stand for small numbers, and what reductions make of them.

use std::fmt::Debug;

use ranks_cuda::{CudaStream, DeviceSlice, DeviceVec};
use ranks_nccl::{Element, Fp8E4m3, Fp8E5m2, NcclCommunicator};

use crate::support::{each, on_devices};

/// A type, with numbers in it.
pub(crate) trait Sample: Element + Debug + PartialEq {
    /// The element for a small number, which it holds exactly.
    fn of(number: u8) -> Self;
    /// The number that it stands for.
    fn number(self) -> f64;
    /// How far averages may be off.
    const NEAR: f64 = 0.0;
}

macro_rules! samples {
    ($($type:ty: $near:expr, |$element:ident| $number:expr;)*) => { $(
        impl Sample for $type {
            fn of(number: u8) -> Self { Self::try_from(number).unwrap() }
            fn number(self) -> f64 { let $element = self; $number }
            const NEAR: f64 = $near;
        }
    )* };
}

samples! {
    i8: 0.0, |element| element.into();
    u8: 0.0, |element| element.into();
    i32: 0.0, |element| element.into();
    u32: 0.0, |element| element.into();
    i64: 0.0, |element| i32::try_from(element).unwrap().into();
    u64: 0.0, |element| u32::try_from(element).unwrap().into();
    f32: 1e-6, |element| element.into();
    f64: 1e-12, |element| element;
}

#[cfg(feature = "half")]
samples! {
    half::f16: 1e-2, |element| element.into();
    half::bf16: 1e-1, |element| element.into();
}

/// The number that eight bits stand for, none of which is infinite.
fn of_eight_bits(bits: u8, mantissa: u32, bias: i32) -> f64 {
    let scale = f64::from(1 << mantissa);
    let exponent = i32::from((bits & 0x7f) >> mantissa);
    let fraction = f64::from(bits & ((1 << mantissa) - 1)) / scale;
    let size = match exponent {
        0 => fraction * 2.0_f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2.0_f64.powi(exponent - bias),
    };
    if bits & 0x80 == 0 { size } else { -size }
}

macro_rules! eights {
    ($($type:ident: $mantissa:expr, $bias:expr;)*) => { $(
        impl Sample for $type {
            fn of(number: u8) -> Self {
                let stands = |bits: &u8| of_eight_bits(*bits, $mantissa, $bias) == f64::from(number);
                Self((0..0x7c).find(stands).unwrap())
            }
            fn number(self) -> f64 { of_eight_bits(self.0, $mantissa, $bias) }
            const NEAR: f64 = 0.15;
        }
    )* };
}

eights! {
    Fp8E4m3: 3, 7;
    Fp8E5m2: 2, 15;
}

/// A rank, with a stream.
pub(crate) struct Place<'a> {
    pub(crate) comm: &'a NcclCommunicator,
    pub(crate) stream: CudaStream,
}

impl<'a> Place<'a> {
    pub(crate) fn of(comm: &'a NcclCommunicator) -> Self {
        let stream = comm.context().stream().unwrap();
        Self { comm, stream }
    }

    /// Elements of the device for `len` numbers.
    pub(crate) fn vec<T: Sample>(&self, len: usize, number: impl Fn(usize) -> u8) -> DeviceVec<T> {
        let values: Vec<T> = (0..len).map(|index| T::of(number(index))).collect();
        self.comm.context().device_vec_of(&values).unwrap()
    }

    /// `len` elements that are zero.
    pub(crate) fn zeros<T: Sample>(&self, len: usize) -> DeviceVec<T> {
        self.comm.context().alloc(len).unwrap()
    }
}

/// The numbers on the device.
pub(crate) fn numbers<S: DeviceSlice<Element: Sample>>(on: &Place<'_>, slice: &S) -> Vec<f64> {
    let mut values = vec![S::Element::of(0); slice.len()];
    on.comm.context().copy_to_host(slice, &mut values).unwrap();
    values.into_iter().map(Sample::number).collect()
}

/// What rank r has at an index: from 0 to 2.
pub(crate) fn value(rank: usize, index: usize) -> u8 {
    u8::try_from((rank * 2 + index) % 3).unwrap()
}

/// The numbers of the model for so many elements.
pub(crate) fn model(len: usize, number: impl Fn(usize) -> u8) -> Vec<f64> {
    (0..len).map(|index| f64::from(number(index))).collect()
}

/// Elements of a block.
pub(crate) const LEN: usize = 5;

/// Does it on 1 to 4 ranks.
pub(crate) fn on_ranks(body: impl Fn(&Place<'_>) + Sync) {
    for size in 1..=4 {
        each(&on_devices(size), |comm| body(&Place::of(comm)));
    }
}

/// What all ranks have together at an index.
pub(crate) fn folded(size: usize, index: usize, fold: impl Fn(u8, u8) -> u8) -> u8 {
    let all = (0..size).map(|rank| value(rank, index));
    all.reduce(fold).unwrap()
}

pub(crate) fn sum(size: usize, index: usize) -> u8 {
    folded(size, index, |a, b| a + b)
}
