//! The class of each function: how its entry in the table is made.

use anyhow::{Result, ensure};

use crate::headers::Function;
use crate::kinds::Kind;

/// Functions that return something other than an error code, besides those between handles and
/// integers: name and reason are in the standard, the type alone does not tell.
const NO_CODE: &[&str] = &["MPI_Aint_add", "MPI_Aint_diff", "MPI_Wtick", "MPI_Wtime"];

/// By hand for another reason than an argument: emulated where a library lacks them, or, as
/// attributes, with a value whose meaning depends on the key.
const BY_HAND: &[&str] = &[
    "MPI_Abi_get_version",
    "MPI_Aint_add",
    "MPI_Aint_diff",
    "MPI_Attr_get",
    "MPI_Comm_get_attr",
    "MPI_Type_get_attr",
    "MPI_Win_get_attr",
];

/// Called often enough to deserve an entry that converts nothing, besides those of whole families.
const HOT: &[&str] = &[
    "MPI_Accumulate",
    "MPI_Cancel",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Compare_and_swap",
    "MPI_Fetch_and_op",
    "MPI_Get",
    "MPI_Get_accumulate",
    "MPI_Get_count",
    "MPI_Get_elements",
    "MPI_Get_elements_x",
    "MPI_Parrived",
    "MPI_Pready",
    "MPI_Pready_range",
    "MPI_Put",
    "MPI_Raccumulate",
    "MPI_Request_free",
    "MPI_Request_get_status",
    "MPI_Rget",
    "MPI_Rget_accumulate",
    "MPI_Rput",
    "MPI_Start",
    "MPI_Test",
    "MPI_Test_cancelled",
    "MPI_Wait",
    "MPI_Win_fence",
    "MPI_Win_flush",
    "MPI_Win_flush_all",
    "MPI_Win_flush_local",
    "MPI_Win_flush_local_all",
    "MPI_Win_lock",
    "MPI_Win_lock_all",
    "MPI_Win_sync",
    "MPI_Win_unlock",
    "MPI_Win_unlock_all",
];

/// The class of `function`, as the generated line spells it.
pub(crate) fn class(
    function: &Function,
    family: &str,
    kinds: &[Kind],
    names: &[&str],
) -> Result<String> {
    let name = function.name.as_str();
    if function.variadic {
        ensure!(name == "MPI_Pcontrol", "{name} is variadic");
        return Ok("variadic".to_owned());
    }
    if is_of_integers(name) || BY_HAND.contains(&name) || kinds.iter().any(|kind| kind.by_hand) {
        return Ok("hand".to_owned());
    }
    if kinds.iter().all(Kind::is_same) {
        return Ok("same".to_owned());
    }
    // The large form of this one has an argument more than the other.
    let is_alike = name != "MPI_Type_get_envelope_c";
    if let Some(base) = name.strip_suffix("_c").filter(|_| is_alike) {
        // MPI 3.0 had forms of its own for large sizes; they say more than those that count in int.
        let older = format!("{base}_x");
        let base = if names.contains(&older.as_str()) {
            &older
        } else {
            base
        };
        ensure!(
            names.contains(&base),
            "{name} is the large-count form of nothing"
        );
        return Ok(format!("large({base})"));
    }
    Ok(if HOT.contains(&name) || is_hot_family(name, family) {
        "hot"
    } else {
        "shim"
    }
    .to_owned())
}

/// Returns `true` if what it returns is no error code.
pub(crate) fn has_no_code(name: &str) -> bool {
    is_of_integers(name) || NO_CODE.contains(&name)
}

/// Returns `true` if it makes an integer of a handle, or the other way round.
fn is_of_integers(name: &str) -> bool {
    name.ends_with("_toint") || name.ends_with("_fromint")
}

/// Communication that starts or completes at once: what sets up, attaches or frees is not.
fn is_hot_family(name: &str, family: &str) -> bool {
    let sets_up = name.ends_with("_init") || name.contains("uffer");
    matches!(family, "pt2pt" | "coll" | "neighbor") && !sets_up
}

/// That each name in the lists above is a function.
pub(crate) fn check_lists(names: &[&str]) -> Result<()> {
    for name in NO_CODE.iter().chain(BY_HAND).chain(HOT) {
        ensure!(
            names.contains(name),
            "{name} is in a list of the generator and in no header"
        );
    }
    Ok(())
}
