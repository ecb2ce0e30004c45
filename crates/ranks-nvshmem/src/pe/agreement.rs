//! Agreement of all PEs on the host, over the bootstrap: they compare what they are about to call,
//! say whether they can, and free what all of them have dropped.

use std::cell::Cell;

use ranks_bootstrap::Bootstrap;
use ranks_bootstrap::backend::all_succeed;
use ranks_comm::{Error, ErrorKind, Result};

use crate::pe::deferred_free::{Dropped, TeamName};
use crate::pe::handle::Nvshmem;

#[cfg(fuzzing)]
pub(crate) mod fuzzing;

/// The message of one PE.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    operation: String,
    /// The values that are compared: lengths, numbers.
    words: Vec<u64>,
    /// The numbers of the blocks that it has dropped.
    blocks: Vec<u64>,
    /// The teams.
    teams: Vec<TeamName>,
}

impl Nvshmem<'_> {
    /// All PEs are about to call `operation` with the same `words`, and `mine` says whether this
    /// one can. What all have dropped is freed. Collective.
    ///
    /// # Errors
    /// The same on all PEs: [`ErrorKind::Mismatch`], naming two that differ; what failed on one of
    /// them. What the bootstrap reports, after which the heap cannot be used: nobody knows what the
    /// others do.
    pub(crate) fn meet(
        &self,
        operation: &'static str,
        words: &[u64],
        mine: Result<()>,
    ) -> Result<()> {
        self.forget_registrations();
        let mine = self.begin(operation).and(mine);
        let said = self.tell(
            operation,
            mine.map(|()| self.said(operation, words).encoded()),
        )?;
        let all: Option<Vec<Said>> = said.iter().map(|bytes| Said::decoded(bytes)).collect();
        let all = all.ok_or_else(|| {
            let text = "another PE said something that is not understood: do all have the same release of this crate?";
            Error::new(ErrorKind::Mismatch, operation, text)
        })?;
        same_calls(operation, &all)?;
        self.free_dropped(operation, &all)
    }

    /// Tells all PEs whether this one succeeded. Collective.
    ///
    /// # Errors
    /// As [`meet`](Self::meet).
    pub(crate) fn tell(
        &self,
        operation: &'static str,
        mine: Result<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>> {
        let watched = Watched {
            bootstrap: self.bootstrap(),
            failed: Cell::new(false),
        };
        let said = all_succeed(&watched, operation, mine);
        said.inspect_err(|error| {
            if watched.failed.get() {
                self.pe().fail(error);
            }
        })
    }

    fn said(&self, operation: &str, words: &[u64]) -> Said {
        let mut said = Said {
            operation: operation.to_owned(),
            words: words.to_vec(),
            blocks: Vec::new(),
            teams: Vec::new(),
        };
        for one in &*self.pe().dropped.borrow() {
            match one {
                Dropped::Block(block) => said.blocks.push(block.number),
                Dropped::Team(team) => said.teams.push(team.name.clone()),
            }
        }
        said
    }

    /// Frees what all have dropped: blocks in the order in which they were made, then teams.
    fn free_dropped(&self, operation: &'static str, all: &[Said]) -> Result<()> {
        let everywhere = |one: &Dropped| match one {
            Dropped::Block(block) => all.iter().all(|said| said.blocks.contains(&block.number)),
            Dropped::Team(team) => is_dropped(&team.name, all),
        };
        let freed = all.first().is_some_and(|first| {
            let of_all = |number| all.iter().all(|said| said.blocks.contains(number));
            first.blocks.iter().any(of_all)
                || all
                    .iter()
                    .flat_map(|said| &said.teams)
                    .any(|name| is_dropped(name, all))
        });
        // The same on all PEs, also on those that have no part in what is freed.
        if !freed {
            return Ok(());
        }
        let settled = self.pe().settle(operation);
        self.tell(operation, settled.map(|()| Vec::new()))?;
        let dropped = self.pe().dropped.take();
        let (ready, left): (Vec<_>, Vec<_>) = dropped.into_iter().partition(everywhere);
        self.pe().dropped.replace(left);
        let (mut blocks, mut teams) = (Vec::new(), Vec::new());
        for one in ready {
            match one {
                Dropped::Block(block) => blocks.push(block),
                Dropped::Team(team) => teams.push(team),
            }
        }
        blocks.sort_by_key(|block| block.number);
        teams.sort_by(|one, other| one.name.cmp(&other.name));
        let backend = self.begin(operation)?;
        let free = || -> Result<()> {
            for block in blocks {
                backend.free(block)?;
            }
            for team in teams {
                backend.destroy(team.handle)?;
            }
            Ok(())
        };
        // The others may wait in the middle of it.
        free().inspect_err(|error| self.pe().fail(error))
    }
}

