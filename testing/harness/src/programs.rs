//! Programs of the workspace, built and found.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::workspace;

/// Builds a program of the workspace; returns it.
///
/// # Errors
/// A sentence if cargo does not build it.
pub fn build(package: &str, name: &str, debug: bool) -> Result<PathBuf, String> {
    let mut arguments = vec!["--quiet", "--package", package, "--bin", name];
    if !debug {
        arguments.push("--release");
    }
    let all = built(&arguments)?;
    let of_that_name = all.into_iter().find(|(built, _)| built == name);
    of_that_name
        .map(|(_, program)| program)
        .ok_or_else(|| format!("cargo named no program for {name}"))
}

/// What `cargo build` with these arguments has built: each program's name, and where it is.
///
/// # Errors
/// A sentence if cargo fails.
pub fn built(arguments: &[&str]) -> Result<Vec<(String, PathBuf)>, String> {
    built_by(workspace::cargo(), arguments)
}

/// As [`built`], by a cargo that was prepared for it.
///
/// # Errors
/// A sentence if cargo fails.
pub fn built_by(mut cargo: Command, arguments: &[&str]) -> Result<Vec<(String, PathBuf)>, String> {
    cargo.arg("build").args(arguments);
    let messages = messages(cargo)?;
    Ok(messages.iter().filter_map(program).collect())
}

/// What cargo says of what it builds, each message as JSON; the user sees errors and warnings.
pub(crate) fn messages(mut command: Command) -> Result<Vec<Value>, String> {
    let words: Vec<_> = command
        .get_args()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let words = words.join(" ");
    let output = command
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo {words}: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo {words} ended with {}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

/// The program in a message of cargo, and its name, if it is about one.
fn program(message: &Value) -> Option<(String, PathBuf)> {
    let name = message["target"]["name"].as_str()?;
    Some((name.to_owned(), message["executable"].as_str()?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_read_from_its_message() {
        let read = |text: &str| program(&serde_json::from_str(text).unwrap());
        let heat = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"heat\"},\"executable\":\"/t/a b/heat\"}";
        assert_eq!(read(heat), Some(("heat".to_owned(), "/t/a b/heat".into())));
        let library = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"ranks\"},\"executable\":null}";
        assert_eq!(read(library), None);
        assert_eq!(
            read("{\"reason\":\"build-finished\",\"success\":true}"),
            None
        );
    }
}
