//! Code of the device that calls NVSHMEM itself: which modules NVSHMEM is told of, and how long.
#![allow(unsafe_code)]

use std::ptr;

use ranks_comm::{ErrorKind, Result};
use ranks_cuda::{Context, Module};
use ranks_nvshmem::{InitialisedCode, Nvshmem};

use crate::support::{Release, doubles, driver, processes, threads};

/// A module with the device code of that release; with none of it.
fn module(context: &Context, release: Option<[u8; 3]>) -> Module {
    let code = release.map_or(String::new(), |[major, minor, patch]| {
        format!(
            ".global .align 8 .b8 nvshmemi_device_state_d[64];\n\
             .const .align 4 .b8 nvshmemi_device_lib_version_d[12] = {{{major}, 0, 0, 0, {minor}, 0, 0, 0, {patch}, 0, 0, 0}};\n"
        )
    });
    // SAFETY: the double runs no code.
    unsafe { context.load_module(format!(".version 7.0\n{code}").as_bytes()) }.unwrap()
}

fn is_refused(outcome: Result<InitialisedCode<'_>>, kind: ErrorKind, says: &str) {
    let error = outcome.map(drop).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

/// The modules that NVSHMEM knows.
fn known() -> usize {
    doubles().count(c"nvshmemDouble_live_modules")
}

#[test]
fn a_module_is_known_as_long_as_the_value_lives() {
    let test = "device_code::a_module_is_known_as_long_as_the_value_lives";
    for release in [Release::New, Release::Old] {
        processes(test, 1, release, &[], |pe| {
            let module = module(pe.context().unwrap(), Some([3, 4, 5]));
            let initialised = pe.init_module(&module).unwrap();
            // NVSHMEM writes to its variables, so that it stays loaded.
            drop(module);
            assert_eq!((known(), doubles().loaded_modules()), (1, 1));
            drop(initialised);
            assert_eq!((known(), doubles().loaded_modules()), (0, 0));
            pe.finalize().unwrap();
        });
    }
}

#[test]
fn a_module_that_does_not_fit_is_refused() {
    let test = "device_code::a_module_that_does_not_fit_is_refused";
    processes(test, 1, Release::Old, &[], |pe| {
        let context = pe.context().unwrap();
        let refused = |release, kind, says: &str| {
            is_refused(pe.init_module(&module(context, release)), kind, says);
        };
        refused(None, ErrorKind::Argument, "libnvshmem_device.a");
        for newer in [[3, 5, 0], [4, 0, 0], [2, 11, 0]] {
            refused(Some(newer), ErrorKind::NotInLibrary, "the library is 3.4.5");
        }
        let elsewhere = driver().device(1).unwrap().context().unwrap();
        let there = module(&elsewhere, Some([3, 4, 5]));
        let says = "the module was loaded for device 1, and the PE's is device 0";
        is_refused(pe.init_module(&there), ErrorKind::Argument, says);
        assert_eq!(known(), 0);
        pe.finalize().unwrap();
    });
}

#[test]
fn modules_and_libraries_of_others_are_passed_on() {
    let test = "device_code::modules_and_libraries_of_others_are_passed_on";
    for release in [Release::New, Release::Old] {
        processes(test, 1, release, &[], |pe| {
            let (one, other) = (
                ptr::without_provenance_mut(8),
                ptr::without_provenance_mut(9),
            );
            // SAFETY: the double looks at the handles alone.
            let module = unsafe { pe.init_raw_module(one) }.unwrap();
            // SAFETY: as above.
            let library = unsafe { pe.init_raw_library(other) }.unwrap();
            assert_eq!(known(), 2);
            drop((module, library));
            assert_eq!(known(), 0);
            // SAFETY: as above.
            let none = unsafe { pe.init_raw_library(ptr::null_mut()) };
            is_refused(none, ErrorKind::Library, "nvshmemx_culibrary_init");
            pe.finalize().unwrap();
        });
    }
}

#[test]
fn in_process_there_are_no_kernels() {
    let body = |pe: Nvshmem<'_>| {
        let any = ptr::without_provenance_mut(8);
        // SAFETY: in process nothing looks at it.
        let module = unsafe { pe.init_raw_module(any) };
        // SAFETY: as above.
        let library = unsafe { pe.init_raw_library(any) };
        for outcome in [module, library] {
            is_refused(outcome, ErrorKind::NotInLibrary, "in process");
        }
    };
    threads(1, body);
}
