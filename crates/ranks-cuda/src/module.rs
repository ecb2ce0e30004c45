//! Code for devices that the program brings, and the kernels in it.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use crate::driver::{Context, Event, Unrecorded, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::stream::Stream;
use crate::table::{Address, Handle, NOT_FOUND, SUCCESS};

/// First bytes of a file for devices: ELF, as one for the host has, and a fat binary.
const ELF: &[u8] = b"\x7fELF";
const FAT: &[u8] = b"\x50\xed\x55\xba";
/// `EM_CUDA`, at this place of an ELF file.
const ELF_CUDA: [u8; 2] = 190u16.to_le_bytes();
const ELF_MACHINE: std::ops::Range<usize> = 18..20;

/// Code that was loaded for a device, by [`Context::load_module`]. Clones are the same module.
///
/// It is unloaded when the last clone, and the last of its [kernels](Kernel), is gone and their
/// launches are complete; `drop` does not wait for that.
#[derive(Clone)]
#[doc(alias = "CUmodule")]
#[doc(alias = "cuModuleUnload")]
pub struct Module(Arc<Inner>);

struct Inner {
    context: Context,
    loaded: Option<Loaded>,
    /// The last launch on each stream.
    launched: Mutex<BTreeMap<usize, Event>>,
}

/// A module of the driver's, unloaded when this is dropped.
struct Loaded {
    context: Context,
    raw: Handle,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; nothing here changes.
unsafe impl Sync for Loaded {}

impl Context {
    /// Loads code for this context's device: a cubin, a fat binary, or PTX, which the driver
    /// compiles.
    ///
    /// It may wait for what the device does, as allocating memory may.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if `image` is none of these: source code, say, or an
    /// object for the host; what the driver reports: code for another kind of device, or PTX that
    /// it does not understand.
    ///
    /// # Safety
    /// `image` is whole, as a compiler or linker made it: the driver believes the lengths that are
    /// written in it.
    #[doc(alias = "cuModuleLoadData")]
    pub unsafe fn load_module(&self, image: &[u8]) -> Result<Module> {
        const CALL: &str = "cuModuleLoadData";
        check_image(image)
            .map_err(|text| Error::refused(ErrorKind::Argument, CALL, format_args!("{text}")))?;
        // The driver reads words, and text up to a zero.
        let mut words = vec![0u64; image.len() / 8 + 1];
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..image.len()].copy_from_slice(image);
        let mut raw: Handle = ptr::null_mut();
        self.call(CALL, |table| {
            // SAFETY: the caller vouches for the image, which ends with a zero; one handle is
            // written to the address of one.
            unsafe { (table.cuModuleLoadData)(&raw mut raw, words.as_ptr().cast()) }
        })?;
        let loaded = Loaded {
            context: self.clone(),
            raw,
        };
        Ok(Module(Arc::new(Inner {
            context: self.clone(),
            loaded: Some(loaded),
            launched: Mutex::default(),
        })))
    }
}

/// Checks an image before the driver sees it; the error is the reason to refuse it.
fn check_image(image: &[u8]) -> Result<(), &'static str> {
    if image.starts_with(FAT) {
        return Ok(());
    }
    if image.starts_with(ELF) {
        let of_device = image.get(ELF_MACHINE).is_some_and(|m| m == ELF_CUDA);
        return if of_device {
            Ok(())
        } else {
            Err(
                "the image is an object or a library for the host; `nvcc -dlink -cubin` (or `nvcc -cubin`) makes one for the device",
            )
        };
    }
    let text = std::str::from_utf8(image).unwrap_or("");
    let text = text.trim_end_matches('\0');
    if text.contains('\0') || !text.contains(".version") {
        return Err(
            "the image is neither a cubin nor a fat binary nor PTX; the driver compiles no source code",
        );
    }
    Ok(())
}

impl Module {
    /// The context that it was loaded in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The driver's own handle (`CUmodule`), valid as long as this or a clone of it lives.
    #[must_use]
    pub fn raw(&self) -> *mut c_void {
        let loaded = self.0.loaded.as_ref();
        loaded.map_or(ptr::null_mut(), |loaded| loaded.raw)
    }

