//! The phases of a [`SharedWindow`](crate::SharedWindow), as types.

/// Access to the memory for now; one of [`Write`], [`Read`], [`Concurrent`] and [`Passive`].
pub trait Phase: sealed::Sealed {
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

/// Each rank loads and stores the segments that it has locked.
#[derive(Debug)]
pub enum Passive {}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Write {}
    impl Sealed for super::Read {}
    impl Sealed for super::Concurrent {}
    impl Sealed for super::Passive {}
}

impl Phase for Write {
    const NAME: &'static str = "Write";
}

impl Phase for Read {
    const NAME: &'static str = "Read";
}

impl Phase for Concurrent {
    const NAME: &'static str = "Concurrent";
}

impl Phase for Passive {
    const NAME: &'static str = "Passive";
}
