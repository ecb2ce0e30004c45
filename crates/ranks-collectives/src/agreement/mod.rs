//! The agreement of all ranks to call the same, before a collective, where [`Checks::Collective`]
//! is in force.
//!
//! [`Checks::Collective`]: ranks_comm::Checks::Collective

mod begun;
mod edges;

use std::fmt::{self, Debug, Display};

use ranks_comm::backend::{Backend, CallDescription, digest, parts_of};
use ranks_comm::record::{self, Class, Kind};
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_launch::Count;
use ranks_mpi_sys as sys;

use crate::arguments::proven::Proven;
use edges::Of;

pub(crate) use begun::begin;

/// A call, as far as it must be the same everywhere.
#[derive(Clone, Copy)]
pub(crate) struct CallSignature {
    kind: Kind,
    root: Option<usize>,
    /// The number of the object that is called, of those of its type that the ranks have made.
    object: Option<u64>,
    /// A difference to other calls of the same operation.
    manner: Option<&'static str>,
}

impl CallSignature {
    /// An operation of that C name.
    pub(crate) const fn of(operation: &'static str) -> Self {
        Self::of_kind(Kind::of(Class::Collective, operation))
    }

    pub(crate) const fn moving<T>(operation: &'static str) -> Self {
        Self::of_kind(Kind::moving::<T>(operation))
    }

    pub(crate) const fn reducing<T, O>(operation: &'static str) -> Self {
        Self::of_kind(Kind::reducing::<T, O>(operation))
    }

    const fn of_kind(kind: Kind) -> Self {
        Self {
            kind,
            root: None,
            object: None,
            manner: None,
        }
    }

    /// A call of that kind, with that root.
    pub(crate) fn like(kind: &Kind, root: Option<usize>) -> Self {
        Self {
            root,
            ..Self::of_kind(*kind)
        }
    }

    pub(crate) const fn at(self, root: usize) -> Self {
        Self {
            kind: self.kind.rooted(),
            root: Some(root),
            ..self
        }
    }

    /// The same of the object with that number.
    pub(crate) const fn on(self, number: u64) -> Self {
        Self {
            object: Some(number),
            ..self
        }
    }

    /// The same with a root, if the operation has one.
    pub(crate) fn rooted(self, root: Option<usize>) -> Self {
        match root {
            Some(root) => self.at(root),
            None => self,
        }
    }

    /// The same by an operation whose operands the library may not swap.
    pub(crate) fn in_order(self, is_in_order: bool) -> Self {
        let manner = is_in_order.then_some("in the order of ranks");
        Self { manner, ..self }
    }

    /// The same as the first of several calls, by which ranks find out lengths, say.
    fn in_steps(self) -> Self {
        let manner = self.manner.or(Some("in several steps"));
        Self { manner, ..self }
    }

    /// The C name.
    pub(crate) fn operation(&self) -> &'static str {
        self.kind.operation
    }

    /// As it is recorded.
    fn recorded(&self, elements: usize) -> record::Call {
        recorded(self.kind.known(), self.root, elements)
    }
}

/// A call of that kind, with that root, as it is recorded.
#[inline(always)]
fn recorded(kind: &'static Kind, root: Option<usize>, elements: usize) -> record::Call {
    let call = record::Call::of(kind).items(elements);
    match root {
        Some(root) => call.root(root),
        None => call,
    }
}

/// Does a collective by `by`, which chooses the backend, if this thread may, and if all ranks agree
/// where they compare.
///
/// `proven` may be an error, which the other ranks are told of then.
pub(crate) fn carry_out<P: Proven, R>(
    comm: &Communicator,
    call: CallSignature,
    proven: Result<P>,
    by: impl FnOnce(P) -> Result<R>,
) -> Result<R> {
    let elements = proven.as_ref().map_or(0, Proven::elements);
    let mut entered = comm.enter(call.recorded(elements))?;
    let result = compared(comm, call, proven).and_then(by);
    entered.note(&result);
    result
}

/// The same error on all ranks that compare, if one of them has one before a call of several steps.
pub(crate) fn all_ready<P: Proven>(
    comm: &Communicator,
    call: CallSignature,
    ready: Result<P>,
) -> Result<P> {
    let _entered = comm.enter_unrecorded(call.kind.operation)?;
    compared(comm, call.in_steps(), ready)
}

/// The same error on all ranks unless they call the same, whether they compare their calls or not.
pub(crate) fn in_any_case(comm: &Communicator, call: CallSignature) -> Result<()> {
    let mut entered = comm.enter(call.recorded(0))?;
    let result = agreed(comm, call, Ok(()));
    entered.note(&result);
    result
}

/// The same for who was let in.
fn compared<P: Proven>(comm: &Communicator, call: CallSignature, ready: Result<P>) -> Result<P> {
    if comm.compares_calls() {
        let ready = ready.and_then(|proven| offered(comm, call, proven));
        agreed(comm, call, ready)
    } else {
        ready
    }
}

/// Returns an error if the library has no function for such blocks, which this rank alone knows:
/// the others are told of it where ranks compare their calls, and the call itself fails elsewhere.
fn offered<P: Proven>(comm: &Communicator, call: CallSignature, proven: P) -> Result<P> {
    if proven.is_large() && matches!(comm.backend(), Backend::Mpi(_)) {
        large_is_offered(call.operation())?;
    }
    Ok(proven)
}

