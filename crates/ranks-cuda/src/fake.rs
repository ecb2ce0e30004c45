//! A driver within the test, which miri can look into: what is enqueued while it is held happens
//! when it is let go, late.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use crate::driver::Cuda;
use crate::table::{Address, Code, Handle, HostFunction, NOT_READY, RawDevice, SUCCESS, Table};

thread_local! {
    static FAKE: RefCell<Fake> = RefCell::default();
}

#[derive(Default)]
struct Fake {
    held: bool,
    queue: VecDeque<Box<dyn FnOnce()>>,
    blocks: HashMap<usize, Layout>,
    /// The events that were recorded and are not over.
    pending: HashSet<usize>,
    handles: usize,
}

/// Defers the work that is enqueued from now on.
fn hold() {
    FAKE.with_borrow_mut(|fake| fake.held = true);
}

/// Now.
fn let_go() {
    FAKE.with_borrow_mut(|fake| fake.held = false);
    while let Some(next) = FAKE.with_borrow_mut(|fake| fake.queue.pop_front()) {
        next();
    }
}

fn blocks() -> usize {
    FAKE.with_borrow(|fake| fake.blocks.len())
}

fn enqueue(operation: impl FnOnce() + 'static) -> Code {
    FAKE.with_borrow_mut(|fake| fake.queue.push_back(Box::new(operation)));
    if !FAKE.with_borrow(|fake| fake.held) {
        let_go();
    }
    SUCCESS
}

fn copy(to: usize, from: usize, bytes: usize) -> Code {
    enqueue(move || {
        let (to, from) = (at(to), at(from));
        // SAFETY: what this crate promises of its copies, which is what miri looks at.
        unsafe { ptr::copy_nonoverlapping(from.cast_const(), to, bytes) };
    })
}

fn at(address: usize) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address)
}

fn address(address: Address) -> usize {
    usize::try_from(address).unwrap_or(0)
}

fn handle() -> Handle {
    FAKE.with_borrow_mut(|fake| {
        fake.handles += 16;
        ptr::without_provenance_mut(fake.handles)
    })
}

fn allocate(bytes: usize) -> usize {
    let layout = Layout::from_size_align(bytes, 64).unwrap();
    // SAFETY: this crate asks for a byte at least.
    let block = unsafe { alloc(layout) }.expose_provenance();
    FAKE.with_borrow_mut(|fake| fake.blocks.insert(block, layout));
    block
}

fn free(block: usize) -> Code {
    let layout = FAKE
        .with_borrow_mut(|fake| fake.blocks.remove(&block))
        .unwrap();
    // SAFETY: allocated with this layout, and taken out just now.
    unsafe { dealloc(at(block), layout) };
    SUCCESS
}

/// Writes an answer.
///
/// # Safety
/// The caller has passed the address of such a value.
unsafe fn put<T>(place: *mut T, value: T) -> Code {
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    SUCCESS
}

macro_rules! fake {
    ($($name:ident($($argument:ident: $type:ty),*) $body:expr;)*) => {
        $(
            #[allow(non_snake_case, reason = "C names")]
            unsafe extern "C" fn $name($($argument: $type),*) -> Code {
                $body
            }
        )*

        fn table() -> Table {
            Table { $($name),* }
        }
    };
}

