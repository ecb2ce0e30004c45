//! The list of what errors say, `testing/errors/texts.txt`: each public error, by its variants or
//! by the kinds that operations return, with the text of a failure. A change of a text shows there;
//! `RANKS_BLESS=1 cargo test -p ranks-errors` writes it.
#![cfg(test)]

mod launch;
mod libraries;
mod operations;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FILE: &str = "testing/errors/texts.txt";

/// Kinds of failures of a library, a device or a machine, another of which would tell other things:
/// tests of the crates have them.
const OF_LIBRARIES: [&str; 9] = [
    "Load",
    "Launch",
    "NotInLibrary",
    "InUse",
    "Memory",
    "NotAvailable",
    "Aborted",
    "Device",
    "Library",
];

/// Errors that are told by their kinds; those of the CUDA driver are all of a device.
const BY_KINDS: [&str; 2] = ["ranks_comm::Error", "ranks_cuda::Error"];

/// A failure, by its place in the interface, and its text.
type Text = (&'static str, String);

fn texts() -> Vec<Text> {
    [launch::texts(), libraries::texts(), operations::texts()].concat()
}

fn path(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of)
}

#[test]
fn the_list_is_what_errors_say() {
    let mut list = String::new();
    let mut last = "";
    for (place, text) in texts() {
        if place != last {
            list += &format!("\n{place}\n");
            last = place;
        }
        list += &format!("    {}\n", text.replace('\n', "\n    "));
    }
    let list = list.trim_start();
    if env::var_os("RANKS_BLESS").is_some() {
        fs::write(path(FILE), list).unwrap();
    }
    let listed = fs::read_to_string(path(FILE)).unwrap();
    for (number, (now, then)) in list.lines().zip(listed.lines()).enumerate() {
        assert_eq!(
            now,
            then,
            "line {} of {FILE}; RANKS_BLESS=1 writes it",
            number + 1
        );
    }
    assert_eq!(list.len(), listed.len(), "{FILE}; RANKS_BLESS=1 writes it");
}

/// By the lists of `cargo xtask api`.
#[test]
fn every_public_error_is_in_the_list() {
    let lists = fs::read_dir(path("docs/api")).unwrap();
    let lists: Vec<String> = lists
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let lines = || lists.iter().flat_map(|list| list.lines());
    let errors: BTreeSet<&str> = lines()
        .filter_map(|line| line.strip_prefix("impl core::error::Error for "))
        .chain(["ranks_comm::ErrorKind"])
        .collect();
    let texts = texts();
    let places: BTreeSet<&str> = texts.iter().map(|(place, _)| *place).collect();
    for error in errors {
        let of_error = format!("pub {error}::");
        let variants: Vec<&str> = lines()
            .filter_map(|line| line.strip_prefix(&of_error))
            .filter_map(|rest| rest.split(['(', ':']).next())
            .filter(|name| name.starts_with(char::is_uppercase))
            .filter(|name| !OF_LIBRARIES.contains(name) || !error.ends_with("ErrorKind"))
            .collect();
        let is_there = places.contains(error) || BY_KINDS.contains(&error);
        assert!(is_there || !variants.is_empty(), "{error} is not in {FILE}");
        for variant in variants {
            let place = format!("{error}::{variant}");
            assert!(places.contains(place.as_str()), "{place} is not in {FILE}");
        }
    }
}
