//! Signals, and waiting for them.

use std::time::Duration;

use ranks_comm::ErrorKind;
use ranks_nvshmem::{Comparison, Nvshmem, SignalOp};

use super::{Case, same, told};

pub(super) const CASES: &[Case] = &[
    everywhere("signals of all PEs add up on every PE", added),
    everywhere("a signal is waited for with each comparison", compared),
    everywhere("who waits for a signal in vain is told so", in_vain),
    everywhere(
        "a stream that cannot wait says so, and the host can",
        limited,
    ),
    everywhere("signals that are not there are refused", refused),
    full(
        "what was put is there when its signal is, round by round",
        ping_pong,
    ),
    full(
        "who waits for a stream that waits in vain is told so",
        stream_in_vain,
    ),
    full("a signal is sent with nothing", with_nothing),
];

const fn everywhere(name: &'static str, run: fn(&Nvshmem<'_>) -> Result<(), String>) -> Case {
    Case {
        name,
        needs_all: false,
        run,
    }
}

const fn full(name: &'static str, run: fn(&Nvshmem<'_>) -> Result<(), String>) -> Case {
    Case {
        name,
        needs_all: true,
        run,
    }
}

/// A limit that is meant to pass.
const SHORT: Duration = Duration::from_millis(20);

fn added(pe: &Nvshmem<'_>) -> Result<(), String> {
    let (me, n_pes) = (pe.my_pe() as u64, pe.n_pes());
    let signals = told(pe.signals(3))?;
    same(
        "how many",
        &(signals.len(), signals.is_empty()),
        &(3, false),
    )?;
    let stream = told(pe.stream())?;
    for to in 0..n_pes {
        told(pe.signal_op(told(signals.at(1))?, me + 1, SignalOp::Add, to))?;
    }
    told(pe.scope(&stream, |q| {
        for to in 0..n_pes {
            q.signal_op(signals.at(2)?, me + 10, SignalOp::Add, to)?;
        }
        q.quiet()
    }))?;
    told(
        told(pe.signal_op_on_stream(told(signals.at(0))?, 77, SignalOp::Set, 0, &stream))?.wait(),
    )?;
    told(pe.quiet())?;
    told(pe.barrier_all())?;
    let all = n_pes as u64;
    let sum = all * (all - 1) / 2;
    let words = (0..3).map(|at| told(pe.signal_fetch(told(signals.at(at))?)));
    let words: Vec<u64> = words.collect::<Result<_, _>>()?;
    let first = if me == 0 { 77 } else { 0 };
    same(
        "the signals",
        &words,
        &vec![first, sum + all, sum + 10 * all],
    )?;
    told(signals.free())
}

fn compared(pe: &Nvshmem<'_>) -> Result<(), String> {
    let me = pe.my_pe();
    let signal = told(pe.signal())?;
    told(pe.signal_op(&signal, u64::MAX - 1, SignalOp::Set, me))?;
    let word = u64::MAX - 1;
    let compared = [
        (Comparison::Equal, word),
        (Comparison::NotEqual, 0),
        (Comparison::Greater, word - 1),
        (Comparison::LessOrEqual, word),
        (Comparison::Less, u64::MAX),
        (Comparison::GreaterOrEqual, word),
    ];
    for (comparison, value) in compared {
        told(pe.signal_wait_until(&signal, comparison, value))?;
        // What holds already is seen, however short the limit is.
        for limit in [Duration::ZERO, Duration::from_nanos(1)] {
            told(pe.signal_wait_until_for(&signal, comparison, value, limit))?;
        }
    }
    told(pe.signal_op(&signal, 3, SignalOp::Add, me))?;
    told(pe.signal_wait_until(&signal, Comparison::Equal, 1))?;
    same("the word", &told(pe.signal_fetch(&signal))?, &1)?;
    told(signal.free())
}

fn in_vain(pe: &Nvshmem<'_>) -> Result<(), String> {
    let me = pe.my_pe();
    let signal = told(pe.signal())?;
    let waited = pe.signal_wait_until_for(&signal, Comparison::Equal, 5, SHORT);
    let Err(error) = waited else {
        return Err("it was not waited for in vain".to_owned());
    };
    same("the wait", &error.kind(), &ErrorKind::TimedOut)?;
    let named = error
        .to_string()
        .starts_with("nvshmemx_signal_wait_until_on_stream");
    same("whether it is named", &named, &true)?;
    // Others can be sent and waited for meanwhile.
    let other = told(pe.signal())?;
    told(pe.signal_op(&other, 1, SignalOp::Set, me))?;
    told(pe.signal_wait_until(&other, Comparison::GreaterOrEqual, 1))?;
    // What waits still, of which the blocks cannot be freed, is released.
    told(pe.signal_op(&signal, 5, SignalOp::Set, me))?;
    told(other.free())?;
    told(signal.free())
}

fn limited(pe: &Nvshmem<'_>) -> Result<(), String> {
    let me = pe.my_pe();
    let (signal, stream) = (told(pe.signal())?, told(pe.stream())?);
    told(pe.signal_op(&signal, 1, SignalOp::Set, me))?;
    let waited = pe.scope(&stream, |q| {
        q.signal_wait_until(&signal, Comparison::Equal, 1)
    });
    let kind = waited.err().map(|error| error.kind());
    let expected = pe.limited().then_some(ErrorKind::NotInLibrary);
    same("the wait of a stream", &kind, &expected)?;
    told(pe.signal_wait_until(&signal, Comparison::Equal, 1))?;
    told(signal.free())
}

