//! Finding and opening: the real NCCL without a GPU, libraries that are none, and one that is too
//! old.
//!
//! Tests that need the real one are ignored; `cargo xtask test` runs them, and by hand it is
//! `RANKS_NCCL=…/libnccl.so.2 cargo test -p ranks-nccl-sys -- --ignored`. Each runs in a process of
//! its own, which has to end well.

use std::error::Error as _;
use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::ptr::{null, null_mut, without_provenance_mut};

use ranks_nccl_sys::*;

/// Says to a process that it is the one in which a test happens.
const INSIDE: &str = "RANKS_NCCL_SYS_TEST_INSIDE";

/// The library for a process that is to find it without `RANKS_NCCL`.
const FILE: &str = "RANKS_NCCL_SYS_TEST_FILE";

/// What a test prints last.
const END: &str = "came to its end";

/// Starts the test anew in a process of its own, without the variables by which an NCCL is found
/// but those given.
fn again(test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(INSIDE, "1")
        // No device, whatever the machine has, and no network but its own.
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("NCCL_SOCKET_IFNAME", "lo");
    for variable in ["RANKS_NCCL", "NCCL_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(variable);
    }
    command.envs(variables.iter().copied());
    command.output().expect("this program starts again")
}

/// Returns `true` if this process is one in which a test is to happen; if not it has happened in
/// another, and went well.
fn inside(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let output = again(test, variables);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains(END),
        "{}\n{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

#[allow(
    clippy::print_stdout,
    reason = "this is what the parent process looks for"
)]
fn end() {
    println!("{END}");
}

/// The library that whoever runs the ignored tests names.
fn real() -> String {
    let named = std::env::var("RANKS_NCCL").or_else(|_| std::env::var(FILE));
    named.expect("RANKS_NCCL names a libnccl.so.2")
}

