//! The output of a job, told apart by rank through the labels of its launcher.

use std::collections::BTreeMap;

use crate::family::Family;
use crate::library::Installation;

/// The output of one rank. Bytes that are not UTF-8 are replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankOutput {
    /// The rank.
    pub rank: usize,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Standard output and standard error, as they came.
#[derive(Debug)]
pub(super) struct Streams {
    /// Those of the launcher, in which those of the ranks are as a rule.
    pub(super) own: [Vec<u8>; 2],
    /// Those of the ranks, where stand-ins hand them on.
    pub(super) of_ranks: Option<[Vec<u8>; 2]>,
}

/// The last `count` lines of `text`.
pub(super) fn last_lines(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = text.lines().collect();
    let skip = lines.len().saturating_sub(count);
    lines.into_iter().skip(skip)
}

/// The way in which a launcher labels what its ranks write.
///
/// A label stands before each line, and also in the midst of one where another rank's output was
/// put between. All forms are chosen such that no program writes them by accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Labels {
    /// No labels: all output is one process's, or nobody knows whose.
    None,
    /// Hydra's `-prepend-pattern`, which is ours to choose.
    Hydra,
    /// Open MPI's `[1,3]<stdout>:`, without anything after it. Its launcher labels what it reads
    /// at once, up to 4 KiB, into 8 KiB, and drops what is more.
    Orte,
    /// Open MPI 5's `[1,3]<stdout>:`, followed by a blank.
    Prrte,
    /// None of the launcher: stand-ins hand on what ranks write, each line with Hydra's label.
    StandIn,
    /// `3: ` of `srun --label`, at the beginning of each line and nowhere else.
    Slurm,
    /// The same of `flux run --label-io`.
    Flux,
}

pub(super) const HYDRA: (&str, &str) = ("<ranks:rank:", ">");
const OPEN_MPI: (&str, [&str; 2]) = ("]<std", ["out>:", "err>:"]);

impl Labels {
    pub(super) fn of(installation: &Installation) -> Labels {
        match installation.family {
            Family::OpenMpi if installation.is_prrte() => Labels::Prrte,
            Family::OpenMpi => Labels::Orte,
            Family::Mpich | Family::Intel | Family::Cray => Labels::Hydra,
        }
    }

    /// These, or where a launcher would lose output those of stand-ins, if there are any.
    pub(super) fn without_loss(self, have_stand_ins: bool) -> Labels {
        match self {
            Labels::Orte if have_stand_ins => Labels::StandIn,
            Labels::Orte => Labels::None,
            other => other,
        }
    }

    /// The launcher's options that switch them on.
    pub(super) fn arguments(self) -> Vec<String> {
        match self {
            Labels::None | Labels::StandIn => Vec::new(),
            Labels::Hydra => vec![
                "-prepend-pattern".into(),
                format!("{}%r{}", HYDRA.0, HYDRA.1),
            ],
            Labels::Orte => vec!["--tag-output".into()],
            Labels::Prrte => vec!["--output".into(), "tag".into()],
            Labels::Slurm => vec!["--label".into()],
            Labels::Flux => vec!["--label-io".into()],
        }
    }

