//! How teams are made, and how they end.
//!
//! A handle is the lowest that is free for all PEs of a new team. Their line is another number: it
//! is taken anew each time around, so that a team never meets where the last PEs of one that is
//! gone may still be looking.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use super::abi::{self, Code, TeamConfig};
use super::meeting::Call;
use super::parts::{self, Handles, Strided};
use super::pe::{self, Pe};
use super::region::{LINES, own};
use super::teams::{FIRST, Table, Team, WORDS_OF_LINES, int, most, no_config, of};
use super::{fatal, hooks, lock};

/// What a PE says of itself when a team is made.
pub(crate) struct Offer {
    handles: Handles,
    lines: [u64; WORDS_OF_LINES],
    last: u64,
}

impl Offer {
    const WORDS: usize = 4 + WORDS_OF_LINES + 1;

    pub(crate) fn of_table(table: &Table) -> Self {
        let mut handles = Handles::range(FIRST..table.teams.len());
        for (handle, team) in table.teams.iter().enumerate() {
            if team.is_some() {
                handles.remove(handle);
            }
        }
        Self {
            handles,
            lines: table.lines,
            last: table.last as u64,
        }
    }

    pub(crate) fn say(pe: &Pe) {
        let offer = Self::of_table(&lock(&pe.teams));
        let words = offer
            .handles
            .0
            .iter()
            .chain(&offer.lines)
            .chain([&offer.last]);
        for (index, value) in words.enumerate() {
            let word = pe.region.own(pe.my_pe, own::TEAMS + index);
            word.store(*value, Ordering::Relaxed);
        }
    }

    pub(crate) fn of(pe: &Pe, other: usize) -> Self {
        let words: [u64; Self::WORDS] = std::array::from_fn(|index| {
            let word = pe.region.own(other, own::TEAMS + index);
            word.load(Ordering::Relaxed)
        });
        let part = |from: usize| move |index: usize| words[from + index];
        Self {
            handles: Handles(std::array::from_fn(part(0))),
            lines: std::array::from_fn(part(4)),
            last: words[Self::WORDS - 1],
        }
    }
}

/// The handle and the line that all `pes` have free, as far as they have.
pub(crate) fn agree(pe: &Pe, pes: &[usize]) -> Option<(usize, usize)> {
    let all = pes.iter().map(|&other| Offer::of(pe, other));
    let all = all.reduce(|mut all, other| {
        all.handles = all.handles.and(other.handles);
        for (lines, other) in all.lines.iter_mut().zip(other.lines) {
            *lines &= other;
        }
        all.last = all.last.max(other.last);
        all
    })?;
    let last = usize::try_from(all.last).ok()?;
    let mut lines = (last + 1..LINES).chain(FIRST..=last);
    let line = lines.find(|line| all.lines[line / 64] & (1 << (line % 64)) != 0)?;
    Some((all.handles.lowest()?, line))
}

/// Makes this PE's part of a team.
pub(crate) fn add(
    pe: &Pe,
    (handle, line): (usize, usize),
    pes: &[usize],
    config: Option<TeamConfig>,
) -> Option<abi::Team> {
    let team = Team::new(line, pes.to_vec(), pe.my_pe, config.unwrap_or(no_config()))?;
    pe.level(pes, line);
    let mut table = lock(&pe.teams);
    table.lines[line / 64] &= !(1 << (line % 64));
    table.last = line;
    *table.teams.get_mut(handle)? = Some(team);
    abi::Team::try_from(handle).ok()
}

/// `nvshmem_team_split_strided`: the code, and the new team of this PE.
pub(crate) fn split_strided(
    parent: abi::Team,
    part: Strided,
    config: Option<TeamConfig>,
) -> (Code, abi::Team) {
    const NAME: &str = "nvshmem_team_split_strided";
    let pe = pe::unlimited(NAME);
    if let Some(code) = hooks::failure_asked_of(NAME) {
        return (code, abi::TEAM_INVALID);
    }
    if parent == abi::TEAM_INVALID {
        return (1, abi::TEAM_INVALID);
    }
    split(&pe, NAME, &of(&pe, parent, NAME), part, config)
}

