//! Memory of a GPU, told from that of the host.

use std::ffi::c_void;

use ranks_comm::Result;
use ranks_cuda::{Context, Cuda, Memory};

use crate::driver::of_driver;

/// The context of the device whose memory an address is of, if it is; of a driver that was named,
/// or of the one in this process.
pub(crate) fn on_device(
    name: &'static str,
    cuda: Option<Cuda>,
    address: *const c_void,
) -> Result<Option<Context>> {
    let Some(cuda) = cuda.or_else(Cuda::loaded) else {
        return Ok(None);
    };
    let failed = |error| of_driver(name, error);
    let Memory::Device { ordinal } = cuda.attributes_of(address).map_err(failed)? else {
        return Ok(None);
    };
    let device = cuda.device(ordinal).map_err(failed)?;
    device.context().map(Some).map_err(failed)
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use std::sync::Arc;

    use ranks_comm::ErrorKind;

    use super::super::pool::Pool;
    use super::*;

    /// It was told as a failure of the device.
    #[test]
    fn memory_that_a_driver_has_not_is_told_as_that() {
        let here = std::env::current_exe().expect("this program is a file");
        let file = here.with_file_name("libcuda_double.so");
        // SAFETY: nothing happens when the double is loaded, and its functions do what the driver's
        // do.
        let cuda = unsafe { Cuda::open(file) }.expect("the double is beside this program");
        let device = cuda.device(0).expect("the double has devices");
        let context = device.context().expect("they have contexts");
        let refused = Arc::new(Pool::default()).take_pinned(1 << 50, &context);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Memory);
    }
}
