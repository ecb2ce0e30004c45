//! The contribution of one rank to the statistics of a job, and its encoding for rank 0.

use std::borrow::Cow;
use std::time::Duration;

use crate::statistics::Sum;

/// A rank's part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub(crate) lines: Vec<Line>,
    pub(crate) elapsed: Duration,
}

/// The calls of one operation, communicator and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) operation: Cow<'static, str>,
    pub(crate) communicator: Cow<'static, str>,
    pub(crate) class: u8,
    pub(crate) sum: Sum,
}

/// The first byte: the version of the encoding.
const FORM: u8 = 1;

impl Part {
    /// Encodes it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORM];
        put_time(&mut out, self.elapsed);
        for line in &self.lines {
            put_text(&mut out, &line.operation);
            put_text(&mut out, &line.communicator);
            out.push(line.class);
            for number in [line.sum.calls, line.sum.failed, line.sum.bytes] {
                out.extend(number.to_le_bytes());
            }
            put_time(&mut out, line.sum.time);
            put_time(&mut out, line.sum.longest);
        }
        out
    }

    /// Decodes the bytes of [`to_bytes`](Self::to_bytes); `None` if they are not such.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        if reader.byte()? != FORM {
            return None;
        }
        let elapsed = reader.time()?;
        let mut lines = Vec::new();
        while !reader.0.is_empty() {
            lines.push(Line {
                operation: reader.text()?.into(),
                communicator: reader.text()?.into(),
                class: reader.byte()?,
                sum: Sum {
                    calls: reader.number()?,
                    failed: reader.number()?,
                    bytes: reader.number()?,
                    time: reader.time()?,
                    longest: reader.time()?,
                },
            });
        }
        Some(Self { lines, elapsed })
    }
}

/// Appends a time in nanoseconds: enough for 584 years.
fn put_time(out: &mut Vec<u8>, time: Duration) {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    out.extend(nanos.to_le_bytes());
}

/// Appends a text of up to 255 bytes; a longer one is cut.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(usize::from(u8::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.push(u8::try_from(end).unwrap_or(0));
    out.extend(&text.as_bytes()[..end]);
}

/// The bytes that are left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<Duration> {
        self.number().map(Duration::from_nanos)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.byte()?;
        let bytes = self.take(usize::from(length))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Part {
        let line = |operation: &'static str, communicator: &str, class| Line {
            operation: operation.into(),
            communicator: communicator.to_owned().into(),
            class,
            sum: Sum {
                calls: 3,
                failed: 1,
                bytes: u64::MAX,
                time: Duration::from_nanos(1234),
                longest: Duration::from_secs(1),
            },
        };
        Part {
            lines: vec![line("MPI_Send", "world", 0), line("MPI_Recv", "Größe", 64)],
            elapsed: Duration::from_millis(1),
        }
    }

    #[test]
    fn bytes_come_back_as_they_went() {
        assert_eq!(Part::from_bytes(&part().to_bytes()), Some(part()));
        let name = "ä".repeat(200);
        let mut long = part();
        long.lines[0].communicator = name.clone().into();
        let back = Part::from_bytes(&long.to_bytes()).unwrap();
        assert_eq!(back.lines[0].communicator, name[..254]);
        assert_eq!(back.lines[1], long.lines[1]);
    }

    #[test]
    fn what_was_cut_or_changed_is_no_reason_to_panic() {
        let whole = part().to_bytes();
        let ends: Vec<usize> = (0..whole.len())
            .filter(|&end| Part::from_bytes(&whole[..end]).is_some())
            .collect();
        // Only where a line ends.
        assert_eq!(ends.len(), 2, "{ends:?}");
        for at in 0..whole.len() {
            for byte in [0, 1, 127, 255] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = Part::from_bytes(&changed);
            }
        }
        assert_eq!(Part::from_bytes(&[]), None);
        assert_eq!(Part::from_bytes(&[9; 100]), None);
    }
}
