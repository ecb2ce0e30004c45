//! Puts and gets, in all their forms.

use ranks_comm::{ErrorKind, Result};
use ranks_nvshmem::{Nvshmem, OnDevice, PeStream, Strides, SymmetricPart, SymmetricVec};

use super::{Case, same, told};

pub(super) const CASES: &[Case] = &[
    case("what is put arrives on every PE, in each form", puts),
    case("what is gotten is that of every PE, in each form", gets),
    case("nothing is put and gotten", nothing),
    case("PEs and lengths that are not there are refused", refused),
    case(
        "elements at a distance are put and gotten, of every size",
        strided,
    ),
    case("strides that do not fit are refused", refused_strides),
    case("elements move within a PE", within),
    case("a stream does one thing after the other", in_order),
    case(
        "other memory of the device is put from and gotten into",
        other_memory,
    ),
    case("buffers that are owned come back", owned),
    case(
        "what a scope has enqueued that ends in an error goes on",
        left_by_an_error,
    ),
    case("sources are free for reuse after flush", flushed),
];

const fn case(name: &'static str, run: fn(&Nvshmem<'_>) -> Result<(), String>) -> Case {
    Case {
        name,
        needs_all: false,
        run,
    }
}

/// The number of elements that go from one PE to another.
const LEN: usize = 5;

/// The elements that go from one PE to another.
fn message(from: usize, to: usize, len: usize) -> Vec<u32> {
    let first = 10_000 * (from + 1) + 100 * (to + 1);
    (first..first + len)
        .map(|value| u32::try_from(value).unwrap_or_default())
        .collect()
}

/// All that goes from a PE, or to it.
fn messages(n_pes: usize, of: impl Fn(usize) -> Vec<u32>) -> Vec<u32> {
    (0..n_pes).flat_map(of).collect()
}

/// One form of a put or a get, of the `to`-th elements of one to the `from`-th of the other.
type Form<'a> = &'a dyn Fn(
    &Nvshmem<'_>,
    &PeStream,
    &mut SymmetricVec<'_, u32>,
    &SymmetricVec<'_, u32>,
) -> Result<()>;

/// The range of the elements for a PE.
fn at(pe: usize) -> std::ops::Range<usize> {
    pe * LEN..(pe + 1) * LEN
}

