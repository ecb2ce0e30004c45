//! What is found, and what is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_nvshmem_sys::*;

use crate::support::{end, inside};

/// A library of C functions that have NVSHMEM's names and return 0, but for those that `without`
/// names, of a release.
fn made_up(name: &str, version: [i32; 3], newest: &[&str], without: &[&str]) -> PathBuf {
    let mark = "nvshmemx_vendor_get_version_info";
    let names = functions().filter(|name| {
        newest.contains(&since(name).unwrap()) && !without.contains(name) && *name != mark
    });
    let [major, minor, patch] = version;
    let mut source = format!(
        "void {mark}(int *major, int *minor, int *patch) {{ *major = {major}; *minor = {minor}; *patch = {patch}; }}\n"
    );
    source.extend(names.map(|name| format!("int {name}(void) {{ return 0; }}\n")));
    source.push_str("int nvshmem_float_sum_reduce(void) { return 7; }\n");
    let folder = std::env::temp_dir().join(format!("ranks-nvshmem-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, library) = (folder.join("made.c"), folder.join("libnvshmem_host.so.3"));
    std::fs::write(&file, source).unwrap();
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &file])
        .output()
        .expect("there is a cc, which links what Rust makes as well");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    library
}

fn remove(library: &Path) {
    std::fs::remove_dir_all(library.parent().unwrap()).unwrap();
}

#[test]
fn one_that_is_too_old_says_what_is_needed() {
    let library = made_up("too-old", [3, 1, 7], &["3.1"], &[]);
    // SAFETY: it has no initialisers.
    let error = unsafe { NvshmemLibrary::open(&library) }.unwrap_err();
    let Error::TooOld { version, needs, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!((version.to_string().as_str(), *needs), ("3.1.7", "3.2"));
    assert!(
        error.to_string().contains("NVSHMEM 3.2 or newer"),
        "{error}"
    );
    remove(&library);
}

#[test]
fn one_that_lacks_what_all_have_is_refused() {
    let library = made_up("lacking", [3, 8, 0], &["3.1", "3.3"], &["nvshmem_quiet"]);
    // SAFETY: it has no initialisers.
    let error = unsafe { NvshmemLibrary::open(&library) }.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("NVSHMEM 3.8.0, and has no nvshmem_quiet"),
        "{text}"
    );
    remove(&library);
}

#[test]
fn another_major_release_is_refused() {
    let library = made_up("newer", [4, 0, 0], &["3.1"], &[]);
    // SAFETY: it has no initialisers.
    let error = unsafe { NvshmemLibrary::open(&library) }.unwrap_err();
    let none = matches!(&error, Error::NotNvshmem { reason, .. } if reason.contains("4.0.0"));
    assert!(none, "{error:?}");
    remove(&library);
}

#[test]
fn what_an_older_one_lacks_is_none() {
    let library = made_up("older", [3, 4, 5], &["3.1", "3.3"], &[]);
    // SAFETY: it has no initialisers.
    let nvshmem = unsafe { NvshmemLibrary::open(&library) }.unwrap();
    assert_eq!(nvshmem.version_text(), "3.4.5");
    assert_eq!(nvshmem.path(), library);
    assert!(nvshmem.has("nvshmemx_team_init") && nvshmem.table().nvshmemx_team_init.is_some());
    assert!(!nvshmem.has("nvshmemx_flush") && nvshmem.table().nvshmemx_flush.is_none());
    assert_eq!(
        nvshmem.lacks("nvshmemx_flush"),
        format!(
            "nvshmemx_flush is not in this NVSHMEM library (3.4.5, {}); it needs NVSHMEM 3.7",
            library.display()
        )
    );
    assert!(!nvshmem.attr_has_device());
    assert_eq!(nvshmem.attr().version, 0x0001_0090);
    // Reductions are looked for by name, and what was not found once is not looked for again.
    let (sum, float) = (Operation::Sum, Element::Float);
    for _ in 0..2 {
        assert!(nvshmem.reduction(Form::Reduce, sum, float).is_some());
        assert!(nvshmem.reduction(Form::ReduceScatter, sum, float).is_none());
        assert!(
            nvshmem
                .reduction_on_stream(Form::Reduce, sum, float)
                .is_none()
        );
    }
    let text = nvshmem.lacks_reduction(Form::Reduce, sum, float, true);
    assert!(
        text.starts_with("nvshmemx_float_sum_reduce_on_stream is not in"),
        "{text}"
    );
    remove(&library);
}

