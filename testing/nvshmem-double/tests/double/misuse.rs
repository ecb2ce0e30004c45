//! What ends a process: what the library ends it for, and what strict mode finds.

use std::env;
use std::os::unix::process::ExitStatusExt as _;
use std::ptr::null;
use std::sync::atomic::AtomicBool;

use ranks_nvshmem_sys::*;

use crate::processes::run;
use crate::support::{BOTH, NEW, OLD, Pe, int, own};

/// What PEs do in a test.
const DEED: &str = "NVSHMEM_DOUBLE_TEST_DEED";

/// `SIGABRT`
const ABORT: i32 = 6;

fn deed() -> String {
    env::var(DEED).expect("a deed")
}

#[test]
fn pes_that_disagree_are_found() {
    const TEST: &str = "misuse::pes_that_disagree_are_found";
    let Some(pe) = own() else {
        let finds = [
            ("operation", "PEs disagree"),
            ("size", "PEs disagree"),
            ("root", "PEs disagree"),
            ("type", "PEs disagree"),
            ("place", "PEs disagree"),
            ("order", "PEs disagree"),
            ("split", "PEs disagree"),
            ("flight", "another collective operation of the same team"),
            ("overlap", "overlap"),
            ("outside", "not in the symmetric heap"),
            ("gone", "there is no team"),
            ("pending", "has operations on streams"),
        ];
        for (deed, text) in finds {
            let settings = [(DEED, deed), ("NVSHMEM_DOUBLE_PATIENCE", "1")];
            let ended = run(TEST, NEW, 2, &settings);
            for ended in &ended {
                assert_eq!(ended.status.signal(), Some(ABORT), "{deed}: {}", ended.said);
            }
            let found = ended.iter().any(|ended| ended.said.contains(text));
            assert!(found, "{deed}: {}", ended[0].said);
        }
        return;
    };
    let memory = pe.alloc(256);
    let (first, me) = (pe.my_pe == 0, pe.my_pe);
    let broadcast = |bytes, root| call!(pe, nvshmem_broadcastmem(0, memory, memory, bytes, root));
    match deed().as_str() {
        "operation" if first => broadcast(8, 0),
        "operation" => call!(pe, nvshmem_fcollectmem(0, memory, memory, 8)),
        "size" => broadcast(8 + me, 0),
        "root" => broadcast(8, int(me)),
        "type" => {
            let element = if first { Element::Int } else { Element::Uint };
            let reduce = pe.library.reduction(Form::Reduce, Operation::Sum, element);
            // SAFETY: the memory is large enough.
            unsafe { reduce.expect("it is there")(0, memory, memory, 4) }
        }
        "place" => {
            let memory = memory.wrapping_byte_add(64 * me);
            call!(pe, nvshmem_broadcastmem(0, memory, memory, 8, 0))
        }
        "order" => {
            for turn in 0..2 {
                if (turn == 0) == first {
                    broadcast(8, 0);
                } else {
                    call!(pe, nvshmem_barrier(0));
                }
            }
            0
        }
        "split" => split(&pe, int(me)).0,
        "flight" => {
            // The first PE is in one when it comes to the other; the second never comes.
            if first {
                call!(pe, nvshmemx_team_sync_on_stream(0, pe.stream()));
                std::thread::sleep(std::time::Duration::from_millis(100));
                call!(pe, nvshmem_team_sync(0));
            }
            std::process::abort()
        }
        "overlap" => {
            let to = memory.wrapping_byte_add(4);
            call!(pe, nvshmem_broadcastmem(0, to, memory, 8, 0))
        }
        "outside" => {
            let to = std::ptr::without_provenance_mut(4096);
            call!(pe, nvshmem_broadcastmem(0, to, memory, 8, 0))
        }
        "gone" => {
            let (_, team) = split(&pe, 0);
            if first {
                call!(pe, nvshmem_team_destroy(team));
                call!(pe, nvshmem_barrier(team));
            }
            std::process::abort()
        }
        "pending" => {
            static NEVER: AtomicBool = AtomicBool::new(false);
            let (_, team) = split(&pe, 0);
            if first {
                pe.hold(&NEVER);
                call!(pe, nvshmemx_barrier_on_stream(team, pe.stream()));
                call!(pe, nvshmem_team_destroy(team));
            }
            std::process::abort()
        }
        other => panic!("{other}"),
    };
    panic!("nobody has found it");
}

