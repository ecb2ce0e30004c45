//! Processes that find each other by an id, as far as they come without a GPU.

use std::ffi::c_int;

use ranks_nvshmem_sys::*;

use crate::support::{again, end, ended, library, line_of, part, real, say, status};

/// What stands before an id in what a process prints.
const ID: &str = "the id is ";

/// Has the id for the processes that do not make it.
const ID_OF_JOB: &str = "RANKS_NVSHMEM_SYS_TEST_ID";

/// The number of processes.
const SIZE: &str = "RANKS_NVSHMEM_SYS_TEST_SIZE";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

/// What the initialisation returns where there is no GPU: it has found the others, and nothing to
/// work on. Before 3.5, that is success.
fn without_a_gpu() -> c_int {
    if library().version() < Version::new(3, 5) {
        NVSHMEMX_SUCCESS
    } else {
        NVSHMEMX_ERROR_INTERNAL
    }
}

/// Finds the others, as one of `size`.
pub(crate) fn initialise(id: &nvshmemx_uniqueid_t, rank: c_int, size: c_int) -> c_int {
    let table = library().table();
    let mut attr = library().attr();
    let set = table.nvshmemx_set_attr_uniqueid_args.unwrap();
    // SAFETY: the id lives longer than the attributes.
    let code = unsafe { set(rank, size, id, &raw mut attr) };
    assert_eq!(code, NVSHMEMX_SUCCESS);
    let init = table.nvshmemx_hostlib_init_attr.unwrap();
    // SAFETY: attributes as this release wants them, and an id that lives.
    unsafe { init(NVSHMEMX_INIT_WITH_UNIQUEID, &raw mut attr) }
}

/// An id of this process.
pub(crate) fn new_id() -> nvshmemx_uniqueid_t {
    let mut id = nvshmemx_uniqueid_t::zeroed();
    let get = library().table().nvshmemx_get_uniqueid.unwrap();
    // SAFETY: it writes an id.
    assert_eq!(unsafe { get(&raw mut id) }, NVSHMEMX_SUCCESS);
    id
}

/// What one process does.
fn member(rank: &str) {
    let rank: c_int = rank.parse().unwrap();
    let size: c_int = std::env::var(SIZE).unwrap().parse().unwrap();
    let id = if rank == 0 {
        let id = new_id();
        say(&format!("{ID}{}", hex(&id.to_bytes())));
        id
    } else {
        let id = std::env::var(ID_OF_JOB).unwrap();
        nvshmemx_uniqueid_t::from_bytes(bytes(&id).try_into().unwrap())
    };
    assert_eq!(initialise(&id, rank, size), without_a_gpu());
    assert_eq!(status(), NVSHMEM_STATUS_IS_BOOTSTRAPPED);
    // It fails the second time as the first, and the process lives.
    if size == 1 {
        assert_eq!(initialise(&id, rank, size), without_a_gpu());
    }
    let table = library().table();
    // SAFETY: it answers at any time.
    assert_eq!(unsafe { table.nvshmem_my_pe.unwrap()() }, rank);
    // SAFETY: as above.
    assert_eq!(unsafe { table.nvshmem_n_pes.unwrap()() }, size);
    // Nothing is finalized: that would end the process.
    end();
}

fn job(test: &str, size: usize) {
    if let Some(rank) = part() {
        return member(&rank);
    }
    let (library, size) = (real(), size.to_string());
    let variables = [("RANKS_NVSHMEM", library.as_str()), (SIZE, &size)];
    let mut first = again(test, "0", &variables);
    let id = line_of(&mut first, ID);
    let variables = [&variables[..], &[(ID_OF_JOB, &id)]].concat();
    let others =
        (1..size.parse().unwrap()).map(|rank: u32| again(test, &rank.to_string(), &variables));
    let all: Vec<_> = std::iter::once(first)
        .chain(others.collect::<Vec<_>>())
        .collect();
    for (rank, ended) in all.into_iter().map(ended).enumerate() {
        assert!(
            ended.status.success(),
            "{rank}: {}\n{}{}",
            ended.status,
            ended.said,
            ended.errors
        );
    }
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn one_process_finds_itself() {
    job("jobs::one_process_finds_itself", 1);
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn two_processes_find_each_other() {
    job("jobs::two_processes_find_each_other", 2);
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn three_processes_find_each_other() {
    job("jobs::three_processes_find_each_other", 3);
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn four_processes_find_each_other() {
    job("jobs::four_processes_find_each_other", 4);
}
