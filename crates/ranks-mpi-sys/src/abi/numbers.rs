//! Kinds of `int` arguments: ranks, tags, keyvals and the enumerations.

use std::ffi::c_int;

use super::Abi;
use super::column::{self, Enumeration};
use super::kinds::{Conversion, InInt, Nullable, OutDatatype, OutInfo, OutInt};
use crate::generated::columns::{self, Value};

/// A rank, or one of the negative constants that stand in place of one.
#[derive(Debug)]
pub(crate) struct Ranks;

struct SpecialRanks;

impl Enumeration for SpecialRanks {
    const VALUES: &'static [Value] = columns::RANK;
}

impl Conversion for Ranks {
    #[inline(always)]
    fn to_native<A: Abi>(standard: c_int) -> c_int {
        if standard >= 0 {
            standard
        } else {
            column::to_native::<A, SpecialRanks>(standard)
        }
    }
    #[inline(always)]
    fn to_standard<A: Abi>(native: c_int) -> c_int {
        if native >= 0 {
            native
        } else {
            column::to_standard::<A, SpecialRanks>(native)
        }
    }
}

/// A tag, or `MPI_ANY_TAG`.
#[derive(Debug)]
pub(crate) struct Tags;

impl Conversion for Tags {
    #[inline(always)]
    fn to_native<A: Abi>(standard: c_int) -> c_int {
        if standard == crate::MPI_ANY_TAG {
            A::ANY_TAG
        } else {
            standard
        }
    }
    #[inline(always)]
    fn to_standard<A: Abi>(native: c_int) -> c_int {
        if native == A::ANY_TAG {
            crate::MPI_ANY_TAG
        } else {
            native
        }
    }
}

/// A class of errors, or a code, as which a class serves as well (MPI 5.0 §9.4). Codes that are no
/// classes are the library's own, and so are classes that a program has added; neither has the
/// number of a class of the standard.
#[derive(Debug)]
pub(crate) struct Codes;

impl Conversion for Codes {
    #[inline(always)]
    fn to_native<A: Abi>(standard: c_int) -> c_int {
        if standard == crate::MPI_SUCCESS {
            return standard;
        }
        native_code::<A>(standard)
    }
    #[inline(always)]
    fn to_standard<A: Abi>(native: c_int) -> c_int {
        if native == crate::MPI_SUCCESS {
            return native;
        }
        standard_code::<A>(native)
    }
}

/// A class of the standard's that the library has no number for is `MPI_ERR_OTHER` to it.
#[cold]
#[inline(never)]
fn native_code<A: Abi>(standard: c_int) -> c_int {
    let class = |class: c_int| {
        columns::ERROR_CLASS
            .iter()
            .find(move |value| value.canonical == class)
    };
    let other = || class(crate::MPI_ERR_OTHER).and_then(A::column);
    match class(standard) {
        Some(value) => A::column(value).or_else(other).unwrap_or(standard),
        None => standard,
    }
}

/// A class of the library's own that has the number of another one of the standard's is
/// `MPI_ERR_OTHER`.
#[cold]
#[inline(never)]
fn standard_code<A: Abi>(native: c_int) -> c_int {
    let find =
        |wanted: &dyn Fn(&Value) -> bool| columns::ERROR_CLASS.iter().find(|value| wanted(value));
    match find(&|value| A::column(value) == Some(native)) {
        Some(value) => value.canonical,
        None if find(&|value| value.canonical == native).is_some() => crate::MPI_ERR_OTHER,
        None => native,
    }
}

/// A keyval: one of the predefined ones of `E`, the invalid one, or a user's, which is shifted out
/// of their way.
#[derive(Debug)]
pub(crate) struct Keyvals<E>(std::marker::PhantomData<E>);

struct InvalidKeyval;

impl Enumeration for InvalidKeyval {
    const VALUES: &'static [Value] = columns::KEYVAL_INVALID;
}

impl<E: Enumeration> Conversion for Keyvals<E> {
    #[inline(never)]
    fn to_native<A: Abi>(standard: c_int) -> c_int {
        let known = |value: &&Value| value.canonical == standard;
        let predefined = E::VALUES.iter().find(known);
        let value = predefined.or_else(|| InvalidKeyval::VALUES.iter().find(known));
        let native = value.and_then(|value| A::column(value));
        native.unwrap_or_else(|| standard.wrapping_sub(A::KEYVAL_SHIFT))
    }
    #[inline(never)]
    fn to_standard<A: Abi>(native: c_int) -> c_int {
        let known = |value: &&Value| A::column(value) == Some(native);
        let predefined = E::VALUES.iter().find(known);
        let value = predefined.or_else(|| InvalidKeyval::VALUES.iter().find(known));
        value.map_or_else(
            || native.wrapping_add(A::KEYVAL_SHIFT),
            |value| value.canonical,
        )
    }
}