    /// The kernel of this name. A function of C++ has its own name only if it is declared
    /// `extern "C"`.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if there is none; what the driver reports.
    #[doc(alias = "cuModuleGetFunction")]
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        const CALL: &str = "cuModuleGetFunction";
        let text = c_name(CALL, name)?;
        let mut raw: Handle = ptr::null_mut();
        // SAFETY: the module lives; the name is a C string; one handle is written to the address of
        // one.
        let code = self.0.context.code(|table| unsafe {
            (table.cuModuleGetFunction)(&raw mut raw, self.raw(), text.as_ptr())
        })?;
        match code {
            SUCCESS => Ok(Kernel {
                module: self.clone(),
                raw,
                name: name.into(),
            }),
            NOT_FOUND => Err(Error::refused(
                ErrorKind::Argument,
                CALL,
                format_args!(
                    "the module has no kernel {name:?}; one of C++ keeps its name only as `extern \"C\"`"
                ),
            )),
            code => Err(self.0.context.cuda().failure(CALL, code)),
        }
    }

    /// Returns the address of a variable of the module on the device, and its length in bytes.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) if there is none; what the driver reports.
    #[doc(alias = "cuModuleGetGlobal_v2")]
    pub fn global(&self, name: &str) -> Result<(u64, usize)> {
        const CALL: &str = "cuModuleGetGlobal_v2";
        let text = c_name(CALL, name)?;
        let (mut address, mut bytes): (Address, usize) = (0, 0);
        // SAFETY: the module lives; the name is a C string; one address and one length are written
        // to places of such.
        let code = self.0.context.code(|table| unsafe {
            (table.cuModuleGetGlobal_v2)(
                &raw mut address,
                &raw mut bytes,
                self.raw(),
                text.as_ptr(),
            )
        })?;
        match code {
            SUCCESS => Ok((address, bytes)),
            NOT_FOUND => Err(Error::refused(
                ErrorKind::Argument,
                CALL,
                format_args!("the module has no variable {name:?}"),
            )),
            code => Err(self.0.context.cuda().failure(CALL, code)),
        }
    }

    /// Copies a variable of the module to the host. A kernel that writes there at the same time
    /// makes wrong numbers.
    ///
    /// # Errors
    /// As [`global`](Self::global); [`Length`](ErrorKind::Length) if it has another length.
    #[doc(alias = "cuMemcpyDtoH_v2")]
    pub fn read_global<T: Pod>(&self, name: &str, to: &mut [T]) -> Result<()> {
        const CALL: &str = "cuMemcpyDtoH_v2";
        let (address, bytes) = self.global(name)?;
        let to: &mut [u8] = bytemuck::cast_slice_mut(to);
        if to.len() != bytes {
            let text = format_args!("{name:?} has {bytes} bytes, not {}", to.len());
            return Err(Error::refused(ErrorKind::Length, CALL, text));
        }
        if to.is_empty() {
            return Ok(());
        }
        self.0.context.call(CALL, |table| {
            // SAFETY: the variable has so many bytes, as the driver says, and so has the slice.
            unsafe { (table.cuMemcpyDtoH_v2)(to.as_mut_ptr().cast(), address, bytes) }
        })
    }
}

/// A name as C has it.
fn c_name(call: &'static str, name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| {
        let text = format_args!("a name has no zero in it: {name:?}");
        Error::refused(ErrorKind::Argument, call, text)
    })
}

/// Launch configuration of a kernel: its blocks, threads and shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Blocks along each axis.
    pub blocks: [u32; 3],
    /// Threads of a block along each axis.
    pub threads: [u32; 3],
    /// Bytes of shared memory of each block, besides what the kernel declares.
    pub shared_bytes: u32,
}

impl Grid {
    /// So many blocks of so many threads, along one axis.
    #[must_use]
    pub const fn line(blocks: u32, threads: u32) -> Grid {
        Grid {
            blocks: [blocks, 1, 1],
            threads: [threads, 1, 1],
            shared_bytes: 0,
        }
    }
}

/// An argument of a kernel: the bytes of a value, which are copied when the kernel is launched.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'a>(*const c_void, PhantomData<&'a ()>);

impl<'a, T: Pod> From<&'a T> for Argument<'a> {
    fn from(value: &'a T) -> Self {
        Argument(ptr::from_ref(value).cast(), PhantomData)
    }
}