fake! {
    cuInit(_flags: c_uint) SUCCESS;
    // SAFETY: so with all of these: what this crate passes.
    cuDriverGetVersion(version: *mut c_int) unsafe { put(version, 13000) };
    cuGetErrorName(_code: Code, _text: *mut *const c_char) 1;
    cuGetErrorString(_code: Code, _text: *mut *const c_char) 1;
    // SAFETY: as above.
    cuDeviceGetCount(count: *mut c_int) unsafe { put(count, 1) };
    // SAFETY: as above.
    cuDeviceGet(raw: *mut RawDevice, ordinal: c_int) unsafe { put(raw, ordinal) };
    cuDeviceGetName(_text: *mut c_char, _room: c_int, _raw: RawDevice) SUCCESS;
    // SAFETY: as above.
    cuDeviceCanAccessPeer(can: *mut c_int, _raw: RawDevice, _peer: RawDevice) unsafe { put(can, 0) };
    // SAFETY: as above.
    cuDevicePrimaryCtxRetain(context: *mut Handle, _raw: RawDevice) unsafe { put(context, handle()) };
    cuDevicePrimaryCtxRelease_v2(_raw: RawDevice) SUCCESS;
    // SAFETY: as above.
    cuCtxGetCurrent(context: *mut Handle) unsafe { put(context, ptr::null_mut()) };
    cuCtxSetCurrent(_context: Handle) SUCCESS;
    cuCtxSynchronize() SUCCESS;
    cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        // SAFETY: as above.
        unsafe { put(least, 0) };
        // SAFETY: as above.
        unsafe { put(greatest, 0) }
    };
    // SAFETY: as above.
    cuStreamCreateWithPriority(stream: *mut Handle, _flags: c_uint, _priority: c_int) unsafe { put(stream, handle()) };
    cuStreamDestroy_v2(_stream: Handle) SUCCESS;
    cuStreamQuery(_stream: Handle) SUCCESS;
    cuStreamSynchronize(_stream: Handle) SUCCESS;
    cuStreamWaitEvent(_stream: Handle, _event: Handle, _flags: c_uint) SUCCESS;
    // SAFETY: as above.
    cuStreamIsCapturing(_stream: Handle, status: *mut c_int) unsafe { put(status, 0) };
    // SAFETY: as above.
    cuEventCreate(event: *mut Handle, _flags: c_uint) unsafe { put(event, handle()) };
    cuEventRecord(event: Handle, _stream: Handle) {
        let event = event.addr();
        FAKE.with_borrow_mut(|fake| fake.pending.insert(event));
        enqueue(move || {
            FAKE.with_borrow_mut(|fake| fake.pending.remove(&event));
        })
    };
    cuEventQuery(event: Handle) {
        let pending = FAKE.with_borrow(|fake| fake.pending.contains(&event.addr()));
        if pending { NOT_READY } else { SUCCESS }
    };
    cuEventDestroy_v2(_event: Handle) SUCCESS;
    cuLaunchHostFunc(_stream: Handle, function: HostFunction, data: *mut c_void) {
        // SAFETY: as above.
        enqueue(move || unsafe { function(data) })
    };
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        // SAFETY: as above.
        unsafe { put(free, 1 << 30) };
        // SAFETY: as above.
        unsafe { put(total, 1 << 30) }
    };
    // SAFETY: as above.
    cuMemAlloc_v2(block: *mut Address, bytes: usize) unsafe { put(block, allocate(bytes) as u64) };
    cuMemFree_v2(block: Address) free(address(block));
    // SAFETY: as above.
    cuMemHostAlloc(block: *mut *mut c_void, bytes: usize, _flags: c_uint) unsafe { put(block, at(allocate(bytes)).cast()) };
    cuMemFreeHost(block: *mut c_void) free(block.addr());
    cuMemsetD8Async(to: Address, byte: u8, bytes: usize, _stream: Handle) {
        // The stream is not the one that is held.
        // SAFETY: as above.
        unsafe { ptr::write_bytes(at(address(to)), byte, bytes) };
        SUCCESS
    };
    cuMemcpyDtoH_v2(to: *mut c_void, from: Address, bytes: usize) {
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(at(address(from)).cast_const(), to.cast(), bytes) };
        SUCCESS
    };
    cuMemcpyHtoDAsync_v2(to: Address, from: *const c_void, bytes: usize, _stream: Handle) copy(address(to), from.expose_provenance(), bytes);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: Address, bytes: usize, _stream: Handle) copy(to.expose_provenance(), address(from), bytes);
    cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, _stream: Handle) copy(address(to), address(from), bytes);
    cuPointerGetAttributes(_count: c_uint, _which: *mut c_int, _places: *mut *mut c_void, _address: Address) SUCCESS;
    // SAFETY: as above.
    cuModuleLoadData(module: *mut Handle, _image: *const c_void) unsafe { put(module, handle()) };
    cuModuleUnload(_module: Handle) SUCCESS;
    // SAFETY: as above.
    cuModuleGetFunction(function: *mut Handle, _module: Handle, _name: *const c_char) unsafe { put(function, handle()) };
    cuModuleGetGlobal_v2(_address: *mut Address, _bytes: *mut usize, _module: Handle, _name: *const c_char) 500;
    cuLaunchKernel(_function: Handle, _across: c_uint, _down: c_uint, _deep: c_uint, _wide: c_uint, _high: c_uint, _long: c_uint, _shared: c_uint, _stream: Handle, _arguments: *mut *mut c_void, _extra: *mut *mut c_void) SUCCESS;
}

mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::{Context, DeviceSlice, ErrorKind, Result, Stream, Watch};

    fn context() -> Context {
        let cuda = Cuda::of(table(), Path::new("fake"), 13000);
        cuda.device(0).unwrap().context().unwrap()
    }

    #[test]
    fn what_goes_on_keeps_its_buffers() {
        let context = context();
        let stream = context.stream().unwrap();
        let mut host = context.pinned::<u32>(3).unwrap();
        host.copy_from_slice(&[1, 2, 3]);
        hold();
        let upload = stream
            .upload(host, context.alloc::<u32>(3).unwrap())
            .unwrap();
        assert!(!upload.is_done().unwrap());
        let late = upload.wait_for(Duration::ZERO).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert_eq!(blocks(), 2);
        let_go();
        assert_eq!(context.cuda().collect(), 0);
        assert_eq!(blocks(), 0);
    }

    #[test]
    fn buffers_come_back_whole() {
        let context = context();
        let stream = context.stream().unwrap();
        let mut host = context.pinned::<u16>(4).unwrap();
        host.iter_mut().zip(5..).for_each(|(to, n)| *to = n);
        hold();
        let upload = stream
            .upload(host, context.alloc::<u16>(4).unwrap())
            .unwrap();
        let_go();
        let (mut host, device) = upload.wait().unwrap();
        host.fill(0);
        assert_eq!(device.to_vec().unwrap(), [5, 6, 7, 8]);
        hold();
        let download = stream.download(device, host).unwrap();
        let moved = Box::new(download);
        let_go();
        let (device, host) = moved.wait().unwrap();
        assert_eq!(host[..], [5, 6, 7, 8]);
        let copy = stream.copy(device, context.alloc(4).unwrap()).unwrap();
        let (one, other) = copy.enqueue_wait(&context.stream().unwrap()).unwrap();
        assert_eq!(one.to_vec().unwrap(), other.to_vec().unwrap());
        drop((one, other, host));
        assert_eq!(blocks(), 0);
    }

    #[test]
    fn what_is_dropped_in_order_is_kept() {
        let context = context();
        let (stream, other) = (context.stream().unwrap(), context.stream().unwrap());
        hold();
        let buffers = (
            context.alloc::<u8>(7).unwrap(),
            context.alloc::<u8>(7).unwrap(),
        );
        let copy = stream.copy(buffers.0, buffers.1).unwrap();
        let (one, two) = copy.enqueue_wait(&other).unwrap();
        drop(one);
        let view = two.slice(2..5).unwrap();
        view.used_until(&other.record().unwrap());
        drop(two);
        assert_eq!(blocks(), 2);
        let_go();
        context.cuda().collect();
        assert_eq!(blocks(), 0);
    }

    /// Counts its drops.
    #[derive(Clone)]
    struct Counted(Rc<Cell<usize>>, Result<(), ErrorKind>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    impl Watch for Counted {
        type Error = ErrorKind;

        fn look(&self, _waited: Duration) -> Result<(), ErrorKind> {
            self.1
        }

        fn over(&self) -> Result<(), ErrorKind> {
            self.1
        }

        fn of_driver(&self, error: crate::Error) -> ErrorKind {
            error.kind()
        }
    }

    #[test]
    fn each_part_is_dropped_once() {
        let context = context();
        let stream = context.stream().unwrap();
        let drops = Rc::new(Cell::new(0));
        for said in [Ok(()), Err(ErrorKind::Driver)] {
            drops.set(0);
            let begin = || {
                let buffer = Arc::new(1);
                let weak = Arc::downgrade(&buffer);
                let watch = Counted(Rc::clone(&drops), said);
                // SAFETY: nothing is enqueued.
                let begun = unsafe { crate::Enqueued::begin(&stream, buffer, watch, |_| Ok(())) };
                (begun.unwrap(), weak)
            };
            let (begun, weak) = begin();
            assert_eq!(begun.wait().map(|buffer| *buffer), said.map(|()| 1));
            assert_eq!((drops.get(), weak.strong_count()), (1, 0));
            let (begun, weak) = begin();
            drop(begun);
            assert_eq!((drops.get(), weak.strong_count()), (2, 0));
            // What fails at once, too.
            let watch = Counted(Rc::clone(&drops), said);
            let fails = |_: &mut Arc<i32>| Err(ErrorKind::Length);
            // SAFETY: nothing is enqueued.
            let failed = unsafe { crate::Enqueued::begin(&stream, Arc::new(1), watch, fails) };
            assert_eq!(failed.map(drop), Err(ErrorKind::Length));
            assert_eq!(drops.get(), 3);
        }
    }

    #[test]
    fn a_host_function_is_called_once_with_all_it_has() {
        let context = context();
        let stream = context.stream().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        hold();
        let call = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        stream.launch_host(Box::new(call)).unwrap();
        stream
            .launch_host(Box::new(|| std::panic::panic_any(Box::new(7))))
            .unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 0);
        let_go();
        assert_eq!(
            (count.load(Ordering::Relaxed), Arc::strong_count(&count)),
            (1, 1)
        );
    }
}
