//! Rules of a team: the calls that it refuses, the arguments that it compares, and the order in
//! which it does things.

use std::time::Duration;

use ranks_collectives::ops::{Max, Prod, Sum};
use ranks_comm::{Error, ErrorKind};
use ranks_nvshmem::Nvshmem;

use super::collectives::{LEN, case};
use super::reductions::{compare, values};
use super::teams::kind;
use super::{Case, same, told};

pub(super) const CASES: &[Case] = &[
    case("nothing at all", nothing),
    case(
        "roots and lengths that cannot be are refused, and nothing is broken",
        refused,
    ),
    case("calls that differ are the same error on all PEs", compared),
    case("barriers deliver what was put", delivered),
    case("nothing comes before the call", not_before),
    case(
        "a team does one thing at a time, on whichever streams",
        one_at_a_time,
    ),
];

fn nothing(pe: &Nvshmem<'_>) -> Result<(), String> {
    let world = pe.world();
    let stream = told(pe.stream())?;
    let mut none = told(pe.alloc::<u32>(0))?;
    let other = told(pe.alloc::<u32>(0))?;
    told(world.broadcast(&mut none, &other, 0))?;
    told(world.alltoall(&mut none, &other))?;
    told(world.fcollect(&mut none, &other))?;
    told(world.reduce(&mut none, &other, Sum))?;
    told(world.reduce_in_place(&mut none, Sum))?;
    told(world.reducescatter(&mut none, &other, Sum))?;
    told(pe.scope(&stream, |q| q.reduce(&world, &mut none, &other, Sum)))?;
    let enqueued = told(world.fcollect_on_stream(none, other, &stream))?;
    told(enqueued.wait()).map(drop)
}

fn refused(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let world = pe.world();
    let stream = told(pe.stream())?;
    let mut dest = told(pe.alloc::<u32>(LEN * n_pes))?;
    let source = told(pe.alloc::<u32>(LEN * n_pes + 1))?;
    let fits = told(source.slice(..LEN * n_pes))?;
    let root = Some(ErrorKind::Root);
    same(
        "a root that is not there",
        &kind(world.broadcast(&mut dest, fits, n_pes)),
        &root,
    )?;
    let none = kind(world.broadcast_in_place(&mut dest, usize::MAX));
    same("a root that is not there", &none, &root)?;
    let scoped = kind(pe.scope(&stream, |q| q.broadcast(&world, &mut dest, fits, n_pes)));
    same("a root that is not there, on a stream", &scoped, &root)?;
    let outcomes: [Result<(), Error>; 6] = [
        world.broadcast(&mut dest, &source, 0),
        world.alltoall(&mut dest, &source),
        world.fcollect(&mut dest, &source),
        world.reduce(&mut dest, &source, Sum),
        world.reducescatter(&mut dest, &source, Sum),
        pe.scope(&stream, |q| q.fcollect(&world, &mut dest, &source)),
    ];
    for outcome in outcomes {
        same(
            "lengths that do not fit",
            &kind(outcome),
            &Some(ErrorKind::Length),
        )?;
    }
    if n_pes > 1 {
        // As many as there are of them, but not shares of all PEs.
        let part = |count| source.slice(..count);
        let outcome = world.alltoall(told(dest.slice_mut(..n_pes + 1))?, told(part(n_pes + 1))?);
        same(
            "shares that are not whole",
            &kind(outcome),
            &Some(ErrorKind::Length),
        )?;
    }
    told(world.broadcast(&mut dest, fits, 0))?;
    told(source.free())?;
    told(dest.free())
}

/// Returns whether PEs compare their calls before these begin: as `RANKS_CHECK` says, or in builds
/// with debug assertions.
fn is_compared() -> bool {
    match std::env::var("RANKS_CHECK").as_deref().map(str::trim) {
        Ok("collective") => true,
        Ok("local" | "off") => false,
        _ => cfg!(debug_assertions),
    }
}

fn compared(pe: &Nvshmem<'_>) -> Result<(), String> {
    if pe.n_pes() == 1 || !is_compared() {
        return Ok(());
    }
    let world = pe.world();
    let first = pe.my_pe() == 0;
    let mut dest = told(pe.alloc::<u32>(8))?;
    let source = told(pe.alloc::<u32>(8))?;
    let other = usize::from(!first);
    let differs = Some(ErrorKind::Mismatch);
    let roots = kind(world.broadcast(&mut dest, &source, other));
    same("roots that differ", &roots, &differs)?;
    let lengths = kind(world.reduce(
        told(dest.slice_mut(..4 + other))?,
        told(source.slice(..4 + other))?,
        Sum,
    ));
    same("lengths that differ", &lengths, &differs)?;
    let places = kind(world.reduce(
        told(dest.slice_mut(other..other + 4))?,
        told(source.slice(..4))?,
        Sum,
    ));
    same("places that differ", &places, &differs)?;
    let operations = if first {
        kind(world.reduce(&mut dest, &source, Sum))
    } else {
        kind(world.reduce(&mut dest, &source, Max))
    };
    same("reductions that differ", &operations, &differs)?;
    let calls = if first {
        kind(world.barrier())
    } else {
        kind(world.sync())
    };
    same("calls that differ", &calls, &differs)?;
    // One that refuses is all that do.
    let root = if first { 99 } else { 0 };
    let one = kind(world.broadcast(&mut dest, &source, root));
    same(
        "a root that is not there on one PE",
        &one,
        &Some(ErrorKind::Root),
    )?;
    told(world.broadcast(&mut dest, &source, 0))?;
    told(source.free())?;
    told(dest.free())
}