fn text(text: *const c_char) -> String {
    assert!(!text.is_null());
    // SAFETY: NCCL gives C strings that it keeps.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

#[test]
#[ignore = "needs an NCCL library"]
fn every_function_of_the_pinned_release_is_there() {
    if !inside(
        "every_function_of_the_pinned_release_is_there",
        &[("RANKS_NCCL", &real())],
    ) {
        return;
    }
    let nccl = Nccl::load().unwrap();
    assert_eq!(nccl.path(), Path::new(&real()));
    assert_eq!(
        (nccl.version(), nccl.version_text().as_str()),
        (NCCL_VERSION_CODE, "2.32.3")
    );
    assert_eq!(functions().count(), 77);
    for name in functions() {
        assert!(nccl.has(name), "{name}");
        assert!(since(name).is_some(), "{name}");
    }
    assert!(!nccl.has("ncclNothing"));
    // A file that is open is not opened again, nor looked for.
    assert!(std::ptr::eq(nccl, Nccl::load().unwrap()));
    // SAFETY: it is the file of `load`.
    let same = unsafe { Nccl::open(real()) }.unwrap();
    assert!(std::ptr::eq(nccl, same));
    end();
}

#[test]
#[ignore = "needs an NCCL library"]
fn one_that_is_in_the_process_is_adopted() {
    if !inside("one_that_is_in_the_process_is_adopted", &[(FILE, &real())]) {
        return;
    }
    // SAFETY: it is an NCCL.
    let opened = unsafe { Nccl::open(real()) }.unwrap();
    let found = Nccl::load().unwrap();
    assert!(std::ptr::eq(opened, found), "{}", found.path().display());
    end();
}

#[test]
#[ignore = "needs an NCCL library"]
fn without_a_gpu_everything_returns() {
    if !inside(
        "without_a_gpu_everything_returns",
        &[("RANKS_NCCL", &real())],
    ) {
        return;
    }
    let nccl = Nccl::load().unwrap();
    let table = nccl.table();

    let mut id = ncclUniqueId::zeroed();
    let get_unique_id = table.ncclGetUniqueId.unwrap();
    // SAFETY: it writes an id.
    let code = unsafe { get_unique_id(&raw mut id) };
    assert_eq!(code, ncclSuccess);
    assert_ne!(id.to_bytes(), [0; NCCL_UNIQUE_ID_BYTES]);
    let mut other = ncclUniqueId::zeroed();
    // SAFETY: as above.
    let code = unsafe { get_unique_id(&raw mut other) };
    assert_eq!(code, ncclSuccess);
    assert_ne!(id.to_bytes(), other.to_bytes());

    // What is no communicator stays what it was.
    let before: ncclComm_t = without_provenance_mut(0x5a5a);
    let mut comm = before;
    let init = table.ncclCommInitRank.unwrap();
    // SAFETY: the place of a communicator, and one rank, which waits for nobody.
    let code = unsafe { init(&raw mut comm, 1, id, 0) };
    assert_eq!((code, comm), (ncclUnhandledCudaError, before));
    let last_error = table.ncclGetLastError.unwrap();
    // SAFETY: no communicator is asked about; the text is copied at once.
    let why = text(unsafe { last_error(null_mut()) });
    assert!(why.to_lowercase().contains("cuda"), "{why:?}");

    let mut config = ncclConfig_t::new();
    config.blocking = 0;
    let init = table.ncclCommInitRankConfig.unwrap();
    // SAFETY: as above, and a configuration that is as NCCL wants it.
    let code = unsafe { init(&raw mut comm, 1, id, 0, &raw mut config) };
    assert_eq!((code, comm), (ncclUnhandledCudaError, before));
    let group_end = table.ncclGroupEnd.unwrap();
    // It has begun a group of its own, and where it finds no device it does not end it.
    // SAFETY: a group may be ended at any time.
    assert_eq!(unsafe { group_end() }, ncclSuccess);
    let init_all = table.ncclCommInitAll.unwrap();
    // SAFETY: the place of one communicator; no list of devices is the first of them.
    let code = unsafe { init_all(&raw mut comm, 1, null()) };
    assert_eq!((code, comm), (ncclUnhandledCudaError, before));

    let start = table.ncclGroupStart.unwrap();
    // SAFETY: groups may be begun at any time.
    assert_eq!(unsafe { start() }, ncclSuccess);
    // SAFETY: the group that was begun.
    assert_eq!(unsafe { group_end() }, ncclSuccess);
    // SAFETY: one too many is answered.
    assert_eq!(unsafe { group_end() }, ncclInvalidUsage);

    let get_version = table.ncclGetVersion.unwrap();
    // SAFETY: a null pointer is answered.
    assert_eq!(unsafe { get_version(null_mut()) }, ncclInvalidArgument);
    let mut count: c_int = -7;
    let comm_count = table.ncclCommCount.unwrap();
    // SAFETY: no communicator is answered.
    let code = unsafe { comm_count(null_mut(), &raw mut count) };
    assert_eq!((code, count), (ncclInvalidArgument, -7));
    // SAFETY: as above.
    let why = text(unsafe { last_error(null_mut()) });
    assert!(why.contains("comm"), "{why:?}");
    let allreduce = table.ncclAllReduce.unwrap();
    // SAFETY: no communicator is answered before anything else is looked at.
    let code = unsafe {
        allreduce(
            null(),
            null_mut(),
            0,
            ncclFloat32,
            ncclSum,
            null_mut(),
            null_mut(),
        )
    };
    assert_eq!(code, ncclInvalidArgument);
    for end in [table.ncclCommDestroy.unwrap(), table.ncclCommAbort.unwrap()] {
        // SAFETY: no communicator is nothing to end.
        assert_eq!(unsafe { end(null_mut()) }, ncclSuccess);
    }

    let error_string = table.ncclGetErrorString.unwrap();
    for code in 0..ncclNumResults + 3 {
        // SAFETY: any number has a text.
        assert!(!text(unsafe { error_string(code) }).is_empty(), "{code}");
    }
    end();
}

/// A library of C functions that have NCCL's names and return 0, `ncclGetVersion` with a version.
fn made_up(name: &str, version: i32, newest: &[&str]) -> PathBuf {
    let names = functions()
        .filter(|name| *name != "ncclGetVersion" && newest.contains(&since(name).unwrap_or("")));
    let mut source =
        format!("int ncclGetVersion(int *version) {{ *version = {version}; return 0; }}\n");
    source.extend(names.map(|name| format!("int {name}(void) {{ return 0; }}\n")));
    let folder = std::env::temp_dir().join(format!("ranks-nccl-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let (file, library) = (folder.join("nccl.c"), folder.join("libnccl.so.2"));
    std::fs::write(&file, source).expect("the source is written");
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

/// Releases up to 2.13, and the next ones up to 2.18.
const OLD: [&str; 5] = ["2.3", "2.4", "2.7", "2.11", "2.13"];
const LATER: [&str; 2] = ["2.14", "2.18"];

#[test]
fn one_that_is_too_old_says_what_is_needed() {
    let library = made_up("too-old", 21_304, &OLD);
    // SAFETY: it has no initialisers.
    let error = unsafe { Nccl::open(&library) }.unwrap_err();
    assert_eq!(
        error,
        Error::TooOld {
            path: library.clone(),
            version: "2.13.4".to_owned(),
            lacks: "ncclCommFinalize",
            needs: "2.14",
        }
    );
    let text = error.to_string();
    assert!(
        text.contains("2.13.4") && text.contains("NCCL 2.14"),
        "{text}"
    );
    std::fs::remove_dir_all(library.parent().unwrap()).unwrap();
}

#[test]
fn what_an_older_one_lacks_is_none() {
    let library = made_up("older", 21_803, &[&OLD[..], &LATER].concat());
    // SAFETY: it has no initialisers.
    let nccl = unsafe { Nccl::open(&library) }.unwrap();
    assert_eq!(nccl.version_text(), "2.18.3");
    assert_eq!(nccl.path(), library);
    assert!(nccl.has("ncclCommSplit") && nccl.table().ncclCommSplit.is_some());
    assert!(!nccl.has("ncclCommShrink") && nccl.table().ncclCommShrink.is_none());
    assert_eq!(
        nccl.lacks("ncclCommShrink"),
        format!(
            "ncclCommShrink is not in this NCCL library (2.18.3, {}); it needs NCCL 2.27",
            library.display()
        )
    );
    std::fs::remove_dir_all(library.parent().unwrap()).unwrap();
}

#[test]
fn what_is_no_nccl_is_said_to_be_none() {
    // SAFETY: the C library is in this process already.
    let error = unsafe { Nccl::open("libm.so.6") }.unwrap_err();
    let none = matches!(&error, Error::NotNccl { reason, .. } if reason.contains("ncclGetVersion"));
    assert!(none, "{error:?}");
    // SAFETY: nothing of it runs.
    let error = unsafe { Nccl::open(file!()) }.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error:?}");
    assert!(error.source().is_none() || !error.to_string().is_empty());
    // SAFETY: there is nothing that could run.
    let error = unsafe { Nccl::open("/nowhere/libnccl.so.2") }.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/nowhere/libnccl.so.2") && text.contains("RANKS_NCCL"),
        "{text}"
    );
}

#[test]
fn every_attempt_is_told() {
    let library = made_up("attempts", 21_304, &OLD);
    let home = library.parent().unwrap();
    std::fs::create_dir_all(home.join("lib")).unwrap();
    std::fs::copy(&library, home.join("lib/libnccl.so.2")).unwrap();
    let inside_here = inside(
        "every_attempt_is_told",
        &[
            ("NCCL_HOME", "/nowhere"),
            ("VIRTUAL_ENV", &home.display().to_string()),
        ],
    );
    if inside_here {
        let home = PathBuf::from(std::env::var_os("VIRTUAL_ENV").unwrap());
        match Nccl::load() {
            Err(Error::NotFound(error)) => {
                let tried: Vec<(String, &str)> = error
                    .attempts()
                    .iter()
                    .map(|attempt| {
                        let candidate = &attempt.candidate;
                        (candidate.file.display().to_string(), candidate.why.as_str())
                    })
                    .collect();
                let last = home.join("lib/libnccl.so.2").display().to_string();
                assert_eq!(
                    tried,
                    [
                        ("libnccl.so.2".to_owned(), "the dynamic linker's own search"),
                        ("/nowhere/lib/libnccl.so.2".to_owned(), "$NCCL_HOME"),
                        ("/nowhere/lib64/libnccl.so.2".to_owned(), "$NCCL_HOME"),
                        (last, "$VIRTUAL_ENV"),
                    ]
                );
                assert!(error.attempts()[3].reason.contains("NCCL 2.14"), "{error}");
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
        "the_variable_names_it_and_nothing_else_is_tried",
        &[("RANKS_NCCL", "/nowhere/nccl")],
    ) {
        return;
    }
    let Err(Error::NotFound(error)) = Nccl::load() else {
        panic!("there is nothing there");
    };
    let [attempt] = error.attempts() else {
        panic!("{error}");
    };
    assert_eq!(attempt.candidate.file, Path::new("/nowhere/nccl"));
    assert_eq!(attempt.candidate.why, "$RANKS_NCCL");
    end();
}
