//! Kinds of calls that are made at run time.

use std::any::type_name;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::kind::{Class, Kind, Name, Ranks};

/// The address and the length of a kind's name, and the functions that name its types.
type Key = (usize, usize, usize, usize);

static KNOWN: RwLock<Option<HashMap<Key, &'static Kind>>> = RwLock::new(None);

/// The number of kinds that a thread finds without a lock.
const NEAR: usize = 64;

thread_local! {
    /// The kinds that were used last, each at the index that its key has.
    static LAST: [Cell<Option<(Key, &'static Kind)>>; NEAR] = const { [const { Cell::new(None) }; NEAR] };
}

impl Kind {
    /// A call of that C name, without types.
    #[must_use]
    pub fn named(operation: &'static str) -> &'static Self {
        find(key(operation, None, None), || Self {
            ranks: Ranks::One,
            ..Self::of(class(operation), operation)
        })
    }

    /// A call of that C name, with elements.
    #[must_use]
    pub fn named_of<T>(operation: &'static str) -> &'static Self {
        let element = Some((type_name::<T> as Name, size_of::<T>()));
        let kind = || Self {
            element,
            ..*Self::named(operation)
        };
        find(key(operation, element.map(|(name, _)| name), None), kind)
    }

    /// This kind in memory that is never freed, once for each name and each type.
    #[must_use]
    pub fn known(self) -> &'static Self {
        let element = self.element.map(|(name, _)| name);
        find(key(self.operation, element, self.reduction), || self)
    }
}

fn key(operation: &'static str, element: Option<Name>, reduction: Option<Name>) -> Key {
    let [element, reduction] =
        [element, reduction].map(|name| name.map_or(0, |name| name as usize));
    (
        operation.as_ptr().addr(),
        operation.len(),
        element,
        reduction,
    )
}

/// The kind of that key; `make` makes it if there is none.
fn find(key: Key, make: impl FnOnce() -> Kind) -> &'static Kind {
    let near = (key.0 >> 3) ^ (key.2 >> 4) ^ (key.3 >> 4);
    let found = LAST.try_with(|last| last[near % NEAR].get());
    match found {
        Ok(Some((other, kind))) if other == key => kind,
        _ => find_far(key, near % NEAR, make),
    }
}

#[cold]
#[inline(never)]
fn find_far(key: Key, near: usize, make: impl FnOnce() -> Kind) -> &'static Kind {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let found = known.as_ref().and_then(|known| known.get(&key).copied());
    drop(known);
    let kind = found.unwrap_or_else(|| {
        // It may look for another kind.
        let made = make();
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        known
            .entry(key)
            .or_insert_with(|| Box::leak(Box::new(made)))
    });
    // A thread that ends has lost this list.
    let _ = LAST.try_with(|last| last[near].set(Some((key, kind))));
    kind
}

/// The class of a call of that name.
fn class(operation: &str) -> Class {
    if COLLECTIVE.contains(&operation) {
        Class::Collective
    } else if LOCAL.contains(&operation) || !operation.starts_with("MPI_") {
        Class::Local
    } else {
        Class::Message
    }
}

/// The calls that all ranks of a communicator make together, besides the collectives, which have
/// kinds of their own. `MPI_Comm_create_group` is not among them: not all ranks need call it, and
/// several threads may be in it.
const COLLECTIVE: [&str; 28] = [
    "MPI_Cart_create",
    "MPI_Cart_sub",
    "MPI_Comm_create",
    "MPI_Comm_dup",
    "MPI_Comm_dup_with_info",
    "MPI_Comm_free",
    "MPI_Comm_split",
    "MPI_Comm_split_type",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Finalize",
    "MPI_Graph_create",
    "MPI_Ibarrier",
    "MPI_Intercomm_create",
    "MPI_Intercomm_merge",
    "MPI_Iallgather",
    "MPI_Iallreduce",
    "MPI_Ialltoall",
    "MPI_Ibcast",
    "MPI_Igather",
    "MPI_Ireduce",
    "MPI_Iscatter",
    "MPI_Win_allocate",
    "MPI_Win_allocate_shared",
    "MPI_Win_create",
    "MPI_Win_create_dynamic",
    "MPI_Win_fence",
    "MPI_Win_free",
];

/// Calls that the rank answers itself, or that are polled.
const LOCAL: [&str; 25] = [
    "MPI_Cancel",
    "MPI_Cart_coords",
    "MPI_Cart_rank",
    "MPI_Cart_shift",
    "MPI_Comm_compare",
    "MPI_Comm_get_attr",
    "MPI_Comm_get_info",
    "MPI_Comm_get_name",
    "MPI_Comm_group",
    "MPI_Comm_remote_group",
    "MPI_Comm_set_info",
    "MPI_Comm_set_name",
    "MPI_Get_count",
    "MPI_Improbe",
    "MPI_Iprobe",
    "MPI_Parrived",
    "MPI_Pready",
    "MPI_Request_free",
    "MPI_Test",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Topo_test",
    "MPI_Win_set_name",
    "MPI_Win_sync",
    "MPI_Wtime",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_once_with_its_class() {
        let (dup, again) = (Kind::named("MPI_Comm_dup"), Kind::named("MPI_Comm_dup"));
        assert!(std::ptr::eq(dup, again));
        assert_eq!(dup.class, Class::Collective);
        assert_eq!(Kind::named("MPI_Recv").class, Class::Message);
        assert_eq!(Kind::named("MPI_Test").class, Class::Local);
        assert_eq!(Kind::named("Communicator::agree").class, Class::Local);
    }
}
