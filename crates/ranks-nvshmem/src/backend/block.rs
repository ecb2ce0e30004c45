//! One allocation of the symmetric heap as this PE sees it, and places in it.

use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// One allocation: as many bytes on every PE.
#[derive(Debug)]
pub(crate) struct Block {
    /// The address of this PE's part: memory of the device, or of the host in process.
    pub(crate) local: NonNull<u8>,
    /// Its length in bytes, the same on all PEs, and not 0.
    pub(crate) bytes: usize,
    /// Its number among the allocations of the heap, the same on all PEs.
    pub(crate) number: u64,
    /// Data that the backend keeps with it: in process the parts of all PEs, over the library
    /// [`Known`] memory of the program.
    pub(crate) kept: Option<Box<dyn Any>>,
}

/// Memory of the program that the library was told of: it stays for ever, unless the library has
/// said that it works on it no more.
pub(crate) struct Known(ManuallyDrop<Box<dyn Any>>);

impl Known {
    pub(crate) fn new(memory: Box<dyn Any>) -> Self {
        Self(ManuallyDrop::new(memory))
    }

    /// The library knows of it no more.
    pub(crate) fn release(self) {
        drop(ManuallyDrop::into_inner(self.0));
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Known")
    }
}

/// The offset of something in an allocation: the same on every PE. Whoever makes one has checked
/// that what is there lies inside.
#[derive(Debug, Clone, Copy)]
pub struct Offset<'a> {
    pub(crate) block: &'a Block,
    /// In bytes from the beginning.
    pub(crate) offset: usize,
}

/// Memory of this PE that something is put from or gotten into.
#[derive(Debug, Clone, Copy)]
pub enum Local<'a> {
    /// In the symmetric heap.
    Symmetric(Offset<'a>),
    /// Other memory of the PE's device; not in process.
    Device(u64),
}
