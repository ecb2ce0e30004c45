//! Teams: which PEs they have, and the handles that this process knows them by.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::abi::{self, TeamConfig};
use super::parts::Handles;
use super::pe::{self, Pe};
use super::region::LINES;
use super::{fatal, hooks, lock, meeting};

/// Handles below are those of the teams that are always there.
pub(crate) const FIRST: usize = if crate::VERSION.0 > 3 || crate::VERSION.1 >= 7 {
    7
} else {
    6
};

/// The largest number of teams, unless `NVSHMEM_MAX_TEAMS` says another.
const MOST: usize = if crate::VERSION.0 > 3 || crate::VERSION.1 >= 8 {
    256
} else if crate::VERSION.1 >= 5 {
    128
} else {
    32
};

pub(crate) fn most() -> usize {
    let said = std::env::var("NVSHMEM_MAX_TEAMS").ok();
    let said = said.and_then(|text| text.parse().ok());
    said.unwrap_or(MOST).clamp(FIRST, Handles::MOST)
}

/// The number of teams besides those that are always there.
pub(crate) fn made() -> usize {
    let count = |pe: &Pe| lock(&pe.teams).teams.iter().skip(FIRST).flatten().count();
    pe::complete().map_or(0, |pe| count(&pe))
}

/// A team that this PE is in.
pub(crate) struct Team {
    /// Where its PEs meet.
    pub(crate) line: usize,
    /// Its PEs, as the world numbers them.
    pub(crate) pes: Vec<usize>,
    /// This one's number.
    pub(crate) me: usize,
    config: TeamConfig,
    /// Set if a collective operation runs.
    busy: AtomicBool,
    /// The number of those that are on streams.
    pub(crate) pending: AtomicUsize,
}

impl Team {
    pub(crate) fn new(
        line: usize,
        pes: Vec<usize>,
        my_pe: usize,
        config: TeamConfig,
    ) -> Option<Arc<Self>> {
        let me = pes.iter().position(|&pe| pe == my_pe)?;
        Some(Arc::new(Self {
            line,
            pes,
            me,
            config,
            busy: AtomicBool::new(false),
            pending: AtomicUsize::new(0),
        }))
    }

    /// Comes to a collective operation, which ends when what this gives is dropped.
    pub(crate) fn enter(&self, name: &str) -> Busy<'_> {
        if self.busy.swap(true, Ordering::AcqRel) {
            if hooks::STRICT.get() {
                fatal::abort(format_args!(
                    "{name}: another collective operation of the same team is in flight"
                ));
            }
            let free = || !self.busy.swap(true, Ordering::AcqRel);
            meeting::wait_until(free, || {
                format!("{name}: the operation before does not end")
            });
        }
        Busy(&self.busy)
    }
}

/// A collective operation that runs.
pub(crate) struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The teams of a PE by their handles, and lines that none of them has.
pub(crate) struct Table {
    pub(crate) teams: Vec<Option<Arc<Team>>>,
    pub(crate) lines: [u64; WORDS_OF_LINES],
    /// The line that was taken last.
    pub(crate) last: usize,
}

pub(crate) const WORDS_OF_LINES: usize = LINES.div_ceil(64);

impl Table {
    /// The teams that are always there.
    pub(crate) fn new(n_pes: usize, my_pe: usize) -> Self {
        let all: Vec<usize> = (0..n_pes).collect();
        let reachable = if hooks::REMOTE.get() {
            vec![my_pe]
        } else {
            all.clone()
        };
        let shares = hooks::LIMITED.get() || hooks::FULL.get();
        let of_gpu = if shares { all.clone() } else { vec![my_pe] };
        let leaders = if shares { vec![0] } else { all.clone() };
        let always = [
            all.clone(),
            reachable.clone(),
            all,
            vec![my_pe],
            of_gpu,
            leaders,
            reachable,
        ];
        let mut teams = vec![None; most()];
        let places = teams.iter_mut().zip(always).take(FIRST).enumerate();
        for (handle, (place, pes)) in places {
            *place = Team::new(handle, pes, my_pe, no_config());
        }
        let mut lines = [0; WORDS_OF_LINES];
        for line in FIRST..LINES {
            lines[line / 64] |= 1 << (line % 64);
        }
        let last = FIRST;
        Self { teams, lines, last }
    }
}

pub(crate) fn no_config() -> TeamConfig {
    TeamConfig {
        version: abi::word(2, 64),
        num_contexts: -1,
        uniqueid: u64::MAX,
        padding: [0; 48],
    }
}

/// The team of a handle. The library would use what is not there.
pub(crate) fn of(pe: &Pe, handle: abi::Team, name: &str) -> Arc<Team> {
    let found = usize::try_from(handle).ok();
    let found = found.and_then(|handle| lock(&pe.teams).teams.get(handle)?.clone());
    found.unwrap_or_else(|| {
        fatal::abort(format_args!(
            "{name}: there is no team {handle}: it was destroyed, or never made"
        ))
    })
}

pub(crate) fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// The team of a handle, where the library does not look whether there are teams.
fn at_once(handle: abi::Team, name: &str) -> Arc<Team> {
    let pe = pe::complete();
    let pe = pe.unwrap_or_else(|| fatal::abort(format_args!("{name}: there are no teams yet")));
    of(&pe, handle, name)
}

/// `nvshmem_team_my_pe`
pub(crate) fn my_pe(handle: abi::Team) -> c_int {
    match handle {
        abi::TEAM_INVALID => -1,
        // These two are known as soon as the PEs know of each other.
        abi::TEAM_WORLD | abi::TEAM_NODE => int(pe::found().map_or(0, |pe| pe.my_pe)),
        _ => int(at_once(handle, "nvshmem_team_my_pe").me),
    }
}

/// `nvshmem_team_n_pes`
pub(crate) fn n_pes(handle: abi::Team) -> c_int {
    match handle {
        abi::TEAM_INVALID => -1,
        abi::TEAM_WORLD | abi::TEAM_NODE => int(pe::found().map_or(0, |pe| pe.n_pes)),
        _ => int(at_once(handle, "nvshmem_team_n_pes").pes.len()),
    }
}

/// `nvshmem_team_translate_pe`
pub(crate) fn translate(from: abi::Team, number: c_int, to: abi::Team) -> c_int {
    const NAME: &str = "nvshmem_team_translate_pe";
    if from == abi::TEAM_INVALID || to == abi::TEAM_INVALID {
        return -1;
    }
    let pe = pe::live(NAME);
    let (from, to) = (of(&pe, from, NAME), of(&pe, to, NAME));
    let number = usize::try_from(number).ok();
    let pe = number.and_then(|number| from.pes.get(number));
    let found = pe.and_then(|pe| to.pes.iter().position(|other| other == pe));
    found.map_or(-1, int)
}

/// `nvshmem_team_get_config`
pub(crate) fn config(handle: abi::Team) -> Option<TeamConfig> {
    const NAME: &str = "nvshmem_team_get_config";
    let pe = pe::live(NAME);
    (handle != abi::TEAM_INVALID).then(|| of(&pe, handle, NAME).config)
}
