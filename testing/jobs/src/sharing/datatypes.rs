//! Datatypes: ours in the part in C, and its own here.

use std::ffi::c_int;

use ranks::interop::ForeignDatatype;
use ranks::layout::{Field, Fields};
use ranks::{Communicator, ErrorKind, Layout, Runtime};

use super::{Handle, Ring, Side, done, other_form, ring, same};
use crate::outcome::{Outcome, refused};

/// On ours, which the part in C sends, receives and reduces.
pub(super) fn ours<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    let ring: Ring<H> = ring(runtime)?;
    let comm = &ring.comm;
    // Two times three numbers, each the second of four.
    let layout = Layout::vector(3, 1, 4).at(1).resized(13);
    let column = comm.datatype::<f64>(&layout)?;
    let both = layout.repeat(2);
    let mine = |rank: usize| -> Vec<f64> {
        let numbers = 0..both.true_extent().end;
        numbers.map(|number| (100 * rank + number) as f64).collect()
    };
    let handle = H::from_c(column.as_native_raw()).ok_or("handles of another form")?;
    for odd_in_c in [true, false] {
        let in_c = (comm.rank() % 2 == 1) == odd_in_c;
        let data = mine(comm.rank());
        let mut got = vec![-1.0; data.len()];
        ring.pass(
            || {
                if !in_c {
                    return Ok(comm.send_view(&both.of(&data)?, ring.right, 6)?);
                }
                let (to, from) = (ring.right_in_c()?, data.as_ptr().cast());
                // SAFETY: two of the datatype are what `both` takes of the data.
                let code = unsafe { (side.send_of)(ring.handle, to, from, 2, handle) };
                done("side_send_of", code)
            },
            || {
                if !in_c {
                    comm.recv_view(&mut both.of_mut(&mut got)?, ring.left, 6)?;
                    return Ok(());
                }
                let (from, to) = (ring.left_in_c()?, got.as_mut_ptr().cast());
                // SAFETY: two of the datatype are what `both` takes of it; the message is as long.
                let code = unsafe { (side.recv_of)(ring.handle, from, to, 2, handle) };
                done("side_recv_of", code)
            },
        )?;
        let theirs = mine(ring.left);
        let mut expected = vec![-1.0; theirs.len()];
        for start in [1, 5, 9, 14, 18, 22] {
            expected[start] = theirs[start];
        }
        same("what two of our datatype took", &got, &expected)?;
    }
    reduced(side, &ring)?;
    again(runtime, &ring)
}

/// The datatype of a number is one that can be reduced.
fn reduced<H: Handle>(side: &Side<H>, ring: &Ring<H>) -> Outcome {
    let number = ring.comm.datatype::<i64>(&Layout::contiguous(1))?;
    let handle = H::from_c(number.as_native_raw()).ok_or("handles of another form")?;
    let (mine, mut sum) = ([ring.comm.rank() as i64 + 1], [0i64]);
    let (from, to) = (mine.as_ptr().cast(), sum.as_mut_ptr().cast());
    // SAFETY: both are one number; all ranks do this.
    let code = unsafe { (side.sum_of)(ring.handle, from, to, handle) };
    done("side_sum_of", code)?;
    let size = ring.comm.size() as i64;
    same("sum", &sum[0], &(size * (size + 1) / 2))
}

/// By the standard's handle, which another part in Rust would have.
fn again<H>(runtime: &Runtime, ring: &Ring<H>) -> Outcome {
    let comm = &ring.comm;
    let fields = Fields::<[u32; 4]>::new([Field::at::<u32>(12), Field::at::<u32>(4)])?;
    let layout = Layout::contiguous(2).at(1);
    let datatype = comm.datatype_of_fields(&layout, &fields)?;
    // SAFETY: the datatype is committed, has numbers of four bytes, and none of them twice.
    let again: ForeignDatatype<[u32; 4]> = unsafe { runtime.datatype_from_raw(datatype.as_raw()) }?;
    drop(datatype);
    same(
        "size and extents",
        &(again.bytes(), again.extent(), again.true_extent()),
        &(16, 48, 20..48),
    )?;
    let sending = comm.isend(vec![1u32, 2, 3, 4], ring.right, 6)?;
    let mut got = [[9; 4]; 3];
    comm.recv_typed(&mut got, 1, &again, ring.left, 6)?;
    same("fields", &got, &[[9; 4], [9, 2, 9, 1], [9, 4, 9, 3]])?;
    sending.wait()?;
    Ok(())
}

