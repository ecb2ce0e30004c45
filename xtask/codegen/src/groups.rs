//! Groups of the constants of the standard: data only.
//!
//! A constant that no group claims, or that two claim, stops the generator.

use crate::table::rows;

/// Constants that are converted together.
#[derive(Debug)]
pub(crate) struct Group {
    /// The name of the table in `columns.rs`.
    pub name: &'static str,
    /// The sort of one constant of it.
    pub about: &'static str,
    /// Its names; `*` stands for any end, and a name behind `!` is not meant.
    pub names: &'static str,
}

impl Group {
    pub(crate) fn holds(&self, name: &str) -> bool {
        let fits = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        };
        let mut names = self.names.split_whitespace();
        let is_left_out = |other: &str| other.strip_prefix('!').is_some_and(fits);
        !names.clone().any(is_left_out) && names.any(fits)
    }
}

/// The groups of [`VALUES`].
pub(crate) fn values() -> impl Iterator<Item = Group> {
    rows(VALUES).map(|[name, about, names]| Group { name, about, names })
}

/// Integers whose values a library chooses for itself.
const VALUES: &str = "\
UNDEFINED: Not defined.: MPI_UNDEFINED
RANK: A rank that is no process.: MPI_ANY_SOURCE MPI_PROC_NULL MPI_ROOT
TAG: Any tag.: MPI_ANY_TAG
THREAD_LEVEL: A level of thread support.: MPI_THREAD_*
SPLIT_TYPE: How `MPI_Comm_split_type` splits.: MPI_COMM_TYPE_*
COMPARISON: The result of a comparison.: MPI_CONGRUENT MPI_IDENT MPI_SIMILAR MPI_UNEQUAL
TOPOLOGY: A kind of process topology.: MPI_CART MPI_DIST_GRAPH MPI_GRAPH
ORDER: The order of an array's elements.: MPI_ORDER_*
DISTRIBUTION: How a dimension of an array is distributed.: MPI_DISTRIBUTE_*
TYPECLASS: A class of datatypes.: MPI_TYPECLASS_*
COMBINER: The constructor of a datatype.: MPI_COMBINER_*
LOCK_TYPE: A type of lock on a window.: MPI_LOCK_*
ASSERT: An assertion about accesses to a window; a bit.: MPI_MODE_NO*
WIN_FLAVOR: How a window was made.: MPI_WIN_FLAVOR_*
WIN_MODEL: The memory model of a window.: MPI_WIN_SEPARATE MPI_WIN_UNIFIED
FILE_MODE: How a file is opened; a bit.: MPI_MODE_* !MPI_MODE_NO*
WHENCE: From where a position in a file counts.: MPI_SEEK_*
DISPLACEMENT: The current displacement of a file.: MPI_DISPLACEMENT_CURRENT
KEYVAL_INVALID: No key of an attribute.: MPI_KEYVAL_INVALID
COMM_KEYVAL: The key of a predefined attribute of communicators.: MPI_APPNUM MPI_HOST MPI_IO MPI_LASTUSEDCODE MPI_TAG_UB MPI_UNIVERSE_SIZE MPI_WTIME_IS_GLOBAL
WIN_KEYVAL: The key of a predefined attribute of windows.: MPI_WIN_BASE MPI_WIN_CREATE_FLAVOR MPI_WIN_DISP_UNIT MPI_WIN_MODEL MPI_WIN_SIZE
ERROR_CLASS: An error class.: MPI_ERR_* MPI_T_ERR_* MPI_SUCCESS !MPI_ERR_LASTCODE
TOOL_VERBOSITY: Whom a variable of the tool interface concerns.: MPI_T_VERBOSITY_*
TOOL_BIND: The kind of object that a variable or event is bound to.: MPI_T_BIND_*
TOOL_SCOPE: Where a control variable must be changed.: MPI_T_SCOPE_*
TOOL_CLASS: A class of performance variables.: MPI_T_PVAR_CLASS_*
TOOL_SAFETY: What a callback of an event may do.: MPI_T_CB_REQUIRE_*
TOOL_ORDERING: Whether a source of events keeps their order.: MPI_T_SOURCE_*";

