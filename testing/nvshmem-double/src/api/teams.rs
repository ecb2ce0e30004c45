//! Teams.
#![allow(non_snake_case, reason = "as the headers have them")]

use std::ffi::{c_int, c_long};

use crate::double::abi::{self, Code, Team, TeamConfig};
use crate::double::parts::Strided;
use crate::double::{founding, gathering, teams};

/// What a caller says of a new team, if anything.
///
/// # Safety
/// `config` is null or may be read.
unsafe fn read(config: *const TeamConfig) -> Option<TeamConfig> {
    if config.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { config.read() })
}

/// Writes a result where the caller wants it.
///
/// # Safety
/// `out` may be written.
unsafe fn give<T>(out: *mut T, value: T) {
    // SAFETY: the caller's promise.
    unsafe { out.write(value) }
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_team_my_pe(team: Team) -> c_int {
    teams::my_pe(team)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_team_n_pes(team: Team) -> c_int {
    teams::n_pes(team)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_team_translate_pe(from: Team, pe: c_int, to: Team) -> c_int {
    teams::translate(from, pe, to)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmem_team_get_config(team: Team, out: *mut TeamConfig) {
    if let Some(config) = teams::config(team) {
        // SAFETY: the caller keeps NVSHMEM's contract, as everywhere in this file.
        unsafe { give(out, config) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmem_team_split_strided(
    parent: Team,
    start: c_int,
    stride: c_int,
    size: c_int,
    config: *const TeamConfig,
    _mask: c_long,
    out: *mut Team,
) -> Code {
    let part = Strided {
        start,
        stride,
        size,
    };
    // SAFETY: as above.
    let config = unsafe { read(config) };
    let (code, team) = founding::split_strided(parent, part, config);
    // SAFETY: as above.
    unsafe { give(out, team) };
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmem_team_split_2d(
    parent: Team,
    row: c_int,
    row_config: *const TeamConfig,
    _row_mask: c_long,
    row_out: *mut Team,
    column_config: *const TeamConfig,
    _column_mask: c_long,
    column_out: *mut Team,
) -> Code {
    // SAFETY: as above.
    let row_config = unsafe { read(row_config) };
    // SAFETY: as above.
    let column_config = unsafe { read(column_config) };
    let (code, [x, y]) = founding::split_2d(parent, row, [row_config, column_config]);
    // SAFETY: as above.
    unsafe { give(row_out, x) };
    // SAFETY: as above.
    unsafe { give(column_out, y) };
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemx_team_get_uniqueid(out: *mut u64) -> Code {
    let id = gathering::unique_id();
    // SAFETY: as above.
    unsafe { give(out, id) };
    abi::SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvshmemx_team_init(
    out: *mut Team,
    config: *mut TeamConfig,
    _mask: c_long,
    pes: c_int,
    pe: c_int,
) -> Code {
    // SAFETY: as above.
    let config = unsafe { read(config) };
    let (code, team) = gathering::init(config, pes, pe);
    // SAFETY: as above.
    unsafe { give(out, team) };
    code
}

#[unsafe(no_mangle)]
extern "C" fn nvshmem_team_destroy(team: Team) {
    founding::destroy(team);
}
