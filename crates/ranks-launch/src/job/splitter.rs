//! Output that is told apart by rank while it comes.

use std::collections::BTreeMap;

use super::output::{Labels, pieces};

/// The length, in bytes, from which a line is handed on before its end, in pieces.
const LONG: usize = 1 << 20;

/// More than a label takes, in bytes: the longest has the name of a host in it.
const LABEL: usize = 1 << 10;

/// A stream that is told apart while it comes, and handed on in whole lines: launchers label what
/// ranks write in pieces piece by piece. Of a line that does not end no more than [`LONG`] is kept.
#[derive(Debug)]
pub(super) struct Splitter {
    labels: Labels,
    ranks: usize,
    unfinished: Vec<u8>,
    /// The writer of the unfinished bytes, up to their first label.
    writer: Option<usize>,
    /// The lines that writers have started.
    begun: BTreeMap<Option<usize>, Vec<u8>>,
}

impl Splitter {
    pub(super) fn new(labels: Labels, ranks: usize) -> Splitter {
        Splitter {
            labels,
            ranks,
            unfinished: Vec::new(),
            writer: None,
            begun: BTreeMap::new(),
        }
    }

    /// Takes the bytes that came; hands on the lines that are complete, and at the end the rest.
    /// Without labels all is handed on as it came.
    pub(super) fn take(
        &mut self,
        fresh: &[u8],
        at_end: bool,
        write: &mut dyn FnMut(Option<usize>, &[u8]),
    ) {
        if self.labels == Labels::None {
            if !fresh.is_empty() {
                write(None, fresh);
            }
            return;
        }
        // The unfinished bytes have no end of a line.
        let end = fresh.iter().rposition(|&byte| byte == b'\n');
        let whole = end.map(|at| self.unfinished.len() + at + 1);
        self.unfinished.extend_from_slice(fresh);
        let whole = match whole {
            _ if at_end => self.unfinished.len(),
            Some(whole) => whole,
            None if self.unfinished.len() >= LONG => self.end_of_certainty(),
            None => 0,
        };
        let lines: Vec<u8> = self.unfinished.drain(..whole).collect();
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let begun = &mut self.begun;
            let last = pieces(
                self.labels,
                self.ranks,
                line,
                self.writer,
                &mut |writer, text| {
                    let begun = begun.entry(writer).or_default();
                    begun.extend_from_slice(text);
                    if begun.ends_with(b"\n") || begun.len() >= LONG {
                        write(writer, begun);
                        begun.clear();
                    }
                },
            );
            self.writer = last.filter(|_| !line.ends_with(b"\n"));
        }
        if at_end {
            for (writer, line) in std::mem::take(&mut self.begun) {
                if !line.is_empty() {
                    write(writer, &line);
                }
            }
        }
    }

    /// The end of those of the unfinished bytes of which it is certain who wrote them: behind all
    /// labels, and before one that may have begun.
    fn end_of_certainty(&self) -> usize {
        let mut end = 0;
        while let Some((_, after, _)) = self.labels.find(self.ranks, &self.unfinished[end..]) {
            end += after;
        }
        end.max(self.unfinished.len().saturating_sub(LABEL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome of a splitter for two ranks, which is passed an output in these parts.
    fn in_parts(labels: Labels, parts: &[&str]) -> Vec<(Option<usize>, String)> {
        let mut splitter = Splitter::new(labels, 2);
        let mut seen = Vec::new();
        for (at, part) in (1..).zip(parts) {
            splitter.take(part.as_bytes(), at == parts.len(), &mut |rank, text| {
                seen.push((rank, String::from_utf8_lossy(text).into_owned()));
            });
        }
        seen
    }

    #[test]
    fn what_comes_in_parts_is_told_apart_by_whole_lines() {
        let parts = ["<ranks:ra", "nk:1>a\n<ranks:rank:0>", "b"];
        assert_eq!(
            in_parts(Labels::Hydra, &parts),
            [(Some(1), "a\n".to_owned()), (Some(0), "b".to_owned())]
        );
    }

    /// All that ranks wrote was kept until the end of a line, or of the job.
    #[test]
    fn of_lines_without_an_end_little_is_kept() {
        let forms: [(Labels, [&str; 2]); 3] = [
            (Labels::Hydra, ["<ranks:rank:0>", "<ranks:rank:1>"]),
            (Labels::Orte, ["[1,0]<stdout>:", "[1,1]<stdout>:"]),
            (Labels::Slurm, ["0: ", ""]),
        ];
        for (labels, [first, second]) in forms {
            let piece = |number: usize| format!("{number:-<301}");
            let mut stream = String::new();
            let mut written = [String::new(), String::new()];
            for number in 0..20_000 {
                let by_second = number % 3 == 0 && !second.is_empty();
                let label = if by_second { second } else { first };
                if number == 0 || !second.is_empty() {
                    stream += label;
                }
                stream += &piece(number);
                written[usize::from(by_second)] += &piece(number);
            }
            let mut splitter = Splitter::new(labels, 2);
            let mut arrived = [Vec::new(), Vec::new()];
            let mut most = 0;
            let mut take = |fresh: &[u8], at_end| {
                splitter.take(fresh, at_end, &mut |rank, text| {
                    arrived[rank.unwrap()].extend_from_slice(text);
                });
                let begun = splitter.begun.values().map(Vec::len).sum::<usize>();
                most = most.max(splitter.unfinished.len() + begun);
            };
            stream
                .as_bytes()
                .chunks(997)
                .for_each(|part| take(part, false));
            take(b"", true);
            assert!(arrived == written.map(String::into_bytes), "{labels:?}");
            assert!(most < 4 * LONG, "{labels:?}: {most}");
        }
    }

    #[test]
    fn without_labels_nothing_is_waited_for() {
        let labels = Labels::Orte.without_loss(false);
        assert_eq!(
            in_parts(labels, &["name? ", "", "\0\x1b[m\n"]),
            [(None, "name? ".to_owned()), (None, "\0\x1b[m\n".to_owned())]
        );
    }

    /// A backtrace came out as `[1] 0`, `[1] : `, `[1] __rustc`, each on a line of its own.
    #[test]
    fn what_a_rank_writes_in_pieces_is_handed_on_as_lines() {
        let parts = [
            "[1,1]<stderr>:   0[1,1]<stderr>:: [1,0]<stderr>:other\n",
            "[1,1]<stderr>:__rustc\n[1,1]<stderr>:unfin",
            "ished",
        ];
        let seen = in_parts(Labels::Orte, &parts);
        let seen: Vec<_> = seen.iter().map(|(rank, text)| (*rank, &**text)).collect();
        assert_eq!(
            seen,
            [
                (Some(0), "other\n"),
                (Some(1), "   0: __rustc\n"),
                (Some(1), "unfinished"),
            ]
        );
    }
}
