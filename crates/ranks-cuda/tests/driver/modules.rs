//! Code that the program brings: loaded, launched, and unloaded when nothing of it runs any more.

use ranks_cuda::{Argument, Context, DeviceSlice as _, ErrorKind, Grid, Module, Stream as _};

use super::double::{Double, Gate};

/// Output of a compiler, as far as the double reads it.
const PTX: &str = ".version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 answer[8] = {42, 0, 0, 0, 7};
.visible .entry ranks_double_add(.param .u64 to, .param .u64 count, .param .u32 value) { ret; }
.visible .entry nothing() { ret; }
";

fn load(context: &Context) -> Module {
    // SAFETY: the double reads text, and this is whole.
    unsafe { context.load_module(PTX.as_bytes()) }.unwrap()
}

#[test]
fn a_kernel_runs_in_the_order_of_its_stream() {
    let double = Double::new();
    {
        let context = double.context();
        let stream = context.stream().unwrap();
        let kernel = load(&context).kernel("ranks_double_add").unwrap();
        let numbers = context.device_vec_of(&[1i32, 2, 3, 4]).unwrap();
        let gate = Gate::close(&stream);
        {
            // What was passed may be gone when the kernel runs.
            let (count, value) = (3u64, 10i32);
            let address = numbers.address();
            let arguments = [Argument::from(&address), (&count).into(), (&value).into()];
            // SAFETY: those of the kernel; the vector is there until the stream was waited for.
            unsafe { kernel.launch(Grid::line(1, 32), &arguments, &stream) }.unwrap();
        }
        assert_eq!(double.launches(), 0);
        gate.open();
        stream.synchronize().unwrap();
        assert_eq!(numbers.to_vec().unwrap(), [11, 12, 13, 4]);
        assert_eq!(double.launches(), 1);
    }
    assert_eq!(double.modules(), 0);
    double.is_empty();
}

#[test]
fn a_module_is_unloaded_when_what_it_runs_is_over() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let module = load(&context);
    let kernel = module.kernel("nothing").unwrap();
    assert_eq!(kernel.module().raw(), module.raw());
    let gate = Gate::close(&stream);
    // SAFETY: it has no arguments and does nothing.
    unsafe { kernel.launch(Grid::line(2, 64), &[], &stream) }.unwrap();
    drop(module);
    drop(kernel);
    assert_eq!(double.modules(), 1, "unloaded under a running kernel");
    gate.open();
    stream.synchronize().unwrap();
    assert_eq!(double.cuda.collect(), 0);
    assert_eq!(double.modules(), 0);
    drop((stream, context));
    double.is_empty();
}

#[test]
fn a_variable_is_where_the_driver_says() {
    let double = Double::new();
    let context = double.context();
    let module = load(&context);
    assert_eq!(module.global("answer").unwrap().1, 8);
    let mut bytes = [0u32; 2];
    module.read_global("answer", &mut bytes).unwrap();
    assert_eq!(bytes, [42, 7]);
    let short = module.read_global("answer", &mut [0u8; 7]).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::Length);
    for name in ["question", "an\0swer"] {
        let error = module.global(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    }
}

#[test]
fn what_is_no_module_is_refused() {
    let double = Double::new();
    let context = double.context();
    let mut host = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0";
    let images: [(&[u8], &str); 5] = [
        (b"", "neither"),
        (b"__global__ void f() {}", "source"),
        (b"\xff\xfe", "neither"),
        (b".version\0 8.0", "neither"),
        (&host, "for the host"),
    ];
    for (image, text) in images {
        // SAFETY: it is refused before anybody reads it.
        let error = unsafe { context.load_module(image) }.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains(text), "{error}");
    }
    assert_eq!(double.calls("cuModuleLoadData"), 0);
    host[18] = 190;
    // SAFETY: the double looks at the first bytes only.
    let module = unsafe { context.load_module(&host) }.unwrap();
    module.kernel("any").unwrap();
    double.fail_next("cuModuleLoadData", 200);
    // SAFETY: as above.
    let error = unsafe { context.load_module(PTX.as_bytes()) }.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Driver, Some(200)));
    assert!(error.to_string().contains("image is invalid"), "{error}");
}

#[test]
fn a_launch_that_cannot_be_is_an_error() {
    let double = Double::new();
    let context = double.context();
    let stream = context.stream().unwrap();
    let module = load(&context);
    let absent = module.kernel("something").unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::Argument);
    assert!(absent.to_string().contains("extern \"C\""), "{absent}");
    let kernel = module.kernel("nothing").unwrap();
    let launch = |grid: Grid, stream: &ranks_cuda::CudaStream| {
        // SAFETY: it has no arguments and does nothing.
        unsafe { kernel.launch(grid, &[], stream) }
    };
    let other = double.cuda.device(1).unwrap().context().unwrap();
    let elsewhere = launch(Grid::line(1, 1), &other.stream().unwrap());
    assert_eq!(elsewhere.unwrap_err().kind(), ErrorKind::Argument);
    for grid in [Grid::line(0, 1), Grid::line(1, 0)] {
        let empty = launch(grid, &stream).unwrap_err();
        assert_eq!(empty.kind(), ErrorKind::Argument);
    }
    let many = launch(Grid::line(1, 1025), &stream).unwrap_err();
    assert_eq!(many.kind(), ErrorKind::Driver);
    // If nobody knows when it is over, the module stays.
    double.fail_next("cuEventRecord", 999);
    launch(Grid::line(1, 1), &stream).unwrap_err();
    drop((kernel, module));
    stream.synchronize().unwrap();
    double.cuda.collect();
    assert_eq!(double.modules(), 1);
}