/// On theirs, which this part sends and receives.
pub(super) fn theirs<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    let ring: Ring<H> = ring(runtime)?;
    let comm = &ring.comm;
    // SAFETY: MPI is initialised.
    let handle = unsafe { (side.make_type)() };
    // SAFETY: it has just been made; its double and its int are as aligned as a u64, and apart.
    let foreign = unsafe { runtime.datatype_from_native_raw::<u64>(handle.to_c()) }?;
    same(
        "size and extents",
        &(foreign.bytes(), foreign.extent(), foreign.true_extent()),
        &(12, 32, 0..12),
    )?;
    for odd_in_c in [true, false] {
        let in_c = (comm.rank() % 2 == 1) == odd_in_c;
        passed(side, &ring, in_c.then_some(handle), &foreign)?;
    }
    // SAFETY: nobody uses it there any more, and here there is a duplicate.
    done("side_free_type", unsafe { (side.free_type)(handle) })?;
    passed(side, &ring, None, &foreign)?;
    limits(comm, &ring, &foreign)
}

/// Two of a datatype, sent and received in C if its handle there is given.
fn passed<H: Handle>(
    side: &Side<H>,
    ring: &Ring<H>,
    in_c: Option<H>,
    foreign: &ForeignDatatype<u64>,
) -> Outcome {
    let record = |rank: usize, number: u64| {
        let double = (rank as f64 + number as f64 / 4.0).to_bits();
        [double, rank as u64 + number]
    };
    let mine = ring.comm.rank();
    let data = [record(mine, 0), [7; 2], record(mine, 1), [7; 2]].concat();
    let mut got = vec![u64::MAX; 6];
    ring.pass(
        || {
            let Some(handle) = in_c else {
                return Ok(ring.comm.send_typed(&data, 2, foreign, ring.right, 6)?);
            };
            let (to, from) = (ring.right_in_c()?, data.as_ptr().cast());
            // SAFETY: two of the datatype are inside of the data.
            let code = unsafe { (side.send_of)(ring.handle, to, from, 2, handle) };
            done("side_send_of", code)
        },
        || {
            let Some(handle) = in_c else {
                let status = ring.comm.recv_typed(&mut got, 2, foreign, ring.left, 6)?;
                return same("bytes", &status.bytes(), &24);
            };
            let (from, to) = (ring.left_in_c()?, got.as_mut_ptr().cast());
            // SAFETY: two of the datatype are inside of it; the message is as long.
            let code = unsafe { (side.recv_of)(ring.handle, from, to, 2, handle) };
            done("side_recv_of", code)
        },
    )?;
    // Of the second word an int is received, of the others nothing.
    let after = |number| {
        let [double, int] = record(ring.left, number);
        let mut bytes = [0xff; 8];
        bytes[..size_of::<c_int>()].copy_from_slice(&int.to_ne_bytes()[..size_of::<c_int>()]);
        [double, u64::from_ne_bytes(bytes)]
    };
    let expected = [after(0), [u64::MAX; 2], after(1)].concat();
    same("what two of their datatype took", &got, &expected)
}

/// What does not fit, on either side.
fn limits<H>(comm: &Communicator, ring: &Ring<H>, foreign: &ForeignDatatype<u64>) -> Outcome {
    let mut room = [5u64; 6];
    for count in [3, usize::MAX / 8, usize::MAX] {
        let sent = comm.send_typed(&room, count, foreign, ring.right, 6);
        refused("a send of more than there is", sent, ErrorKind::Length)?;
        let received = comm.recv_typed(&mut room, count, foreign, ring.left, 6);
        refused(
            "a receive of more than there is room for",
            received,
            ErrorKind::Length,
        )?;
    }
    for (bytes, kind) in [
        (36, ErrorKind::Truncated),
        (36_000, ErrorKind::Truncated),
        (13, ErrorKind::Type),
    ] {
        let sending = comm.isend(vec![0u8; bytes], ring.right, 6)?;
        let received = comm.recv_typed(&mut room, 2, foreign, ring.left, 6);
        refused("a receive of too much", received, kind)?;
        sending.wait()?;
    }
    same("what was received into", &room, &[5; 6])?;
    let sending = comm.isend(Vec::<u8>::new(), ring.right, 6)?;
    comm.recv_typed(&mut room, 0, foreign, ring.left, 6)?;
    sending.wait()?;
    Ok(())
}

/// What is no datatype for us.
pub(super) fn not_taken<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    // SAFETY: it only returns a constant.
    let null = unsafe { (side.null_type)() };
    // SAFETY: MPI is initialised.
    let backward = unsafe { (side.make_backward_type)() };
    for (what, handle) in [
        ("null", null.to_c()),
        ("another form", other_form(null)),
        ("one that begins before its address", backward.to_c()),
    ] {
        // SAFETY: it is null, or of another form, or alive.
        let taken = unsafe { runtime.datatype_from_native_raw::<f64>(handle) };
        refused(what, taken, ErrorKind::Argument)?;
    }
    // SAFETY: nobody else has it.
    done("side_free_type", unsafe { (side.free_type)(backward) })?;
    let layout = Layout::contiguous(usize::MAX / 2);
    let refused_layout = runtime.world().datatype::<f64>(&layout);
    refused(
        "a layout of more than memory",
        refused_layout,
        ErrorKind::Length,
    )?;
    Ok(())
}
