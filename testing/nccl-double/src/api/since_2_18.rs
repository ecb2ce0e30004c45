//! What 2.18 exported.
#![allow(non_snake_case, reason = "the names are NCCL's")]

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::double::abi::{Code, CommHandle, Config, Stream, UniqueId};
use crate::double::arithmetic::Dtype;
use crate::double::calls::Call;
use crate::double::config::Wishes;
use crate::double::failure::{self, Failure, Outcome, entry};
use crate::double::operation::Kind;
use crate::double::operator::{self, Factor, PreMulSum};
use crate::double::{children, comm, group, hooks, init, life, rendezvous};

/// Writes a result where the caller wants it.
///
/// # Safety
/// `out` is null or may be written.
pub(super) unsafe fn give<T>(
    out: *mut T,
    name: &str,
    value: impl FnOnce() -> Outcome<T>,
) -> Outcome {
    if out.is_null() {
        return Err(Failure::argument(format!("{name} argument is NULL")));
    }
    let value = value()?;
    // SAFETY: the caller's promise.
    unsafe { out.write(value) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> Code {
    // SAFETY: the caller keeps NCCL's contract, as everywhere in this file.
    entry("ncclGetVersion", || unsafe {
        give(version, "version", || Ok(hooks::version()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetErrorString(code: Code) -> *const c_char {
    let text: &CStr = failure::text_of(code, crate::VERSION >= 23000);
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetLastError(_comm: CommHandle) -> *const c_char {
    failure::last_text()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetUniqueId(id: *mut UniqueId) -> Code {
    // SAFETY: as above.
    entry("ncclGetUniqueId", || unsafe {
        give(id, "uniqueId", rendezvous::create)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRank(
    out: *mut CommHandle,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
) -> Code {
    // SAFETY: as above.
    entry("ncclCommInitRank", || unsafe {
        init::init_rank(out, ranks, id, rank, None)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRankConfig(
    out: *mut CommHandle,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
    config: *const Config,
) -> Code {
    entry("ncclCommInitRankConfig", || {
        // SAFETY: as above.
        let wishes = unsafe { Wishes::read(config, crate::VERSION) }?;
        // SAFETY: as above.
        unsafe { init::init_rank(out, ranks, id, rank, wishes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitAll(
    out: *mut CommHandle,
    count: c_int,
    devices: *const c_int,
) -> Code {
    // SAFETY: as above.
    entry("ncclCommInitAll", || unsafe {
        init::init_all(out, count, devices)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommSplit(
    comm: CommHandle,
    color: c_int,
    key: c_int,
    out: *mut CommHandle,
    config: *const Config,
) -> Code {
    entry("ncclCommSplit", || {
        let comm = comm::of(comm)?;
        // SAFETY: as above.
        let wishes = unsafe { Wishes::read(config, crate::VERSION) }?;
        // SAFETY: as above.
        unsafe { children::split(&comm, color, key, out, wishes) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommFinalize(comm: CommHandle) -> Code {
    entry("ncclCommFinalize", || life::finalize(&comm::of(comm)?))
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommDestroy(comm: CommHandle) -> Code {
    entry("ncclCommDestroy", || life::destroy(comm))
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommAbort(comm: CommHandle) -> Code {
    entry("ncclCommAbort", || life::abort(comm))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommGetAsyncError(comm: CommHandle, error: *mut Code) -> Code {
    // SAFETY: as above.
    entry("ncclCommGetAsyncError", || unsafe {
        give(error, "asyncError", || Ok(comm::of(comm)?.state()))
    })
}

/// Answers a question about a communicator that is ready.
///
/// # Safety
/// `out` is null or may be written.
unsafe fn ask(
    comm: CommHandle,
    out: *mut c_int,
    name: &str,
    answer: impl FnOnce(&comm::Comm) -> Outcome<c_int>,
) -> Outcome {
    let comm = comm::of(comm)?;
    comm.ready()?;
    // SAFETY: the caller's promise.
    unsafe { give(out, name, || answer(&comm)) }
}

fn number(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommCount(comm: CommHandle, count: *mut c_int) -> Code {
    // SAFETY: as above.
    entry("ncclCommCount", || unsafe {
        ask(comm, count, "count", |comm| Ok(number(comm.world()?.ranks)))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommUserRank(comm: CommHandle, rank: *mut c_int) -> Code {
    // SAFETY: as above.
    entry("ncclCommUserRank", || unsafe {
        ask(comm, rank, "rank", |comm| Ok(number(comm.world()?.rank)))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommCuDevice(comm: CommHandle, device: *mut c_int) -> Code {
    // SAFETY: as above.
    entry("ncclCommCuDevice", || unsafe {
        ask(comm, device, "device", |comm| Ok(comm.place.device))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclRedOpCreatePreMulSum(
    out: *mut c_int,
    scalar: *const c_void,
    dtype: c_int,
    residence: c_int,
    comm: CommHandle,
) -> Code {
    entry("ncclRedOpCreatePreMulSum", || {
        let comm = comm::of(comm)?;
        comm.ready()?;
        let dtype = Dtype::of(dtype)?;
        if scalar.is_null() {
            return Err(Failure::argument("scalar argument is NULL"));
        }
        let factor = match residence {
            0 => Factor::OnDevice(scalar.addr() as u64),
            1 => {
                let mut bytes = [0; 8];
                // SAFETY: the caller says that the scalar is here; if it is on the device this
                // faults, as it does in the library.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        scalar.cast::<u8>(),
                        bytes.as_mut_ptr(),
                        dtype.size(),
                    );
                }
                Factor::Known(bytes)
            }
            _ => return Err(Failure::argument(format!("invalid residence {residence}"))),
        };
        let make = || Ok(operator::create(&comm, PreMulSum { dtype, factor }));
        // SAFETY: as above.
        unsafe { give(out, "op", make) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclRedOpDestroy(operator: c_int, comm: CommHandle) -> Code {
    entry("ncclRedOpDestroy", || {
        operator::destroy(&*comm::of(comm)?, operator)
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclGroupStart() -> Code {
    entry("ncclGroupStart", || {
        group::start();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclGroupEnd() -> Code {
    entry("ncclGroupEnd", group::end)
}

/// Where memory of a device is; it is looked at on the stream only.
pub(super) fn at(memory: *const c_void) -> u64 {
    memory.addr() as u64
}

/// Exports collective operations: what each does, which arguments it has between those that all
/// have, and whether a config comes behind them.
macro_rules! collectives {
    ($($function:ident: $kind:ident($($argument:ident),*) $($config:ident)?;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(
            send: *const c_void,
            recv: *mut c_void,
            count: usize,
            dtype: c_int,
            $($argument: c_int,)*
            comm: CommHandle,
            stream: Stream,
            $($config: *const StructHead,)?
        ) -> Code {
            let call = Call {
                $($argument,)*
                ..Call::new(Kind::$kind, at(send), at(recv), count, dtype, comm, stream)
            };
            entry(stringify!($function), || {
                $(
                    // SAFETY: the caller keeps NCCL's contract.
                    unsafe { check($config) }?;
                )?
                call.enqueue()
            })
        }
    )* };
}

collectives! {
    ncclAllReduce: AllReduce(operator);
    ncclReduce: Reduce(operator, root);
    ncclBroadcast: Broadcast(root);
    ncclAllGather: AllGather();
    ncclReduceScatter: ReduceScatter(operator);
}

#[unsafe(no_mangle)]
extern "C" fn ncclBcast(
    buffer: *mut c_void,
    count: usize,
    dtype: c_int,
    root: c_int,
    comm: CommHandle,
    stream: Stream,
) -> Code {
    let call = Call {
        root,
        ..Call::new(
            Kind::Broadcast,
            at(buffer),
            at(buffer),
            count,
            dtype,
            comm,
            stream,
        )
    };
    entry("ncclBcast", || call.enqueue())
}

#[unsafe(no_mangle)]
extern "C" fn ncclSend(
    send: *const c_void,
    count: usize,
    dtype: c_int,
    peer: c_int,
    comm: CommHandle,
    stream: Stream,
) -> Code {
    let call = Call {
        root: peer,
        ..Call::new(Kind::Send, at(send), 0, count, dtype, comm, stream)
    };
    entry("ncclSend", || call.enqueue())
}

#[unsafe(no_mangle)]
extern "C" fn ncclRecv(
    recv: *mut c_void,
    count: usize,
    dtype: c_int,
    peer: c_int,
    comm: CommHandle,
    stream: Stream,
) -> Code {
    let call = Call {
        root: peer,
        ..Call::new(Kind::Recv, 0, at(recv), count, dtype, comm, stream)
    };
    entry("ncclRecv", || call.enqueue())
}
