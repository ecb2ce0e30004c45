//! The kind of a call: the part of its record that is known at compile time.

use std::any::type_name;

use crate::result::can_be_counted;

/// A function that returns the name of a type.
pub type Name = fn() -> &'static str;

/// The ranks that take part in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// All ranks of the communicator, which number such calls alike.
    Collective,
    /// One other rank, or it waits for operations with other ranks.
    Message,
    /// None: the call is not recorded.
    Local,
}

/// The other ranks that a call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranks {
    /// None: not even a tag is recorded.
    None,
    /// A root; or the source or destination of a message, and its tag.
    One,
    /// The source of a message, and its tag, while another message goes to a rank that is not
    /// recorded.
    OneOfTwo,
}

/// An operation and its types: one for each call site in a program, in memory that is never freed.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The C name.
    pub operation: &'static str,
    /// The ranks that take part.
    pub class: Class,
    /// The type of the elements, and its size.
    pub element: Option<(Name, usize)>,
    /// The type of the reduction.
    pub reduction: Option<Name>,
    /// The other ranks that it names.
    pub ranks: Ranks,
}

/// Starts a persistent operation.
pub(crate) const START: &Kind = &Kind::of(Class::Message, "MPI_Start");
/// Waits for completion.
pub(crate) const WAIT: &Kind = &Kind::of(Class::Message, "MPI_Wait");
/// Tests for completion.
pub(crate) const TEST: &Kind = &Kind::of(Class::Local, "MPI_Test");

impl Kind {
    /// A call of `class` that moves no elements.
    #[must_use]
    pub const fn of(class: Class, operation: &'static str) -> Self {
        Self {
            operation,
            class,
            element: None,
            reduction: None,
            ranks: Ranks::None,
        }
    }

    /// A collective that moves elements.
    #[must_use]
    pub const fn moving<T>(operation: &'static str) -> Self {
        Self::with_element::<T>(Class::Collective, operation)
    }

    /// A message of elements.
    #[must_use]
    pub const fn message<T>(operation: &'static str) -> Self {
        can_be_counted::<T>();
        Self {
            ranks: Ranks::One,
            ..Self::with_element::<T>(Class::Message, operation)
        }
    }

    /// A receive of which only the name is known.
    pub(crate) fn receive(operation: &'static str) -> &'static Self {
        match operation {
            "MPI_Irecv" => const { &Self::probe("MPI_Irecv") },
            other => Self::named(other),
        }
    }

    /// A probe.
    #[must_use]
    pub(crate) const fn probe(operation: &'static str) -> Self {
        Self {
            ranks: Ranks::One,
            ..Self::of(Class::Message, operation)
        }
    }

    /// Two messages of elements, one each way; the record is of the one that is received.
    #[must_use]
    pub const fn messages<T>(operation: &'static str) -> Self {
        can_be_counted::<T>();
        Self {
            ranks: Ranks::OneOfTwo,
            ..Self::with_element::<T>(Class::Message, operation)
        }
    }

    /// A collective that combines elements.
    #[must_use]
    pub const fn reducing<T, O>(operation: &'static str) -> Self {
        Self {
            reduction: Some(type_name::<O>),
            ..Self::moving::<T>(operation)
        }
    }

    /// Adds a root.
    #[must_use]
    pub const fn rooted(self) -> Self {
        Self {
            ranks: Ranks::One,
            ..self
        }
    }

    /// Returns `true` if the number of elements is recorded, as it is where there is time for it.
    #[inline(always)]
    pub(crate) fn has_items(&self) -> bool {
        self.element.is_some() && self.ranks != Ranks::OneOfTwo
    }

    const fn with_element<T>(class: Class, operation: &'static str) -> Self {
        Self {
            element: Some((type_name::<T>, size_of::<T>())),
            ..Self::of(class, operation)
        }
    }
}
