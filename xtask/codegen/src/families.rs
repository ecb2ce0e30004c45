//! Files that functions go to.

use anyhow::{Context, Result};

/// The files, and what each holds.
pub(crate) const FAMILIES: &[(&str, &str)] = &[
    ("attr", "attributes and their keys"),
    ("coll", "collective operations"),
    ("comm", "communicators"),
    ("convert", "handles as integers, inquiry about the ABI"),
    ("datatype", "datatypes"),
    ("errors", "error codes and error handlers"),
    ("group", "groups of processes"),
    ("info", "info objects"),
    ("init", "start and end"),
    ("io", "files"),
    ("misc", "clocks, versions, memory"),
    ("neighbor", "collective operations among neighbours"),
    ("op", "operations of reductions"),
    ("pack", "packing"),
    ("partitioned", "partitioned communication"),
    ("pt2pt", "point-to-point communication and its buffers"),
    ("request", "requests"),
    ("rma", "windows and one-sided communication"),
    ("session", "sessions"),
    ("spawn", "processes that are started or joined later"),
    ("status", "statuses"),
    ("tool", "the tool information interface"),
    ("topology", "process topologies"),
];

/// Ends of names, looked at before the beginnings.
const ENDS: &[(&str, &str)] = &[
    ("_attr", "attr"),
    ("_buffer", "pt2pt"),
    ("_errhandler", "errors"),
    ("_fromint", "convert"),
    ("_keyval", "attr"),
    ("_toint", "convert"),
];

/// Beginnings of names after `MPI_`; the longest that fits decides.
const BEGINNINGS: &[(&str, &str)] = &[
    ("Abi_", "convert"),
    ("Abort", "init"),
    ("Accumulate", "rma"),
    ("Add_error_", "errors"),
    ("Aint_", "datatype"),
    ("Allgather", "coll"),
    ("Alloc_mem", "misc"),
    ("Allreduce", "coll"),
    ("Alltoall", "coll"),
    ("Attr_", "attr"),
    ("Barrier", "coll"),
    ("Bcast", "coll"),
    ("Bsend", "pt2pt"),
    ("Buffer_", "pt2pt"),
    ("Cancel", "request"),
    ("Cart", "topology"),
    ("Close_port", "spawn"),
    ("Comm_", "comm"),
    ("Comm_accept", "spawn"),
    ("Comm_connect", "spawn"),
    ("Comm_disconnect", "spawn"),
    ("Comm_get_parent", "spawn"),
    ("Comm_join", "spawn"),
    ("Comm_spawn", "spawn"),
    ("Compare_and_swap", "rma"),
    ("Dims_create", "topology"),
    ("Dist_graph_", "topology"),
    ("Errhandler_", "errors"),
    ("Error_", "errors"),
    ("Exscan", "coll"),
    ("Fetch_and_op", "rma"),
    ("File_", "io"),
    ("Finalize", "init"),
    ("Free_mem", "misc"),
    ("Gather", "coll"),
    ("Get", "rma"),
    ("Get_address", "datatype"),
    ("Get_count", "status"),
    ("Get_elements", "status"),
    ("Get_hw_resource_info", "misc"),
    ("Get_library_version", "misc"),
    ("Get_processor_name", "misc"),
    ("Get_version", "misc"),
    ("Graph", "topology"),
    ("Grequest_", "request"),
    ("Group_", "group"),
    ("Iallgather", "coll"),
    ("Iallreduce", "coll"),
    ("Ialltoall", "coll"),
    ("Ibarrier", "coll"),
    ("Ibcast", "coll"),
    ("Ibsend", "pt2pt"),
    ("Iexscan", "coll"),
    ("Igather", "coll"),
    ("Improbe", "pt2pt"),
    ("Imrecv", "pt2pt"),
    ("Ineighbor_", "neighbor"),
    ("Info_", "info"),
    ("Init", "init"),
    ("Intercomm_", "comm"),
    ("Iprobe", "pt2pt"),
    ("Irecv", "pt2pt"),
    ("Ireduce", "coll"),
    ("Irsend", "pt2pt"),
    ("Is_thread_main", "init"),
    ("Iscan", "coll"),
    ("Iscatter", "coll"),
    ("Isend", "pt2pt"),
    ("Issend", "pt2pt"),
    ("Keyval_", "attr"),
    ("Lookup_name", "spawn"),
    ("Mprobe", "pt2pt"),
    ("Mrecv", "pt2pt"),
    ("Neighbor_", "neighbor"),
    ("Op_", "op"),
    ("Open_port", "spawn"),
    ("Pack", "pack"),
    ("Parrived", "partitioned"),
    ("Pcontrol", "misc"),
    ("Pready", "partitioned"),
    ("Precv_init", "partitioned"),
    ("Probe", "pt2pt"),
    ("Psend_init", "partitioned"),
    ("Publish_name", "spawn"),
    ("Put", "rma"),
    ("Query_thread", "init"),
    ("Raccumulate", "rma"),
    ("Recv", "pt2pt"),
    ("Reduce", "coll"),
    ("Register_datarep", "io"),
    ("Remove_error_", "errors"),
    ("Request_", "request"),
    ("Rget", "rma"),
    ("Rput", "rma"),
    ("Rsend", "pt2pt"),
    ("Scan", "coll"),
    ("Scatter", "coll"),
    ("Send", "pt2pt"),
    ("Session_", "session"),
    ("Ssend", "pt2pt"),
    ("Start", "request"),
    ("Status_", "status"),
    ("T_", "tool"),
    ("Test", "request"),
    ("Test_cancelled", "status"),
    ("Topo_test", "topology"),
    ("Type_", "datatype"),
    ("Unpack", "pack"),
    ("Unpublish_name", "spawn"),
    ("Wait", "request"),
    ("Win_", "rma"),
    ("Wtick", "misc"),
    ("Wtime", "misc"),
];

/// The file of `function`.
pub(crate) fn family(function: &str) -> Result<&'static str> {
    let name = function.strip_prefix("MPI_").context("a name of MPI")?;
    let plain = name.strip_suffix("_c").unwrap_or(name);
    let end = ENDS
        .iter()
        .find(|(end, _)| plain.ends_with(end) && !name.starts_with("T_"));
    let beginning = || {
        BEGINNINGS
            .iter()
            .filter(|(begin, _)| name.starts_with(begin))
            .max_by_key(|(begin, _)| begin.len())
    };
    let (_, family) = end
        .or_else(beginning)
        .with_context(|| format!("{function}: no rule gives its file"))?;
    Ok(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_files() {
        for (name, file) in [
            ("MPI_Send_c", "pt2pt"),
            ("MPI_Comm_get_attr", "attr"),
            ("MPI_Comm_attach_buffer_c", "pt2pt"),
            ("MPI_Get", "rma"),
            ("MPI_Get_count", "status"),
            ("MPI_Type_toint", "convert"),
            ("MPI_Test_cancelled", "status"),
            ("MPI_T_pvar_start", "tool"),
        ] {
            assert_eq!(family(name).unwrap(), file);
        }
        assert!(family("MPI_Zap").is_err());
    }

    #[test]
    fn every_rule_names_a_file() {
        for (_, file) in ENDS.iter().chain(BEGINNINGS) {
            assert!(FAMILIES.iter().any(|(family, _)| family == file), "{file}");
        }
    }
}