fn puts(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (me, n_pes) = (pe.my_pe(), pe.n_pes());
    let stream = told(pe.stream())?;
    let forms: [(&str, Form<'_>); 4] = [
        ("put", &|pe, _, dest, source| {
            for to in 0..n_pes {
                pe.put(dest.slice(at(me))?, source.slice(at(to))?, to)?;
            }
            pe.quiet()
        }),
        ("put_nbi", &|pe, _, dest, source| {
            for to in 0..n_pes {
                pe.put_nbi(dest.slice(at(me))?, source.slice(at(to))?, to)?;
            }
            pe.quiet()
        }),
        ("put in a scope", &|pe, stream, dest, source| {
            let dest = &*dest;
            pe.scope(stream, |q| {
                for to in 0..n_pes {
                    q.put(dest.slice(at(me))?, source.slice(at(to))?, to)?;
                }
                q.quiet()
            })
        }),
        ("put_nbi in a scope", &|pe, stream, dest, source| {
            let dest = &*dest;
            pe.scope(stream, |q| {
                for to in 0..n_pes {
                    q.put_nbi(dest.slice(at(me))?, source.slice(at(to))?, to)?;
                }
                // The scope completes them.
                Ok(())
            })
        }),
    ];
    let mut source = told(pe.alloc(n_pes * LEN))?;
    told(source.copy_from_host(&messages(n_pes, |to| message(me, to, LEN))))?;
    for (name, form) in forms {
        let mut dest = told(pe.alloc(n_pes * LEN))?;
        told(form(pe, &stream, &mut dest, &source))?;
        told(pe.barrier_all())?;
        let expected = messages(n_pes, |from| message(from, me, LEN));
        same(name, &told(dest.to_vec())?, &expected)?;
        told(dest.free())?;
    }
    told(source.free())
}

fn gets(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (me, n_pes) = (pe.my_pe(), pe.n_pes());
    let stream = told(pe.stream())?;
    let forms: [(&str, Form<'_>); 4] = [
        ("get", &|pe, _, dest, source| {
            for from in 0..n_pes {
                pe.get(dest.slice_mut(at(from))?, source.slice(at(me))?, from)?;
            }
            Ok(())
        }),
        ("get_nbi", &|pe, _, dest, source| {
            for from in 0..n_pes {
                pe.get_nbi(dest.slice_mut(at(from))?, source.slice(at(me))?, from)?;
            }
            pe.quiet()
        }),
        ("get in a scope", &|pe, stream, dest, source| {
            let mut left = dest.as_slice_mut();
            pe.scope(stream, |q| {
                for from in 0..n_pes {
                    let (first, others) = left.split_at_mut(LEN)?;
                    left = others;
                    q.get(first, source.slice(at(me))?, from)?;
                }
                Ok(())
            })
        }),
        ("get_nbi in a scope", &|pe, stream, dest, source| {
            let mut left = dest.as_slice_mut();
            pe.scope(stream, |q| {
                for from in 0..n_pes {
                    let (first, others) = left.split_at_mut(LEN)?;
                    left = others;
                    q.get_nbi(first, source.slice(at(me))?, from)?;
                }
                // The scope completes them.
                Ok(())
            })
        }),
    ];
    let mut source = told(pe.alloc(n_pes * LEN))?;
    told(source.copy_from_host(&messages(n_pes, |to| message(me, to, LEN))))?;
    told(pe.barrier_all())?;
    for (name, form) in forms {
        let mut dest = told(pe.alloc(n_pes * LEN))?;
        told(form(pe, &stream, &mut dest, &source))?;
        let expected = messages(n_pes, |from| message(from, me, LEN));
        same(name, &told(dest.to_vec())?, &expected)?;
        told(dest.free())?;
    }
    told(source.free())
}

fn nothing(pe: &Nvshmem<'_>) -> Result<(), String> {
    let next = (pe.my_pe() + 1) % pe.n_pes();
    let (mut some, none) = (told(pe.alloc::<u64>(4))?, told(pe.alloc::<u64>(0))?);
    told(pe.put(told(some.slice(4..))?, &none, next))?;
    told(pe.put(&none, told(some.slice(2..2))?, next))?;
    told(pe.put_nbi(&none, &none, next))?;
    told(pe.get(told(some.slice_mut(..0))?, &none, next))?;
    let stream = told(pe.stream())?;
    told(pe.scope(&stream, |q| {
        q.put(some.slice(..0)?, &none, next)?;
        q.put_nbi(&none, &none, next)
    }))?;
    told(pe.scope(&stream, |_| Ok(())))?;
    told(none.free())?;
    told(some.free())
}

/// Checks that an outcome is an error of that kind, which names the operation.
fn refusal<T>(outcome: Result<T>, kind: ErrorKind, operation: &str) -> Result<(), String> {
    let Err(error) = outcome else {
        return Err(format!("{operation} was not refused"));
    };
    same(operation, &error.kind(), &kind)?;
    let text = error.to_string();
    if text.starts_with(operation) {
        return Ok(());
    }
    Err(format!("`{text}` does not begin with {operation}"))
}

fn refused(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let (mut dest, source) = (told(pe.alloc::<u16>(8))?, told(pe.alloc::<u16>(7))?);
    let stream = told(pe.stream())?;
    let short = told(dest.slice(1..))?;
    let no_pe = ErrorKind::Rank;
    refusal(pe.put(short, &source, n_pes), no_pe, "nvshmem_putmem")?;
    refusal(pe.put(short, &source, usize::MAX), no_pe, "nvshmem_putmem")?;
    refusal(
        pe.put_nbi(short, &source, n_pes),
        no_pe,
        "nvshmem_putmem_nbi",
    )?;
    let enqueued = pe.scope(&stream, |q| q.put(short, &source, n_pes));
    refusal(enqueued, no_pe, "nvshmemx_putmem_on_stream")?;
    let enqueued = pe.scope(&stream, |q| q.put_nbi(short, &source, n_pes));
    refusal(enqueued, no_pe, "nvshmemx_putmem_nbi_on_stream")?;
    let part = told(dest.slice_mut(..7))?;
    refusal(pe.get(part, &source, n_pes), no_pe, "nvshmem_getmem")?;
    let length = ErrorKind::Length;
    refusal(pe.put(&dest, &source, 0), length, "nvshmem_putmem")?;
    refusal(pe.get(&mut dest, &source, 0), length, "nvshmem_getmem")?;
    refusal(
        pe.get_nbi(&mut dest, &source, 0),
        length,
        "nvshmem_getmem_nbi",
    )?;
    let enqueued = pe.scope(&stream, |q| q.get(&mut dest, &source, 0));
    refusal(enqueued, length, "nvshmemx_getmem_on_stream")?;
    same("what nobody has put", &told(dest.to_vec())?, &vec![0; 8])?;
    told(pe.put(told(dest.slice(..7))?, &source, n_pes - 1))?;
    told(pe.barrier_all())?;
    told(dest.free())?;
    told(source.free())
}

/// Every second element here is every third there.
const STRIDES: Strides = Strides { dest: 3, source: 2 };

fn strided(pe: &Nvshmem<'_>) -> Result<(), String> {
    strided_of::<u8>(pe, |value| value)?;
    strided_of::<u16>(pe, u16::from)?;
    strided_of::<f32>(pe, f32::from)?;
    strided_of::<u64>(pe, u64::from)?;
    strided_of::<[f64; 2]>(pe, |value| [f64::from(value), -1.0])
}

fn strided_of<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(
    pe: &Nvshmem<'_>,
    of: impl Fn(u8) -> T,
) -> Result<(), String> {
    let (me, n_pes) = (pe.my_pe(), pe.n_pes());
    let (next, last) = ((me + 1) % n_pes, (me + n_pes - 1) % n_pes);
    let stream = told(pe.stream())?;
    let mut source = told(pe.alloc::<T>(8))?;
    let values = |pe: usize| (0..8).map(move |at| u8::try_from(20 * pe + at).unwrap_or(0));
    let mine: Vec<T> = values(me).map(&of).collect();
    told(source.copy_from_host(&mine))?;
    told(pe.barrier_all())?;
    let expected = |from: usize| {
        let mut expected = vec![T::zeroed(); 10];
        for (to, value) in expected
            .iter_mut()
            .step_by(3)
            .zip(values(from).skip(1).step_by(2))
        {
            *to = of(value);
        }
        expected
    };
    // Over a network there are no strides.
    let direct = |to: usize| match pe.context() {
        Some(_) => Ok(told(source.peer(to))?.is_some()),
        None => Ok::<_, String>(true),
    };
    let (to_next, from_last) = (direct(next)?, direct(last)?);
    for enqueued in [false, true] {
        let (put, mut got) = (told(pe.alloc::<T>(10))?, told(pe.alloc::<T>(10))?);
        let from = told(source.slice(1..))?;
        if !to_next {
            let outcome = pe.iput(&put, from, STRIDES, 4, next);
            refusal(outcome, ErrorKind::Argument, "nvshmem_iput")?;
        } else if enqueued {
            told(pe.scope(&stream, |q| {
                q.iput(&put, from, STRIDES, 4, next)?;
                q.iget(&mut got, from, STRIDES, 4, next)?;
                q.quiet()
            }))?;
        } else {
            told(pe.iput(&put, from, STRIDES, 4, next))?;
            told(pe.iget(&mut got, from, STRIDES, 4, next))?;
        }
        told(pe.barrier_all())?;
        if from_last {
            same("what was put", &told(put.to_vec())?, &expected(last))?;
        }
        if to_next {
            same("what was gotten", &told(got.to_vec())?, &expected(next))?;
        }
        told(put.free())?;
        told(got.free())?;
    }
    told(source.free())
}

fn refused_strides(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (dest, source) = (told(pe.alloc::<u32>(9))?, told(pe.alloc::<u32>(9))?);
    let me = pe.my_pe();
    let strides = |dest, source| Strides { dest, source };
    let put = |strides, count, to| pe.iput(&dest, &source, strides, count, to);
    let (length, argument) = (ErrorKind::Length, ErrorKind::Argument);
    let name = "nvshmem_iput32";
    refusal(put(strides(1, 2), 6, me), length, name)?;
    refusal(put(strides(2, 1), 6, me), length, name)?;
    refusal(put(strides(usize::MAX, 1), 3, me), length, name)?;
    refusal(put(strides(1, 1), usize::MAX, me), length, name)?;
    refusal(put(strides(0, 1), 2, me), argument, name)?;
    refusal(put(strides(1, 0), 2, me), argument, name)?;
    refusal(put(strides(1, 1), 2, pe.n_pes()), ErrorKind::Rank, name)?;
    told(put(strides(4, 4), 3, me))?;
    told(put(strides(1, 1), 0, me))?;
    let odd = told(pe.alloc::<[u8; 3]>(9))?;
    let outcome = pe.iput(&odd, &odd, strides(1, 1), 2, me);
    refusal(outcome, argument, "nvshmem_iput")?;
    told(pe.barrier_all())?;
    told(odd.free())?;
    told(source.free())?;
    told(dest.free())
}

fn within(pe: &Nvshmem<'_>) -> Result<(), String> {
    let me = pe.my_pe();
    let mut vec = told(pe.alloc::<u8>(12))?;
    told(told(vec.slice_mut(..4))?.copy_from_host(&[1, 2, 3, 4]))?;
    told(pe.put(told(vec.slice(4..8))?, told(vec.slice(..4))?, me))?;
    told(pe.quiet())?;
    let (before, mut from) = told(vec.split_at_mut(9))?;
    told(pe.get(
        told(from.reborrow().slice_mut(..3))?,
        told(before.as_slice().slice(5..8))?,
        me,
    ))?;
    let expected = vec![1, 2, 3, 4, 1, 2, 3, 4, 0, 2, 3, 4];
    same("what has moved", &told(vec.to_vec())?, &expected)?;
    told(vec.free())
}

fn in_order(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (me, n_pes) = (pe.my_pe(), pe.n_pes());
    let (next, last) = ((me + 1) % n_pes, (me + n_pes - 1) % n_pes);
    let stream = told(pe.stream())?;
    let mut source = told(pe.alloc::<u32>(LEN))?;
    let (over, mut back) = (told(pe.alloc::<u32>(LEN))?, told(pe.alloc::<u32>(LEN))?);
    told(source.copy_from_host(&message(me, next, LEN)))?;
    told(pe.scope(&stream, |q| {
        q.put(&over, &source, next)?;
        q.barrier_all()?;
        // What the PE before the one before has put to it.
        q.get(&mut back, &over, last)?;
        q.sync_all()
    }))?;
    let before = (last + n_pes - 1) % n_pes;
    let expected = message(before, last, LEN);
    same("what came by two PEs", &told(back.to_vec())?, &expected)?;
    for vec in [source, over, back] {
        told(vec.free())?;
    }
    told(pe.synchronize(&stream))
}

fn other_memory(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (me, n_pes) = (pe.my_pe(), pe.n_pes());
    let next = (me + 1) % n_pes;
    let last = (me + n_pes - 1) % n_pes;
    let Some(context) = pe.context() else {
        return Ok(());
    };
    let of_driver = |error: ranks_cuda::Error| error.to_string();
    let stream = told(pe.stream())?;
    let mine = context
        .device_vec_of(&message(me, next, LEN))
        .map_err(of_driver)?;
    let mut back = context.alloc::<u32>(LEN).map_err(of_driver)?;
    let dest = told(pe.alloc::<u32>(LEN))?;
    told(pe.put(&dest, OnDevice(&mine), next))?;
    told(pe.barrier_all())?;
    let expected = message(last, me, LEN);
    same("what was put", &told(dest.to_vec())?, &expected)?;
    told(pe.get(OnDevice(&mut back), &dest, me))?;
    same("a copy", &back.to_vec().map_err(of_driver)?, &expected)?;
    told(pe.barrier_all())?;
    let outcome = pe.scope(&stream, |q| {
        q.put(&dest, OnDevice(&back), next)?;
        q.barrier_all()
    });
    told(outcome)?;
    let before = message((last + n_pes - 1) % n_pes, last, LEN);
    same("what came by two PEs", &told(dest.to_vec())?, &before)?;
    let enqueued = told(pe.get_on_stream(OnDevice(back), dest, next, &stream))?;
    let (OnDevice(back), dest) = told(enqueued.wait())?;
    let expected = message(last, me, LEN);
    same("it again", &back.to_vec().map_err(of_driver)?, &expected)?;
    told(pe.barrier_all())?;
    told(dest.free())
}

fn owned(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (me, n_pes) = (pe.my_pe(), pe.n_pes());
    let (next, last) = ((me + 1) % n_pes, (me + n_pes - 1) % n_pes);
    let (stream, other) = (told(pe.stream())?, told(pe.stream())?);
    let (dest, mut source) = (
        told(pe.alloc::<u32>(2 * LEN))?,
        told(pe.alloc::<u32>(3 * LEN))?,
    );
    let sent = [vec![7; LEN], message(me, next, LEN), vec![8; LEN]].concat();
    told(source.copy_from_host(&sent))?;
    let part = told(SymmetricPart::of(source, LEN..2 * LEN))?;
    let to = told(SymmetricPart::of(dest, LEN..2 * LEN))?;
    let put = told(pe.put_on_stream(to, part, next, &stream))?;
    let (to, part) = told(put.enqueue_wait(&other))?;
    let all = told(pe.barrier_all_on_stream(&other))?;
    told(all.wait())?;
    let dest = to.into_vec();
    let expected = [vec![0; LEN], message(last, me, LEN)].concat();
    same("what was put", &told(dest.to_vec())?, &expected)?;
    let mine = told(pe.alloc::<u32>(2 * LEN))?;
    let get = told(pe.get_on_stream(mine, dest, next, &stream))?;
    let (mine, dest) = told(get.wait())?;
    let expected = [vec![0; LEN], message(me, next, LEN)].concat();
    same("what was gotten", &told(mine.to_vec())?, &expected)?;
    told(told(pe.sync_all_on_stream(&stream))?.wait())?;
    told(told(pe.quiet_on_stream(&stream))?.wait())?;
    // What is dropped goes on, and is freed after its end.
    drop(told(pe.put_on_stream(mine, dest, next, &stream))?);
    drop(part);
    let outcome = pe.put_on_stream(
        told(pe.alloc::<u32>(1))?,
        told(pe.alloc::<u32>(2))?,
        me,
        &stream,
    );
    refusal(outcome, ErrorKind::Length, "nvshmemx_putmem_on_stream")?;
    told(pe.collect())
}

fn left_by_an_error(pe: &Nvshmem<'_>) -> Result<(), String> {
    let me = pe.my_pe();
    let stream = told(pe.stream())?;
    let (dest, mut source) = (told(pe.alloc::<u32>(LEN))?, told(pe.alloc::<u32>(LEN))?);
    told(source.copy_from_host(&message(me, me, LEN)))?;
    let outcome = pe.scope(&stream, |q| {
        q.put_nbi(&dest, &source, me)?;
        q.put(&dest, &source, usize::MAX)
    });
    refusal(outcome, ErrorKind::Rank, "nvshmemx_putmem_on_stream")?;
    told(pe.synchronize(&stream))?;
    let expected = message(me, me, LEN);
    same("what was put", &told(dest.to_vec())?, &expected)?;
    told(source.free())?;
    told(dest.free())
}

fn flushed(pe: &Nvshmem<'_>) -> Result<(), String> {
    let me = pe.my_pe();
    let stream = told(pe.stream())?;
    let (dest, source) = (told(pe.alloc::<u32>(LEN))?, told(pe.alloc::<u32>(LEN))?);
    let outcomes = [
        pe.put_nbi(&dest, &source, me).and_then(|()| pe.flush()),
        pe.scope(&stream, |q| {
            q.put_nbi(&dest, &source, me)?;
            q.flush()
        }),
    ];
    for outcome in outcomes {
        // Before NVSHMEM 3.7 there is none.
        if let Err(error) = outcome {
            same("flush", &error.kind(), &ErrorKind::NotInLibrary)?;
            same(
                "what it says",
                &error.to_string().contains("it needs NVSHMEM 3.7"),
                &true,
            )?;
        }
    }
    told(pe.fence())?;
    told(pe.quiet())?;
    told(source.free())?;
    told(dest.free())
}
