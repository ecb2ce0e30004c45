//! What is called, as far as it is known when the program is compiled.

use std::any::type_name;

/// Tells the name of a type.
pub type Name = fn() -> &'static str;

/// With whom a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// With all ranks of the communicator, which number such calls alike.
    Collective,
    /// With a rank, or it waits for what was begun with ranks.
    Message,
    /// With nobody: it is not recorded.
    Local,
}

/// Which ranks besides this one a call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranks {
    /// None: not even a tag is recorded.
    None,
    /// A root; or where a message comes from or goes to, and its tag.
    One,
    /// Where a message comes from, and its tag, while another one goes to a rank that is not recorded.
    OneOfTwo,
}

/// An operation, and on what: one for each place in a program that calls it, in memory that is never freed.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The C name.
    pub operation: &'static str,
    /// With whom.
    pub class: Class,
    /// The type of the elements, and its size.
    pub element: Option<(Name, usize)>,
    /// The type of the reduction.
    pub reduction: Option<Name>,
    /// Which other ranks it names.
    pub ranks: Ranks,
}

/// To begin what was prepared.
pub(crate) const START: &Kind = &Kind::of(Class::Message, "MPI_Start");
/// To wait for what was begun.
pub(crate) const WAIT: &Kind = &Kind::of(Class::Message, "MPI_Wait");
/// To ask for it.
pub(crate) const TEST: &Kind = &Kind::of(Class::Local, "MPI_Test");

impl Kind {
    /// A call of `class` that moves nothing.
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
        Self {
            ranks: Ranks::One,
            ..Self::with_element::<T>(Class::Message, operation)
        }
    }

    /// A receive of something that only its name tells.
    pub(crate) fn receive(operation: &'static str) -> &'static Self {
        match operation {
            "MPI_Irecv" => const { &Self::probe("MPI_Irecv") },
            other => Self::named(other),
        }
    }

    /// A look at a message.
    #[must_use]
    pub(crate) const fn probe(operation: &'static str) -> Self {
        Self {
            ranks: Ranks::One,
            ..Self::of(Class::Message, operation)
        }
    }

    /// Two messages of elements, one each way; what is recorded is of the one that comes.
    #[must_use]
    pub const fn messages<T>(operation: &'static str) -> Self {
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

    /// The same call with a root.
    #[must_use]
    pub const fn rooted(self) -> Self {
        Self {
            ranks: Ranks::One,
            ..self
        }
    }

    /// Whether it is recorded how many elements a call is of: where there is time for it.
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
