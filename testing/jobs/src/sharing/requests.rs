//! Requests: ours completed by the part in C, and its own here.

use std::ffi::c_int;

use ranks::interop::HandedOver;
use ranks::{Communicator, ErrorKind, Request, Runtime};

use super::{Handle, Ring, Side, other_form, ring, same};
use crate::outcome::{Failure, Outcome, refused};

const TAG: i32 = 7;

/// On ours, which the part in C completes, if the library has them.
pub(super) fn ours<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    let ring: Ring<H> = ring(runtime)?;
    let comm = &ring.comm;
    let mine = comm.rank() as f64;
    for length in [3, 30_000] {
        let receiving = comm.irecv(vec![-1.0; length + 1], ring.left, TAG)?;
        let sending = comm.isend(vec![mine; length], ring.right, TAG)?;
        let received = match receiving.into_raw() {
            Ok(handed) => {
                let (count, buffer) = completed(side, handed)?;
                same("how much was received", &usize::try_from(count)?, &length)?;
                buffer
            }
            Err((request, error)) => {
                same("why not", &error.kind(), &ErrorKind::NotInLibrary)?;
                request.wait()?.0
            }
        };
        let mut expected = vec![ring.left as f64; length];
        expected.push(-1.0);
        same("what was received", &received, &expected)?;
        let handed = sending.into_raw().map_err(|(_, error)| error)?;
        let (_, sent) = completed(side, handed)?;
        same("what was sent", &sent, &vec![mine; length])?;
    }
    again(comm, &ring)
}

/// Has the part in C complete a request; what it says of the length, and the memory.
fn completed<H: Handle, B: Send + 'static>(
    side: &Side<H>,
    handed: HandedOver<B>,
) -> Result<(c_int, B), Failure> {
    let handle = H::from_c(handed.as_native_raw()).ok_or("handles of another form")?;
    // SAFETY: the request is active, and nobody else completes it.
    let count = unsafe { (side.wait)(handle) };
    if count == -2 {
        return Err("side_wait has failed".into());
    }
    // SAFETY: it was completed.
    Ok((count, unsafe { handed.over() }?))
}

/// By the standard's handle, which another part in Rust would have; and what cannot be handed over.
fn again<H>(comm: &Communicator, ring: &Ring<H>) -> Outcome {
    let sending = comm.isend(vec![1.0, 2.0], ring.right, TAG)?;
    let handed = sending.into_raw().map_err(|(_, error)| error)?;
    // SAFETY: the request is active, and nobody else completes it; `handed` has its memory, and is
    // kept for longer.
    let request = unsafe { comm.request_from_raw(handed.as_raw(), ()) }?;
    let mut receiving = comm.irecv(vec![0.0; 2], ring.left, TAG)?;
    while !receiving.test()? {}
    let receiving = not_handed_over(receiving, ErrorKind::Argument)?;
    same("what was received", &receiving.wait()?.0, &vec![1.0, 2.0])?;
    request.wait()?;
    // SAFETY: the request was completed.
    same("what was sent", &unsafe { handed.over() }?, &vec![1.0, 2.0])?;
    let (right, left) = (ring.right, ring.left);
    let both = comm.isendrecv(vec![3.0], right, TAG, vec![0.0], left, TAG)?;
    let both = not_handed_over(both, ErrorKind::Argument)?;
    same(
        "what came and went",
        &both.wait()?.0,
        &(vec![3.0], vec![3.0]),
    )?;
    let sending = comm.isend(vec![4.0], ring.right, TAG)?;
    let any = comm.irecv_vec::<f64>(ring.left, TAG)?;
    let any = not_handed_over(any, ErrorKind::NotInLibrary)?;
    same("what came", &any.wait()?.0, &vec![4.0])?;
    sending.wait()?;
    Ok(())
}

fn not_handed_over<B: Send + 'static>(
    request: Request<B>,
    kind: ErrorKind,
) -> Result<Request<B>, Failure> {
    match request.into_raw() {
        Ok(_) => Err(format!("a request was handed over instead of {kind:?}").into()),
        Err((request, error)) => {
            same("why not", &error.kind(), &kind)?;
            Ok(request)
        }
    }
}

/// On theirs, which are completed here.
pub(super) fn theirs<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    let ring: Ring<H> = ring(runtime)?;
    for length in [2, 30_000] {
        let receiving = received_in_c(side, &ring, length + 2)?;
        let data = vec![ring.comm.rank() as f64; length];
        let (to, count) = (ring.right_in_c()?, c_int::try_from(length)?);
        // SAFETY: there are so many numbers, which belong to the request from the next line on.
        let sending = unsafe { (side.isend)(ring.handle, to, data.as_ptr(), count) };
        // SAFETY: it was just begun on this communicator, with memory of `data`; nobody else
        // completes it.
        let sending = unsafe { ring.comm.request_from_native_raw(sending.to_c(), data) }?;
        let (got, status) = receiving.wait()?;
        same(
            "status",
            &(status.source(), status.tag(), status.count::<f64>()?),
            &(Some(ring.left), Some(TAG), length),
        )?;
        same(
            "what came",
            &got[..length],
            &vec![ring.left as f64; length][..],
        )?;
        same("what did not", &got[length..], &[-1.0; 2][..])?;
        sending.wait()?;
    }
    // One that nobody waits for, and to which nothing comes, is cancelled before its communicator
    // is freed.
    drop(received_in_c(side, &ring, 4)?);
    ring.comm.free()?;
    Ok(())
}

/// A receive of up to so many numbers that the part in C begins.
fn received_in_c<H: Handle>(
    side: &Side<H>,
    ring: &Ring<H>,
    length: usize,
) -> Result<Request<Vec<f64>>, Failure> {
    let mut room = vec![-1.0; length];
    let (from, count) = (ring.left_in_c()?, c_int::try_from(length)?);
    // SAFETY: there is room for so many numbers, which belongs to the request from the next line
    // on.
    let begun = unsafe { (side.irecv)(ring.handle, from, room.as_mut_ptr(), count) };
    // SAFETY: it was just begun on this communicator; nobody else completes it; nothing longer is
    // sent.
    Ok(unsafe { ring.comm.recv_request_from_native_raw(begun.to_c(), room) }?)
}

/// What is no request for us.
pub(super) fn not_taken<H: Handle>(side: &Side<H>, runtime: &Runtime) -> Outcome {
    let world = runtime.world();
    // SAFETY: it only returns a constant.
    let null = unsafe { (side.null_request)() };
    // SAFETY: nothing is under way.
    let over = unsafe { world.recv_request_from_native_raw(null.to_c(), vec![1u8]) }?;
    same("the memory of nothing", &over.wait()?.0, &vec![1])?;
    // SAFETY: nothing is under way.
    let refused_form = unsafe { world.request_from_native_raw(other_form(null), ()) };
    refused("another form", refused_form, ErrorKind::Argument)?;
    Ok(())
}
