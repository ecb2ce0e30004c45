//! The real NCCL where there is no GPU: what it says is an error here, and nothing waits or ends
//! the process.
//!
//! `cargo xtask test` runs these; by hand it is
//! `RANKS_NCCL=…/libnccl.so.2 cargo test -p ranks-nccl --test nccl -- --ignored real`.
#![allow(unsafe_code)]

use ranks_bootstrap::Bootstrap;
use ranks_comm::ErrorKind;
use ranks_nccl::{NcclCommunicator, NcclId, NcclOptions};
use ranks_nccl_sys::{Nccl, ncclInvalidUsage};

use crate::support::{SHORT, driver, isolated, threads};

/// No device, whatever the machine has, and no network but its own. The driver of this crate is the
/// double: so NCCL is asked, and finds none.
const ALONE: &[(&str, &str)] = &[("CUDA_VISIBLE_DEVICES", ""), ("NCCL_SOCKET_IFNAME", "lo")];

fn options() -> NcclOptions {
    NcclOptions::new()
        .library(Nccl::load().unwrap())
        .cuda(driver())
        .time_limit(40 * SHORT)
}

/// What this thread calls next is carried out at once, and not kept for the end of a group.
fn no_group_is_left_open() {
    let end = Nccl::load().unwrap().table().ncclGroupEnd.unwrap();
    // SAFETY: it takes nothing, and refuses where there is no group.
    assert_eq!(unsafe { end() }, ncclInvalidUsage);
}

#[test]
#[ignore = "needs an NCCL library"]
fn without_a_gpu_every_rank_is_told_what_the_library_says() {
    let test = "real::without_a_gpu_every_rank_is_told_what_the_library_says";
    isolated(test, ALONE, || {
        let kinds = threads(2, |bootstrap| {
            let made = NcclCommunicator::new(bootstrap, bootstrap.rank(), &options());
            let error = made.unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("ncclUnhandledCudaError, code 1; NCCL 2."),
                "{text}"
            );
            assert!(text.contains("the last error was: "), "{text}");
            no_group_is_left_open();
            error.kind()
        });
        assert_eq!(kinds, [ErrorKind::Library; 2]);
    });
}

#[test]
#[ignore = "needs an NCCL library"]
fn without_a_gpu_many_devices_of_one_process_are_an_error() {
    let test = "real::without_a_gpu_many_devices_of_one_process_are_an_error";
    isolated(test, ALONE, || {
        let error = NcclCommunicator::on_devices(&[0, 1], &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Library, "{error}");
        no_group_is_left_open();
        // Ids are made without a device, and each is another one.
        let nccl = Nccl::load().unwrap();
        assert!(NcclId::new(nccl).unwrap() != NcclId::new(nccl).unwrap());
    });
}
