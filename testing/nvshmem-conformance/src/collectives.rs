//! Collective operations of a team.

use std::fmt::Debug;

use bytemuck::Pod;
use ranks_collectives::ops::{Max, Min, Sum};
use ranks_nvshmem::{Nvshmem, PeStream, SymmetricPart, SymmetricVec, Team};

use super::{Case, same, told};

pub(super) const CASES: &[Case] = &[
    case(
        "elements of any type are broadcast, collected and exchanged",
        moves,
    ),
    case("every root, at offsets, in every form", roots),
    case("teams of some PEs do the same", in_parts),
];

pub(super) const fn case(name: &'static str, run: fn(&Nvshmem<'_>) -> Result<(), String>) -> Case {
    Case {
        name,
        needs_all: true,
        run,
    }
}

/// The number of elements that a PE has for another.
pub(super) const LEN: usize = 3;

/// The form in which an operation is called.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Now,
    Scoped,
    Owned,
}

pub(super) const FORMS: [Form; 3] = [Form::Now, Form::Scoped, Form::Owned];

/// The elements that one PE has for another, the same nowhere else.
pub(super) fn sent(from: usize, to: usize) -> impl Iterator<Item = u8> {
    (0..LEN).map(move |at| {
        let mixed = 1 + at + 10 * to + 50 * from;
        u8::try_from(mixed % 251).unwrap_or(0)
    })
}

/// Joins the elements that a PE has for all others, or that come to it.
pub(super) fn all<T>(n_pes: usize, of: impl Fn(usize) -> Vec<T>) -> Vec<T> {
    (0..n_pes).flat_map(of).collect()
}

fn moves(pe: &Nvshmem<'_>) -> Result<(), String> {
    moved::<u8>(pe, |byte| byte)?;
    moved::<[u8; 3]>(pe, |byte| [byte, 1, byte])?;
    moved::<u16>(pe, |byte| 257 * u16::from(byte))?;
    moved::<f64>(pe, |byte| 0.5 + f64::from(byte))?;
    moved::<[u64; 2]>(pe, |byte| [u64::from(byte), u64::MAX])
}

/// Elements that are made of bytes move from all to all.
fn moved<T: Pod + PartialEq + Debug>(pe: &Nvshmem<'_>, of: fn(u8) -> T) -> Result<(), String> {
    let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
    let world = pe.world();
    let block = |from, to| sent(from, to).map(of).collect::<Vec<T>>();
    let mut source = told(pe.alloc::<T>(LEN * n_pes))?;
    let mut dest = told(pe.alloc::<T>(LEN * n_pes))?;
    told(source.copy_from_host(&all(n_pes, |to| block(my_pe, to))))?;

    told(world.alltoall(&mut dest, &source))?;
    let exchanged = all(n_pes, |from| block(from, my_pe));
    same("what is exchanged", &told(dest.to_vec())?, &exchanged)?;

    told(world.fcollect(&mut dest, told(source.slice(..LEN))?))?;
    let collected = all(n_pes, |from| block(from, 0));
    same("what is collected", &told(dest.to_vec())?, &collected)?;

    let root = n_pes - 1;
    told(world.broadcast(&mut dest, &source, root))?;
    let broadcast = all(n_pes, |to| block(root, to));
    same("what is broadcast", &told(dest.to_vec())?, &broadcast)?;
    told(source.free())?;
    told(dest.free())
}