/// A kernel of a [`Module`], which it keeps. Clones are the same kernel.
#[derive(Clone)]
#[doc(alias = "CUfunction")]
pub struct Kernel {
    module: Module,
    raw: Handle,
    name: Arc<str>,
}

// SAFETY: the driver's functions may be used from any thread; the module that they are part of is
// kept.
unsafe impl Send for Kernel {}
// SAFETY: as above; nothing here changes.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// The module that it is part of.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Enqueues a run of the kernel with these arguments, which are copied.
    ///
    /// Memory of the device is passed by its address
    /// ([`DeviceSlice::address`](crate::DeviceSlice::address)). To keep it until the run is
    /// complete is the caller's: by [`Enqueued::begin`](crate::Enqueued::begin), which owns it, by
    /// an event for [`used_until`](crate::DeviceSlice::used_until), or by waiting for the stream.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for an empty grid or a stream of another context; what the
    /// driver reports: more threads than a block may have, say.
    ///
    /// # Safety
    /// * `arguments` are those of the kernel, in number, order, size and meaning.
    /// * Memory that the kernel reads and writes at addresses that it is passed, or gets from
    ///   there, is there until it is complete, and that nobody else uses meanwhile in a way that
    ///   the program relies on. That holds for memory of other PEs and devices too, where a kernel
    ///   reaches it.
    /// * Libraries that the kernel relies on are ready: NVSHMEM, say, has been told of the module,
    ///   and is not finalized before the run is complete.
    #[doc(alias = "cuLaunchKernel")]
    pub unsafe fn launch(
        &self,
        grid: Grid,
        arguments: &[Argument<'_>],
        stream: &(impl Stream + ?Sized),
    ) -> Result<()> {
        const CALL: &str = "cuLaunchKernel";
        let context = &self.module.0.context;
        let refuse = |text: fmt::Arguments<'_>| Error::refused(ErrorKind::Argument, CALL, text);
        if stream.context()? != *context {
            return Err(refuse(format_args!(
                "the kernel {:?} was loaded for device {}, and the stream is of another device or driver",
                self.name,
                context.device().ordinal()
            )));
        }
        let sizes = grid.blocks.iter().chain(&grid.threads);
        if sizes.into_iter().any(|&size| size == 0) {
            return Err(refuse(format_args!(
                "a grid has a block and a thread at least along each axis, not {grid:?}"
            )));
        }
        let event = Unrecorded::new(context)?;
        let mut places: Vec<*mut c_void> = arguments.iter().map(|one| one.0.cast_mut()).collect();
        let ([across, down, deep], [wide, high, long]) = (grid.blocks, grid.threads);
        context.call(CALL, |table| {
            // SAFETY: the module is kept until the launch is complete; the caller vouches for the
            // arguments and what the kernel does.
            unsafe {
                (table.cuLaunchKernel)(
                    self.raw,
                    across,
                    down,
                    deep,
                    wide,
                    high,
                    long,
                    grid.shared_bytes,
                    stream.raw().0,
                    places.as_mut_ptr(),
                    ptr::null_mut(),
                )
            }
        })?;
        // SAFETY: the stream is live, and the event was made in its context.
        match unsafe { event.record(stream.raw().0) } {
            Ok(event) => {
                let stream = stream.raw().0.addr();
                // The former event is dropped when nothing is locked.
                let _former = lock(&self.module.0.launched).insert(stream, event);
                Ok(())
            }
            Err(error) => {
                // Its completion is unknown: the module stays for ever.
                std::mem::forget(self.module.clone());
                Err(error)
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let launched = std::mem::take(&mut *lock(&self.launched));
        if let Some(loaded) = self.loaded.take() {
            let aside = &self.context.cuda().driver().aside;
            aside.release(&self.context, launched.into_values().collect(), loaded);
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // A failure here is reported by the next call that matters.
        let _ = self.context.call("cuModuleUnload", |table| {
            // SAFETY: nobody has the module any more, and what was launched from it is complete.
            unsafe { (table.cuModuleUnload)(self.raw) }
        });
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("device", &self.0.context.device().ordinal())
            .field("raw", &self.raw())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .field("module", &self.module)
            .finish_non_exhaustive()
    }
}