/// Returns an error if the library has no form of that function for blocks that an `int` cannot
/// say.
#[cold]
pub(crate) fn large_is_offered(operation: &'static str) -> Result<()> {
    let large = format!("{operation}_c");
    if sys::function(&large).is_some_and(sys::Function::is_in_library) {
        return Ok(());
    }
    let why = format_args!(
        "blocks of this rank are 2³¹ items or more together, or one begins so far into its slice, and {large} is not in this library ({}); \
         have all ranks use alltoallw or neighbor_alltoallw, which place blocks by their addresses, or take a library of MPI 4",
        sys::loaded().map_or("", |library| library.name())
    );
    Err(Error::new(ErrorKind::NotInLibrary, operation, why))
}

#[cold]
fn agreed<P: Proven>(comm: &Communicator, call: CallSignature, proven: Result<P>) -> Result<P> {
    let all = all_agree(comm, call, proven.as_ref().map(|proven| proven as _));
    // Why this rank refuses is more to the point than that one does.
    let proven = proven?;
    all.map(|()| proven)
}

/// Compares what ranks have proven; compiled once, whatever that is.
fn all_agree(
    comm: &Communicator,
    call: CallSignature,
    proven: Result<&dyn Proven, &Error>,
) -> Result<()> {
    comm.compare_descriptions(call.kind.operation, &told(call, proven))?;
    let Ok(proven) = proven else {
        return Ok(());
    };
    if let Some(pairs) = proven.pairs() {
        let ends = edges::of_pairs(comm.rank(), pairs);
        edges::compare(comm, call.kind.operation, Of::All, ends)?;
    }
    if let Some([out, into]) = proven.edges() {
        let ends = edges::of_neighbors(&out, &into).into_iter();
        edges::compare(comm, call.kind.operation, Of::Neighbors, ends)?;
    }
    Ok(())
}

/// The description of a call, or of the error for which this rank refuses it.
fn told(call: CallSignature, proven: Result<&dyn Proven, &Error>) -> CallDescription {
    match proven {
        Ok(proven) => description(call, proven.argument(), &proven.lengths()),
        Err(error) => CallDescription::refusing(error),
    }
}

/// The words of a rank about its call.
fn description(
    call: CallSignature,
    argument: Option<&dyn Debug>,
    lengths: &[usize],
) -> CallDescription {
    fn text(text: &str) -> impl Iterator<Item = u64> + '_ {
        let length = text.len() as u64;
        std::iter::once(length).chain(text.bytes().map(u64::from))
    }
    let argument = argument.map(|argument| format!("{argument:?}"));
    let element = call
        .kind
        .element
        .map(|(name, size)| text(name()).chain([size as u64]));
    let reduction = call.kind.reduction.map(|name| text(name()));
    let numbers = call.root.iter().chain(lengths).map(|&number| number as u64);
    let digest = digest(
        text(call.kind.operation)
            .chain(element.into_iter().flatten())
            .chain(reduction.into_iter().flatten())
            .chain(numbers)
            .chain(call.object)
            .chain(call.manner.into_iter().flat_map(text))
            .chain(argument.iter().flat_map(|argument| text(argument))),
    );
    let described = Described {
        call,
        argument: argument.as_deref(),
        lengths,
    };
    CallDescription::calling(digest, &described.to_string())
}

/// A call as a reader of an error wants it: `MPI_Reduce of 3 f64 with Sum to rank 0`.
struct Described<'a> {
    call: CallSignature,
    argument: Option<&'a str>,
    lengths: &'a [usize],
}

impl Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The most lengths that are listed.
        const MOST: usize = 16;
        f.write_str(self.call.kind.operation)?;
        if let Some(argument) = self.argument {
            write!(f, "({argument})")?;
        }
        if let Some((name, _)) = self.call.kind.element {
            let name = parts_of(name());
            let name = short(&name);
            match self.lengths {
                [] => write!(f, " of {name}")?,
                [length] => write!(f, " of {length} {name}")?,
                lengths if lengths.len() > MOST => {
                    let (first, more) = lengths.split_at(MOST);
                    write!(
                        f,
                        " of {first:?} and {} {name}",
                        Count(more.len(), "more length")
                    )?;
                }
                lengths => write!(f, " of {lengths:?} {name}")?,
            }
        }
        if let Some(reduction) = self.call.kind.reduction {
            write!(f, " with {}", short(reduction()))?;
        }
        if let Some(root) = self.call.root {
            write!(f, ", root {root}")?;
        }
        if let Some(number) = self.call.object {
            write!(f, ", on object {number}")?;
        }
        match self.call.manner {
            Some(manner) => write!(f, ", {manner}"),
            None => Ok(()),
        }
    }
}

/// The name of a type without the modules that it is in.
fn short(name: &str) -> &str {
    let end = name.find('<').unwrap_or(name.len());
    let start = name[..end].rfind("::").map_or(0, |colons| colons + 2);
    &name[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened_to_what_tells_them_apart() {
        assert_eq!(short("f64"), "f64");
        assert_eq!(short("ranks_collectives::ops::Sum"), "Sum");
        assert_eq!(short("a::Complex<b::C>"), "Complex<b::C>");
    }

    #[test]
    fn a_call_is_told_as_it_was_made() {
        let call = CallSignature::moving::<f64>("MPI_Bcast").at(0);
        let all = [
            description(call, None, &[4]),
            description(call, None, &[5]),
            description(call, None, &[4]),
        ];
        let error = CallDescription::compare(
            "MPI_Bcast",
            &all.each_ref().map(CallDescription::bytes).concat(),
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "MPI_Bcast: collective calls are mismatched: ranks 0 and 2 call MPI_Bcast of 4 f64, root 0; \
             rank 1 calls MPI_Bcast of 5 f64, root 0"
        );
    }
}
