//! This rank's part of a window while others may access it: copied element by element, never lent.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use bytemuck::Pod;

use super::window::Window;

impl<T: Pod> Window<T> {
    /// Copies elements from `at` on, which the caller knows to be there.
    ///
    /// # Safety
    /// The part has so many.
    pub(crate) unsafe fn read(&self, at: usize, into: &mut [T]) {
        // SAFETY: by contract.
        let from = unsafe { self.elements.first.add(at) };
        let bytes = size_of_val(into);
        let (from, to) = (from.as_ptr().cast::<u8>(), into.as_mut_ptr().cast::<u8>());
        let copy = match align_of::<T>() {
            1 => load::<u8>,
            2 => load::<u16>,
            4 => load::<u32>,
            _ => load::<u64>,
        };
        // SAFETY: `bytes` are there on both sides, aligned for `T`; `into` is borrowed, and peers
        // write in the window alone.
        unsafe { copy(from, to, bytes) }
    }

    /// Copies `data` to the elements from `at` on, which the caller knows to be there.
    ///
    /// # Safety
    /// The part has so many.
    pub(crate) unsafe fn write(&self, at: usize, data: &[T]) {
        // SAFETY: by contract.
        let to = unsafe { self.elements.first.add(at) };
        let bytes = size_of_val(data);
        let (from, to) = (data.as_ptr().cast::<u8>(), to.as_ptr().cast::<u8>());
        let copy = match align_of::<T>() {
            1 => store::<u8>,
            2 => store::<u16>,
            4 => store::<u32>,
            _ => store::<u64>,
        };
        // SAFETY: `bytes` are there on both sides, aligned for `T`; `data` is borrowed, and not in
        // the window.
        unsafe { copy(from, to, bytes) }
    }
}

/// A word that is read and written in one go, whatever else happens to the memory.
trait Word: Pod {
    /// # Safety
    /// `at` is aligned, and points to such a word in memory of ours, which is changed by others
    /// only in the same way.
    unsafe fn load(at: *mut Self) -> Self;
    /// # Safety
    /// As above.
    unsafe fn store(self, at: *mut Self);
}

macro_rules! words {
    ($($word:ty: $atomic:ty;)*) => { $(
        impl Word for $word {
            #[inline(always)]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: by contract.
                let word = unsafe { <$atomic>::from_ptr(at) };
                word.load(Ordering::Relaxed)
            }

            #[inline(always)]
            unsafe fn store(self, at: *mut Self) {
                // SAFETY: by contract.
                let word = unsafe { <$atomic>::from_ptr(at) };
                word.store(self, Ordering::Relaxed);
            }
        }
    )* };
}

words! { u8: AtomicU8; u16: AtomicU16; u32: AtomicU32; u64: AtomicU64; }

/// # Safety
/// `bytes`, a multiple of the word, are at `from` and at `to`, both aligned for it; nobody else has
/// those at `to`.
unsafe fn load<W: Word>(from: *mut u8, to: *mut u8, bytes: usize) {
    let (from, to) = (from.cast::<W>(), to.cast::<W>());
    for index in 0..bytes / size_of::<W>() {
        // SAFETY: by contract.
        let from = unsafe { from.add(index) };
        // SAFETY: by contract.
        let word = unsafe { W::load(from) };
        // SAFETY: by contract.
        let to = unsafe { to.add(index) };
        // SAFETY: by contract.
        unsafe { to.write(word) };
    }
}

/// # Safety
/// `bytes`, a multiple of the word, are at `from` and at `to`, both aligned for it; nobody writes
/// to those at `from`.
unsafe fn store<W: Word>(from: *const u8, to: *mut u8, bytes: usize) {
    let (from, to) = (from.cast::<W>(), to.cast::<W>());
    for index in 0..bytes / size_of::<W>() {
        // SAFETY: by contract.
        let from = unsafe { from.add(index) };
        // SAFETY: by contract.
        let word = unsafe { from.read() };
        // SAFETY: by contract.
        let to = unsafe { to.add(index) };
        // SAFETY: by contract.
        unsafe { word.store(to) };
    }
}
