//! Search for the driver, and the error if there is none.

use std::path::{Path, PathBuf};

use ranks_cuda::{Cuda, Error, ErrorKind};

use super::{children, double};

#[track_caller]
fn tried(error: &Error, expected: &[(&str, &str)]) {
    assert_eq!(error.kind(), ErrorKind::NotAvailable, "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("no CUDA driver could be loaded; tried\n"),
        "{text}"
    );
    let attempts = error.attempts().unwrap().attempts();
    assert_eq!(attempts.len(), expected.len(), "{text}");
    for (attempt, (file, reason)) in attempts.iter().zip(expected) {
        assert_eq!(attempt.candidate.file, Path::new(file), "{text}");
        assert!(attempt.reason.contains(reason), "{text}");
    }
}

/// A folder where files of the driver's names are none.
fn folder_of_texts(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ranks-cuda-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["libcuda.so.1", "libcuda.so"] {
        std::fs::write(folder.join(file), "this is no library\n".repeat(20)).unwrap();
    }
    folder
}

#[test]
fn where_there_is_none_all_that_was_tried_is_listed() {
    if children::is_child() {
        assert!(Cuda::loaded().is_none());
        let error = Cuda::load().unwrap_err();
        tried(
            &error,
            &[
                ("libcuda.so.1", "invalid ELF header"),
                ("libcuda.so", "invalid ELF header"),
            ],
        );
        assert!(Cuda::loaded().is_none());
        return;
    }
    let folder = folder_of_texts("none");
    children::succeeds(
        "loading::where_there_is_none_all_that_was_tried_is_listed",
        &[("LD_LIBRARY_PATH", folder.to_str().unwrap())],
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_variable_names_the_file() {
    if children::is_child() {
        assert!(Cuda::loaded().is_none());
        let cuda = Cuda::load().unwrap();
        assert_eq!(cuda.path(), double::file());
        assert_eq!(cuda.version(), 13000);
        assert_eq!(Cuda::loaded(), Some(cuda));
        // SAFETY: the file is the double.
        assert_eq!(unsafe { Cuda::open(double::file()) }.unwrap(), cuda);
        assert_eq!(cuda.device_count().unwrap(), 3);
        return;
    }
    let file = double::file();
    children::succeeds(
        "loading::a_variable_names_the_file",
        &[
            ("RANKS_CUDA", file.to_str().unwrap()),
            ("CUDA_DOUBLE_DEVICES", "3"),
        ],
    );
}

#[test]
fn a_variable_that_leads_nowhere_is_an_error() {
    if children::is_child() {
        tried(
            &Cuda::load().unwrap_err(),
            &[("/no/such/file.so", "No such file")],
        );
        return;
    }
    children::succeeds(
        "loading::a_variable_that_leads_nowhere_is_an_error",
        &[("RANKS_CUDA", "/no/such/file.so")],
    );
}

#[test]
fn a_relative_path_to_a_driver_is_refused() {
    let depth = std::env::current_dir().unwrap().components().count();
    let file = format!("{}{}", "../".repeat(depth), double::file().display());
    assert!(Path::new(&file).is_file());
    if children::is_child() {
        let error = Cuda::load().unwrap_err();
        tried(&error, &[(&file, "it is relative")]);
        return;
    }
    children::succeeds(
        "loading::a_relative_path_to_a_driver_is_refused",
        &[("RANKS_CUDA", &file)],
    );
}

#[test]
fn a_driver_without_a_device_is_none() {
    if children::is_child() {
        let file = double::file();
        tried(
            &Cuda::load().unwrap_err(),
            &[(
                file.to_str().unwrap(),
                "cuInit: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE, code 100)",
            )],
        );
        return;
    }
    let file = double::file();
    children::succeeds(
        "loading::a_driver_without_a_device_is_none",
        &[
            ("RANKS_CUDA", file.to_str().unwrap()),
            ("CUDA_DOUBLE_DEVICES", "0"),
        ],
    );
}

#[test]
fn what_is_in_the_process_is_adopted() {
    if children::is_child() {
        assert!(Cuda::loaded().is_none());
        let candidate = [ranks_load::Candidate::new(
            "libcuda.so.1",
            "as another library does",
        )];
        // SAFETY: under this name lies the double.
        unsafe { ranks_load::Library::open("driver", &candidate, |_| Ok(())) }.unwrap();
        let cuda = Cuda::loaded().unwrap();
        assert_eq!(Cuda::load().unwrap(), cuda);
        assert!(cuda.path().ends_with("libcuda.so.1"), "{cuda:?}");
        return;
    }
    children::succeeds_with_driver("loading::what_is_in_the_process_is_adopted");
}

#[test]
fn what_is_no_driver_is_refused() {
    // SAFETY: the library of C is in every process.
    let error = unsafe { Cuda::open("libc.so.6") }.unwrap_err();
    tried(&error, &[("libc.so.6", "it has no cuInit")]);
}
