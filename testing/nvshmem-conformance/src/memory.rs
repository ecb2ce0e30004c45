//! Blocks of the heap.

use ranks_comm::ErrorKind;
use ranks_nvshmem::{Nvshmem, SymmetricVec};

use super::{Case, same, told};

pub(super) const CASES: &[Case] = &[
    case(
        "what is allocated is zero, and is again when it is used again",
        zeroed,
    ),
    case("the host copies to any range, and from it", copies),
    case("blocks without bytes are blocks", empty),
    case(
        "what was dropped is freed when all PEs have dropped it, in whichever order",
        dropped,
    ),
    case(
        "lengths that differ are the same error on all PEs, and nothing is broken",
        different,
    ),
    case("bytes are filled", filled),
    case(
        "more than there is room for is an error on all PEs",
        too_much,
    ),
];

const fn case(name: &'static str, run: fn(&Nvshmem<'_>) -> Result<(), String>) -> Case {
    Case {
        name,
        needs_all: false,
        run,
    }
}

fn zeroed(pe: &Nvshmem<'_>) -> Result<(), String> {
    for len in [1, 77, 1000] {
        let mut vec: SymmetricVec<'_, u64> = told(pe.alloc(len))?;
        same("what is new", &told(vec.to_vec())?, &vec![0; len])?;
        told(vec.copy_from_host(&vec![u64::MAX; len]))?;
        told(vec.free())?;
    }
    Ok(())
}

fn copies(pe: &Nvshmem<'_>) -> Result<(), String> {
    let mut vec = told(pe.alloc::<u32>(10))?;
    let first = 100 * u32::try_from(pe.my_pe()).unwrap_or(0);
    let mine: Vec<u32> = (first..first + 10).collect();
    told(vec.copy_from_host(&mine))?;
    same("all of it", &told(vec.to_vec())?, &mine)?;
    let part = told(vec.slice(3..7))?;
    same("a part", &told(part.to_vec())?, &mine[3..7].to_vec())?;
    let part = told(told(part.slice(1..=2))?.to_vec())?;
    same("a part of it", &part, &mine[4..6].to_vec())?;
    told(told(vec.slice_mut(8..))?.copy_from_host(&[7, 8]))?;
    same(
        "the end",
        &told(told(vec.slice(7..))?.to_vec())?,
        &vec![mine[7], 7, 8],
    )?;
    let (mut before, mut after) = told(vec.split_at_mut(5))?;
    told(before.copy_from_host(&[1; 5]))?;
    told(after.copy_from_host(&[2; 5]))?;
    let halves = [[1; 5], [2; 5]].concat();
    same("both halves", &told(vec.to_vec())?, &halves)?;
    let kinds = [
        vec.slice(11..).map(drop),
        vec.slice(..11).map(drop),
        #[allow(clippy::reversed_empty_ranges, reason = "this is what is refused")]
        vec.slice(3..2).map(drop),
    ];
    for outcome in kinds {
        let kind = outcome.err().map(|error| error.kind());
        same(
            "a range that is not there",
            &kind,
            &Some(ErrorKind::Argument),
        )?;
    }
    let kind = vec.copy_from_host(&[1]).err().map(|error| error.kind());
    same("another length", &kind, &Some(ErrorKind::Length))?;
    let kind = vec
        .copy_to_host(&mut [1; 11])
        .err()
        .map(|error| error.kind());
    same("another length", &kind, &Some(ErrorKind::Length))?;
    told(vec.free())
}

fn empty(pe: &Nvshmem<'_>) -> Result<(), String> {
    let mut none = told(pe.alloc::<u64>(0))?;
    let no_bytes = told(pe.alloc::<[u8; 0]>(5))?;
    same(
        "its length",
        &(none.len(), none.is_empty(), no_bytes.len()),
        &(0, true, 5),
    )?;
    told(none.copy_from_host(&[]))?;
    told(none.fill_bytes(1))?;
    same("what is in it", &told(none.to_vec())?, &vec![])?;
    told(none.free())?;
    drop(no_bytes);
    told(pe.collect())
}

fn dropped(pe: &Nvshmem<'_>) -> Result<(), String> {
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(told(pe.alloc::<u8>(100))?);
    }
    // Each PE in another order, and one of them later than the others.
    all.rotate_left(pe.my_pe() % 4);
    let late = (pe.my_pe() == 0).then(|| all.pop());
    drop(all);
    told(pe.collect())?;
    drop(late);
    let next = told(pe.alloc::<u8>(100))?;
    same("what is new", &told(next.to_vec())?, &vec![0; 100])?;
    told(next.free())
}

fn different(pe: &Nvshmem<'_>) -> Result<(), String> {
    if pe.n_pes() == 1 {
        return Ok(());
    }
    let error = pe.alloc::<u64>(8 + pe.my_pe() / (pe.n_pes() - 1)).err();
    same(
        "different lengths",
        &error.map(|error| error.kind()),
        &Some(ErrorKind::Mismatch),
    )?;
    let error = if pe.my_pe() == 0 {
        pe.alloc::<u64>(8).err()
    } else {
        pe.alloc::<u32>(8).err()
    };
    same(
        "different elements",
        &error.map(|error| error.kind()),
        &Some(ErrorKind::Mismatch),
    )?;
    let error = if pe.my_pe() == 0 {
        pe.alloc::<u64>(8).err()
    } else {
        pe.collect().err()
    };
    same(
        "different calls",
        &error.map(|error| error.kind()),
        &Some(ErrorKind::Mismatch),
    )?;
    let vec = told(pe.alloc::<u64>(8))?;
    told(vec.free())
}

fn filled(pe: &Nvshmem<'_>) -> Result<(), String> {
    let mut vec = told(pe.alloc::<u16>(9))?;
    told(told(vec.slice_mut(2..5))?.fill_bytes(0x11))?;
    let expected = vec![0, 0, 0x1111, 0x1111, 0x1111, 0, 0, 0, 0];
    same("what was filled", &told(vec.to_vec())?, &expected)?;
    told(vec.free())
}

fn too_much(pe: &Nvshmem<'_>) -> Result<(), String> {
    let error = pe.alloc::<u64>(usize::MAX / 4).err();
    same(
        "no such length",
        &error.map(|error| error.kind()),
        &Some(ErrorKind::Length),
    )?;
    let error = pe.alloc::<u8>(isize::MAX as usize - 4096).err();
    same(
        "no room",
        &error.map(|error| error.kind()),
        &Some(ErrorKind::Memory),
    )?;
    let vec = told(pe.alloc::<u64>(8))?;
    told(vec.free())
}
