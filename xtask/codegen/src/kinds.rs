//! The kind of each argument: how it must be converted between the standard ABI and a library's
//! own.
//!
//! Decided by the C type and, where that is an `int` or a `void *`, by the argument's name. A name
//! that no rule knows is an error: nothing passes unconverted because nobody thought of it.

use anyhow::{Result, bail};

use crate::headers::{Argument, Function};

/// The words of the generated line for an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    /// `Comm`, `Rank`, `Same<c_int>`, ...
    pub text: String,
    /// No generic shim can convert it: an array, a callback, a value whose meaning depends on
    /// another.
    pub by_hand: bool,
}

impl Kind {
    pub(crate) fn is_same(&self) -> bool {
        self.text.starts_with("Same<")
    }
}

fn shim(text: &str) -> Kind {
    Kind {
        text: text.to_owned(),
        by_hand: false,
    }
}

fn same(rust: &str) -> Kind {
    Kind {
        text: format!("Same<{rust}>"),
        by_hand: false,
    }
}

fn by_hand(rust: &str) -> Kind {
    Kind {
        text: format!("Same<{rust}>"),
        by_hand: true,
    }
}

/// Handle types and their kinds.
pub(crate) const HANDLES: &[(&str, &str)] = &[
    ("MPI_Comm", "Comm"),
    ("MPI_Datatype", "Datatype"),
    ("MPI_Errhandler", "Errhandler"),
    ("MPI_File", "File"),
    ("MPI_Group", "Group"),
    ("MPI_Info", "Info"),
    ("MPI_Message", "Message"),
    ("MPI_Op", "Op"),
    ("MPI_Request", "Request"),
    ("MPI_Session", "Session"),
    ("MPI_Win", "Win"),
];

/// Arguments that are arrays of handles or of statuses, whatever the type says.
const HANDLE_ARRAYS: &str = "
    array_of_datatypes array_of_info array_of_requests array_of_statuses array_of_types recvtypes
    sendtypes
";

/// `int` by value with a meaning of its own.
const INTS: &[(&str, &str)] = &[
    ("amode", "FileMode"),
    ("assert", "Assert"),
    ("comm_keyval", "CommKeyval"),
    ("dest", "Rank"),
    ("error", "ErrorCode"),
    ("errorclass", "ErrorClass"),
    ("errorcode", "ErrorCode"),
    ("keyval", "CommKeyval"),
    ("local_leader", "Rank"),
    ("lock_type", "LockType"),
    ("order", "Order"),
    ("rank", "Rank"),
    ("recvtag", "Tag"),
    ("remote_leader", "Rank"),
    ("required", "ThreadLevel"),
    ("root", "Rank"),
    ("sendtag", "Tag"),
    ("source", "Rank"),
    ("split_type", "SplitType"),
    ("tag", "Tag"),
    ("target_rank", "Rank"),
    ("type_keyval", "TypeKeyval"),
    ("typeclass", "Typeclass"),
    ("var_class", "ToolClass"),
    ("whence", "Whence"),
    ("win_keyval", "WinKeyval"),
];

/// `int` by value that is a number or a flag in every library.
const PLAIN_INTS: &str = "
    argc blocklength buflen cat_index color commute complete count cvar_index direction disp
    disp_unit element_index event_index fd flag high incount indegree indx insize
    key len length level logical_size max_addresses max_datatypes max_integers maxdims maxedges
    maxindegree maxindex maxneighbors maxoutdegree maxprocs n ndims nnodes origin_count outcount
    outdegree outsize p partition partition_high partition_low partitions pvar_index r recvcount
    reorder result_count sendcount size source_index stride target_count valuelen
";

/// `int *` with a meaning of its own.
const OUT_INTS: &[(&str, &str)] = &[
    ("amode", "OutFileMode"),
    ("bind", "OutToolBind"),
    ("combiner", "OutCombiner"),
    ("comm_keyval", "OutCommKeyval"),
    ("error", "OutErrorCode"),
    ("errorclass", "OutErrorClass"),
    ("errorcode", "OutErrorCode"),
    ("keyval", "OutCommKeyval"),
    ("provided", "OutThreadLevel"),
    ("rank_dest", "OutRank"),
    ("rank_source", "OutRank"),
    ("scope", "OutToolScope"),
    ("source", "OutRank"),
    ("tag", "OutTag"),
    ("type_keyval", "OutTypeKeyval"),
    ("var_class", "OutToolClass"),
    ("verbosity", "OutToolVerbosity"),
    ("win_keyval", "OutWinKeyval"),
];

