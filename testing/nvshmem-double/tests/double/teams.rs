//! Teams: who is in them, and which handles they have.

use std::ffi::c_int;
use std::ptr::null;

use ranks_nvshmem_sys::*;

use crate::processes::all_well;
use crate::support::{BOTH, OLD, Pe, int, own};

/// The first handle of a team that a program makes.
fn first(pe: &Pe) -> nvshmem_team_t {
    if pe.library.version() >= Version::new(3, 7) {
        7
    } else {
        6
    }
}

fn split(
    pe: &Pe,
    parent: nvshmem_team_t,
    start: c_int,
    stride: c_int,
    size: c_int,
) -> (c_int, nvshmem_team_t) {
    let mut team = -7;
    let code = call!(
        pe,
        nvshmem_team_split_strided(parent, start, stride, size, null(), 0, &raw mut team)
    );
    (code, team)
}

/// This PE's number in a team, and how many it has.
fn place(pe: &Pe, team: nvshmem_team_t) -> (c_int, c_int) {
    (
        call!(pe, nvshmem_team_my_pe(team)),
        call!(pe, nvshmem_team_n_pes(team)),
    )
}

fn translate(pe: &Pe, from: nvshmem_team_t, number: c_int, to: nvshmem_team_t) -> c_int {
    call!(pe, nvshmem_team_translate_pe(from, number, to))
}

#[test]
fn parts_of_teams_are_teams() {
    let Some(pe) = own() else {
        for release in BOTH {
            for pes in [1, 4] {
                all_well("teams::parts_of_teams_are_teams", release, pes, &[]);
            }
        }
        return;
    };
    let (me, pes) = (int(pe.my_pe), int(pe.n_pes));
    for team in 0..3 {
        assert_eq!(place(&pe, team), (me, pes));
    }
    assert_eq!(place(&pe, 3), (0, 1));
    assert_eq!(place(&pe, -1), (-1, -1));

    let whole = first(&pe);
    assert_eq!(split(&pe, 0, 0, 1, pes), (0, whole));
    let (code, evens) = split(&pe, whole, 0, 2, (pes + 1) / 2);
    let expected = if me % 2 == 0 { whole + 1 } else { -1 };
    assert_eq!((code, evens), (0, expected));
    if evens != -1 {
        assert_eq!(place(&pe, evens), (me / 2, (pes + 1) / 2));
        assert_eq!(translate(&pe, evens, me / 2, 0), me);
        assert_eq!(translate(&pe, whole, 1, evens), -1);
    }
    assert_eq!(translate(&pe, whole, pes, 0), -1);
    assert_eq!(translate(&pe, 0, -1, whole), -1);
    assert_eq!(translate(&pe, 0, 0, -1), -1);
    for (start, stride, size) in [
        (-1, 1, 1),
        (0, 0, 1),
        (0, 1, 0),
        (0, 1, pes + 1),
        (pes, 1, 1),
    ] {
        let (code, team) = split(&pe, whole, start, stride, size);
        assert!(code != 0 && team == -1, "{start} {stride} {size}");
    }
    let (code, team) = split(&pe, -1, 0, 1, 1);
    assert!(code != 0 && team == -1);

    // The lowest handle that is free for all PEs of the new team, again and again.
    for _ in 0..40 {
        let (code, team) = split(&pe, 0, 0, 1, pes);
        assert_eq!(code, 0);
        assert_eq!(team, whole + 1 + c_int::from(pes > 1 || evens != -1));
        assert_eq!(call!(pe, nvshmem_barrier(team)), 0);
        call!(pe, nvshmem_team_destroy(team));
    }
    if evens != -1 {
        call!(pe, nvshmem_team_destroy(evens));
    }
    assert_eq!(split(&pe, 0, 0, 1, pes), (0, whole + 1));
    pe.end();
}