fn roots(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
    let world = pe.world();
    let stream = told(pe.stream())?;
    let whole = 2 * LEN + 1;
    let before: Vec<u8> = (0..2).flat_map(|to| sent(my_pe, to)).chain([0]).collect();
    for form in FORMS {
        for root in 0..n_pes {
            // Another place each time, and the same on all PEs.
            let (to, from) = (root % 3, (root + 1) % 3);
            let mut source = told(pe.alloc::<u8>(whole))?;
            let dest = told(pe.alloc::<u8>(whole))?;
            told(source.copy_from_host(&before))?;
            let places = (to..to + LEN, from..from + LEN);
            let (mut dest, source) = broadcast(&world, &stream, form, dest, source, places, root)?;
            let theirs: Vec<u8> = (0..2).flat_map(|to| sent(root, to)).chain([0]).collect();
            let mut expected = vec![0; whole];
            expected[to..to + LEN].copy_from_slice(&theirs[from..from + LEN]);
            same("what is broadcast", &told(dest.to_vec())?, &expected)?;
            same("what was sent", &told(source.to_vec())?, &before)?;
            // In place.
            told(dest.copy_from_host(&before))?;
            let part = told(dest.slice_mut(1..=LEN))?;
            match form {
                Form::Now => told(world.broadcast_in_place(part, root))?,
                _ => told(pe.scope(&stream, |q| q.broadcast_in_place(&world, part, root)))?,
            }
            let mut expected = before.clone();
            expected[1..=LEN].copy_from_slice(&theirs[1..=LEN]);
            same(
                "what is broadcast in place",
                &told(dest.to_vec())?,
                &expected,
            )?;
            drop((dest, source));
        }
    }
    Ok(())
}

type Places = (std::ops::Range<usize>, std::ops::Range<usize>);

fn broadcast<'c>(
    team: &Team<'c>,
    stream: &PeStream,
    form: Form,
    mut dest: SymmetricVec<'c, u8>,
    source: SymmetricVec<'c, u8>,
    (to, from): Places,
    root: usize,
) -> Result<(SymmetricVec<'c, u8>, SymmetricVec<'c, u8>), String> {
    match form {
        Form::Now => {
            let (to, from) = (told(dest.slice_mut(to))?, told(source.slice(from))?);
            told(team.broadcast(to, from, root))?;
        }
        Form::Scoped => {
            let (to, from) = (told(dest.slice_mut(to))?, told(source.slice(from))?);
            told(
                team.heap()
                    .scope(stream, |q| q.broadcast(team, to, from, root)),
            )?;
        }
        Form::Owned => {
            let to = told(SymmetricPart::of(dest, to))?;
            let from = told(SymmetricPart::of(source, from))?;
            let enqueued = told(team.broadcast_on_stream(to, from, root, stream))?;
            let (to, from) = told(enqueued.wait())?;
            return Ok((to.into_vec(), from.into_vec()));
        }
    }
    Ok((dest, source))
}

fn in_parts(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let stream = told(pe.stream())?;
    let mut ids = told(pe.alloc::<u64>(1))?;
    told(ids.copy_from_host(&[100 + pe.my_pe() as u64]))?;
    let mut found = told(pe.alloc::<u64>(n_pes))?;
    for start in 0..2.min(n_pes) {
        let members: Vec<_> = (start..n_pes).step_by(2).collect();
        let team = told(pe.world().split_strided(start, 2, members.len()))?;
        let Some(team) = team else {
            continue;
        };
        let expected: Vec<u64> = members.iter().map(|pe| 100 + *pe as u64).collect();
        let size = members.len();
        told(team.fcollect(told(found.slice_mut(..size))?, &ids))?;
        same(
            "what is collected",
            &told(found.to_vec())?[..size],
            &expected[..],
        )?;
        let root = size - 1;
        let one = told(found.slice_mut(..1))?;
        told(pe.scope(&stream, |q| q.broadcast(&team, one, &ids, root)))?;
        same(
            "what is broadcast",
            &told(found.to_vec())?[0],
            &expected[root],
        )?;
        let one = told(found.slice_mut(..1))?;
        told(team.reduce(one, &ids, Sum))?;
        same("the sum", &told(found.to_vec())?[0], &expected.iter().sum())?;
        told(team.sync())?;
        told(team.barrier())?;
    }
    // Parts at the same time: each is another team.
    let (row, column) = told(pe.world().split_2d(2))?;
    told(row.reduce(told(found.slice_mut(..1))?, &ids, Max))?;
    let last = (pe.my_pe() / 2 * 2 + 1).min(n_pes - 1);
    same(
        "the last of the row",
        &told(found.to_vec())?[0],
        &(100 + last as u64),
    )?;
    told(column.reduce(told(found.slice_mut(..1))?, &ids, Min))?;
    let first = pe.my_pe() % 2;
    same(
        "the first of the column",
        &told(found.to_vec())?[0],
        &(100 + first as u64),
    )?;
    drop((row, column));
    told(pe.collect())
}