/// `int *` to numbers and flags; ranks that are never a sentinel except `MPI_UNDEFINED`,
/// which is the same number in every library (checked with the columns).
const PLAIN_INT_POINTERS: &str = "
    abi_major abi_minor argc array_of_blocklengths array_of_displacements
    array_of_gsizes array_of_indices array_of_integers array_of_maxprocs array_of_partitions
    array_of_psizes array_of_sizes array_of_starts array_of_subsizes atomic buflen cat_index
    commute continuous coords count cvar_index degrees desc_len destinations dims disp_unit
    displs edges event_index flag indegree indices indx is_set name_len ndims
    nedges neighbors newrank nkeys nneighbors nnodes npset_names num num_addresses num_cat
    num_categories num_cvar num_cvars num_datatypes num_elements num_events num_integers num_pvar
    num_pvars num_sources outcount outdegree periods position pset_len pvar_index rank ranks
    rdispls readonly recvcounts remain_dims resultlen sdispls sendcounts size source_index
    sources subversion update_number value valuelen version weighted
";

/// `int *` whose elements, or the pointer itself, need more than a generic shim: distributions,
/// error codes, ranks that may be `MPI_PROC_NULL`, weights that may be `MPI_UNWEIGHTED`.
const INT_ARRAYS_BY_HAND: &str = "
    array_of_dargs array_of_distribs array_of_errcodes destweights ranks1 ranks2 sourceweights weights
";

/// `void *` that may be `MPI_IN_PLACE`.
const BUFFERS: &str = "
    buf compare_addr inbuf inoutbuf origin_addr outbuf recvbuf result_addr sendbuf
";

/// `void *` that is an address, a state of the user's or the place of a pointer.
const PLAIN_POINTERS: &str = "
    attribute_val base baseptr extra_state location logical_false logical_true user_data
";

/// The kind of `argument` of `function`.
pub(crate) fn kind(function: &Function, argument: &Argument) -> Result<Kind> {
    let tool = function.name.starts_with("MPI_T_");
    let name = argument.name.as_str();
    let rust = argument.rust.as_str();
    let found = match rust {
        "c_int" => int(function, name),
        "*mut c_int" | "*const c_int" => int_pointer(function, name, rust),
        "*const c_void" | "*mut c_void" => pointer(function, name, rust),
        "MPI_Offset" if name == "disp" && function.name == "MPI_File_set_view" => {
            Some(shim("Displacement"))
        }
        "MPI_Aint" | "MPI_Count" | "MPI_Offset" => Some(same(rust)),
        "*mut MPI_Aint" | "*const MPI_Aint" | "*mut MPI_Count" | "*const MPI_Count"
        | "*mut MPI_Offset" => Some(same(rust)),
        "*const c_char" | "*mut c_char" | "*mut *mut c_char" | "*mut *mut *mut c_char" => {
            Some(same(rust))
        }
        "*mut [c_int; 3]" => Some(same(rust)),
        "*const MPI_Status" => Some(shim("InStatus")),
        "*mut MPI_Status" if listed(HANDLE_ARRAYS, name) => Some(by_hand(rust)),
        "*mut MPI_Status" if function.name.starts_with("MPI_Status_set_") => {
            Some(shim("InOutStatus"))
        }
        "*mut MPI_Status" => Some(shim("OutStatus")),
        "MPI_T_cb_safety" => Some(shim("ToolSafety")),
        "*mut MPI_T_source_order" => Some(shim("OutToolOrdering")),
        // Opaque pointers in every library; one of them has a sentinel.
        "MPI_T_pvar_handle" => Some(shim("ToolPvar")),
        _ if rust.trim_start_matches("*mut ").starts_with("MPI_T_")
            && !rust.ends_with("_function") =>
        {
            Some(same(rust))
        }
        _ if rust.ends_with("_function") || rust.ends_with("_function_c") => {
            Some(by_hand(&format!("Option<{rust}>")))
        }
        // What the library reads or writes until a request is over is the caller's.
        "*const MPI_Datatype" if is_later(function) && listed(HANDLE_ARRAYS, name) => {
            Some(by_hand("*const crate::native::DatatypeWord"))
        }
        "*mut MPI_Comm" if function.name.starts_with("MPI_Comm_idup") => Some(by_hand(rust)),
        _ => handle(name, rust, tool),
    };
    match found {
        Some(kind) => Ok(kind),
        None => bail!("{}: no rule for `{name}: {rust}`", function.name),
    }
}

/// Returns `true` if what it begins may be over after it has returned.
fn is_later(function: &Function) -> bool {
    function
        .arguments
        .iter()
        .any(|argument| argument.rust == "*mut MPI_Request")
}

fn handle(name: &str, rust: &str, tool: bool) -> Option<Kind> {
    let pointed = rust
        .strip_prefix("*mut ")
        .or_else(|| rust.strip_prefix("*const "));
    let (_, kind) = HANDLES
        .iter()
        .find(|(ty, _)| *ty == pointed.unwrap_or(rust))?;
    Some(match pointed {
        None => shim(kind),
        Some(_) if listed(HANDLE_ARRAYS, name) => by_hand(rust),
        Some(_) if rust.starts_with("*const ") => return None,
        // The tool interface lets any output be a null pointer.
        Some(_) if tool => shim(&format!("OutTool{kind}")),
        Some(_) => shim(&format!("Out{kind}")),
    })
}