fn split(
    pe: &Pe,
    name: &'static str,
    parent: &Team,
    part: Strided,
    config: Option<TeamConfig>,
) -> (Code, abi::Team) {
    let _busy = parent.enter(name);
    let words = [part.start, part.stride, part.size, 0].map(i64::from);
    let call = Call::of(name, words.map(i64::cast_unsigned));
    Offer::say(pe);
    pe.meet(&parent.pes, parent.line, call);
    let numbers = part.of(parent.pes.len());
    let pes = numbers.map(|numbers| {
        let pes = numbers
            .into_iter()
            .filter_map(|number| parent.pes.get(number));
        pes.copied().collect::<Vec<_>>()
    });
    let agreed = pes.as_ref().and_then(|pes| agree(pe, pes));
    let team = pes.as_ref().zip(agreed);
    let team = team.and_then(|(pes, agreed)| add(pe, agreed, pes, config));
    pe.meet(&parent.pes, parent.line, call);
    match (pes, agreed) {
        (None, _) => eprintln!(
            "nvshmem double: Team split strided failed: child <{}, {}, {}>, parent of {} PEs",
            part.start,
            part.stride,
            part.size,
            parent.pes.len()
        ),
        (Some(_), None) => eprintln!(
            "nvshmem double: No more teams available (max = {}), try setting NVSHMEM_MAX_TEAMS environment variable",
            most()
        ),
        (Some(_), Some(_)) => return (abi::SUCCESS, team.unwrap_or(abi::TEAM_INVALID)),
    }
    (1, abi::TEAM_INVALID)
}

/// `nvshmem_team_split_2d`: the code, and the row and the column of this PE.
pub(crate) fn split_2d(
    parent: abi::Team,
    row: c_int,
    configs: [Option<TeamConfig>; 2],
) -> (Code, [abi::Team; 2]) {
    const NAME: &str = "nvshmem_team_split_2d";
    let pe = pe::unlimited(NAME);
    if let Some(code) = hooks::failure_asked_of(NAME) {
        return (code, [abi::TEAM_INVALID; 2]);
    }
    let mut mine = [abi::TEAM_INVALID; 2];
    if parent == abi::TEAM_INVALID {
        return (1, mine);
    }
    let parent = of(&pe, parent, NAME);
    let Some((rows, columns)) = parts::grid(int(parent.pes.len()), row) else {
        return (1, mine);
    };
    for ((parts, mine), config) in [rows, columns].into_iter().zip(&mut mine).zip(configs) {
        for part in parts {
            let (code, team) = split(&pe, NAME, &parent, part, config);
            if code != abi::SUCCESS {
                return (code, [abi::TEAM_INVALID; 2]);
            }
            if team != abi::TEAM_INVALID {
                *mine = team;
            }
        }
    }
    (abi::SUCCESS, mine)
}

/// `nvshmem_team_destroy`. What it does to a team that is always there depends on the release: none
/// lets go of it.
pub(crate) fn destroy(handle: abi::Team) {
    const NAME: &str = "nvshmem_team_destroy";
    let pe = pe::live(NAME);
    let Ok(number) = usize::try_from(handle) else {
        return;
    };
    if number < FIRST {
        if crate::VERSION.1 < 5 {
            fatal::exit("Cannot destroy a pre-defined team");
        }
        eprintln!("nvshmem double: Cannot destroy a pre-defined team");
        return;
    }
    if number >= most() {
        eprintln!("nvshmem double: Cannot destroy a team with an invalid handle");
        return;
    }
    let team = of(&pe, handle, NAME);
    if hooks::STRICT.get() {
        if team.pending.load(Ordering::Acquire) > 0 {
            fatal::abort(format_args!(
                "{NAME}: team {handle} has operations on streams"
            ));
        }
        let _busy = team.enter(NAME);
        pe.meet(&team.pes, team.line, Call::new(NAME));
    }
    let mut table = lock(&pe.teams);
    table.lines[team.line / 64] |= 1 << (team.line % 64);
    table.teams[number] = None;
}
