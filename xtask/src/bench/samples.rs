//! What was measured: medians, quartiles, ratios within a round.

use std::collections::BTreeMap;

/// An operation with a size: a row of the table of a track.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The library, or `in process`.
    pub(super) track: String,
    pub(super) operation: String,
    pub(super) bytes: u64,
}

impl Row {
    /// The name as tables and plots have it.
    pub(super) fn name(&self) -> String {
        let (size, unit) = match self.bytes {
            bytes if bytes >= 1 << 20 => (bytes >> 20, "MiB"),
            bytes if bytes >= 1 << 10 => (bytes >> 10, "KiB"),
            bytes => (bytes, "B"),
        };
        format!("{} {size} {unit}", self.operation)
    }
}

/// A time that was measured.
#[derive(Debug)]
pub(super) struct Sample {
    row: Row,
    peer: String,
    round: u32,
    microseconds: f64,
}

impl Sample {
    /// Reads `OPERATION,BYTES,MICROSECONDS`, as a program prints it; `None` for any other line.
    pub(super) fn parse(track: &str, peer: &str, round: u32, line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [operation, bytes, microseconds] = fields[..] else {
            return None;
        };
        let row = Row {
            track: track.to_owned(),
            operation: operation.to_owned(),
            bytes: bytes.parse().ok()?,
        };
        let microseconds = microseconds.parse().ok().filter(|time| *time > 0.0)?;
        Some(Self {
            row,
            peer: peer.to_owned(),
            round,
            microseconds,
        })
    }

    /// Returns `true` if the times differ by less than a quarter.
    pub(super) fn is_near(&self, other: &Self) -> bool {
        (0.8..1.25).contains(&(self.microseconds / other.microseconds))
    }
}

/// A run: its samples, and sentences about them.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) samples: Vec<Sample>,
    /// The machine, and what ran on it.
    pub(super) facts: Vec<String>,
    /// What is not in the table, and why.
    pub(super) left_out: Vec<String>,
}

impl Run {
    /// Notes, and tells at once, that a peer is not in the table; its times so far are not either.
    pub(super) fn leave_out(&mut self, track: &str, peer: &str, why: &str) {
        println!("left out: {peer} on {track}: {why}");
        let last = why.trim().lines().last().unwrap_or_default();
        self.left_out.push(format!("{peer} on {track}: {last}"));
        self.samples
            .retain(|sample| sample.row.track != track || sample.peer != peer);
    }

    /// The text of a page about what it was made with, and what is not in it.
    pub(super) fn notes(&self) -> String {
        let lists = [("Made with", &self.facts), ("Left out", &self.left_out)];
        let some = lists.iter().filter(|(_, lines)| !lines.is_empty());
        some.map(|(title, lines)| format!("\n{title}:\n\n* {}\n", lines.join("\n* ")))
            .collect()
    }

    /// The rows, in the order in which they were first measured.
    pub(super) fn rows(&self) -> Vec<&Row> {
        let mut rows = Vec::new();
        for Sample { row, .. } in &self.samples {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }

    /// Microseconds of a peer.
    pub(super) fn time(&self, row: &Row, peer: &str) -> Option<Spread> {
        Spread::of(self.rounds(row, peer).into_values())
    }

    /// The time of a peer over that of another in the same round: more than 1 is slower.
    pub(super) fn ratio(&self, row: &Row, peer: &str, base: &str) -> Option<Spread> {
        let base = self.rounds(row, base);
        let rounds = self.rounds(row, peer).into_iter();
        Spread::of(rounds.filter_map(|(round, time)| Some(time / base.get(&round)?)))
    }

    fn rounds(&self, row: &Row, peer: &str) -> BTreeMap<u32, f64> {
        let samples = self.samples.iter();
        let of_peer = samples.filter(|sample| sample.peer == peer && sample.row == *row);
        of_peer
            .map(|sample| (sample.round, sample.microseconds))
            .collect()
    }
}

/// The median of some values, between their quartiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
}

impl Spread {
    /// The same in another unit.
    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            median: self.median * factor,
            high: self.high * factor,
        }
    }

    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        // Between two values, as far as the quarter lies between them.
        let at = |quarter: usize| {
            let (whole, part) = (quarter * last / 4, (quarter * last % 4) as f64 / 4.0);
            values[whole] + part * (values[(whole + 1).min(last)] - values[whole])
        };
        Some(Self {
            low: at(1),
            median: at(2),
            high: at(3),
        })
    }
}

/// The text of a time or a ratio in a table.
pub(super) fn cell(spread: Option<Spread>) -> String {
    let Some(Spread { low, median, high }) = spread else {
        return "–".to_owned();
    };
    let digits = match median {
        median if median < 0.1 => 3,
        median if median < 10.0 => 2,
        median if median < 100.0 => 1,
        _ => 0,
    };
    format!("{median:.digits$} ({low:.digits$}–{high:.digits$})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_values() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0].into_iter()).unwrap();
        assert_eq!((spread.low, spread.median, spread.high), (1.75, 2.5, 3.25));
        assert_eq!(Spread::of([7.0].into_iter()).unwrap().high, 7.0);
        assert_eq!(Spread::of(std::iter::empty()), None);
    }

    #[test]
    fn ratios_are_of_one_round() {
        let mut run = Run::default();
        for (peer, round, line) in [
            ("C", 1, "bw,8,2"),
            ("ranks", 1, "bw,8,3"),
            ("C", 2, "bw,8,10"),
            ("ranks", 2, "bw,8,12"),
            ("ranks", 3, "bw,8,99"),
            ("C", 3, "bw,8,0"),
            ("C", 3, "not a line of the protocol"),
        ] {
            run.samples.extend(Sample::parse("m", peer, round, line));
        }
        let [row] = run.rows()[..] else {
            panic!("one row")
        };
        assert_eq!(row.name(), "bw 8 B");
        assert_eq!(run.time(row, "C").unwrap().median, 6.0);
        assert_eq!(run.ratio(row, "ranks", "C").unwrap().median, 1.35);
        assert_eq!(run.ratio(row, "rsmpi", "C"), None);
        run.leave_out("m", "ranks", "it\nfailed");
        assert_eq!(run.left_out, ["ranks on m: failed"]);
        assert_eq!(run.samples.len(), 2);
    }
}