fn int(function: &Function, name: &str) -> Option<Kind> {
    let this = function.name.as_str();
    if this.ends_with("_fromint") {
        return Some(same("c_int"));
    }
    // The rank of a process in a grid of processes, not in a communicator.
    if this.starts_with("MPI_Type_create_darray") && name == "rank" {
        return Some(same("c_int"));
    }
    // The status of a process, whose numbers are its user's.
    if this == "MPI_Abort" && name == "errorcode" {
        return Some(same("c_int"));
    }
    lookup(INTS, name).or_else(|| listed(PLAIN_INTS, name).then(|| same("c_int")))
}

fn int_pointer(function: &Function, name: &str, rust: &str) -> Option<Kind> {
    let this = function.name.as_str();
    match name {
        "result" if this.ends_with("_compare") => return Some(shim("OutComparison")),
        "status" if this == "MPI_Topo_test" => return Some(shim("OutTopology")),
        _ if listed(INT_ARRAYS_BY_HAND, name) => return Some(by_hand(rust)),
        _ if listed(PLAIN_INT_POINTERS, name) => return Some(same(rust)),
        _ => {}
    }
    if rust == "*mut c_int" {
        lookup(OUT_INTS, name)
    } else {
        None
    }
}

fn pointer(function: &Function, name: &str, rust: &str) -> Option<Kind> {
    let this = function.name.as_str();
    match name {
        // A pointer to a handle of the kind that the variable or event is bound to.
        "obj_handle" => Some(by_hand(rust)),
        "buf" | "buffer" if this.starts_with("MPI_T_") => Some(same(rust)),
        "buffer" if this.contains("attach") => Some(shim("AttachBuf")),
        "buffer_addr" if this.contains("detach") => Some(shim("OutAttachBuf")),
        "buffer" if this.to_ascii_lowercase().contains("bcast") => Some(shim("Buf")),
        _ if listed(BUFFERS, name) => Some(shim(if rust == "*mut c_void" {
            "Buf"
        } else {
            "ConstBuf"
        })),
        _ if listed(PLAIN_POINTERS, name) => Some(same(rust)),
        _ => None,
    }
}

/// Returns `true` if `name` is one of the words of `list`.
fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

fn lookup(table: &[(&str, &str)], name: &str) -> Option<Kind> {
    table
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, kind)| shim(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(function: &str, name: &str, rust: &str) -> Option<Kind> {
        let argument = Argument {
            name: name.to_owned(),
            rust: rust.to_owned(),
        };
        let function = Function {
            name: function.to_owned(),
            prototype: String::new(),
            arguments: Vec::new(),
            result: "c_int".to_owned(),
            variadic: false,
        };
        kind(&function, &argument).ok()
    }

    #[test]
    fn the_meaning_of_an_int_is_in_its_name() {
        assert_eq!(of("MPI_Send", "dest", "c_int"), Some(shim("Rank")));
        assert_eq!(of("MPI_Send", "count", "c_int"), Some(same("c_int")));
        assert_eq!(
            of("MPI_Cart_shift", "rank_source", "*mut c_int"),
            Some(shim("OutRank"))
        );
        assert_eq!(
            of("MPI_Comm_rank", "rank", "*mut c_int"),
            Some(same("*mut c_int"))
        );
        assert_eq!(
            of("MPI_Type_create_darray", "rank", "c_int"),
            Some(same("c_int"))
        );
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        assert_eq!(of("MPI_New", "flavour", "c_int"), None);
        assert_eq!(of("MPI_New", "flavour", "*mut c_int"), None);
        assert_eq!(of("MPI_New", "place", "*mut c_void"), None);
        assert_eq!(of("MPI_New", "requests", "*const MPI_Request"), None);
        assert_eq!(of("MPI_New", "result", "*mut c_int"), None);
    }

    #[test]
    fn arrays_and_callbacks_are_for_the_hand() {
        assert_eq!(
            of("MPI_Waitall", "array_of_requests", "*mut MPI_Request"),
            Some(by_hand("*mut MPI_Request"))
        );
        let callback = of("MPI_Op_create", "user_fn", "MPI_User_function");
        assert_eq!(callback, Some(by_hand("Option<MPI_User_function>")));
    }

    #[test]
    fn one_name_may_mean_two_things() {
        assert_eq!(of("MPI_Bcast", "buffer", "*mut c_void"), Some(shim("Buf")));
        assert_eq!(
            of("MPI_Buffer_attach", "buffer", "*mut c_void"),
            Some(shim("AttachBuf"))
        );
        assert_eq!(
            of("MPI_T_event_read", "buffer", "*mut c_void"),
            Some(same("*mut c_void"))
        );
        assert_eq!(
            of("MPI_T_source_get_info", "info", "*mut MPI_Info"),
            Some(shim("OutToolInfo"))
        );
    }
}