fn not_before(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    // A team of some PEs, whose calls nobody compares, and that of all.
    let first = usize::from(n_pes > 2);
    let some = told(pe.world().split_strided(first, 1, n_pes - first))?;
    let mut dest = told(pe.alloc::<u8>(LEN * n_pes))?;
    let mut source = told(pe.alloc::<u8>(LEN * n_pes))?;
    told(source.copy_from_host(&vec![100; LEN * n_pes]))?;
    let world = pe.world();
    for team in [some.as_ref(), Some(&*world)].into_iter().flatten() {
        let (last, whole) = (team.n_pes() - 1, LEN * team.n_pes());
        for which in 0..3 {
            let own = vec![which + 1; LEN * n_pes];
            told(dest.copy_from_host(&own))?;
            if team.my_pe() != last {
                std::thread::sleep(Duration::from_millis(20));
            }
            same(
                "what was there before the call",
                &told(dest.to_vec())?,
                &own,
            )?;
            let to = told(dest.slice_mut(..whole))?;
            let outcome = match which {
                0 => team.broadcast(to, told(source.slice(..whole))?, last),
                1 => team.fcollect(to, told(source.slice(..LEN))?),
                _ => team.alltoall(to, told(source.slice(..whole))?),
            };
            told(outcome)?;
            let came = told(dest.to_vec())?;
            same("what came", &came[..whole], &vec![100; whole][..])?;
        }
    }
    if let Some(team) = some {
        told(team.destroy())?;
    }
    told(source.free())?;
    told(dest.free())
}

fn delivered(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
    let world = pe.world();
    let stream = told(pe.stream())?;
    let next = (my_pe + 1) % n_pes;
    let before = (my_pe + n_pes - 1) % n_pes;
    let mut mine = told(pe.alloc::<u64>(4))?;
    let arrived = told(pe.alloc::<u64>(4))?;
    for round in 1..=2 {
        told(mine.copy_from_host(&[round * 100 + my_pe as u64; 4]))?;
        if round == 1 {
            told(pe.put(&arrived, &mine, next))?;
            told(world.barrier())?;
        } else {
            told(pe.scope(&stream, |q| {
                q.put_nbi(&arrived, &mine, next)?;
                q.barrier(&world)
            }))?;
        }
        let expected = vec![round * 100 + before as u64; 4];
        same(
            "what was put before a barrier",
            &told(arrived.to_vec())?,
            &expected,
        )?;
        // Nobody puts before all have looked.
        told(world.sync())?;
    }
    told(mine.free())?;
    told(arrived.free())
}

fn one_at_a_time(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let world = pe.world();
    let (one, two) = (told(pe.stream())?, told(pe.stream())?);
    let buffer = values::<u64>(pe, 64)?;
    let other = values::<u64>(pe, 64)?;
    // The second waits on its stream for the first, and the host for both.
    let first = told(world.reduce_in_place_on_stream(buffer, Sum, &one))?;
    let second = told(world.reduce_in_place_on_stream(other, Prod, &two))?;
    told(pe.scope(&one, |q| q.barrier(&world)))?;
    told(world.barrier())?;
    let product: fn(i64, i64) -> i64 = |a, b| a * b;
    compare(pe, &told(told(second.wait())?.to_vec())?, 64, 0, &[product])?;
    let mut buffer = told(first.wait())?;
    compare(pe, &told(buffer.to_vec())?, 64, 0, &[|a, b| a + b])?;

    // A scope that is open has the team for itself.
    let team = told(world.split_strided(0, 1, n_pes))?.ok_or("this PE is in a team of all")?;
    let busy = Some(ErrorKind::Argument);
    let nothing = told(pe.alloc::<u64>(0))?;
    told(pe.scope(&one, |outer| {
        outer.barrier(&team)?;
        // What does nothing changes nothing.
        drop(team.reduce_in_place_on_stream(nothing, Sum, &two)?);
        let inner = pe.scope(&two, |inner| inner.barrier(&team));
        let now = team.sync();
        outer.sync(&team)?;
        let wrong = kind(inner) != busy || kind(now) != busy;
        let text = "a team does two things at a time";
        if wrong {
            Err(Error::new(ErrorKind::Library, "scope", text))
        } else {
            Ok(())
        }
    }))?;
    // One that is left by an error has it until its stream is past it.
    let left = pe.scope(&one, |q| {
        q.reduce_in_place(&team, &mut buffer, Max)?;
        Err::<(), _>(Error::new(ErrorKind::Value, "scope", "left"))
    });
    same("an error", &left.is_err(), &true)?;
    told(pe.scope(&two, |q| q.barrier(&team)))?;
    told(team.sync())?;
    told(team.destroy())?;
    told(buffer.free())
}