fn refused(pe: &Nvshmem<'_>) -> Result<(), String> {
    let n_pes = pe.n_pes();
    let (signals, stream) = (told(pe.signals(2))?, told(pe.stream())?);
    let vec = told(pe.alloc::<u8>(3))?;
    let first = told(signals.at(0))?;
    let kinds = [
        pe.signal_op(first, 1, SignalOp::Set, n_pes),
        pe.scope(&stream, |q| q.signal_op(first, 1, SignalOp::Add, n_pes)),
        pe.put_signal(&vec, &vec, first, 1, SignalOp::Set, n_pes),
        pe.scope(&stream, |q| {
            q.put_signal(&vec, &vec, first, 1, SignalOp::Set, n_pes)
        }),
    ];
    for outcome in kinds {
        let kind = outcome.err().map(|error| error.kind());
        same("a PE that is not there", &kind, &Some(ErrorKind::Rank))?;
    }
    let short = told(vec.slice(1..))?;
    let outcome = pe.put_signal(&vec, short, first, 1, SignalOp::Set, 0);
    let kind = outcome.err().map(|error| error.kind());
    same("another length", &kind, &Some(ErrorKind::Length))?;
    for index in [2, usize::MAX] {
        let kind = signals.at(index).err().map(|error| error.kind());
        same("no signal", &kind, &Some(ErrorKind::Argument))?;
    }
    same("the signal", &told(pe.signal_fetch(first))?, &0)?;
    told(vec.free())?;
    told(signals.free())
}

fn ping_pong(pe: &Nvshmem<'_>) -> Result<(), String> {
    const ROUNDS: u64 = 4;
    let (me, n_pes) = (pe.my_pe() as u64, pe.n_pes());
    let (next, last) = ((pe.my_pe() + 1) % n_pes, (pe.my_pe() + n_pes - 1) % n_pes);
    let stream = told(pe.stream())?;
    let (mut here, there) = (told(pe.alloc::<u64>(9))?, told(pe.alloc::<u64>(9))?);
    let (arrived, taken) = (told(pe.signal())?, told(pe.signal())?);
    for round in 1..=ROUNDS {
        let value = 100 * me + round;
        told(here.copy_from_host(&[value; 9]))?;
        let (to, from) = (told(there.slice(2..7))?, told(here.slice(..5))?);
        let (set, add) = (SignalOp::Set, SignalOp::Add);
        match round % 4 {
            0 => told(pe.put_signal(to, from, &arrived, round, set, next))?,
            1 => told(pe.scope(&stream, |q| q.put_signal(to, from, &arrived, 1, add, next)))?,
            2 => told(pe.scope(&stream, |q| {
                q.put_signal_nbi(to, from, &arrived, round, set, next)
            }))?,
            _ => told(pe.scope(&stream, |q| {
                q.put_nbi(to, from, next)?;
                q.quiet()?;
                q.signal_op(&arrived, round, set, next)
            }))?,
        }
        let at_least = Comparison::GreaterOrEqual;
        if round % 2 == 0 {
            told(pe.signal_wait_until(&arrived, at_least, round))?;
        } else {
            told(pe.scope(&stream, |q| q.signal_wait_until(&arrived, at_least, round)))?;
        }
        let value = 100 * last as u64 + round;
        let expected = [&[0; 2][..], &[value; 5], &[0; 2]].concat();
        same("what has arrived", &told(there.to_vec())?, &expected)?;
        // The one before puts the next when this was looked at.
        told(pe.signal_op(&taken, round, set, last))?;
        told(told(pe.signal_wait_until_on_stream(&taken, at_least, round, &stream))?.wait())?;
    }
    told(pe.barrier_all())?;
    let sent =
        told(pe.put_signal_on_stream(there, here, &arrived, 1, SignalOp::Add, next, &stream))?;
    let (there, here) = told(sent.wait())?;
    told(pe.signal_wait_until(&arrived, Comparison::Equal, ROUNDS + 1))?;
    told(pe.barrier_all())?;
    let expected = vec![100 * last as u64 + ROUNDS; 9];
    same("what was owned", &told(there.to_vec())?, &expected)?;
    for vec in [here, there] {
        told(vec.free())?;
    }
    told(arrived.free())?;
    told(taken.free())
}

fn stream_in_vain(pe: &Nvshmem<'_>) -> Result<(), String> {
    let me = pe.my_pe();
    let (signal, stream) = (told(pe.signal())?, told(pe.stream())?);
    let wait = told(pe.signal_wait_until_on_stream(&signal, Comparison::Equal, 9, &stream))?;
    same("whether it is done", &told(wait.is_done())?, &false)?;
    let kind = wait.wait_for(SHORT).err().map(|error| error.kind());
    same("the wait", &kind, &Some(ErrorKind::TimedOut))?;
    told(pe.signal_op(&signal, 9, SignalOp::Set, me))?;
    told(signal.free())
}

fn with_nothing(pe: &Nvshmem<'_>) -> Result<(), String> {
    let next = (pe.my_pe() + 1) % pe.n_pes();
    let (signal, stream) = (told(pe.signal())?, told(pe.stream())?);
    let none = told(pe.alloc::<u64>(0))?;
    told(pe.put_signal(&none, &none, &signal, 3, SignalOp::Add, next))?;
    told(pe.scope(&stream, |q| {
        q.put_signal(&none, &none, &signal, 4, SignalOp::Add, next)?;
        q.signal_wait_until(&signal, Comparison::Equal, 7)
    }))?;
    told(none.free())?;
    told(signal.free())
}
