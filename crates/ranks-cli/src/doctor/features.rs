//! The features that are there on each backend.

use serde::Serialize;

use crate::probe::Mpi;

use super::gpus::Gpus;
use Over::{Library, OrUs, Us};

/// The backends, in the order of a row.
pub(super) const BACKENDS: [&str; 4] = ["in process", "MPI", "NCCL", "NVSHMEM"];

/// A row of the table.
#[derive(Debug, Serialize)]
pub(super) struct Feature {
    pub(super) name: &'static str,
    /// On each of the backends: `yes`, `no`, `by us` for what is made of other operations,
    /// `raw` for operations on addresses alone, and `–` where it makes no sense.
    pub(super) on: [&'static str; 4],
}

/// The need that a feature has of an MPI.
#[derive(Clone, Copy)]
enum Over {
    /// This function.
    Library(&'static str),
    /// This function; without it we make it of others.
    OrUs(&'static str),
    /// We make it on any.
    Us,
}

/// Each feature, what it needs of an MPI, and whether it is there over NCCL and over NVSHMEM; in
/// process all are.
const FEATURES: [(&str, Over, [bool; 2]); 16] = [
    ("messages", Library("MPI_Send"), [true, false]),
    (
        "communicators of some ranks",
        Library("MPI_Comm_split"),
        [true, true],
    ),
    ("collectives", Library("MPI_Allreduce"), [true, true]),
    (
        "collectives that are begun",
        Library("MPI_Iallreduce"),
        [false, false],
    ),
    (
        "collectives prepared once",
        OrUs("MPI_Allreduce_init"),
        [false, false],
    ),
    (
        "exchanges of neighbours",
        Library("MPI_Neighbor_allgather"),
        [false, false],
    ),
    (
        "reductions of complex",
        Library("MPI_Allreduce"),
        [false, false],
    ),
    ("reductions of f16, bf16", Us, [true, true]),
    (
        "reductions of one's own",
        Library("MPI_Op_create"),
        [false, false],
    ),
    ("reductions in one order", Us, [false, false]),
    (
        "partitioned messages",
        Library("MPI_Psend_init"),
        [false, false],
    ),
    ("counts beyond an int", OrUs("MPI_Send_c"), [true, true]),
    ("one-sided windows", Library("MPI_Put"), [true, true]),
    (
        "memory shared on a node",
        Library("MPI_Win_allocate_shared"),
        [false, false],
    ),
    ("values of any type (serde)", Us, [false, false]),
    ("halos of grids", Us, [false, false]),
];

pub(super) fn table(mpi: Option<&Mpi>, gpus: &Gpus) -> Vec<Feature> {
    let word = |there: bool, has: bool| match (there, has) {
        (_, false) => "–",
        (true, true) => "yes",
        (false, true) => "no",
    };
    let usable = |library: bool| library && gpus.cuda.is_ok();
    let (nccl, nvshmem) = (usable(gpus.nccl.is_ok()), usable(gpus.nvshmem.is_ok()));
    let has = |function: &str| {
        // Open MPI writes messages of partitions past the receiver's buffer.
        let unsound =
            |mpi: &&Mpi| function == "MPI_Psend_init" && mpi.family.as_deref() == Some("openmpi");
        let sound = mpi.filter(|mpi| !unsound(mpi));
        sound.is_some_and(|mpi| mpi.has.iter().any(|has| has == function))
    };
    let over_mpi = |over: Over| match over {
        _ if mpi.is_none() => "no",
        Library(function) | OrUs(function) if has(function) => "yes",
        Library(_) => "no",
        OrUs(_) | Us => "by us",
    };
    let rows = FEATURES
        .iter()
        .map(|&(name, over, [on_nccl, on_nvshmem])| Feature {
            name,
            on: [
                "yes",
                over_mpi(over),
                word(nccl, on_nccl),
                word(nvshmem, on_nvshmem),
            ],
        });
    rows.chain([memory_of_gpus(mpi, gpus, [nccl, nvshmem]), graphs(nccl)])
        .collect()
}

/// Buffers on GPUs: what an MPI does not take is copied to the host and back.
fn memory_of_gpus(mpi: Option<&Mpi>, gpus: &Gpus, usable: [bool; 2]) -> Feature {
    let copied = if gpus.cuda.is_ok() { "by us" } else { "no" };
    let taken = matches!(gpus.mpi_takes_memory, Some(Ok(Some(true))));
    let over_mpi = match mpi {
        None => "no",
        Some(_) if taken => "yes",
        Some(_) => copied,
    };
    let [nccl, nvshmem] = usable.map(|usable| if usable { "yes" } else { "no" });
    Feature {
        name: "memory of GPUs",
        on: [copied, over_mpi, nccl, nvshmem],
    }
}

/// Operations that a graph of CUDA captures.
fn graphs(nccl: bool) -> Feature {
    let nccl = if nccl { "raw" } else { "no" };
    Feature {
        name: "captured by CUDA graphs",
        on: ["–", "–", nccl, "no"],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::probe::ASKED;

    #[test]
    fn what_libraries_are_asked_for_is_what_features_need() {
        let needed = FEATURES.iter().filter_map(|(_, over, _)| match over {
            Library(function) | OrUs(function) => Some(*function),
            Us => None,
        });
        assert_eq!(BTreeSet::from(ASKED), needed.collect());
    }
}
