//! Collective operations: what each PE gets.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

use half::{bf16, f16};
use ranks_nvshmem_sys::*;

use crate::processes::all_well;
use crate::support::{BOTH, NEW, Pe, int, own};

/// Elements of a block.
const COUNT: usize = 3;

/// Elements of that type.
fn bytes_of(element: Element, values: &[u8]) -> Vec<u8> {
    let of = |&value: &u8| match element {
        Element::Char | Element::Schar | Element::Int8 | Element::Uchar | Element::Uint8 => {
            vec![value]
        }
        Element::Short | Element::Int16 | Element::Ushort | Element::Uint16 => {
            u16::from(value).to_ne_bytes().to_vec()
        }
        Element::Int | Element::Int32 | Element::Uint | Element::Uint32 => {
            u32::from(value).to_ne_bytes().to_vec()
        }
        Element::Half => f16::from_f32(f32::from(value)).to_ne_bytes().to_vec(),
        Element::Bfloat16 => bf16::from_f32(f32::from(value)).to_ne_bytes().to_vec(),
        Element::Float => f32::from(value).to_ne_bytes().to_vec(),
        Element::Double => f64::from(value).to_ne_bytes().to_vec(),
        _ => u64::from(value).to_ne_bytes().to_vec(),
    };
    values.iter().flat_map(of).collect()
}

fn value(pe: usize, at: usize) -> u8 {
    u8::try_from((pe + at) % 3 + 1).expect("small")
}

fn combined(operation: Operation, values: impl Iterator<Item = u8>) -> u8 {
    let both = |a: u8, b: u8| match operation {
        Operation::Sum => a + b,
        Operation::Prod => a * b,
        Operation::Min => a.min(b),
        Operation::Max => a.max(b),
        Operation::And => a & b,
        Operation::Or => a | b,
        Operation::Xor => a ^ b,
    };
    values.reduce(both).expect("a PE")
}

/// One reduction, in both forms, with and without a stream.
fn reduces(pe: &Pe, [dest, source]: [*mut c_void; 2], operation: Operation, element: Element) {
    for form in [Form::Reduce, Form::ReduceScatter] {
        let blocks = if form == Form::Reduce { 1 } else { pe.n_pes };
        let mine: Vec<u8> = (0..blocks * COUNT).map(|at| value(pe.my_pe, at)).collect();
        let begin = (blocks - 1).min(pe.my_pe) * COUNT;
        let whole = (begin..begin + COUNT)
            .map(|at| combined(operation, (0..pe.n_pes).map(|other| value(other, at))));
        let expected = bytes_of(element, &whole.collect::<Vec<_>>());
        for on_stream in [false, true] {
            pe.write(source, &bytes_of(element, &mine));
            pe.write(dest, &vec![0xee; expected.len()]);
            let code = if on_stream {
                let reduce = pe.library.reduction_on_stream(form, operation, element);
                let reduce = reduce.expect("it is there");
                // SAFETY: both are memory of the heap that is large enough.
                unsafe { reduce(0, dest, source, COUNT, pe.stream()) }
            } else {
                let reduce = pe.library.reduction(form, operation, element);
                let reduce = reduce.expect("it is there");
                // SAFETY: the same.
                unsafe { reduce(0, dest, source, COUNT) }
            };
            assert_eq!(code, 0);
            pe.sync();
            let what = format!("{form:?} {operation:?} {element:?} {on_stream}");
            assert_eq!(pe.read(dest, expected.len()), expected, "{what}");
        }
    }
}

#[test]
fn every_type_is_reduced_in_every_way() {
    let Some(pe) = own() else {
        all_well(
            "collectives::every_type_is_reduced_in_every_way",
            NEW,
            2,
            &[],
        );
        return;
    };
    let memory = [pe.alloc(256), pe.alloc(256)];
    let mut count = 0;
    for element in Element::ALL {
        for operation in Operation::ALL {
            let bits = [Operation::And, Operation::Or, Operation::Xor].contains(&operation);
            if !bits || element.has_bits() {
                reduces(&pe, memory, operation, element);
                count += 1;
            }
        }
    }
    assert_eq!(count, 138);
    pe.end();
}

