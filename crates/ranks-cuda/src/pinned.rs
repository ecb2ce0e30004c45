//! Memory of the host that devices copy to and from while the program goes on.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use bytemuck::Pod;

use crate::driver::{Context, Cuda};
use crate::error::{Error, ErrorKind, Result};
use crate::table::HOST_PORTABLE;

/// Elements of the host that stay where they are, for all devices. It is a slice.
///
/// An operation that goes on owns it, so that it is never read or freed too early:
///
/// ```compile_fail,E0382
/// use ranks::cuda::{CudaStream, DeviceVec, PinnedVec, Result, Stream};
/// fn too_early(stream: &CudaStream, from: DeviceVec<f32>, to: PinnedVec<f32>) -> Result<f32> {
///     let _enqueued = stream.download(from, to)?;
///     Ok(to[0])
/// }
/// ```
#[doc(alias = "cuMemFreeHost")]
pub struct PinnedVec<T> {
    /// Taken in `drop` only.
    block: Option<Block>,
    len: usize,
    elements: PhantomData<*mut T>,
}

/// Memory of the driver's.
struct Block {
    context: Context,
    address: NonNull<c_void>,
}

// SAFETY: the memory belongs to this alone, and may be freed from any thread.
unsafe impl Send for Block {}
// SAFETY: shared references only read.
unsafe impl Sync for Block {}

// SAFETY: `Pod` values may be made of bytes, on any thread, by safe code: they belong to none.
unsafe impl<T: Pod> Send for PinnedVec<T> {}
// SAFETY: as above; nothing of `Pod` type changes behind a shared reference.
unsafe impl<T: Pod> Sync for PinnedVec<T> {}

impl Context {
    /// `len` elements of the host that stay where they are, all bits zero: devices copy to and from
    /// there while the program goes on.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::ErrorKind::OutOfMemory); what else the driver reports.
    #[doc(alias = "cuMemHostAlloc")]
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<PinnedVec<T>> {
        PinnedVec::zeroed(self, len)
    }
}

impl<T: Pod> PinnedVec<T> {
    pub(crate) fn zeroed(context: &Context, len: usize) -> Result<Self> {
        const CALL: &str = "cuMemHostAlloc";
        context.cuda().driver().aside.collect(Some(context));
        let bytes = size_of::<T>().checked_mul(len);
        let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
        let bytes = bytes.ok_or_else(|| {
            let text = format_args!("{len} elements of {} bytes are too many", size_of::<T>());
            Error::refused(ErrorKind::Argument, CALL, text)
        })?;
        // The driver has no empty memory, and aligns what it has to a page.
        let bytes = bytes.max(1);
        let mut address: *mut c_void = ptr::null_mut();
        context.call(CALL, |table| {
            // SAFETY: the driver writes one address to the address of one.
            unsafe { (table.cuMemHostAlloc)(&raw mut address, bytes, HOST_PORTABLE) }
        })?;
        let aligned = NonNull::new(address).filter(|at| at.cast::<T>().is_aligned());
        let Some(address) = aligned else {
            let text = format_args!("the driver gave an address that is of no use: {address:?}");
            return Err(Error::refused(ErrorKind::Driver, CALL, text));
        };
        // SAFETY: the driver has given so many bytes to this alone.
        unsafe { ptr::write_bytes(address.as_ptr().cast::<u8>(), 0, bytes) };
        let context = context.clone();
        Ok(PinnedVec {
            block: Some(Block { context, address }),
            len,
            elements: PhantomData,
        })
    }
}

impl<T> PinnedVec<T> {
    /// The driver.
    #[must_use]
    pub fn cuda(&self) -> Cuda {
        self.block().context.cuda()
    }

    fn block(&self) -> &Block {
        match &self.block {
            Some(block) => block,
            None => unreachable!("the block is taken by `drop` alone"),
        }
    }

    fn address(&self) -> *mut T {
        self.block().address.as_ptr().cast()
    }
}

impl<T> Deref for PinnedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `zeroed` has allocated and cleared room for so many elements, which are `Pod`;
        // operations that go on own the value, so that there is no reference to it meanwhile.
        unsafe { slice::from_raw_parts(self.address(), self.len) }
    }
}

impl<T> DerefMut for PinnedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and this is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.address(), self.len) }
    }
}

impl<T> Drop for PinnedVec<T> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let context = block.context.clone();
            let aside = &context.cuda().driver().aside;
            aside.release(&context, Vec::new(), block);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // A failure here is reported by the next call that matters.
        let _ = self.context.call("cuMemFreeHost", |table| {
            // SAFETY: the memory was allocated by `PinnedVec::zeroed`; what works on it owns the
            // value.
            unsafe { (table.cuMemFreeHost)(self.address.as_ptr()) }
        });
    }
}

impl<T> fmt::Debug for PinnedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pinned elements", self.len)
    }
}