/// A team of one PE.
fn split(pe: &Pe, start: i32) -> (i32, nvshmem_team_t) {
    let mut team = -7;
    let code = call!(
        pe,
        nvshmem_team_split_strided(0, start, 1, 1, null(), 0, &raw mut team)
    );
    (code, team)
}

#[test]
fn in_limited_mode_the_process_ends() {
    const TEST: &str = "misuse::in_limited_mode_the_process_ends";
    let Some(pe) = own() else {
        let deeds = [
            "barrier",
            "sync",
            "stream",
            "broadcast",
            "reduce",
            "split",
            "grid",
            "id",
        ];
        for release in BOTH {
            for deed in deeds {
                let settings = [(DEED, deed), ("NVSHMEM_DOUBLE_LIMITED", "1")];
                let ended = &run(TEST, release, 1, &settings)[0];
                assert_eq!(ended.status.code(), Some(255), "{deed}: {}", ended.said);
                assert!(ended.said.contains("limited MPG"), "{deed}: {}", ended.said);
            }
        }
        return;
    };
    assert_eq!(call!(pe, nvshmemx_init_status()), 3);
    // These work.
    assert_eq!(call!(pe, nvshmem_team_n_pes(1)), 1);
    assert_eq!(call!(pe, nvshmem_team_translate_pe(0, 0, 1)), 0);
    let memory = pe.alloc(64);
    match deed().as_str() {
        "barrier" => drop(call!(pe, nvshmem_barrier(0))),
        "sync" => drop(call!(pe, nvshmem_team_sync(0))),
        "stream" => drop(call!(pe, nvshmemx_barrier_on_stream(0, pe.stream()))),
        "broadcast" => drop(call!(pe, nvshmem_broadcastmem(0, memory, memory, 8, 0))),
        "reduce" => {
            let (form, operation) = (Form::ReduceScatter, Operation::Max);
            let reduce = pe.library.reduction(form, operation, Element::Double);
            // SAFETY: the memory is large enough.
            unsafe { reduce.expect("it is there")(0, memory, memory, 4) };
        }
        "split" => drop(split(&pe, 0)),
        "grid" => {
            let (mut row, mut column) = (0, 0);
            let (row, column) = (&raw mut row, &raw mut column);
            call!(
                pe,
                nvshmem_team_split_2d(0, 1, null(), 0, row, null(), 0, column)
            );
        }
        "id" => {
            let mut id = 0;
            call!(pe, nvshmemx_team_get_uniqueid(&raw mut id));
        }
        other => panic!("{other}"),
    }
    panic!("the process goes on");
}

#[test]
fn a_team_that_is_always_there_is_not_destroyed() {
    const TEST: &str = "misuse::a_team_that_is_always_there_is_not_destroyed";
    let Some(pe) = own() else {
        for (release, code) in [(NEW, 0), (OLD, 255)] {
            let ended = &run(TEST, release, 1, &[])[0];
            assert_eq!(ended.status.code(), Some(code), "{release}: {}", ended.said);
            assert!(ended.said.contains("Cannot destroy a pre-defined team"));
        }
        return;
    };
    call!(pe, nvshmem_team_destroy(-1));
    call!(pe, nvshmem_team_destroy(1));
    assert_eq!(call!(pe, nvshmem_barrier(1)), 0);
    pe.end();
}

/// Before 3.8, unless it has a fixed size.
#[test]
fn a_heap_that_cannot_grow_is_lost() {
    const TEST: &str = "misuse::a_heap_that_cannot_grow_is_lost";
    let Some(pe) = own() else {
        for ended in run(TEST, OLD, 2, &[]) {
            assert_eq!(ended.status.code(), Some(255), "{}", ended.said);
            assert!(ended.said.contains("was unmapped"), "{}", ended.said);
        }
        return;
    };
    let memory = pe.alloc(256);
    assert!(call!(pe, nvshmem_malloc(1 << 30)).is_null());
    call!(pe, nvshmem_free(memory));
}
