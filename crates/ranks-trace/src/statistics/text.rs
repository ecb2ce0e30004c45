//! Tables for a person to read.

use std::fmt::{self, Write};
use std::time::Duration;

use super::Sum;

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alignment {
    Left,
    Right,
}

/// The heading and the alignment of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column(pub(super) &'static str, pub(super) Alignment);

/// The columns of a table of calls by their sizes.
pub(super) const BY_SIZE: [Column; 8] = [
    Column("operation", Alignment::Left),
    Column("communicator", Alignment::Left),
    Column("bytes a call", Alignment::Right),
    Column("calls", Alignment::Right),
    Column("failed", Alignment::Right),
    Column("bytes", Alignment::Right),
    Column("time", Alignment::Right),
    Column("longest", Alignment::Right),
];

/// A row of it, for calls of at least so many bytes.
pub(super) fn row_by_size(
    operation: &str,
    communicator: &str,
    least: u64,
    sum: &Sum,
) -> Vec<String> {
    vec![
        operation.to_owned(),
        printable(communicator),
        bytes(least),
        sum.calls.to_string(),
        sum.failed.to_string(),
        bytes(sum.bytes),
        time(sum.time),
        time(sum.longest),
    ]
}

/// Writes rows under their columns, each as wide as its widest cell.
pub(super) fn table(
    out: &mut dyn Write,
    columns: &[Column],
    mut rows: Vec<Vec<String>>,
) -> fmt::Result {
    let head = columns.iter().map(|Column(name, _)| (*name).to_owned());
    rows.insert(0, head.collect());
    let mut widths = vec![0; columns.len()];
    for row in &rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    for row in &rows {
        let mut line = String::new();
        for ((text, Column(_, side)), width) in row.iter().zip(columns).zip(&widths) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            match side {
                Alignment::Left => write!(line, "{text:<width$}")?,
                Alignment::Right => write!(line, "{text:>width$}")?,
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A time in µs, ms or seconds: the largest of which there is one.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if time >= Duration::from_secs(1) {
        format!("{seconds:.3} s")
    } else if time >= Duration::from_millis(1) {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{:.1} µs", seconds * 1e6)
    }
}

/// Bytes, in the unit that leaves up to four digits before the point.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 10_000 {
        return format!("{bytes} B");
    }
    let (mut rest, mut unit) = (bytes, 0);
    while rest >= 10_000 * 1024 && unit + 1 < UNITS.len() {
        rest /= 1024;
        unit += 1;
    }
    // In tenths, of a number below ten million times ten.
    let tenths = rest * 10 / 1024;
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A name that the program has given, on one line and without commands to a terminal.
#[must_use]
pub fn printable(name: &str) -> String {
    let mut visible = String::new();
    for letter in name.chars() {
        if letter.is_control() {
            visible.extend(letter.escape_default());
        } else {
            visible.push(letter);
        }
    }
    visible
}

/// A part of a whole, in percent.
pub(super) fn percent(part: Duration, whole: Duration) -> String {
    if whole.is_zero() {
        return "-".to_owned();
    }
    format!("{:.1} %", 100.0 * part.as_secs_f64() / whole.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_that_fits() {
        for (number, text) in [
            (0, "0 B"),
            (9_999, "9999 B"),
            (10_240, "10.0 KiB"),
            (10 << 20, "10.0 MiB"),
            (3 << 19, "1536.0 KiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    /// Seconds with three decimals were 0.000 in most rows of a short job.
    #[test]
    fn times_have_a_unit_that_fits() {
        for (nanos, text) in [
            (0, "0.0 µs"),
            (1_234, "1.2 µs"),
            (310_000_000, "310.0 ms"),
            (12_031_000_000, "12.031 s"),
            (3_600_000_000_000, "3600.000 s"),
        ] {
            assert_eq!(time(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn columns_are_as_wide_as_what_they_hold() {
        let columns = [
            Column("what", Alignment::Left),
            Column("n", Alignment::Right),
        ];
        let rows = [["a", "1"], ["longer", "1000"]].map(|row| row.map(str::to_owned).to_vec());
        let mut out = String::new();
        table(&mut out, &columns, rows.to_vec()).unwrap();
        assert_eq!(out, "what       n\na          1\nlonger  1000\n");
    }
}
