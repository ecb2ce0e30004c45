//! Arguments of operations: elements of the symmetric heap, and other memory of the PE's device.

use ranks_cuda::{DeviceSlice, DeviceSliceMut};

use crate::backend::block::{Local, Offset};
use part::{Near, Part};

/// Elements of the symmetric heap: every PE has them, in its own part. A
/// [`SymmetricVec`](crate::SymmetricVec), its slices, and references to those.
///
/// It names what an operation works on where any PE has it, or reads here. The trait is sealed.
pub trait Symmetric: Part {}

/// Elements of the symmetric heap that an operation writes to on this PE. The trait is sealed.
pub trait SymmetricMut: Symmetric {}

/// The source of a put on this PE: elements of the symmetric heap, or of other memory of its device
/// ([`OnDevice`]). The trait is sealed.
pub trait Source: Near {}

/// The destination of a get on this PE: elements of the symmetric heap, or of other memory of its
/// device ([`OnDevice`]). The trait is sealed.
pub trait Destination: Source {}

/// Memory of the PE's device that is not of the symmetric heap, to put from and to get into.
///
/// NVSHMEM needs it to be [registered](crate::Nvshmem::register) where PEs are reached over a
/// network. In process there is none.
#[derive(Debug)]
pub struct OnDevice<D>(pub D);

/// Out of reach from outside, which seals the traits.
pub(crate) mod part {
    use bytemuck::Pod;
    use ranks_cuda::DeviceSlice;

    use crate::backend::block::{Local, Offset};

    /// Elements of the heap.
    pub trait Part {
        /// The type of the elements.
        type Element: Pod;
        /// The place at which they begin; `None` if there are no bytes, and nothing is to be done.
        fn place(&self) -> Option<Offset<'_>>;
        /// The number of elements.
        fn count(&self) -> usize;
    }

    /// Elements of this PE.
    pub trait Near {
        /// The type of the elements.
        type Element: Pod;
        /// The place at which they begin; `None` if there are no bytes, and nothing is to be done.
        fn local(&self) -> Option<Local<'_>>;
        /// The number of elements.
        fn count(&self) -> usize;
        /// The memory, if it is not of the heap: to be checked to be of the device, and to be told
        /// of its use.
        fn memory(&mut self) -> Option<&mut dyn DeviceSlice<Element = Self::Element>> {
            None
        }
    }
}

impl<D: DeviceSlice> Near for OnDevice<D> {
    type Element = D::Element;

    fn local(&self) -> Option<Local<'_>> {
        let bytes = size_of::<D::Element>().saturating_mul(self.0.len());
        (bytes > 0).then(|| Local::Device(self.0.address()))
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn memory(&mut self) -> Option<&mut dyn DeviceSlice<Element = D::Element>> {
        Some(&mut self.0)
    }
}

impl<D: DeviceSlice> Source for OnDevice<D> {}
impl<D: DeviceSliceMut> Destination for OnDevice<D> {}

impl<P: Part> Near for P {
    type Element = P::Element;

    fn local(&self) -> Option<Local<'_>> {
        self.place().map(Local::Symmetric)
    }

    fn count(&self) -> usize {
        Part::count(self)
    }
}

impl<P: Symmetric> Source for P {}
impl<P: SymmetricMut> Destination for P {}

impl<P: Part + ?Sized> Part for &P {
    type Element = P::Element;

    fn place(&self) -> Option<Offset<'_>> {
        (**self).place()
    }

    fn count(&self) -> usize {
        (**self).count()
    }
}

impl<P: Part + ?Sized> Part for &mut P {
    type Element = P::Element;

    fn place(&self) -> Option<Offset<'_>> {
        (**self).place()
    }

    fn count(&self) -> usize {
        (**self).count()
    }
}

impl<P: Symmetric + ?Sized> Symmetric for &P {}
impl<P: Symmetric + ?Sized> Symmetric for &mut P {}
impl<P: SymmetricMut + ?Sized> SymmetricMut for &mut P {}
