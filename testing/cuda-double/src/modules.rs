//! Modules: what their text declares, and launches, which are counted.
//!
//! An image is PTX: each `.entry NAME` is a kernel, each `NAME[BYTES]` in a line with `.global` or
//! `.const` a variable, zeroed unless `= {byte, …}` follows. An ELF image declares every kernel,
//! and no variable. A kernel does nothing when its turn comes, but
//! `ranks_double_add(int *to, unsigned long long count, int value)`, which adds to each number, and
//! `ring_shift(int *to, const int *from, unsigned long long count)`, which copies as if it put to
//! its own PE.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::devices::current;
use crate::memory::{allocate, begin_use, free};
use crate::state::{
    Answer, Code, INVALID_CONTEXT, INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, NOT_FOUND, STATE,
    State, call, lock, put,
};
use crate::streams::{Operation, stream};

const ELF: &[u8] = b"\x7fELF";
/// The kernels that do something.
const ADD: &str = "ranks_double_add";
const SHIFT: &str = "ring_shift";
/// The most threads that a block may have.
const THREADS: u64 = 1024;

/// Modules and kernels, by handle.
#[derive(Default)]
pub(crate) struct Modules {
    modules: HashMap<usize, Module>,
    kernels: HashMap<usize, Kernel>,
}

struct Module {
    device: usize,
    /// Set if any name is one of a kernel.
    any: bool,
    kernels: Vec<String>,
    /// Where the variables are, and how long.
    globals: HashMap<String, (usize, usize)>,
    /// The number of launches that are not over.
    running: &'static AtomicUsize,
}

struct Kernel {
    module: usize,
    name: String,
}

/// The number of runs of kernels that are over.
static LAUNCHED: AtomicUsize = AtomicUsize::new(0);

/// The number of modules.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_live_modules() -> usize {
    lock(&STATE.modules).modules.len()
}

/// The number of runs of kernels that are over.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDouble_launches() -> usize {
    LAUNCHED.load(Ordering::SeqCst)
}

/// The names of kernels in PTX.
fn kernels(text: &str) -> Vec<String> {
    let names = text.split(".entry ").skip(1);
    names.map(|rest| word(rest.trim_start()).into()).collect()
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$');
    &text[..end.unwrap_or(text.len())]
}

/// The variables of PTX: names and first bytes.
fn globals(text: &str) -> Vec<(String, Vec<u8>)> {
    let lines = text.lines();
    let of_module = lines.filter(|line| line.contains(".global ") || line.contains(".const "));
    of_module.filter_map(global).collect()
}

fn global(line: &str) -> Option<(String, Vec<u8>)> {
    let (before, after) = line.split_once('[')?;
    let (length, values) = after.split_once(']')?;
    let name = before.split_whitespace().next_back()?;
    let mut bytes = vec![0; length.trim().parse().ok()?];
    let values = values.split_once('{').map_or("", |(_, values)| values);
    let values = values
        .split(['}', ','])
        .map_while(|v| v.trim().parse().ok());
    bytes
        .iter_mut()
        .zip(values)
        .for_each(|(to, value)| *to = value);
    Some((name.into(), bytes))
}

/// Memory of a device with these bytes.
fn allocate_with(state: &State, device: usize, bytes: &[u8]) -> Answer<usize> {
    let address = allocate(state, device, bytes.len())?;
    let place = begin_use(state, address, bytes.len())?;
    let to = ptr::with_exposed_provenance_mut::<u8>(place.memory);
    // SAFETY: so many bytes were allocated just now.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    Ok(address)
}