/// Addresses with a meaning, chosen by the library, and what they mean.
pub(crate) const POINTERS: &str = "\
MPI_BUFFER_AUTOMATIC: The library provides the buffer of buffered sends.
MPI_IN_PLACE: The data are in the other buffer of the call.
MPI_STATUSES_IGNORE: No statuses are wanted.
MPI_STATUS_IGNORE: No status is wanted.
MPI_T_PVAR_ALL_HANDLES: All performance variables of a session.
MPI_UNWEIGHTED: The edges of a graph have no weights.
MPI_WEIGHTS_EMPTY: The list of weights is empty.";

/// Null pointers in every library, which the generator checks, and what they mean.
pub(crate) const NULLS: &str = "\
MPI_ARGVS_NULL: No arguments for any command.
MPI_ARGV_NULL: No arguments.
MPI_BOTTOM: Displacements are absolute addresses.
MPI_CONVERSION_FN_NULL: No conversion of data.
MPI_CONVERSION_FN_NULL_C: No conversion of data, large counts.
MPI_ERRCODES_IGNORE: No error codes are wanted.
MPI_T_CVAR_HANDLE_NULL: No control variable.
MPI_T_ENUM_NULL: No enumeration.
MPI_T_PVAR_HANDLE_NULL: No performance variable.
MPI_T_PVAR_SESSION_NULL: No session of performance variables.";

/// Predefined callbacks of attributes.
pub(crate) const FUNCTIONS: &str = "\
MPI_COMM_DUP_FN: Copies an attribute as it is.
MPI_COMM_NULL_COPY_FN: Copies no attribute.
MPI_COMM_NULL_DELETE_FN: Does nothing with an attribute that goes.
MPI_DUP_FN: Copies an attribute as it is.
MPI_NULL_COPY_FN: Copies no attribute.
MPI_NULL_DELETE_FN: Does nothing with an attribute that goes.
MPI_TYPE_DUP_FN: Copies an attribute as it is.
MPI_TYPE_NULL_COPY_FN: Copies no attribute.
MPI_TYPE_NULL_DELETE_FN: Does nothing with an attribute that goes.
MPI_WIN_DUP_FN: Copies an attribute as it is.
MPI_WIN_NULL_COPY_FN: Copies no attribute.
MPI_WIN_NULL_DELETE_FN: Does nothing with an attribute that goes.";

/// Lengths, versions and positions: a library's own differ, and nothing that is passed to it says
/// so.
pub(crate) const LIMITS: Group = Group {
    name: "LIMITS",
    about: "A length, a version or the layout of a Fortran status, as in the standard ABI.",
    names: "MPI_ABI_* MPI_F_* MPI_MAX_* MPI_BSEND_OVERHEAD MPI_ERR_LASTCODE MPI_SUBVERSION MPI_VERSION",
};

/// Integers that must be equal in every library because they pass unconverted.
pub(crate) const EQUAL: &[&str] = &["MPI_SUCCESS", "MPI_UNDEFINED"];

/// Names of the standard that no header of Open MPI up to 5.0 defines; the generator checks that
/// these are all.
pub(crate) const ABSENT_IN_OPEN_MPI: &[&str] = &[
    "MPI_LOGICAL16",
    "MPI_COMM_TYPE_RESOURCE_GUIDED",
    "MPI_COMBINER_VALUE_INDEX",
    "MPI_ERR_ERRHANDLER",
    "MPI_ERR_ABI",
    "MPI_T_ERR_NOT_ACCESSIBLE",
    "MPI_T_ERR_NOT_SUPPORTED",
    "MPI_T_BIND_MPI_SESSION",
    "MPI_T_CB_REQUIRE_NONE",
    "MPI_T_CB_REQUIRE_MPI_RESTRICTED",
    "MPI_T_CB_REQUIRE_THREAD_SAFE",
    "MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE",
    "MPI_T_SOURCE_ORDERED",
    "MPI_T_SOURCE_UNORDERED",
    "MPI_BUFFER_AUTOMATIC",
    "MPI_CONVERSION_FN_NULL_C",
];
