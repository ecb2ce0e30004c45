//! What the real library has, and what it says before it is initialised.

use std::ffi::{CStr, c_int};
use std::path::Path;
use std::ptr::null;

use ranks_nvshmem_sys::*;

use crate::support::{FILE, end, inside, library, real, status};

/// The release as a pair, as it stands in the ages of functions.
fn age(function: &str) -> Version {
    let (major, minor) = since(function).unwrap().split_once('.').unwrap();
    Version::new(major.parse().unwrap(), minor.parse().unwrap())
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn a_function_is_there_if_the_release_is_new_enough() {
    let test = "real::a_function_is_there_if_the_release_is_new_enough";
    if !inside(test, &[("RANKS_NVSHMEM", &real())]) {
        return;
    }
    let nvshmem = library();
    assert_eq!(nvshmem.path(), Path::new(&real()));
    assert_eq!(functions().count(), 102);
    for name in functions() {
        assert_eq!(nvshmem.has(name), age(name) <= nvshmem.version(), "{name}");
    }
    assert!(!nvshmem.has("nvshmem_init"));
    let mut reductions = 0;
    for element in Element::ALL {
        for operation in Operation::ALL {
            for form in [Form::Reduce, Form::ReduceScatter] {
                let now = nvshmem.reduction(form, operation, element);
                let on_stream = nvshmem.reduction_on_stream(form, operation, element);
                let possible = element.has_bits() || operation < Operation::And;
                let what = format!("{form:?} {operation:?} {element:?}");
                assert_eq!(
                    (now.is_some(), on_stream.is_some()),
                    (possible, possible),
                    "{what}"
                );
                reductions += usize::from(now.is_some()) + usize::from(on_stream.is_some());
            }
        }
    }
    assert_eq!(reductions, 4 * 138);
    // A file that is open is not opened again, nor looked for.
    assert!(std::ptr::eq(nvshmem, library()));
    // SAFETY: it is the file of `load`.
    let same = unsafe { NvshmemLibrary::open(real()) }.unwrap();
    assert!(std::ptr::eq(nvshmem, same));
    end();
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn one_that_is_in_the_process_is_adopted() {
    let test = "real::one_that_is_in_the_process_is_adopted";
    if !inside(test, &[(FILE, &real())]) {
        return;
    }
    // SAFETY: it is an NVSHMEM.
    let opened = unsafe { NvshmemLibrary::open(real()) }.unwrap();
    assert!(
        std::ptr::eq(opened, library()),
        "{}",
        library().path().display()
    );
    end();
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn before_it_is_initialised_it_says_who_it_is() {
    let test = "real::before_it_is_initialised_it_says_who_it_is";
    if !inside(test, &[("RANKS_NVSHMEM", &real())]) {
        return;
    }
    let (nvshmem, table) = (library(), library().table());
    // The folder of a wheel is named by its release.
    let folder = nvshmem.path().ancestors().nth(2).unwrap();
    let folder = folder.file_name().unwrap().to_str().unwrap();
    if let Some(release) = folder.strip_prefix("nvshmem-") {
        assert_eq!(nvshmem.version_text(), release);
    }
    assert_eq!(nvshmem.spec_version(), (1, 3));
    let mut name = [0; NVSHMEM_MAX_NAME_LEN];
    // SAFETY: as many characters as the header says.
    unsafe { table.nvshmem_info_get_name.unwrap()(name.as_mut_ptr()) };
    // SAFETY: the library has written a C string, or nothing over the zeros.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    assert_eq!(
        name.to_str().unwrap(),
        format!("NVSHMEM v{}", nvshmem.version())
    );
    let mut provided: c_int = -1;
    // SAFETY: it writes an int.
    unsafe { table.nvshmem_query_thread.unwrap()(&raw mut provided) };
    // One thread at a time may be in it.
    assert_eq!(provided, 2);
    assert_eq!(status(), NVSHMEM_STATUS_NOT_INITIALIZED);
    // SAFETY: it answers at any time.
    assert_eq!(unsafe { table.nvshmem_my_pe.unwrap()() }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { table.nvshmem_n_pes.unwrap()() }, 0);
    let team_my_pe = table.nvshmem_team_my_pe.unwrap();
    // SAFETY: as above, for a team that there always is.
    assert_eq!(unsafe { team_my_pe(NVSHMEM_TEAM_WORLD) }, 0);
    // SAFETY: as above; null is nowhere.
    assert!(unsafe { table.nvshmem_ptr.unwrap()(null(), 0) }.is_null());
    // SAFETY: before an initialisation there is nothing to end, and it returns.
    unsafe { table.nvshmemx_hostlib_finalize.unwrap()() };
    assert_eq!(status(), NVSHMEM_STATUS_NOT_INITIALIZED);

    let mut ids = [nvshmemx_uniqueid_t::zeroed(); 2];
    for id in &mut ids {
        // SAFETY: it writes an id.
        let code = unsafe { table.nvshmemx_get_uniqueid.unwrap()(id) };
        assert_eq!((code, id.version), (NVSHMEMX_SUCCESS, 0x0001_0080));
    }
    assert_ne!(ids[0].to_bytes(), ids[1].to_bytes());
    assert_ne!(ids[0].to_bytes(), nvshmemx_uniqueid_t::zeroed().to_bytes());
    let mut attr = nvshmem.attr();
    let before = attr.version;
    let set = table.nvshmemx_set_attr_uniqueid_args.unwrap();
    // SAFETY: the id stays where it is as long as the attributes are looked at.
    let code = unsafe { set(1, 2, &raw const ids[0], &raw mut attr) };
    assert_eq!(code, NVSHMEMX_SUCCESS);
    let args = attr.args.uid_args;
    assert_eq!((args.myrank, args.nranks, attr.version), (1, 2, before));
    // The pointer is kept, not the id.
    assert_eq!(args.id.cast_const(), &raw const ids[0]);
    end();
}