    /// The first label of one of so many ranks in `text`: where it starts, where it ends, and its
    /// rank.
    pub(super) fn find(self, ranks: usize, text: &[u8]) -> Option<(usize, usize, usize)> {
        match self {
            Labels::None | Labels::StandIn => None,
            Labels::Hydra => find_hydra(ranks, text),
            Labels::Orte => find_open_mpi(ranks, text, 0),
            Labels::Prrte => find_open_mpi(ranks, text, 1),
            Labels::Slurm | Labels::Flux => find_slurm(ranks, text),
        }
    }
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// A rank that there is.
fn rank_of(ranks: usize, digits: &[u8]) -> Option<usize> {
    let rank = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (rank < ranks).then_some(rank)
}

fn find_hydra(ranks: usize, text: &[u8]) -> Option<(usize, usize, usize)> {
    let mut from = 0;
    loop {
        let start = from + position(&text[from..], HYDRA.0.as_bytes())?;
        let digits = start + HYDRA.0.len();
        let length = text[digits..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let end = digits + length + HYDRA.1.len();
        if let (Some(rank), true) = (
            rank_of(ranks, &text[digits..digits + length]),
            text[digits + length..].starts_with(HYDRA.1.as_bytes()),
        ) {
            return Some((start, end, rank));
        }
        from = digits;
    }
}

/// Finds `rank: ` at the very beginning; `srun` fills it up with blanks on the left.
fn find_slurm(ranks: usize, text: &[u8]) -> Option<(usize, usize, usize)> {
    let colon = position(text, b": ")?;
    let rank = rank_of(ranks, text[..colon].trim_ascii_start())?;
    Some((0, colon + 2, rank))
}

/// Finds `[job,rank]<stream>:` and takes up to `blanks` blanks after it as part of it.
fn find_open_mpi(ranks: usize, text: &[u8], blanks: usize) -> Option<(usize, usize, usize)> {
    let mut from = 0;
    loop {
        let bracket = from + position(&text[from..], OPEN_MPI.0.as_bytes())?;
        let after = bracket + OPEN_MPI.0.len();
        let tag = OPEN_MPI
            .1
            .iter()
            .find(|tag| text[after..].starts_with(tag.as_bytes()));
        // Text before an earlier bracket of this kind is not looked at again.
        let before = &text[from..bracket];
        let line = before.iter().rposition(|&byte| byte == b'\n');
        let line = line.map_or(0, |at| at + 1);
        let open = before[line..].iter().rposition(|&byte| byte == b'[');
        let label = open.zip(tag).and_then(|(open, tag)| {
            let inside = &before[line + open + 1..];
            let comma = inside.iter().rposition(|&byte| byte == b',')?;
            let rank = rank_of(ranks, &inside[comma + 1..])?;
            Some((from + line + open, after + tag.len(), rank))
        });
        if let Some((open, after, rank)) = label {
            let blanks = text[after..]
                .iter()
                .take(blanks)
                .take_while(|&&byte| byte == b' ')
                .count();
            return Some((open, after + blanks, rank));
        }
        from = after;
    }
}

/// Distributes two streams over `ranks` ranks and the launcher.
pub(super) fn split(
    labels: Labels,
    ranks: usize,
    stdout: &[u8],
    stderr: &[u8],
) -> (Vec<RankOutput>, RankOutput) {
    let text =
        |bytes: Option<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    if labels == Labels::None {
        let all = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let output = RankOutput {
            rank: 0,
            stdout: all(stdout),
            stderr: all(stderr),
        };
        return (vec![output], RankOutput::default());
    }
    let (mut stdout, own_stdout) = distribute(labels, ranks, stdout);
    let (mut stderr, own_stderr) = distribute(labels, ranks, stderr);
    let output = (0..ranks)
        .map(|rank| RankOutput {
            rank,
            stdout: text(stdout.remove(&rank)),
            stderr: text(stderr.remove(&rank)),
        })
        .collect();
    (
        output,
        RankOutput {
            rank: 0,
            stdout: text(Some(own_stdout)),
            stderr: text(Some(own_stderr)),
        },
    )
}

/// One stream: what follows a label is its rank's, up to the next label or to a line that has none,
/// which is the launcher's.
fn distribute(labels: Labels, ranks: usize, stream: &[u8]) -> (BTreeMap<usize, Vec<u8>>, Vec<u8>) {
    let mut by_rank: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    let mut launcher = Vec::new();
    for line in stream.split_inclusive(|&byte| byte == b'\n') {
        pieces(
            labels,
            ranks,
            line,
            None,
            &mut |writer, text| match writer {
                Some(rank) => by_rank.entry(rank).or_default().extend_from_slice(text),
                None => launcher.extend_from_slice(text),
            },
        );
    }
    (by_rank, launcher)
}

/// Hands on each piece of a line with the rank that wrote it; none for the launcher. Up to the
/// first label the writer is the one that is given; returns that of the last piece.
pub(super) fn pieces(
    labels: Labels,
    ranks: usize,
    line: &[u8],
    mut writer: Option<usize>,
    write: &mut dyn FnMut(Option<usize>, &[u8]),
) -> Option<usize> {
    let mut rest = line;
    loop {
        let again = writer.is_none() || !matches!(labels, Labels::Slurm | Labels::Flux);
        let label = labels.find(ranks, rest).filter(|_| again);
        let (before, after) = match label {
            Some((start, end, rank)) => (&rest[..start], Some((&rest[end..], rank))),
            None => (rest, None),
        };
        if !before.is_empty() {
            write(writer, before);
        }
        let Some((next, rank)) = after else {
            return writer;
        };
        rest = next;
        writer = Some(rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(labels: Labels, stream: &str) -> (Vec<String>, String) {
        let (output, launcher) = split(labels, 2, stream.as_bytes(), b"");
        (
            output.into_iter().map(|output| output.stdout).collect(),
            launcher.stdout,
        )
    }

    #[test]
    fn hydra_labels_within_a_line_are_followed() {
        let stream = "<ranks:rank:0>out-a 0\n<ranks:rank:0>out-b<ranks:rank:1>out-a 1\n<ranks:rank:1>out-b<ranks:rank:0> 0\n\
                      = BAD TERMINATION\n<ranks:rank:0>no newline 0<ranks:rank:1> 1\n";
        let (ranks, launcher) = both(Labels::Hydra, stream);
        assert_eq!(
            ranks,
            ["out-a 0\nout-b 0\nno newline 0", "out-a 1\nout-b 1\n"]
        );
        assert_eq!(launcher, "= BAD TERMINATION\n");
    }

    #[test]
    fn open_mpi_labels_of_both_kinds() {
        let (ranks, _) = both(
            Labels::Orte,
            "[1,0]<stdout>:a[1,1]<stdout>: b\n[1,1]<stdout>:c\n",
        );
        assert_eq!(ranks, ["a", " b\nc\n"]);
        let (ranks, launcher) = both(
            Labels::Prrte,
            "[prterun-n0-79@1,1]<stdout>:  two\n[1,0]<stdout>: x\n--\n",
        );
        assert_eq!(ranks, ["x\n", " two\n"]);
        assert_eq!(launcher, "--\n");
    }

    #[test]
    fn what_only_looks_like_a_label_stays() {
        let (ranks, _) = both(
            Labels::Hydra,
            "<ranks:rank:0>x <ranks:rank:> <ranks:rank:7> [1] y\n",
        );
        assert_eq!(ranks[0], "x <ranks:rank:> <ranks:rank:7> [1] y\n");
        let (ranks, _) = both(Labels::Orte, "[1,1]<stdout>:a ]<stdout>: b\n");
        assert_eq!(ranks[1], "a ]<stdout>: b\n");
        let (_, launcher) = both(Labels::Orte, "]<stdout>:\n[x]<stderr>:\n");
        assert_eq!(launcher, "]<stdout>:\n[x]<stderr>:\n");
    }

    #[test]
    fn the_label_of_a_rank_that_is_not_there_hides_none() {
        let (ranks, _) = both(
            Labels::Hydra,
            "<ranks:rank:0>a<ranks:rank:7><ranks:rank:1>b\n",
        );
        assert_eq!(ranks, ["a<ranks:rank:7>", "b\n"]);
        let (ranks, _) = both(
            Labels::Orte,
            "[1,0]<stdout>:a[1,7]<stdout>:[1,1]<stdout>:b\n",
        );
        assert_eq!(ranks, ["a[1,7]<stdout>:", "b\n"]);
    }

    #[test]
    fn a_process_without_a_launcher_is_rank_0() {
        let (output, launcher) = split(Labels::None, 3, b"a\n", b"b\xff");
        assert_eq!(
            output,
            [RankOutput {
                rank: 0,
                stdout: "a\n".into(),
                stderr: "b\u{fffd}".into()
            }]
        );
        assert_eq!(launcher, RankOutput::default());
    }

    #[test]
    fn last_lines_are_the_last() {
        assert_eq!(last_lines("a\nb\nc\n", 2).collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(last_lines("", 2).count(), 0);
    }

    #[test]
    fn labels_of_srun_stand_at_the_beginning_only() {
        let (ranks, launcher) = both(
            Labels::Slurm,
            "0: one\n 1: 0: two\nsrun: error: three\n7: four\n",
        );
        assert_eq!(ranks, ["one\n", "0: two\n"]);
        assert_eq!(launcher, "srun: error: three\n7: four\n");
    }
}
