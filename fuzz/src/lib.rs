//! What several targets do with their input.

use std::collections::HashMap;

pub mod values;

/// The messages that bytes are: each has its length before it in a byte, and the last is what is
/// left.
pub fn messages(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some((&length, rest)) = bytes.split_first() {
        let (message, rest) = rest.split_at(rest.len().min(usize::from(length)));
        messages.push(message.to_vec());
        bytes = rest;
    }
    messages
}

/// Variables as recorded environments have them, `NAME=value` in a line, and the text behind a line
/// `--`.
pub fn variables(text: &str) -> (HashMap<&str, &str>, &str) {
    let (variables, rest) = text.split_once("\n--\n").unwrap_or((text, ""));
    let lines = variables.lines().filter(|line| !line.starts_with('#'));
    (
        lines.filter_map(|line| line.split_once('=')).collect(),
        rest,
    )
}