/// The predefined attributes of communicators.
#[derive(Debug)]
pub(crate) struct CommAttributes;

impl Enumeration for CommAttributes {
    const VALUES: &'static [Value] = columns::COMM_KEYVAL;
}

/// Datatypes have no predefined attributes.
#[derive(Debug)]
pub(crate) struct TypeAttributes;

impl Enumeration for TypeAttributes {
    const VALUES: &'static [Value] = &[];
}

/// The predefined attributes of windows.
#[derive(Debug)]
pub(crate) struct WinAttributes;

impl Enumeration for WinAttributes {
    const VALUES: &'static [Value] = columns::WIN_KEYVAL;
}

pub(crate) type Rank = InInt<Ranks>;
pub(crate) type OutRank = OutInt<Ranks>;
pub(crate) type Tag = InInt<Tags>;
pub(crate) type OutTag = OutInt<Tags>;
pub(crate) type CommKeyval = InInt<Keyvals<CommAttributes>>;
pub(crate) type OutCommKeyval = OutInt<Keyvals<CommAttributes>>;
pub(crate) type TypeKeyval = InInt<Keyvals<TypeAttributes>>;
pub(crate) type OutTypeKeyval = OutInt<Keyvals<TypeAttributes>>;
pub(crate) type WinKeyval = InInt<Keyvals<WinAttributes>>;
pub(crate) type OutWinKeyval = OutInt<Keyvals<WinAttributes>>;

macro_rules! enumerations {
    ($($(#[$doc:meta])* $name:ident: $values:ident $(, bits: $bits:literal)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Enumeration for $name {
            const VALUES: &'static [Value] = columns::$values;
            $(const BITS: bool = $bits;)?
        }
    )*};
}

enumerations! {
    /// Thread levels.
    ThreadLevels: THREAD_LEVEL;
    /// Access modes of files.
    FileModes: FILE_MODE, bits: true;
    /// Assertions of windows.
    Asserts: ASSERT, bits: true;
    /// Locks of windows.
    LockTypes: LOCK_TYPE;
    /// Ways of splitting by type.
    SplitTypes: SPLIT_TYPE;
    /// Orders of arrays.
    Orders: ORDER;
    /// Origins of seeking.
    Whences: WHENCE;
    /// Classes of Fortran types.
    Typeclasses: TYPECLASS;
    /// Results of comparing.
    Comparisons: COMPARISON;
    /// Kinds of topology.
    Topologies: TOPOLOGY;
    /// Constructors of datatypes.
    Combiners: COMBINER;
    /// The displacement that stands for the current one.
    Displacements: DISPLACEMENT;
    /// Verbosities of the tool interface.
    ToolVerbosities: TOOL_VERBOSITY;
    /// Objects that variables are bound to.
    ToolBinds: TOOL_BIND;
    /// Scopes of control variables.
    ToolScopes: TOOL_SCOPE;
    /// Classes of performance variables.
    ToolClasses: TOOL_CLASS;
    /// Safety levels of callbacks.
    ToolSafeties: TOOL_SAFETY;
    /// Ordering of events.
    ToolOrderings: TOOL_ORDERING;
}

pub(crate) type ThreadLevel = InInt<ThreadLevels>;
pub(crate) type OutThreadLevel = OutInt<ThreadLevels>;
pub(crate) type FileMode = InInt<FileModes>;
pub(crate) type OutFileMode = OutInt<FileModes>;
pub(crate) type Assert = InInt<Asserts>;
pub(crate) type LockType = InInt<LockTypes>;
pub(crate) type SplitType = InInt<SplitTypes>;
pub(crate) type Order = InInt<Orders>;
pub(crate) type Whence = InInt<Whences>;
pub(crate) type Typeclass = InInt<Typeclasses>;
pub(crate) type ErrorClass = InInt<Codes>;
pub(crate) type OutErrorClass = OutInt<Codes>;
pub(crate) type ErrorCode = InInt<Codes>;
pub(crate) type OutErrorCode = OutInt<Codes>;
pub(crate) type OutComparison = OutInt<Comparisons>;
pub(crate) type OutTopology = OutInt<Topologies>;
pub(crate) type OutCombiner = OutInt<Combiners>;
pub(crate) type ToolClass = InInt<ToolClasses>;
pub(crate) type ToolSafety = InInt<ToolSafeties>;
pub(crate) type OutToolVerbosity = Nullable<OutInt<ToolVerbosities>>;
pub(crate) type OutToolBind = Nullable<OutInt<ToolBinds>>;
pub(crate) type OutToolScope = Nullable<OutInt<ToolScopes>>;
pub(crate) type OutToolClass = Nullable<OutInt<ToolClasses>>;
pub(crate) type OutToolOrdering = Nullable<OutInt<ToolOrderings>>;
pub(crate) type OutToolDatatype = Nullable<OutDatatype>;
pub(crate) type OutToolInfo = Nullable<OutInfo>;
