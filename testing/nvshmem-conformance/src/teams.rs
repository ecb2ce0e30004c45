//! Teams: who is in them, and how they end.

use ranks_comm::ErrorKind;
use ranks_comm::Result as Outcome;
use ranks_nvshmem::{Nvshmem, Team, TeamUniqueId};

use super::{Case, same, told};

pub(super) const CASES: &[Case] = &[
    case("the teams that every heap has", lasting),
    case("every strided split has its PEs", strided),
    case("rows and columns, also where the last row is short", grids),
    case("teams of teams", nested),
    case("a team of PEs in any order, by an id", of_an_id),
    case("PEs of one team in another", translated),
    case(
        "splits that cannot be are refused, and nothing is broken",
        refused,
    ),
    case(
        "teams that are dropped end where all agree, in whichever order",
        dropped,
    ),
    case("many teams, one after the other", many),
    Case {
        name: "several PEs on one GPU have no teams, and the process lives",
        needs_all: false,
        run: limited,
    },
];

const fn case(name: &'static str, run: fn(&Nvshmem<'_>) -> Result<(), String>) -> Case {
    Case {
        name,
        needs_all: true,
        run,
    }
}

/// Checks that a team has these PEs of the world, as they find by telling each other.
pub(super) fn has(pe: &Nvshmem<'_>, team: &Team<'_>, members: &[usize]) -> Result<(), String> {
    same("how many PEs the team has", &team.n_pes(), &members.len())?;
    let mine = members.iter().position(|member| *member == pe.my_pe());
    same("this PE in the team", &Some(team.my_pe()), &mine)?;
    let world = pe.world();
    for (at, member) in members.iter().enumerate() {
        let found = told(team.translate(at, &world))?;
        same("a PE of the team in the world", &found, &Some(*member))?;
        let found = told(world.translate(*member, team))?;
        same("a PE of the world in the team", &found, &Some(at))?;
    }
    Ok(())
}

