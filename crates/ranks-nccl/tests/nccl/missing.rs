//! What is not there: libraries, devices, functions. All ranks get the same error, and none waits.

use ranks_bootstrap::Bootstrap;
use ranks_comm::ErrorKind;
use ranks_nccl::{NcclCommunicator, NcclId, NcclOptions, ShrinkMode};
use ranks_nccl_sys::Nccl;

use crate::support::{
    LONG, doubles, driver, file_of, isolated, on_devices, options, processes, threads,
};

/// All ranks of two try to make a communicator, the second on `device`; the texts of their errors.
fn refused(kind: ErrorKind, device: usize, options: &NcclOptions) -> String {
    let texts = threads(2, |bootstrap| {
        let device = if bootstrap.rank() == 1 { device } else { 0 };
        let error = NcclCommunicator::new(bootstrap, device, options).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        error.to_string()
    });
    assert_eq!(texts[0], texts[1], "all ranks get the same error");
    texts[0].clone()
}

#[test]
fn without_nccl_making_a_communicator_is_an_error() {
    let nowhere = [("RANKS_NCCL", "/nowhere/libnccl.so.2")];
    isolated(
        "missing::without_nccl_making_a_communicator_is_an_error",
        &nowhere,
        || {
            let options = NcclOptions::new().cuda(driver());
            let text = refused(ErrorKind::NotAvailable, 1, &options);
            assert!(text.contains("2 of 2 ranks cannot take part"), "{text}");
            assert!(text.contains("/nowhere/libnccl.so.2"), "{text}");
        },
    );
}

#[test]
fn without_a_driver_making_a_communicator_is_an_error() {
    let nowhere = [("RANKS_CUDA", "/nowhere/libcuda.so.1")];
    isolated(
        "missing::without_a_driver_making_a_communicator_is_an_error",
        &nowhere,
        || {
            let options = NcclOptions::new().library(doubles().nccl);
            let text = refused(ErrorKind::NotAvailable, 1, &options);
            assert!(text.contains("/nowhere/libcuda.so.1"), "{text}");
        },
    );
}

#[test]
fn without_a_gpu_making_a_communicator_is_an_error() {
    let driver = file_of("cuda_double");
    let none = [
        ("RANKS_CUDA", driver.to_str().unwrap()),
        ("CUDA_DOUBLE_DEVICES", "0"),
    ];
    isolated(
        "missing::without_a_gpu_making_a_communicator_is_an_error",
        &none,
        || {
            let options = NcclOptions::new().library(doubles().nccl);
            let text = refused(ErrorKind::NotAvailable, 1, &options);
            assert!(text.contains("CUDA_ERROR_NO_DEVICE"), "{text}");
        },
    );
}

#[test]
fn a_gpu_that_one_rank_does_not_have_is_an_error_for_all() {
    isolated(
        "missing::a_gpu_that_one_rank_does_not_have_is_an_error_for_all",
        &[],
        || {
            let text = refused(ErrorKind::Argument, 99, &options());
            assert!(
                text.contains("1 of 2 ranks cannot take part: rank 1"),
                "{text}"
            );
        },
    );
}

/// Each field that the library would ignore in silence.
#[test]
fn a_setting_of_a_later_release_is_an_error() {
    let old = [("NCCL_DOUBLE_VERSION", "2.16.2")];
    isolated(
        "missing::a_setting_of_a_later_release_is_an_error",
        &old,
        || {
            let new = options;
            for (options, field, since) in [
                (new().min_ctas(1), "minCTAs", "2.17"),
                (new().net_name("Socket"), "netName", "2.17"),
                (new().split_share(true), "splitShare", "2.18"),
                (new().traffic_class(1), "trafficClass", "2.26"),
                (new().name("of gradients"), "commName", "2.27"),
                (new().nvls_ctas(4), "nvlsCTAs", "2.27"),
                (
                    new().channels_per_net_peer(2),
                    "nChannelsPerNetPeer",
                    "2.28",
                ),
                (new().rma_contexts(2), "numRmaCtx", "2.29"),
                (new().max_p2p_peers(2), "maxP2pPeers", "2.30"),
                (new().rma_signals(2), "numRmaSig", "2.31"),
            ] {
                let text = refused(ErrorKind::NotInLibrary, 1, &options);
                let path = doubles().nccl.path().display();
                let expected = format!(
                    "ncclConfig_t.{field} is not in this NCCL library (2.16.2, {path}); it needs NCCL {since}"
                );
                assert!(text.contains(&expected), "{text}");
            }
            let comms = on_devices(1);
            assert_eq!(comms[0].version(), "2.16.2");
        },
    );
}

#[test]
fn settings_that_the_library_has_are_taken() {
    isolated(
        "missing::settings_that_the_library_has_are_taken",
        &[],
        || {
            let options = options()
                .name("of gradients")
                .min_ctas(1)
                .max_ctas(4)
                .rma_contexts(1);
            NcclCommunicator::on_devices(&[0, 1], &options).unwrap();
            let zero = options.clone().name("a\0b");
            let error = NcclCommunicator::on_devices(&[0], &zero).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        },
    );
}

