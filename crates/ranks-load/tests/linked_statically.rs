//! A program that is statically linked with musl: `cargo test --target x86_64-unknown-linux-musl`.

#![cfg(all(target_env = "musl", target_feature = "crt-static"))]

use ranks_load::{Candidate, Library};

#[test]
fn nothing_opens_and_one_sentence_says_why() {
    let candidates = [Candidate::new("libm.so.6", "the maths")];
    // SAFETY: the C maths library.
    let error = unsafe { Library::open("test library", &candidates, |_| Ok(())) }.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("no test library could be loaded: this program is statically linked"));
    assert!(
        text.contains("-crt-static") && !text.contains('\n'),
        "{text}"
    );
    assert!(Library::in_process(c"no_such_function").is_none());
    assert!(Library::opened_as("libm.so.6").is_none());
}
