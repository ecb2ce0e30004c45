//! Candidates, reasons and symbols, on libraries that every Linux has.

#![cfg(not(all(target_env = "musl", target_feature = "crt-static")))]

use ranks_load::{Candidate, Library};

fn open(candidates: &[Candidate]) -> Result<Library, ranks_load::LoadError> {
    // SAFETY: the tests name the C maths library and files that are no libraries at all.
    unsafe { Library::open("test library", candidates, |_| Ok(())) }
}

#[test]
fn the_first_candidate_that_loads_is_taken() {
    let candidates = [
        Candidate::new("libsurely_absent.so.9", "a guess"),
        Candidate::new("libm.so.6", "the maths"),
    ];
    let mut library = open(&candidates).unwrap();
    assert!(library.own_symbol(c"cos").is_some());
    assert!(library.own_symbol(c"no_such_function").is_none());
    library.locate(c"cos");
    assert!(library.path().is_absolute(), "{:?}", library.path());
    assert!(library.promote());
}

#[test]
fn the_error_lists_every_candidate_with_its_own_reason() {
    let script = std::env::temp_dir().join(format!("ranks-load-{}-libmpi.so", std::process::id()));
    std::fs::write(&script, "INPUT(libmpi.so.12)\n").unwrap();
    let candidates = [
        Candidate::new("libsurely_absent.so.9", "a guess"),
        Candidate::new(&script, "$RANKS_MPI"),
    ];
    let error = open(&candidates).unwrap_err();
    std::fs::remove_file(&script).unwrap();
    assert_eq!(error.attempts().len(), 2);
    let text = error.to_string();
    assert!(
        text.contains("no test library could be loaded; tried"),
        "{text}"
    );
    assert!(
        text.contains("libsurely_absent.so.9") && text.contains("[a guess]"),
        "{text}"
    );
    assert!(
        text.contains("file too short") && text.contains("[$RANKS_MPI]"),
        "{text}"
    );
}

#[test]
fn a_library_for_another_processor_was_told_of_as_missing() {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("ranks-load-{}-other.so", std::process::id()));
    let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let of_itself = |file| open(&[Candidate::new(file, "$RANKS_MPI")]).unwrap_err();
    let says_so = |error: ranks_load::LoadError| error.to_string().contains("another processor");
    std::fs::write(&file, &bytes).unwrap();
    assert!(!says_so(of_itself(&file)));
    // The number of the processor.
    bytes[18] ^= 0x7f;
    std::fs::write(&file, &bytes).unwrap();
    assert!(says_so(of_itself(&file)));
    std::fs::remove_file(&file).unwrap();
}

/// The dynamic linker waited for the first byte of a pipe.
#[test]
fn what_is_no_file_is_not_opened() {
    let error = open(&[Candidate::new(std::env::temp_dir(), "$RANKS_MPI")]).unwrap_err();
    assert_eq!(error.attempts()[0].reason, "it is no file");
}

#[test]
fn a_name_that_is_not_ascii_was_escaped_in_the_reason() {
    let error = open(&[Candidate::new("/opt/é \"m\"/libmpi.so.12", "$RANKS_MPI")]).unwrap_err();
    let reason = &error.attempts()[0].reason;
    assert!(reason.contains("/opt/é \"m\"/libmpi.so.12: "), "{reason}");
}

#[test]
fn a_refused_library_is_an_attempt_with_the_reason_of_the_refusal() {
    let candidates = [Candidate::new("libm.so.6", "the maths")];
    // SAFETY: the C maths library.
    let error = unsafe {
        Library::open("test library", &candidates, |_| {
            Err("no MPI_Init in it".into())
        })
    };
    assert!(error.unwrap_err().to_string().contains("no MPI_Init in it"));
}

#[test]
fn nothing_to_try_says_so() {
    assert!(
        open(&[])
            .unwrap_err()
            .to_string()
            .contains("nothing to try")
    );
}

#[test]
fn what_is_in_the_process_is_found_there() {
    let library = Library::in_process(c"malloc").unwrap();
    assert!(library.symbol(c"malloc").is_some());
    assert!(Library::in_process(c"no_such_function").is_none());
    assert!(Library::opened_as("libc.so.6").is_some());
    assert!(Library::opened_as("libsurely_absent.so.9").is_none());
}

#[test]
fn loads_are_counted() {
    let before = Library::loads();
    assert!(before > Some(0));
    // No other test opens this one.
    open(&[Candidate::new("libresolv.so.2", "names of machines")]).unwrap();
    assert!(Library::loads() > before);
}

/// Its table was read, and might be as long as memory.
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
#[test]
fn a_header_that_no_linker_reads_is_the_linkers_to_refuse() {
    let mut whole = open(&[Candidate::new("libm.so.6", "the maths")]).unwrap();
    whole.locate(c"cos");
    let mut bytes = std::fs::read(whole.path()).unwrap();
    // The size of what is told of a segment; and there one to map that lies far behind the end.
    bytes[54..56].copy_from_slice(&u16::MAX.to_le_bytes());
    bytes.truncate(4096);
    bytes.resize(8 << 20, 0);
    let second = 64 + usize::from(u16::MAX);
    bytes[second..second + 16].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
    let path = std::env::temp_dir().join(format!("ranks-load-header-{}.so", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let error = open(&[Candidate::new(&path, "by hand")]).unwrap_err();
    let reason = &error.attempts()[0].reason;
    assert!(reason.contains("phentsize"), "{reason}");
    std::fs::remove_file(path).unwrap();
}

/// The dynamic linker ends the process where a page of a library is missing.
#[cfg(target_os = "linux")]
#[test]
fn a_library_that_was_not_copied_whole_is_not_opened() {
    let mut whole = open(&[Candidate::new("libm.so.6", "the maths")]).unwrap();
    whole.locate(c"cos");
    let bytes = std::fs::read(whole.path()).unwrap();
    let path = std::env::temp_dir().join(format!("ranks-load-{}.so", std::process::id()));
    for length in [64, 1000, bytes.len() / 2, bytes.len() - bytes.len() / 8] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = open(&[Candidate::new(&path, "a copy")]).unwrap_err();
        let reason = &error.attempts()[0].reason;
        assert!(
            length < 4096 || reason.contains("install it again"),
            "{length}: {reason}"
        );
    }
    std::fs::write(&path, &bytes).unwrap();
    open(&[Candidate::new(&path, "a copy")]).unwrap();
    std::fs::remove_file(path).unwrap();
}
