//! Tests on ranks that the guide shows are those that run here: as examples of documentation they
//! would only be compiled.

#[test]
fn the_tests_of_the_guide_run_here() {
    let testing = include_str!("../../../docs/guide/testing.md");
    assert!(testing.contains(include_str!("ring.rs")));
    let examples = include_str!("../../../docs/guide/examples.md");
    assert!(examples.contains(include_str!("sums.rs")));
}
