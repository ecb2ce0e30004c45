//! A buffer that records when it is freed.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ranks_comm::{RecvBuffer, SendBuffer};

/// A flag that is set when a buffer is freed.
#[derive(Default)]
pub(crate) struct Watch(Arc<AtomicBool>);

impl Watch {
    pub(crate) fn freed(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) struct Watched {
    elements: Vec<u8>,
    freed: Arc<AtomicBool>,
    panics: bool,
}

impl Watched {
    pub(crate) fn new(length: usize, watch: &Watch) -> Self {
        Self {
            elements: vec![0; length],
            freed: Arc::clone(&watch.0),
            panics: false,
        }
    }

    /// A buffer that panics when it is asked for the address of its elements.
    pub(crate) fn panicking(length: usize) -> Self {
        let mut buffer = Self::new(length, &Watch::default());
        buffer.panics = true;
        buffer
    }

    pub(crate) fn elements(&mut self) -> &mut [u8] {
        &mut self.elements
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.freed.store(true, Ordering::SeqCst);
    }
}

// SAFETY: the elements are a vector's, on the heap, and nobody else's.
unsafe impl SendBuffer for Watched {
    type Element = u8;
    fn as_slice(&self) -> &[u8] {
        if self.panics {
            std::panic::resume_unwind(Box::new("the buffer panicked"));
        }
        &self.elements
    }
}

// SAFETY: as above.
unsafe impl RecvBuffer for Watched {
    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.elements
    }
}
