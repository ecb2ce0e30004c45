//! The phases of a [`SharedWindow`](crate::SharedWindow), as types.

/// Access to the memory for now; one of [`Write`], [`Read`] and [`Concurrent`].
pub trait Phase: Sealed {
    /// Name in errors.
    #[doc(hidden)]
    const NAME: &'static str;
}

/// Each rank writes its own segment, and sees no other.
#[derive(Debug)]
pub enum Write {}

/// Each rank reads all segments, and nobody writes.
#[derive(Debug)]
pub enum Read {}

/// Each rank loads and stores all segments through atomics.
#[derive(Debug)]
pub enum Concurrent {}

/// Out of reach from outside.
pub trait Sealed {}

impl Sealed for Write {}
impl Sealed for Read {}
impl Sealed for Concurrent {}

impl Phase for Write {
    const NAME: &'static str = "Write";
}

impl Phase for Read {
    const NAME: &'static str = "Read";
}

impl Phase for Concurrent {
    const NAME: &'static str = "Concurrent";
}