#[test]
fn rows_and_columns_meet_by_themselves() {
    let Some(pe) = own() else {
        for release in BOTH {
            all_well(
                "teams::rows_and_columns_meet_by_themselves",
                release,
                3,
                &[],
            );
        }
        return;
    };
    let me = int(pe.my_pe);
    let mut teams = [0; 2];
    let [row, column] = &mut teams;
    let code = call!(
        pe,
        nvshmem_team_split_2d(0, 2, null(), 0, &raw mut *row, null(), 0, &raw mut *column)
    );
    assert_eq!(code, 0);
    let [row, column] = teams;
    assert_eq!(place(&pe, row), (me % 2, if me < 2 { 2 } else { 1 }));
    assert_eq!(place(&pe, column), (me / 2, if me == 1 { 1 } else { 2 }));
    for times in 0..3 {
        for _ in 0..=times {
            assert_eq!(call!(pe, nvshmem_barrier(row)), 0);
        }
        assert_eq!(
            call!(pe, nvshmemx_team_sync_on_stream(column, pe.stream())),
            0
        );
    }
    pe.sync();
    pe.end();
}

#[test]
fn any_pes_are_a_team_by_an_id() {
    let Some(pe) = own() else {
        for release in BOTH {
            all_well("teams::any_pes_are_a_team_by_an_id", release, 3, &[]);
        }
        return;
    };
    // PE 2 makes the ids; the others get them by a broadcast.
    let memory = pe.alloc(16);
    let mut ids = [0_u64; 2];
    for id in &mut ids {
        assert_eq!(call!(pe, nvshmemx_team_get_uniqueid(&raw mut *id)), 0);
    }
    pe.write(memory, &ids.map(u64::to_ne_bytes).concat());
    // Nobody writes what is broadcast to at the same time.
    assert_eq!(call!(pe, nvshmem_team_sync(0)), 0);
    assert_eq!(call!(pe, nvshmem_broadcastmem(0, memory, memory, 16, 2)), 0);
    let said = pe.read(memory, 16);
    let ids = [&said[..8], &said[8..]].map(|id| u64::from_ne_bytes(id.try_into().expect("8")));
    assert!(ids[0] != ids[1]);
    let mut made = Vec::new();
    // All in reverse order, then the first and the last, twice under the same handle.
    for (id, pes) in [
        (ids[0], vec![2, 1, 0]),
        (ids[1], vec![2, 0]),
        (ids[0], vec![0, 2]),
    ] {
        let Some(me) = pes.iter().position(|&other| other == pe.my_pe) else {
            continue;
        };
        let mut config = pe.library.team_config();
        config.uniqueid = id;
        let mut team = -7;
        let code = call!(
            pe,
            nvshmemx_team_init(&raw mut team, &raw mut config, 2, int(pes.len()), int(me))
        );
        assert_eq!((code, team), (0, first(&pe) + int(made.len())));
        assert_eq!(place(&pe, team), (int(me), int(pes.len())));
        for (number, &other) in pes.iter().enumerate() {
            assert_eq!(translate(&pe, team, int(number), 0), int(other));
        }
        let mut config = pe.library.team_config();
        call!(pe, nvshmem_team_get_config(team, &raw mut config));
        assert_eq!(config.uniqueid, id);
        assert_eq!(call!(pe, nvshmem_barrier(team)), 0);
        made.push(team);
    }
    let mut config = pe.library.team_config();
    let mut team = -7;
    let code = call!(
        pe,
        nvshmemx_team_init(&raw mut team, &raw mut config, 2, 1, 0)
    );
    assert!(code != 0 && team == -1, "without an id");
    pe.end();
}

#[test]
fn there_are_only_so_many() {
    let Some(pe) = own() else {
        for release in BOTH {
            let most = [("NVSHMEM_MAX_TEAMS", if release == OLD { "8" } else { "9" })];
            all_well("teams::there_are_only_so_many", release, 2, &most);
        }
        return;
    };
    let (_, mine) = split(&pe, 0, 0, 1, 1);
    assert_eq!(mine, if pe.my_pe == 0 { first(&pe) } else { -1 });
    assert_eq!(split(&pe, 0, 0, 1, 2), (0, first(&pe) + 1));
    let (code, team) = split(&pe, 0, 1, 1, 1);
    assert_eq!((code, team == -1), (0, pe.my_pe == 0));
    // PE 1 has one handle less than it needs, and both are told so.
    let (code, team) = split(&pe, 0, 0, 1, 2);
    assert!(code != 0 && team == -1);
    pe.end();
}
