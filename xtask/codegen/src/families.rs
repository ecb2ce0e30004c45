//! Files that functions go to.

use anyhow::{Context, Result};

use crate::table::rows;

/// The files, what each holds, and how names of its functions begin after `MPI_`; the longest
/// beginning that fits decides.
const FAMILIES: &str = "\
attr: attributes and their keys: Attr_ Keyval_
coll: collective operations: Allgather Allreduce Alltoall Barrier Bcast Exscan Gather Iallgather Iallreduce Ialltoall Ibarrier Ibcast Iexscan Igather Ireduce Iscan Iscatter Reduce Scan Scatter
comm: communicators: Comm_ Intercomm_
convert: handles as integers, inquiry about the ABI: Abi_
datatype: datatypes: Aint_ Get_address Type_
errors: error codes and error handlers: Add_error_ Errhandler_ Error_ Remove_error_
group: groups of processes: Group_
info: info objects: Info_
init: start and end: Abort Finalize Init Is_thread_main Query_thread
io: files: File_ Register_datarep
misc: clocks, versions, memory: Alloc_mem Free_mem Get_hw_resource_info Get_library_version Get_processor_name Get_version Pcontrol Wtick Wtime
neighbor: collective operations among neighbours: Ineighbor_ Neighbor_
op: operations of reductions: Op_
pack: packing: Pack Unpack
partitioned: partitioned communication: Parrived Pready Precv_init Psend_init
pt2pt: point-to-point communication and its buffers: Bsend Buffer_ Ibsend Improbe Imrecv Iprobe Irecv Irsend Isend Issend Mprobe Mrecv Probe Recv Rsend Send Ssend
request: requests: Cancel Grequest_ Request_ Start Test Wait
rma: windows and one-sided communication: Accumulate Compare_and_swap Fetch_and_op Get Put Raccumulate Rget Rput Win_
session: sessions: Session_
spawn: processes that are started or joined later: Close_port Comm_accept Comm_connect Comm_disconnect Comm_get_parent Comm_join Comm_spawn Lookup_name Open_port Publish_name Unpublish_name
status: statuses: Get_count Get_elements Status_ Test_cancelled
tool: the tool information interface: T_
topology: process topologies: Cart Dims_create Dist_graph_ Graph Topo_test";

/// The rows of [`FAMILIES`].
pub(crate) fn families() -> impl Iterator<Item = [&'static str; 3]> {
    rows(FAMILIES)
}

/// Ends of names, looked at before the beginnings.
const ENDS: &str = "\
_attr: attr
_buffer: pt2pt
_errhandler: errors
_fromint: convert
_keyval: attr
_toint: convert";

/// The file of `function`.
pub(crate) fn family(function: &str) -> Result<&'static str> {
    let name = function.strip_prefix("MPI_").context("a name of MPI")?;
    let plain = name.strip_suffix("_c").unwrap_or(name);
    let end = rows(ENDS).find(|[end, _]| plain.ends_with(end) && !name.starts_with("T_"));
    let longest = |[_, _, beginnings]: &[&str; 3]| {
        let beginnings = beginnings.split(' ');
        let fitting = beginnings.filter(|begin| name.starts_with(begin));
        fitting.map(str::len).max()
    };
    let beginning = || {
        let family = families().max_by_key(longest);
        family.filter(|family| longest(family).is_some())
    };
    end.map(|[_, family]| family)
        .or_else(|| beginning().map(|[family, ..]| family))
        .with_context(|| format!("{function}: no rule gives its file"))
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
        for [_, file] in rows(ENDS) {
            assert!(families().any(|[family, ..]| family == file), "{file}");
        }
    }
}