/// A call on such a communicator waited for a peer that did not come, within the library and with
/// the state locked: no time limit, no abort from another thread and no `drop` got at it.
#[test]
fn a_blocking_communicator_hung_beyond_its_limit_and_any_abort() {
    let test = "missing::a_blocking_communicator_hung_beyond_its_limit_and_any_abort";
    isolated(test, &[("NCCL_COMM_BLOCKING", "1")], || {
        let text = refused(ErrorKind::Argument, 1, &options());
        assert!(
            text.contains("NCCL_COMM_BLOCKING=1 makes blocking communicators"),
            "{text}"
        );
        let error = NcclCommunicator::on_devices(&[0], &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    });
}

#[test]
fn communicators_that_are_asked_not_to_block_are_made() {
    let test = "missing::communicators_that_are_asked_not_to_block_are_made";
    isolated(test, &[("NCCL_COMM_BLOCKING", "0")], || {
        on_devices(2);
    });
}

/// The library reads the file itself, when the first id or the first communicator is made.
#[test]
fn a_file_of_settings_made_blocking_communicators() {
    let test = "missing::a_file_of_settings_made_blocking_communicators";
    let file = std::env::temp_dir().join(format!("ranks-nccl-conf-{}", std::process::id()));
    let path = file.to_str().unwrap().to_owned();
    if !crate::support::is_inside() {
        std::fs::write(&file, "# of the site\nNCCL_COMM_BLOCKING=1\n").unwrap();
    }
    isolated(test, &[("NCCL_CONF_FILE", &path)], || {
        let id = NcclId::new(doubles().nccl).unwrap();
        let text = refused(ErrorKind::Argument, 1, &options());
        assert!(text.contains("NCCL_COMM_BLOCKING=1"), "{text}");
        let error = NcclCommunicator::with_id(id, 0, 1, 0, &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    });
    if !crate::support::is_inside() {
        std::fs::remove_file(&file).unwrap();
    }
}

/// As above, by a program that makes no id: a communicator that turns out to be blocking is not
/// handed out.
#[test]
fn a_communicator_of_an_id_from_elsewhere_is_blocking_by_a_file_of_settings() {
    let test = "missing::a_communicator_of_an_id_from_elsewhere_is_blocking_by_a_file_of_settings";
    let file = std::env::temp_dir().join(format!("ranks-nccl-conf-of-one-{}", std::process::id()));
    let path = file.to_str().unwrap().to_owned();
    if !crate::support::is_inside() {
        std::fs::write(&file, "NCCL_COMM_BLOCKING=1\n").unwrap();
    }
    let with_file: &[(&str, &str)] = &[("NCCL_CONF_FILE", &path)];
    processes(test, &[&[], with_file], |folder| {
        let id = if folder.rank() == 0 {
            NcclId::new(doubles().nccl).unwrap().to_bytes().to_vec()
        } else {
            Vec::new()
        };
        let said = folder.exchange(&id).unwrap();
        let id = NcclId::from_bytes(&said[0]).unwrap();
        let made = NcclCommunicator::with_id(id, folder.rank(), 2, folder.rank(), &options());
        if folder.rank() == 1 {
            let error = made.as_ref().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
            assert_eq!(crate::support::live(), 0, "it was aborted");
        }
        folder.exchange(&[]).unwrap();
    });
    if !crate::support::is_inside() {
        std::fs::remove_file(&file).unwrap();
    }
}

/// cudarc looks for `libnccl.so` and versions that never were, and panics.
#[test]
fn nccl_is_found_as_the_packages_of_python_have_it() {
    let folder = std::env::temp_dir().join(format!("ranks-nccl-found-{}", std::process::id()));
    let test = "missing::nccl_is_found_as_the_packages_of_python_have_it";
    let search = folder.to_str().unwrap().to_owned();
    if !crate::support::is_inside() {
        std::fs::create_dir_all(&folder).unwrap();
        let link = folder.join("libnccl.so.2");
        std::os::unix::fs::symlink(file_of("nccl_double"), &link).unwrap();
    }
    isolated(test, &[("LD_LIBRARY_PATH", &search)], || {
        let found = Nccl::load().unwrap();
        assert_eq!(found.version_text(), "2.32.3");
        assert!(found.path().ends_with("libnccl.so.2"), "{:?}", found.path());
    });
    if !crate::support::is_inside() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
#[test]
fn functions_of_later_releases_are_errors_that_say_which() {
    isolated(
        "missing::functions_of_later_releases_are_errors_that_say_which",
        &[],
        || {
            let old = crate::support::old_nccl();
            let options = NcclOptions::new()
                .library(old)
                .cuda(driver())
                .time_limit(LONG);
            let comms = NcclCommunicator::on_devices(&[0, 1], &options).unwrap();
            let path = old.path().display();
            let error = comms[0].shrink(&[1], ShrinkMode::Idle).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotInLibrary);
            assert_eq!(
                error.to_string(),
                format!(
                    "ncclCommShrink is not in this NCCL library (2.18.3, {path}); it needs NCCL 2.27"
                )
            );
            for error in [
                comms[0].growth_id().map(drop).unwrap_err(),
                comms[0].grow(3, None).map(drop).unwrap_err(),
                comms[0].properties().map(drop).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::NotInLibrary, "{error}");
                assert!(error.to_string().ends_with("it needs NCCL 2.29"), "{error}");
            }
            assert!(
                !comms[0].is_aborted(),
                "what is missing leaves the rest as it was"
            );
        },
    );
}