/// # Safety
/// `image` is null, or a C string, or an ELF file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(
    handle: Option<&mut usize>,
    image: *const c_char,
) -> Code {
    call("cuModuleLoadData", |state| {
        let device = current(state)?;
        if image.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: an ELF file has a zero among its first bytes, else it is a C string.
        let text = unsafe { CStr::from_ptr(image) };
        let any = text.to_bytes().starts_with(ELF);
        let text = text.to_string_lossy();
        if !any && !text.contains(".version") {
            return Err(INVALID_IMAGE);
        }
        let mut places = HashMap::new();
        for (name, bytes) in globals(&text) {
            places.insert(name, (allocate_with(state, device, &bytes)?, bytes.len()));
        }
        let fresh = state.fresh();
        put(handle, fresh)?;
        let module = Module {
            device,
            any,
            kernels: kernels(&text),
            globals: places,
            running: Box::leak(Box::default()),
        };
        lock(&state.modules).modules.insert(fresh, module);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(handle: usize) -> Code {
    call("cuModuleUnload", |state| {
        let mut modules = lock(&state.modules);
        let module = modules.modules.remove(&handle).ok_or(INVALID_HANDLE)?;
        modules.kernels.retain(|_, kernel| kernel.module != handle);
        drop(modules);
        if module.running.load(Ordering::SeqCst) > 0 {
            state.uses_after_free.fetch_add(1, Ordering::SeqCst);
        }
        for (address, _) in module.globals.values() {
            free(state, *address);
        }
        Ok(())
    })
}

/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    handle: Option<&mut usize>,
    module: usize,
    name: *const c_char,
) -> Code {
    call("cuModuleGetFunction", |state| {
        // SAFETY: the caller's promise.
        let name = unsafe { name_of(name) }?;
        let mut modules = lock(&state.modules);
        let of = modules.modules.get(&module).ok_or(INVALID_HANDLE)?;
        if !of.any && !of.kernels.contains(&name) {
            return Err(NOT_FOUND);
        }
        let fresh = state.fresh();
        put(handle, fresh)?;
        modules.kernels.insert(fresh, Kernel { module, name });
        Ok(())
    })
}

/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: Option<&mut u64>,
    bytes: Option<&mut usize>,
    module: usize,
    name: *const c_char,
) -> Code {
    call("cuModuleGetGlobal_v2", |state| {
        // SAFETY: the caller's promise.
        let name = unsafe { name_of(name) }?;
        let modules = lock(&state.modules);
        let module = modules.modules.get(&module).ok_or(INVALID_HANDLE)?;
        let &(place, length) = module.globals.get(&name).ok_or(NOT_FOUND)?;
        if let Some(address) = address {
            *address = place as u64;
        }
        if let Some(bytes) = bytes {
            *bytes = length;
        }
        Ok(())
    })
}

/// # Safety
/// As [`CStr::from_ptr`], or null.
unsafe fn name_of(name: *const c_char) -> Answer<String> {
    if name.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    Ok(name.to_string_lossy().into_owned())
}

/// # Safety
/// `arguments` are places of the kernel's arguments.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "those of the C function")]
pub unsafe extern "C" fn cuLaunchKernel(
    kernel: usize,
    across: c_uint,
    down: c_uint,
    deep: c_uint,
    wide: c_uint,
    high: c_uint,
    long: c_uint,
    _shared: c_uint,
    on: usize,
    arguments: *const *const c_void,
    _extra: usize,
) -> Code {
    call("cuLaunchKernel", |state| {
        let threads = u64::from(wide) * u64::from(high) * u64::from(long);
        let blocks = u64::from(across) * u64::from(down) * u64::from(deep);
        if blocks == 0 || threads == 0 || threads > THREADS {
            return Err(INVALID_VALUE);
        }
        let stream = stream(state, on)?;
        let modules = lock(&state.modules);
        let kernel = modules.kernels.get(&kernel).ok_or(INVALID_HANDLE)?;
        let module = modules.modules.get(&kernel.module).ok_or(INVALID_HANDLE)?;
        if module.device != stream.device {
            return Err(INVALID_CONTEXT);
        }
        let (name, running) = (kernel.name.clone(), module.running);
        drop(modules);
        let work: Box<dyn FnOnce() + Send> = match name.as_str() {
            // SAFETY: the caller's promise.
            ADD => unsafe { add(state, arguments) }?,
            // SAFETY: the caller's promise.
            SHIFT => unsafe { shift(state, arguments) }?,
            _ => Box::new(|| ()),
        };
        running.fetch_add(1, Ordering::SeqCst);
        stream.enqueue(Operation::Work(Box::new(move || {
            work();
            running.fetch_sub(1, Ordering::SeqCst);
            LAUNCHED.fetch_add(1, Ordering::SeqCst);
        })));
        Ok(())
    })
}

/// What `ranks_double_add` does with its arguments, which are read now.
///
/// # Safety
/// They are the places of an address, a 64-bit count and an int.
unsafe fn add(state: &State, arguments: *const *const c_void) -> Answer<Box<dyn FnOnce() + Send>> {
    if arguments.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's promise: there are three.
    let &[to, count, value] = unsafe { &*arguments.cast::<[*const c_void; 3]>() };
    // SAFETY: as above.
    let to = unsafe { to.cast::<usize>().read_unaligned() };
    // SAFETY: as above.
    let count = unsafe { count.cast::<usize>().read_unaligned() };
    // SAFETY: as above.
    let value = unsafe { value.cast::<i32>().read_unaligned() };
    let bytes = count.checked_mul(4).ok_or(INVALID_VALUE)?;
    let place = begin_use(state, to, bytes)?;
    Ok(Box::new(move || {
        let start = ptr::with_exposed_provenance_mut::<i32>(place.memory);
        for index in 0..count {
            // SAFETY: the place has so many numbers, and is kept while it is used.
            let number = unsafe { start.add(index) };
            // SAFETY: as above.
            let old = unsafe { number.read_unaligned() };
            // SAFETY: as above.
            unsafe { number.write_unaligned(old.wrapping_add(value)) };
        }
        drop(place);
    }))
}

/// What `ring_shift` does with its arguments, which are read now.
///
/// # Safety
/// They are the places of two addresses and a 64-bit count.
unsafe fn shift(
    state: &State,
    arguments: *const *const c_void,
) -> Answer<Box<dyn FnOnce() + Send>> {
    if arguments.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's promise: there are three.
    let &[to, from, count] = unsafe { &*arguments.cast::<[*const usize; 3]>() };
    // SAFETY: as above.
    let to = unsafe { to.read_unaligned() };
    // SAFETY: as above.
    let from = unsafe { from.read_unaligned() };
    // SAFETY: as above.
    let count = unsafe { count.read_unaligned() };
    let bytes = count.checked_mul(4).ok_or(INVALID_VALUE)?;
    let places = (begin_use(state, to, bytes)?, begin_use(state, from, bytes)?);
    Ok(Box::new(move || {
        let source = ptr::with_exposed_provenance::<u8>(places.1.memory);
        let target = ptr::with_exposed_provenance_mut::<u8>(places.0.memory);
        // SAFETY: the places have so many bytes, and are kept while they are used.
        unsafe { ptr::copy(source, target, bytes) };
        drop(places);
    }))
}
