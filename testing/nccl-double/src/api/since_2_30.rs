//! What came after 2.18, up to 2.30. The functions for kernels (`ncclDevComm…`, `ncclTeam…`,
//! `ncclGet…DevicePointer`) and those for parameters (`ncclParam…`) are not there.
#![allow(non_snake_case, reason = "the names are NCCL's")]
#![allow(clippy::too_many_arguments, reason = "the arguments are NCCL's")]

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;
use std::sync::atomic::Ordering;

use super::since_2_18::{at, give};
use crate::double::abi::{
    API_MAGIC, Code, CommHandle, CommProperties, Config, SIM_INFO_MAGIC, SimInfo, Stream,
    StructHead, UniqueId, WaitSignal,
};
use crate::double::calls::{self, Call, Put};
use crate::double::config::Wishes;
use crate::double::failure::{Failure, entry};
use crate::double::operation::Kind;
use crate::double::{children, comm, group, hooks, init, life, memory, windows};

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclMemAlloc(out: *mut u64, size: usize) -> Code {
    // SAFETY: the caller keeps NCCL's contract, as everywhere in this file.
    entry("ncclMemAlloc", || unsafe {
        give(out, "ptr", || memory::allocate(size))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclMemFree(address: *mut c_void) -> Code {
    entry("ncclMemFree", || memory::free(at(address)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommRegister(
    comm: CommHandle,
    buffer: *mut c_void,
    size: usize,
    handle: *mut usize,
) -> Code {
    entry("ncclCommRegister", || {
        let comm = comm::of(comm)?;
        // SAFETY: as above.
        unsafe {
            give(handle, "handle", || {
                memory::register(&comm, at(buffer), size)
            })
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommDeregister(comm: CommHandle, handle: usize) -> Code {
    entry("ncclCommDeregister", || {
        memory::deregister(&*comm::of(comm)?, handle)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGroupSimulateEnd(info: *mut SimInfo) -> Code {
    entry("ncclGroupSimulateEnd", || {
        if info.is_null() {
            return Err(Failure::argument("simInfo argument is NULL"));
        }
        // SAFETY: as above.
        let head = unsafe { info.cast::<StructHead>().read() };
        if head.magic != SIM_INFO_MAGIC {
            return Err(Failure::argument(
                "ncclSimInfo_t argument not initialized via NCCL_SIM_INFO_INITIALIZER",
            ));
        }
        if group::forget()? {
            // SAFETY: as above; whoever has set the magic has set the other fields.
            let info = unsafe { &mut *info };
            info.estimated_time = 10.0;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRankScalable(
    out: *mut CommHandle,
    ranks: c_int,
    rank: c_int,
    ids: c_int,
    first: *const UniqueId,
    config: *const Config,
) -> Code {
    entry("ncclCommInitRankScalable", || {
        if first.is_null() || ids < 1 || ids > ranks {
            return Err(Failure::argument(format!("invalid nId {ids}")));
        }
        // SAFETY: as above; all ranks come to the first of the ids.
        let id = unsafe { first.read() };
        // SAFETY: as above.
        let wishes = unsafe { Wishes::read(config, crate::VERSION) }?;
        // SAFETY: as above.
        unsafe { init::init_rank(out, ranks, id, rank, wishes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommShrink(
    comm: CommHandle,
    excluded: *const c_int,
    count: c_int,
    out: *mut CommHandle,
    config: *const Config,
    flags: c_int,
) -> Code {
    entry("ncclCommShrink", || {
        let comm = comm::of(comm)?;
        let count = usize::try_from(count).unwrap_or(0);
        let excluded = if excluded.is_null() || count == 0 {
            &[]
        } else {
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts(excluded, count) }
        };
        // SAFETY: as above.
        let wishes = unsafe { Wishes::read(config, crate::VERSION) }?;
        // SAFETY: as above.
        unsafe { children::shrink(&comm, excluded, out, wishes, flags) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommGetUniqueId(comm: CommHandle, id: *mut UniqueId) -> Code {
    entry("ncclCommGetUniqueId", || {
        let comm = comm::of(comm)?;
        // SAFETY: as above.
        unsafe { give(id, "uniqueId", || children::id_for_growth(&comm)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommGrow(
    comm: CommHandle,
    ranks: c_int,
    id: *const UniqueId,
    rank: c_int,
    out: *mut CommHandle,
    config: *const Config,
) -> Code {
    entry("ncclCommGrow", || {
        // SAFETY: as above.
        let wishes = unsafe { Wishes::read(config, crate::VERSION) }?;
        // SAFETY: as above.
        let id = unsafe { id.as_ref() }.copied();
        if comm != 0 {
            let comm = comm::of(comm)?;
            // SAFETY: as above.
            return unsafe { children::grow(&comm, ranks, id, rank, out, wishes) };
        }
        let Some(id) = id else {
            return Err(Failure::argument("new ranks need the unique id"));
        };
        // SAFETY: as above.
        unsafe { init::init_rank(out, ranks, id, rank, wishes) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommRevoke(comm: CommHandle, flags: c_int) -> Code {
    entry("ncclCommRevoke", || life::revoke(&comm::of(comm)?, flags))
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommSuspend(comm: CommHandle, flags: c_int) -> Code {
    entry("ncclCommSuspend", || {
        let comm = comm::of(comm)?;
        comm.ready_for_operations()?;
        if flags != 1 {
            return Err(Failure::argument(format!("invalid flags {flags}")));
        }
        comm.suspended.store(true, Ordering::Release);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommResume(comm: CommHandle) -> Code {
    entry("ncclCommResume", || {
        let comm = comm::of(comm)?;
        comm.ready()?;
        if !comm.suspended.swap(false, Ordering::AcqRel) {
            return Err(Failure::usage("the communicator is not suspended"));
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommMemStats(comm: CommHandle, stat: c_int, value: *mut u64) -> Code {
    entry("ncclCommMemStats", || {
        let comm = comm::of(comm)?;
        let value_of = || match stat {
            1 => Ok(u64::from(comm.suspended.load(Ordering::Acquire))),
            0 | 2 | 3 => Ok(0),
            _ => Err(Failure::argument(format!("invalid stat {stat}"))),
        };
        // SAFETY: as above.
        unsafe { give(value, "value", value_of) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommQueryProperties(comm: CommHandle, out: *mut CommProperties) -> Code {
    entry("ncclCommQueryProperties", || {
        let comm = comm::of(comm)?;
        comm.ready()?;
        if out.is_null() {
            return Err(Failure::argument("props argument is NULL"));
        }
        // SAFETY: as above.
        let StructHead {
            size,
            magic,
            version,
        } = unsafe { out.cast::<StructHead>().read() };
        // An invalid usage from 2.29.2 to 2.30.7 (`ncclCommQueryProperties` of `dev_runtime.cc`).
        if magic != API_MAGIC || size < size_of::<usize>() + 8 {
            return Err(Failure::usage(
                "ncclCommProperties_t argument must be initialized via NCCL_COMM_PROPERTIES_INITIALIZER",
            ));
        }
        // `validateNcclVersion` of 2.29.2 and 2.29.7, `getNcclVersionCompat` of 2.30.7;
        // `NCCL_ENABLE_VERSION_CHECK=0`, which allows it, is not imitated.
        let release = c_int::try_from(version).unwrap_or(c_int::MAX);
        if release > hooks::version() {
            return Err(Failure::usage(format!(
                "NCCL library version is too old. This application was compiled with NCCL version {release}, but is running with NCCL library version {}.",
                hooks::version()
            )));
        }
        let world = comm.world()?;
        let number = |number: usize| c_int::try_from(number).unwrap_or(c_int::MAX);
        let known = CommProperties {
            size,
            magic,
            version,
            rank: number(world.rank),
            ranks: number(world.ranks),
            cuda_device: comm.place.device,
            nvml_device: comm.place.device,
            device_api: true,
            multimem: false,
            gin_type: 0,
            lsa_teams: 1,
            host_rma: true,
            railed_gin_type: 0,
            hash: world.nonce(),
        };
        // 2.29.2 and 2.29.3 had fewer fields (`ncclCommProperties_v22902` of `dev_runtime.cc` of
        // 2.29.7).
        let all = if release > 22903 {
            size_of::<CommProperties>()
        } else {
            offset_of!(CommProperties, gin_type)
        };
        let length = size.min(all);
        // SAFETY: the caller's struct has `size` bytes, ours at least `length`.
        unsafe {
            std::ptr::copy_nonoverlapping(
                (&raw const known).cast::<u8>(),
                out.cast::<u8>(),
                length,
            );
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommWindowRegister(
    comm: CommHandle,
    buffer: *mut c_void,
    size: usize,
    out: *mut u64,
    flags: c_int,
) -> Code {
    entry("ncclCommWindowRegister", || {
        let comm = comm::of(comm)?;
        if out.is_null() || !(0..=15).contains(&flags) {
            return Err(Failure::argument(format!(
                "win argument is NULL, or flags {flags} are invalid"
            )));
        }
        // SAFETY: as above.
        unsafe { windows::register(&comm, at(buffer), size as u64, out) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommWindowDeregister(comm: CommHandle, window: u64) -> Code {
    entry("ncclCommWindowDeregister", || {
        windows::deregister(&comm::of(comm)?, window)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclWinGetUserPtr(comm: CommHandle, window: u64, out: *mut u64) -> Code {
    entry("ncclWinGetUserPtr", || {
        let comm = comm::of(comm)?;
        let (_, window) = windows::find(&comm, window)?;
        // SAFETY: as above.
        unsafe { give(out, "outUserPtr", || Ok(window.address)) }
    })
}

collectives! {
    ncclAlltoAll: AlltoAll();
    ncclGather: Gather(root);
    ncclScatter: Scatter(root);
}

#[unsafe(no_mangle)]
extern "C" fn ncclPutSignal(
    from: *const c_void,
    count: usize,
    dtype: c_int,
    peer: c_int,
    window: u64,
    offset: usize,
    signal: c_int,
    context: c_int,
    flags: c_uint,
    comm: CommHandle,
    stream: Stream,
) -> Code {
    let put = Put {
        kind: Kind::PutSignal,
        from: at(from),
        count,
        dtype,
        peer,
        window,
        offset,
        signal,
        context,
        flags,
        comm,
        stream,
    };
    entry("ncclPutSignal", || put.enqueue())
}

#[unsafe(no_mangle)]
extern "C" fn ncclSignal(
    peer: c_int,
    signal: c_int,
    context: c_int,
    flags: c_uint,
    comm: CommHandle,
    stream: Stream,
) -> Code {
    let put = Put {
        kind: Kind::Signal,
        from: 0,
        count: 0,
        dtype: 0,
        peer,
        window: 0,
        offset: 0,
        signal,
        context,
        flags,
        comm,
        stream,
    };
    entry("ncclSignal", || put.enqueue())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclWaitSignal(
    count: c_int,
    waits: *const WaitSignal,
    comm: CommHandle,
    stream: Stream,
) -> Code {
    entry("ncclWaitSignal", || {
        let count = usize::try_from(count).ok();
        let Some(count) = count.filter(|&count| count == 0 || !waits.is_null()) else {
            return Err(Failure::argument("invalid nDesc or signalDescs"));
        };
        let waits = if count == 0 {
            Vec::new()
        } else {
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts(waits, count) }.to_vec()
        };
        calls::wait_signal(waits, comm, stream)
    })
}