/// Returns whether all PEs of a team have dropped it.
fn is_dropped(name: &TeamName, all: &[Said]) -> bool {
    name.members.iter().all(|&pe| {
        let said = usize::try_from(pe).ok().and_then(|pe| all.get(pe));
        said.is_some_and(|said| said.teams.contains(name))
    })
}

fn same_calls(operation: &'static str, all: &[Said]) -> Result<()> {
    let Some(first) = all.first() else {
        return Ok(());
    };
    let differs = |said: &Said| said.operation != first.operation || said.words != first.words;
    let Some(pe) = all.iter().position(differs) else {
        return Ok(());
    };
    let call = |said: &Said| format!("{}{:?}", said.operation, said.words);
    let text = format_args!(
        "collective calls are mismatched: PE 0 calls {}, PE {pe} calls {} (numbers are lengths, sizes of elements, and which of the blocks it is)",
        call(first),
        all.get(pe).map_or_else(String::new, call),
    );
    Err(Error::new(ErrorKind::Mismatch, operation, text))
}

/// Knows whether an exchange failed.
struct Watched<'a> {
    bootstrap: &'a dyn Bootstrap,
    failed: Cell<bool>,
}

impl Bootstrap for Watched<'_> {
    fn rank(&self) -> usize {
        self.bootstrap.rank()
    }

    fn size(&self) -> usize {
        self.bootstrap.size()
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let all = self.bootstrap.exchange(mine);
        self.failed.set(all.is_err());
        all
    }
}

impl Said {
    fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let operation: Vec<u64> = self.operation.bytes().map(u64::from).collect();
        push(&mut bytes, &operation);
        push(&mut bytes, &self.words);
        push(&mut bytes, &self.blocks);
        for team in &self.teams {
            push(&mut bytes, &team.path);
            push(&mut bytes, &team.members);
        }
        bytes
    }

    fn decoded(mut bytes: &[u8]) -> Option<Said> {
        let operation = list(&mut bytes)?.into_iter();
        let operation: Option<Vec<u8>> = operation.map(|byte| byte.try_into().ok()).collect();
        let mut said = Said {
            operation: String::from_utf8(operation?).ok()?,
            words: list(&mut bytes)?,
            blocks: list(&mut bytes)?,
            teams: Vec::new(),
        };
        while !bytes.is_empty() {
            said.teams.push(TeamName {
                path: list(&mut bytes)?,
                members: list(&mut bytes)?,
            });
        }
        Some(said)
    }
}

/// Appends the length of a list, and each of its values.
fn push(bytes: &mut Vec<u8>, list: &[u64]) {
    let count = list.len() as u64;
    for word in std::iter::once(&count).chain(list) {
        bytes.extend(word.to_le_bytes());
    }
}

fn list(bytes: &mut &[u8]) -> Option<Vec<u64>> {
    let count = usize::try_from(word(bytes)?).ok()?;
    (0..count).map(|_| word(bytes)).collect()
}

fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (word, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[u64], blocks: &[u64], teams: &[(&[u64], &[u64])]) -> Said {
        let name = |&(path, members): &(&[u64], &[u64])| TeamName {
            path: path.to_vec(),
            members: members.to_vec(),
        };
        Said {
            operation: "nvshmem_malloc".to_owned(),
            words: words.to_vec(),
            blocks: blocks.to_vec(),
            teams: teams.iter().map(name).collect(),
        }
    }

    #[test]
    fn what_is_said_comes_back() {
        let one = said(&[8, 4], &[1, 2, 3], &[(&[0], &[0, 2]), (&[0, 1], &[2])]);
        assert_eq!(Said::decoded(&one.encoded()), Some(one));
        let cut = said(&[8, 4], &[1], &[]).encoded();
        assert_eq!(Said::decoded(&cut[..cut.len() - 1]), None);
        assert_eq!(Said::decoded(&u64::MAX.to_le_bytes()), None);
    }

    #[test]
    fn calls_that_differ_are_named() {
        let all = [said(&[8], &[], &[]), said(&[9], &[], &[])];
        let error = same_calls("nvshmem_malloc", &all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = error.to_string();
        assert!(
            text.contains("PE 0 calls nvshmem_malloc[8], PE 1 calls nvshmem_malloc[9]"),
            "{text}"
        );
    }

    #[test]
    fn a_team_is_gone_when_its_own_pes_have_dropped_it() {
        let team: (&[u64], &[u64]) = (&[0], &[0, 2]);
        let name = said(&[], &[], &[team]).teams.remove(0);
        let all = [
            said(&[], &[], &[team]),
            said(&[], &[], &[]),
            said(&[], &[], &[team]),
        ];
        assert!(is_dropped(&name, &all));
        assert!(!is_dropped(&name, &all[..2]));
        let not_yet = [
            said(&[], &[], &[team]),
            said(&[], &[], &[]),
            said(&[], &[], &[]),
        ];
        assert!(!is_dropped(&name, &not_yet));
    }
}