#[test]
fn blocks_come_where_they_should() {
    let Some(pe) = own() else {
        for release in BOTH {
            for pes in 1..=4 {
                all_well(
                    "collectives::blocks_come_where_they_should",
                    release,
                    pes,
                    &[],
                );
            }
        }
        return;
    };
    let memory = [pe.alloc(1024), pe.alloc(1024)];
    reduces(&pe, memory, Operation::Sum, Element::Half);
    reduces(&pe, memory, Operation::Prod, Element::Int64);
    reduces(&pe, memory, Operation::Xor, Element::Uchar);
    moves(&pe, 0, memory);
    // Every second PE, beginning with the last.
    let mut team = -7;
    let begin = (pe.n_pes - 1) % 2;
    let size = (pe.n_pes - begin).div_ceil(2);
    let code = call!(
        pe,
        nvshmem_team_split_strided(0, int(begin), 2, int(size), null(), 0, &raw mut team)
    );
    assert_eq!(code, 0);
    if team != -1 {
        moves(&pe, team, memory);
        call!(pe, nvshmem_team_destroy(team));
    }
    pe.end();
}

#[test]
fn a_stream_reads_when_it_comes_to_it() {
    static GO: AtomicBool = AtomicBool::new(false);
    let Some(pe) = own() else {
        all_well(
            "collectives::a_stream_reads_when_it_comes_to_it",
            NEW,
            3,
            &[],
        );
        return;
    };
    let [dest, source] = [pe.alloc(64), pe.alloc(64)];
    let me = u8::try_from(pe.my_pe).expect("small");
    pe.write(source, &[0xee; 4]);
    if pe.my_pe == 1 {
        // The others call the other form, which is the same operation.
        pe.write(source, &[me; 4]);
        let code = call!(pe, nvshmem_fcollectmem(0, dest, source, 4));
        assert_eq!(code, 0);
    } else {
        pe.hold(&GO);
        let code = call!(
            pe,
            nvshmemx_fcollectmem_on_stream(0, dest, source, 4, pe.stream())
        );
        assert_eq!(code, 0);
        pe.write(source, &[me; 4]);
        GO.store(true, Ordering::Release);
    }
    pe.sync();
    assert_eq!(pe.read(dest, 12), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    pe.end();
}

/// Broadcasts from every root, and gathers, on a team.
fn moves(pe: &Pe, team: nvshmem_team_t, [dest, source]: [*mut c_void; 2]) {
    let (me, pes) = (
        usize::try_from(call!(pe, nvshmem_team_my_pe(team))).expect("it is in it"),
        usize::try_from(call!(pe, nvshmem_team_n_pes(team))).expect("it has PEs"),
    );
    let byte = |pe: usize, at: usize| u8::try_from(16 * pe + at).expect("small");
    let block = |pe: usize, block: usize| (0..COUNT).map(move |at| byte(pe, COUNT * block + at));
    let all: Vec<u8> = (0..pes).flat_map(|to| block(me, to)).collect();
    let stream = pe.stream();
    let clear = || {
        pe.sync();
        pe.write(dest, &vec![0xee; pes * COUNT]);
        pe.write(source, &all);
        // Nobody reads what is written here at the same time.
        assert_eq!(call!(pe, nvshmem_team_sync(team)), 0);
    };
    let got = |blocks: usize| {
        pe.sync();
        pe.read(dest, blocks * COUNT)
    };
    for on_stream in [false, true] {
        for root in 0..pes {
            clear();
            let code = if on_stream {
                call!(
                    pe,
                    nvshmemx_broadcastmem_on_stream(team, dest, source, COUNT, int(root), stream)
                )
            } else {
                call!(
                    pe,
                    nvshmem_broadcastmem(team, dest, source, COUNT, int(root))
                )
            };
            assert_eq!(code, 0);
            assert_eq!(got(1), block(root, 0).collect::<Vec<_>>());
        }
        clear();
        let code = if on_stream {
            call!(
                pe,
                nvshmemx_fcollectmem_on_stream(team, dest, source, COUNT, stream)
            )
        } else {
            call!(pe, nvshmem_fcollectmem(team, dest, source, COUNT))
        };
        assert_eq!(code, 0);
        let expected: Vec<u8> = (0..pes).flat_map(|from| block(from, 0)).collect();
        assert_eq!(got(pes), expected);
        clear();
        let code = if on_stream {
            call!(
                pe,
                nvshmemx_alltoallmem_on_stream(team, dest, source, COUNT, stream)
            )
        } else {
            call!(pe, nvshmem_alltoallmem(team, dest, source, COUNT))
        };
        assert_eq!(code, 0);
        let expected: Vec<u8> = (0..pes).flat_map(|from| block(from, me)).collect();
        assert_eq!(got(pes), expected);
    }
}