/// The kind of an error.
pub(super) fn kind<T>(outcome: Outcome<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

fn lasting(pe: &Nvshmem<'_>) -> Result<(), String> {
    let all: Vec<_> = (0..pe.n_pes()).collect();
    has(pe, &pe.world(), &all)?;
    // The cases run on one machine.
    has(pe, &*told(pe.node())?, &all)?;
    let shared = told(pe.shared())?;
    let here = told(shared.translate(shared.my_pe(), &pe.world()))?;
    same("this PE in the shared team", &here, &Some(pe.my_pe()))?;
    told(shared.barrier())?;
    told(told(pe.node())?.sync())?;
    told(pe.world().barrier())
}

fn strided(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let world = pe.world();
    for start in 0..n_pes {
        for stride in 1..=n_pes {
            // One PE is the same team whatever the stride.
            let least = stride.min(2);
            for size in least..=(n_pes - start).div_ceil(stride) {
                let members: Vec<_> = (start..n_pes).step_by(stride).take(size).collect();
                let team = told(world.split_strided(start, stride, size))?;
                let is_in = members.contains(&pe.my_pe());
                same("whether this PE is in the team", &team.is_some(), &is_in)?;
                if let Some(team) = team {
                    has(pe, &team, &members)?;
                    told(team.barrier())?;
                    told(team.destroy())?;
                }
            }
        }
    }
    Ok(())
}

fn grids(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
    for xrange in 1..=n_pes + 1 {
        let (row, column) = told(pe.world().split_2d(xrange))?;
        let all = 0..n_pes;
        let in_row: Vec<_> = all
            .clone()
            .filter(|pe| pe / xrange == my_pe / xrange)
            .collect();
        let in_column: Vec<_> = all.filter(|pe| pe % xrange == my_pe % xrange).collect();
        has(pe, &row, &in_row)?;
        has(pe, &column, &in_column)?;
        told(row.barrier())?;
        told(column.sync())?;
        told(column.destroy())?;
        told(row.destroy())?;
    }
    Ok(())
}

fn nested(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let upper = told(pe.world().split_strided(n_pes / 2, 1, n_pes - n_pes / 2))?;
    if let Some(upper) = &upper {
        let last = told(upper.split_strided(upper.n_pes() - 1, 1, 1))?;
        let all = told(upper.split_strided(0, 1, upper.n_pes()))?;
        if let Some(last) = &last {
            has(pe, last, &[n_pes - 1])?;
        }
        let all = all.ok_or("a split gives nothing to a PE that is in it")?;
        let (row, column) = told(all.split_2d(1))?;
        has(pe, &row, &[pe.my_pe()])?;
        has(pe, &column, &(n_pes / 2..n_pes).collect::<Vec<_>>())?;
        told(column.barrier())?;
    }
    // All of them end here, also for those who were in none.
    drop(upper);
    told(pe.collect())
}

fn of_an_id(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
    let mut word = told(pe.alloc::<u64>(1))?;
    let world = pe.world();
    // All of them backwards; then those with even numbers.
    let backwards: Vec<_> = (0..n_pes).rev().collect();
    let even: Vec<_> = (0..n_pes).step_by(2).collect();
    for members in [backwards, even] {
        if my_pe == members[0] {
            let id = told(pe.team_unique_id())?;
            told(word.copy_from_host(&[id.to_u64()]))?;
        }
        told(world.broadcast_in_place(&mut word, members[0]))?;
        let id = TeamUniqueId::from_u64(told(word.to_vec())?[0]);
        let Some(at) = members.iter().position(|member| *member == my_pe) else {
            continue;
        };
        let team = told(pe.team_from_unique_id(id, at, members.len()))?;
        has(pe, &team, &members)?;
        told(team.barrier())?;
        told(team.destroy())?;
    }
    let id = TeamUniqueId::from_u64(1);
    let rank = kind(pe.team_from_unique_id(id, 1, 1));
    same("a PE behind the last", &rank, &Some(ErrorKind::Rank))?;
    let length = kind(pe.team_from_unique_id(id, 0, n_pes + 1));
    same("more PEs than there are", &length, &Some(ErrorKind::Length))?;
    told(word.free())
}

fn translated(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let world = pe.world();
    let first = told(world.split_strided(0, 1, 1))?;
    let all = told(world.split_strided(0, 1, n_pes))?.ok_or("this PE is in a team of all")?;
    if let Some(first) = &first {
        same("PE 0", &told(all.translate(0, first))?, &Some(0))?;
        for other in 1..n_pes {
            same(
                "who is not in it",
                &told(all.translate(other, first))?,
                &None,
            )?;
        }
        let behind = kind(first.translate(1, &all));
        same("a PE behind the last", &behind, &Some(ErrorKind::Rank))?;
    }
    let behind = kind(all.translate(n_pes, &world));
    same("a PE behind the last", &behind, &Some(ErrorKind::Rank))?;
    drop((first, all));
    told(pe.collect())
}

fn refused(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let world = pe.world();
    let outcomes = [
        (kind(world.split_strided(n_pes, 1, 1)), ErrorKind::Rank),
        (kind(world.split_strided(0, 0, 1)), ErrorKind::Argument),
        (kind(world.split_strided(0, 1, 0)), ErrorKind::Length),
        (
            kind(world.split_strided(0, 1, n_pes + 1)),
            ErrorKind::Length,
        ),
        (
            kind(world.split_strided(0, usize::MAX, 2)),
            ErrorKind::Length,
        ),
        (kind(world.split_2d(0)), ErrorKind::Argument),
    ];
    for (found, expected) in outcomes {
        same("a split that cannot be", &found, &Some(expected))?;
    }
    if n_pes > 1 {
        let differs = kind(world.split_strided(0, 1, 1 + usize::from(pe.my_pe() > 0)));
        same("splits that differ", &differs, &Some(ErrorKind::Mismatch))?;
        let outcome = if pe.my_pe() == 0 {
            kind(world.split_2d(1))
        } else {
            kind(world.split_strided(0, 1, 1))
        };
        same("different splits", &outcome, &Some(ErrorKind::Mismatch))?;
    }
    let team = told(world.split_strided(0, 1, n_pes))?.ok_or("this PE is in a team of all")?;
    told(team.barrier())?;
    told(team.destroy())
}

fn dropped(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let world = pe.world();
    let mut teams = Vec::new();
    for size in [n_pes, 1, n_pes.div_ceil(2), n_pes] {
        teams.push(told(world.split_strided(0, 1, size))?);
    }
    let (row, column) = told(world.split_2d(2))?;
    teams.extend([Some(row), Some(column)]);
    // Each PE in another order, and PE 0 one of them later.
    teams.rotate_left(pe.my_pe() % 6);
    let late = (pe.my_pe() == 0).then(|| teams.pop());
    drop(teams);
    told(pe.collect())?;
    // They are gone for the others, and this one is not.
    if let Some(late) = late.flatten().flatten() {
        told(late.translate(0, &world))?;
    }
    told(pe.collect())?;
    told(world.barrier())
}

fn many(pe: &Nvshmem<'_>) -> Result<(), String> {
    let world = pe.world();
    // More than a release has at a time, by far.
    for round in 0..18 {
        let (row, column) = told(world.split_2d(2))?;
        if round % 3 == 0 {
            told(row.sync())?;
            told(row.destroy())?;
        } else {
            drop(row);
        }
        drop(column);
    }
    told(pe.collect())
}

fn limited(pe: &Nvshmem<'_>) -> Result<(), String> {
    if !pe.limited() {
        return Ok(());
    }
    let world = pe.world();
    let mut word = told(pe.alloc::<u64>(pe.n_pes()))?;
    let mut other = told(pe.alloc::<u64>(pe.n_pes()))?;
    let outcomes = [
        kind(world.split_strided(0, 1, 1)),
        kind(world.split_2d(1)),
        kind(world.translate(0, &world)),
        kind(pe.team_unique_id()),
        kind(pe.team_from_unique_id(TeamUniqueId::from_u64(7), 0, 1)),
        kind(world.broadcast_in_place(&mut word, 0)),
        kind(world.alltoall(&mut other, &word)),
        kind(world.fcollect(&mut other, told(word.slice(..1))?)),
        kind(world.reduce_in_place(&mut word, ranks_collectives::ops::Sum)),
        kind(world.reducescatter(
            told(word.slice_mut(..1))?,
            &other,
            ranks_collectives::ops::Max,
        )),
    ];
    for found in outcomes {
        same(
            "what is not to be had",
            &found,
            &Some(ErrorKind::NotInLibrary),
        )?;
    }
    let stream = told(pe.stream())?;
    let scoped = kind(pe.scope(&stream, |q| q.broadcast_in_place(pe.world(), &mut word, 0)));
    same(
        "the same on a stream",
        &scoped,
        &Some(ErrorKind::NotInLibrary),
    )?;
    // Those of all PEs are there.
    told(world.barrier())?;
    told(world.sync())?;
    told(pe.scope(&stream, |q| q.barrier(pe.world())))?;
    told(word.free())?;
    told(other.free())
}