#[test]
fn what_is_no_nvshmem_is_said_to_be_none() {
    // SAFETY: the C library is in this process already.
    let error = unsafe { NvshmemLibrary::open("libm.so.6") }.unwrap_err();
    let none =
        matches!(&error, Error::NotNvshmem { reason, .. } if reason.contains("vendor_get_version"));
    assert!(none, "{error:?}");
    // SAFETY: nothing of it runs.
    let error = unsafe { NvshmemLibrary::open(file!()) }.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error:?}");
    // SAFETY: there is nothing that could run.
    let error = unsafe { NvshmemLibrary::open("/nowhere/libnvshmem_host.so.3") }.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/nowhere/libnvshmem_host.so.3") && text.contains("RANKS_NVSHMEM"),
        "{text}"
    );
}

#[test]
fn every_attempt_is_told() {
    let library = made_up("attempts", [3, 1, 7], &["3.1"], &[]);
    let home = library.parent().unwrap();
    let package = "lib/python3.11/site-packages/nvidia/nvshmem/lib";
    std::fs::create_dir_all(home.join(package)).unwrap();
    let last = home.join(package).join("libnvshmem_host.so.3");
    std::fs::copy(&library, &last).unwrap();
    let inside_here = inside(
        "finding::every_attempt_is_told",
        &[
            ("NVSHMEM_HOME", "/nowhere"),
            ("VIRTUAL_ENV", home.to_str().unwrap()),
        ],
    );
    if inside_here {
        let home = PathBuf::from(std::env::var_os("VIRTUAL_ENV").unwrap());
        let last = home.join(package).join("libnvshmem_host.so.3");
        match NvshmemLibrary::load() {
            Err(Error::NotFound(error)) => {
                let tried: Vec<(&Path, &str)> = error
                    .attempts()
                    .iter()
                    .map(|attempt| &attempt.candidate)
                    .map(|candidate| (candidate.file.as_path(), candidate.why.as_str()))
                    .collect();
                assert_eq!(
                    tried,
                    [
                        (
                            Path::new("libnvshmem_host.so.3"),
                            "the dynamic linker's own search"
                        ),
                        (
                            Path::new("/nowhere/lib/libnvshmem_host.so.3"),
                            "$NVSHMEM_HOME"
                        ),
                        (
                            Path::new("/nowhere/lib64/libnvshmem_host.so.3"),
                            "$NVSHMEM_HOME"
                        ),
                        (last.as_path(), "$VIRTUAL_ENV"),
                    ]
                );
                assert!(
                    error.attempts()[3].reason.contains("NVSHMEM 3.2"),
                    "{error}"
                );
            }
            // A machine that has one.
            other => assert!(other.is_ok(), "{other:?}"),
        }
        end();
    }
    std::fs::remove_dir_all(home).unwrap();
}

#[test]
fn the_variable_names_it_and_nothing_else_is_tried() {
    if !inside(
        "finding::the_variable_names_it_and_nothing_else_is_tried",
        &[("RANKS_NVSHMEM", "/nowhere/nvshmem")],
    ) {
        return;
    }
    let Err(Error::NotFound(error)) = NvshmemLibrary::load() else {
        panic!("there is nothing there");
    };
    let [attempt] = error.attempts() else {
        panic!("{error}");
    };
    assert_eq!(attempt.candidate.file, Path::new("/nowhere/nvshmem"));
    assert_eq!(attempt.candidate.why, "$RANKS_NVSHMEM");
    end();
}
