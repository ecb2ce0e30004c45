//! The part of an output that a report shows: its first and its last lines.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The number of lines that a report shows of a longer output: the last, and before them the first,
/// since the cause of a failure stands above the backtrace that it leaves.
const FIRST_LINES: usize = 10;
const LAST_LINES: usize = 20;

/// The number of bytes that are searched for these lines at either end of an output.
const BYTES: u64 = 16 * 1024;

/// The first and the last lines of a file, none before the offset, each behind a bar; nothing if
/// there is no such file.
pub(crate) fn excerpt(path: &Path, from: u64) -> String {
    let read = || -> io::Result<(Vec<u8>, bool)> {
        let mut file = File::open(path)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        let long = end.saturating_sub(from) > 2 * BYTES;
        if long {
            Read::by_ref(&mut file)
                .take(BYTES)
                .read_to_end(&mut bytes)?;
            bytes.push(b'\n');
            file.seek(SeekFrom::Start(end - BYTES))?;
        }
        file.read_to_end(&mut bytes)?;
        Ok((bytes, long))
    };
    let (bytes, long) = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let mut excerpt = String::new();
    let mut show = |lines: &[&str]| {
        for line in lines {
            let _ = writeln!(excerpt, "    | {line}");
        }
    };
    let left_out = lines.len().saturating_sub(FIRST_LINES + LAST_LINES);
    if left_out > 0 {
        show(&lines[..FIRST_LINES]);
        let more = if long { "more than " } else { "" };
        show(&[&format!("({more}{left_out} lines)")]);
        show(&lines[FIRST_LINES + left_out..]);
    } else {
        show(&lines);
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::driver::folder::Folder;

    #[test]
    fn of_a_long_output_the_first_and_the_last_lines_are_shown() {
        let folder = Folder::new().unwrap();
        let path = folder.path().join("output");
        for lines in [31, 50_000] {
            let text: String = (0..lines).map(|line| format!("line {line}\n")).collect();
            fs::write(&path, text).unwrap();
            let shown = excerpt(&path, 7);
            assert!(shown.starts_with("    | line 1\n    | line 2\n"), "{shown}");
            assert!(
                shown.ends_with(&format!("    | line {}\n", lines - 1)),
                "{shown}"
            );
            assert_eq!(
                shown.lines().count(),
                (FIRST_LINES + LAST_LINES + 1).min(lines - 1),
                "{shown}"
            );
        }
        assert_eq!(excerpt(&folder.path().join("none"), 0), "");
    }
}
