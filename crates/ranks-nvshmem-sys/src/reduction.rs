//! The reductions: one function for each operation and type, looked up by name when it is needed
//! first.

use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use ranks_load::{Library, function};

use crate::generated::reductions::Element;
use crate::generated::types::{cudaStream_t, nvshmem_team_t};

/// A reduction that is done when it returns: team, destination, source, number of elements.
pub type Reduction =
    unsafe extern "C" fn(nvshmem_team_t, *mut c_void, *const c_void, usize) -> c_int;

/// A reduction that is enqueued.
pub type ReductionOnStream =
    unsafe extern "C" fn(nvshmem_team_t, *mut c_void, *const c_void, usize, cudaStream_t) -> c_int;

/// The form of a reduction: which PE has what of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "NVSHMEM has these two")]
pub enum Form {
    /// Every PE all of it.
    Reduce,
    /// Every PE its part.
    ReduceScatter,
}

/// The operation that combines elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_enums, reason = "NVSHMEM has these seven")]
pub enum Operation {
    /// Addition.
    Sum,
    /// Multiplication.
    Prod,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Each bit that is set in all. Of elements that [have bits](Element::has_bits), as are the
    /// next two.
    And,
    /// Each bit that is set in any.
    Or,
    /// Each bit that is set in an odd number.
    Xor,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 7] = [
        Operation::Sum,
        Operation::Prod,
        Operation::Min,
        Operation::Max,
        Operation::And,
        Operation::Or,
        Operation::Xor,
    ];

    fn name(self) -> &'static str {
        match self {
            Operation::Sum => "sum",
            Operation::Prod => "prod",
            Operation::Min => "min",
            Operation::Max => "max",
            Operation::And => "and",
            Operation::Or => "or",
            Operation::Xor => "xor",
        }
    }
}

/// The name of one: `nvshmem_float_sum_reduce`, `nvshmemx_int32_xor_reducescatter_on_stream`.
pub(crate) fn name(form: Form, operation: Operation, element: Element, on_stream: bool) -> String {
    let (prefix, suffix) = if on_stream {
        ("nvshmemx", "_on_stream")
    } else {
        ("nvshmem", "")
    };
    let form = match form {
        Form::Reduce => "reduce",
        Form::ReduceScatter => "reducescatter",
    };
    let (element, operation) = (element.name(), operation.name());
    format!("{prefix}_{element}_{operation}_{form}{suffix}")
}

/// The number of functions there could be, were there all operations of all types.
const COUNT: usize = 2 * 2 * Operation::ALL.len() * Element::ALL.len();

/// The address that stands for a function that was looked for and is not there.
static ABSENT: u8 = 0;

/// The addresses that are known, each null until it is looked for.
pub(crate) struct Reductions([AtomicPtr<c_void>; COUNT]);

impl Reductions {
    pub(crate) fn new() -> Box<Reductions> {
        Box::new(Reductions([const { AtomicPtr::new(null_mut()) }; COUNT]))
    }

    pub(crate) fn now(
        &self,
        library: &Library,
        form: Form,
        operation: Operation,
        element: Element,
    ) -> Option<Reduction> {
        let address = self.address(library, form, operation, element, false);
        // SAFETY: functions of these names have this type, as is checked when the types of elements
        // are generated.
        unsafe { function(address) }
    }

    pub(crate) fn on_stream(
        &self,
        library: &Library,
        form: Form,
        operation: Operation,
        element: Element,
    ) -> Option<ReductionOnStream> {
        let address = self.address(library, form, operation, element, true);
        // SAFETY: functions of these names have this type, as is checked when the types of elements
        // are generated.
        unsafe { function(address) }
    }

    #[inline]
    fn address(
        &self,
        library: &Library,
        form: Form,
        operation: Operation,
        element: Element,
        on_stream: bool,
    ) -> Option<NonNull<c_void>> {
        let family = 2 * form as usize + usize::from(on_stream);
        let at = (family * Operation::ALL.len() + operation as usize) * Element::ALL.len()
            + element as usize;
        let kept = self.0.get(at)?;
        // The address itself is all that is passed on: there is nothing that it has to come after.
        let known = kept.load(Ordering::Relaxed);
        if known.is_null() {
            return look_up(library, kept, &name(form, operation, element, on_stream));
        }
        NonNull::new(known).filter(|known| known.as_ptr() != absent())
    }
}

/// Looks for one, and keeps what was found.
#[cold]
fn look_up(library: &Library, kept: &AtomicPtr<c_void>, name: &str) -> Option<NonNull<c_void>> {
    let name = CString::new(name).ok()?;
    let found = library.own_symbol(&name);
    kept.store(
        found.map_or_else(absent, NonNull::as_ptr),
        Ordering::Relaxed,
    );
    found
}

fn absent() -> *mut c_void {
    (&raw const ABSENT).cast_mut().cast()
}

impl fmt::Debug for Reductions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reductions").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_those_of_the_library() {
        assert_eq!(
            name(Form::Reduce, Operation::Sum, Element::Float, false),
            "nvshmem_float_sum_reduce"
        );
        assert_eq!(
            name(Form::ReduceScatter, Operation::Xor, Element::Int32, true),
            "nvshmemx_int32_xor_reducescatter_on_stream"
        );
    }

    #[test]
    fn what_is_numbered_by_its_place_stands_there() {
        for (at, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, at);
        }
        for (at, element) in Element::ALL.into_iter().enumerate() {
            assert_eq!(element as usize, at);
        }
        let names: HashSet<_> = Element::ALL.map(Element::name).into_iter().collect();
        assert_eq!(names.len(), 24);
        let bits = Element::ALL.iter().filter(|element| element.has_bits());
        assert_eq!(bits.count(), 14);
    }
}
