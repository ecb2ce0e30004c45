//! The pages of the guide agree with the sources that they speak of.
#![allow(clippy::unwrap_used, reason = "a test ends where something is wrong")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages of the guide, by name, with their text.
fn pages() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join("docs/guide")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
    pages
        .map(|name| {
            let text = read(&format!("docs/guide/{name}"));
            (name, text)
        })
        .collect()
}

/// The blocks of a language, each with the number of its first line.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(word)) => open = Some((number + 2, word == language, String::new())),
            (None, None) => {}
            (Some(_), Some(_)) => {
                let (first, is_wanted, block) = open.take().unwrap();
                if is_wanted {
                    found.push((first, block));
                }
            }
            (Some((_, _, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    found
}

#[test]
fn every_page_is_in_the_summary_and_its_programs_are_tested() {
    let (summary, tested) = (
        read("docs/guide/SUMMARY.md"),
        read("testing/guide/src/lib.rs"),
    );
    for (name, _) in pages() {
        assert!(summary.contains(&format!("({name})")), "{name}: SUMMARY.md");
        let path = format!("\"docs/guide/{name}\"");
        assert!(tested.contains(&path), "{name}: testing/guide/src/lib.rs");
    }
}

#[test]
fn scripts_have_the_syntax_of_bash() {
    let mut scripts = 0;
    for (name, text) in pages() {
        for (line, script) in blocks(&text, "sh") {
            let mut bash = Command::new("bash")
                .arg("-n")
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            bash.stdin
                .take()
                .unwrap()
                .write_all(script.as_bytes())
                .unwrap();
            let output = bash.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}, line {line}: {told}");
            scripts += 1;
        }
    }
    assert!(scripts > 0, "there are scripts");
}

/// The table of `from-rsmpi.md` has rsmpi's 58 programs; each names the file of the test that does
/// what the program does, but for the two that start processes.
#[test]
fn each_program_of_rsmpi_has_a_test() {
    let page = read("docs/guide/from-rsmpi.md");
    let (_, table) = page.split_once("| example | here | test |").unwrap();
    let mut programs = 0;
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let name = row.split('`').nth(1).unwrap();
        programs += 1;
        let link = row.split_once("[test](../../");
        if name.starts_with("spawn") {
            assert!(link.is_none(), "{name}");
            continue;
        }
        let (path, _) = link.and_then(|(_, rest)| rest.split_once(')')).unwrap();
        let test = format!("fn rsmpi_{name}(");
        assert!(read(path).contains(&test), "{path}: {test}");
    }
    assert_eq!(programs, 58);
}
