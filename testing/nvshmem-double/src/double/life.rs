//! How a PE begins and ends.

use std::ffi::c_int;
use std::sync::Arc;

use super::abi::{self, Code, InitAttr, UniqueId, word};
use super::cuda::Place;
use super::meeting::Call;
use super::outbox::Outbox;
use super::pe::{self, Pe, life};
use super::{fatal, hooks, order, rendezvous};

/// Returns `true` if this is a release that says of itself when it has failed: 3.5 and later.
pub(crate) fn is_new() -> bool {
    crate::VERSION >= (3, 5, 0)
}

/// `nvshmemx_set_attr_uniqueid_args`: the address of the id is kept, not the id.
///
/// # Safety
/// `attr` may be written; what `id` points at is there until the init.
pub(crate) unsafe fn set_attr(
    rank: c_int,
    ranks: c_int,
    id: *const UniqueId,
    attr: *mut InitAttr,
) -> Code {
    // SAFETY: the caller's promise.
    let attr = unsafe { &mut *attr };
    attr.args.uid.version = word(1, 24);
    attr.args.uid.id = id;
    attr.args.uid.rank = rank;
    attr.args.uid.ranks = ranks;
    abi::SUCCESS
}

/// `nvshmemx_hostlib_init_attr`
///
/// # Safety
/// `attr` is null, or a struct of the version that it says, whose id is there.
pub(crate) unsafe fn init(flags: u32, attr: *const InitAttr) -> Code {
    life(|life| life.inits += 1);
    if let Some(code) = hooks::failure_asked_of("nvshmemx_hostlib_init_attr") {
        return code;
    }
    if pe::status() >= abi::INITIALIZED {
        return abi::SUCCESS;
    }
    // SAFETY: the caller's promise.
    let Some(attr) = (unsafe { attr.as_ref() }).filter(|_| flags & abi::WITH_UNIQUEID != 0) else {
        eprintln!("nvshmem double: there is no bootstrap but that of unique ids");
        return abi::INTERNAL;
    };
    let Some(ordinal) = ordinal(attr) else {
        return abi::INVALID_VALUE;
    };
    let found = life(|life| life.pe.clone());
    let found = found.map_or_else(
        || {
            // SAFETY: the caller's promise.
            unsafe { find(attr) }
        },
        Ok,
    );
    let outcome = found.and_then(|pe| come(&pe, ordinal));
    match outcome {
        Ok(()) => abi::SUCCESS,
        Err(text) => {
            eprintln!("nvshmem double: nvshmemx_hostlib_init_attr: {text}");
            // Old releases say nothing of it.
            let silent = !is_new() && pe::status() == abi::BOOTSTRAPPED;
            if silent { abi::SUCCESS } else { abi::INTERNAL }
        }
    }
}

/// The device that the program asks for, which old releases do not know of. `None` for version
/// words that are none of this release's.
fn ordinal(attr: &InitAttr) -> Option<Option<c_int>> {
    let versions = [attr.version, attr.args.version, attr.args.uid.version];
    let first = [word(1, 144), word(1, 128), word(1, 24)];
    let second = [word(2, 144), word(2, 128), word(1, 24)];
    match versions {
        _ if versions == first => Some(None),
        _ if versions == second && is_new() => {
            Some(Some(attr.args.device).filter(|&device| device >= 0))
        }
        _ => {
            eprintln!("nvshmem double: nvshmemx_init_attr_t with version words {versions:#x?}");
            None
        }
    }
}

/// Finds the other PEs.
///
/// # Safety
/// The id of `attr` is null, or there.
unsafe fn find(attr: &InitAttr) -> Result<Arc<Pe>, String> {
    let args = &attr.args.uid;
    // SAFETY: the caller's promise.
    let id = unsafe { args.id.as_ref() }.ok_or("the attributes have no unique id")?;
    if id.version != word(1, 128) {
        return Err(format!("the unique id has version word {:#x}", id.version));
    }
    let sizes = (usize::try_from(args.ranks), usize::try_from(args.rank));
    let (Ok(pes), Ok(pe)) = sizes else {
        return Err(format!("PE {} of {} PEs", args.rank, args.ranks));
    };
    if pe >= pes {
        return Err(format!("PE {pe} of {pes} PEs"));
    }
    let region = rendezvous::join(id, pes, pe)?;
    let pe = Arc::new(Pe::new(region, pes, pe));
    life(|life| life.pe = Some(Arc::clone(&pe)));
    Ok(pe)
}

/// The second half of the init, for which a GPU is needed. Where none is chosen, the first
/// allocation does it.
pub(crate) fn come(pe: &Arc<Pe>, ordinal: Option<c_int>) -> Result<(), String> {
    if hooks::NO_GPU.get() {
        return Err("no CUDA-capable device is detected".into());
    }
    let Some(place) = Place::find(ordinal)? else {
        eprintln!("nvshmem double: no GPU is selected yet");
        return Ok(());
    };
    pe.take(place)?;
    Outbox::start(pe);
    life(|life| life.ended = false);
    Ok(())
}

/// `nvshmemx_hostlib_finalize`
pub(crate) fn finalize() {
    let last = life(|life| {
        life.inits = life.inits.saturating_sub(1);
        life.inits == 0
    });
    let Some(pe) = pe::found() else {
        return;
    };
    if !pe.is_complete() {
        fatal::exit("nvshmemx_hostlib_finalize called after an init that has failed");
    }
    if !last {
        return;
    }
    order::quiet(&pe);
    pe.meet(&pe.everyone, 0, Call::new("nvshmem_finalize"));
    life(|life| {
        life.pe = None;
        life.ended = true;
    });
    pe.outbox.close();
    pe.release();
}
