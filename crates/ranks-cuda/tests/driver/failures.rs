//! Refusals of the driver are errors that say all there is; it never panics, and frees nothing that
//! is in use.

use std::ffi::c_int;

use ranks_cuda::{DeviceSlice as _, ErrorKind, Result, Stream};

use super::double::Double;

#[test]
fn an_error_says_who_said_what() {
    let double = Double::new();
    let context = double.context();
    double.fail_next("cuMemAlloc_v2", 400);
    let error = context.alloc::<u8>(8).unwrap_err();
    let driver = format!("driver 13.0, {}", double.cuda.path().display());
    assert_eq!(
        error.to_string(),
        format!(
            "cuMemAlloc_v2: invalid resource handle (CUDA_ERROR_INVALID_HANDLE, code 400; {driver})"
        )
    );
    assert_eq!((error.kind(), error.code()), (ErrorKind::Driver, Some(400)));
    assert_eq!(format!("{error:?}"), error.to_string());
    double.fail_next("cuStreamQuery", 12345);
    let unknown = context.stream().unwrap().query().unwrap_err();
    assert_eq!(
        unknown.to_string(),
        format!("cuStreamQuery: a failure (unknown to the driver, code 12345; {driver})")
    );
}

#[test]
fn there_are_so_many_devices() {
    let double = Double::new();
    assert_eq!(double.cuda.device_count().unwrap(), 4);
    double.set_devices(2);
    assert_eq!(double.cuda.device_count().unwrap(), 2);
    assert_eq!(double.cuda.device(1).unwrap().ordinal(), 1);
    for ordinal in [2, 99, usize::MAX] {
        let error = double.cuda.device(ordinal).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("there are 2"), "{error}");
    }
    double.fail_next("cuDeviceGetCount", 999);
    assert_eq!(double.cuda.device_count().unwrap_err().code(), Some(999));
}

/// Each thing once.
fn everything(double: &Double) -> Result<()> {
    let device = double.cuda.device(3)?;
    device.name()?;
    device.can_access(double.cuda.device(0)?)?;
    let context = device.context()?;
    let stream = context.stream()?;
    let other = context.stream()?;
    let (host, vec) = (
        context.pinned::<u32>(4)?,
        context.device_vec_of(&[1, 2, 3, 4])?,
    );
    let (host, vec) = stream.upload(host, vec)?.wait()?;
    let (vec, copy) = stream.copy(vec, context.alloc(4)?)?.enqueue_wait(&other)?;
    let (copy, back) = other.download(copy, host)?.wait()?;
    drop(other.copy(vec, copy)?);
    let shared = context.alloc::<u8>(1)?;
    shared.used_until(&stream.record()?);
    drop(shared);
    stream.launch_host(Box::new(|| ()))?;
    stream.query()?;
    let event = stream.record()?;
    event.query()?;
    event.synchronize()?;
    other.synchronize()?;
    double.cuda.attributes_of(back.as_ptr().cast())?;
    let (free, total) = context.memory()?;
    assert!(0 < free && free <= total);
    context.synchronize()
}

const CALLS: [&str; 31] = [
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceCanAccessPeer",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuCtxGetStreamPriorityRange",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventDestroy_v2",
    "cuLaunchHostFunc",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemsetD8Async",
    "cuMemcpyDtoH_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuPointerGetAttributes",
];

#[test]
fn whichever_call_fails_nothing_worse_happens() {
    const ILLEGAL_ADDRESS: c_int = 700;
    for call in CALLS {
        let double = Double::new();
        double.fail_next(call, ILLEGAL_ADDRESS);
        if let Err(error) = everything(&double) {
            let name = error.name();
            assert_eq!(name, Some("CUDA_ERROR_ILLEGAL_ADDRESS"), "{call}: {error}");
        }
        assert_eq!(double.uses_after_free(), 0, "{call}");
        // The driver is well again.
        double.cuda.collect();
        everything(&double).unwrap_or_else(|error| panic!("after {call}: {error}"));
        assert_eq!(double.cuda.collect(), 0, "{call}");
        assert_eq!(double.uses_after_free(), 0, "{call}");
    }
}

#[test]
fn every_call_that_is_used_was_tried() {
    let double = Double::new();
    everything(&double).unwrap();
    double
        .context()
        .device_vec_of(&[1])
        .unwrap()
        .to_vec()
        .unwrap();
    for call in CALLS {
        assert!(double.calls(call) > 0, "{call} was not called");
    }
}

#[test]
fn on_a_slow_device_nothing_is_freed_early() {
    let double = Double::new();
    double.set_delay(3000);
    everything(&double).unwrap();
    double.is_empty();
}
