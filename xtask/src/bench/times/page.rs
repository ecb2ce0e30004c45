//! The page with all tables, and the same as CSV.

use std::fmt::Write as _;

use super::peers::{MULTIPLE, WITHOUT_RDMA};
use crate::bench::samples::{Row, Run, Spread, cell};

/// The order of columns; the yardsticks come first.
const PEERS: [&str; 12] = [
    "C",
    "mpsc",
    WITHOUT_RDMA,
    MULTIPLE[0].1,
    "ranks",
    MULTIPLE[1].1,
    "rsmpi",
    "ferrompi",
    "mpi4py",
    "crossbeam",
    "rayon",
    "rayon-twice",
];

/// The protocol, whose table of operations is the page's.
const PROTOCOL: &str = include_str!("../../../../benches/peers/src/timing.rs");

const OPENING: &str = "\
# Times

Written by `cargo xtask bench times`, which builds the programs of `benches/peers` and runs them by turns: in every round each program once on each MPI, C before and after the others.
Two ranks on one machine, each bound to a core, all at `MPI_THREAD_SINGLE` but for those marked \"multiple\"; in process two threads, bound to nothing. All are started by the MPI's own
`mpiexec`, with none of the variables that `ranks run` sets. \"No RDMA\" is with the parameters that ranks sets for Open MPI: [which, and why](../guide/performance.md#open-mpi-in-shared-memory).
Threads of rayon's pool see one result; \"rayon-twice\" writes one for each, as ranks do.

A time is the median over rounds of the median block, in µs, with its quartiles. A ratio is the median over rounds of the time over that of the first column in the same round, with its
quartiles: more than 1 is slower. Where the quartiles lie on both sides of 1, there is no difference that this run shows. [times.csv](times.csv) has the same figures.

";

/// The tracks of a run, each with its rows.
pub(super) fn tracks(run: &Run) -> Vec<(&str, Vec<&Row>)> {
    let mut tracks: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in run.rows() {
        match tracks.iter_mut().find(|(track, _)| *track == row.track) {
            Some((_, rows)) => rows.push(row),
            None => tracks.push((&row.track, vec![row])),
        }
    }
    tracks
}

/// The peers that have times in these rows: the yardstick, then the others.
pub(super) fn peers(run: &Run, rows: &[&Row]) -> (&'static str, Vec<&'static str>) {
    let has = |peer: &&str| rows.iter().any(|row| run.time(row, peer).is_some());
    let mut peers = PEERS.into_iter().filter(has);
    (peers.next().unwrap_or_default(), peers.collect())
}

/// The file name of a track's plot.
pub(super) fn picture(track: &str) -> String {
    format!("{}.svg", track.replace(' ', "-"))
}

pub(super) fn csv(run: &Run) -> String {
    let mut text =
        "track,operation,bytes,peer,us,us_low,us_high,ratio,ratio_low,ratio_high\n".to_owned();
    for (track, rows) in tracks(run) {
        let (base, others) = peers(run, &rows);
        for row in rows {
            for peer in std::iter::once(base).chain(others.iter().copied()) {
                if let (Some(time), Some(ratio)) = (run.time(row, peer), run.ratio(row, peer, base))
                {
                    let values = [time, ratio].map(|Spread { low, median, high }| {
                        format!("{median:.3},{low:.3},{high:.3}")
                    });
                    let _ = writeln!(
                        text,
                        "{track},{},{},{peer},{}",
                        row.operation,
                        row.bytes,
                        values.join(",")
                    );
                }
            }
        }
    }
    text
}

pub(super) fn draw(run: &Run) -> String {
    let mut text = OPENING.to_owned();
    for line in PROTOCOL
        .lines()
        .filter_map(|line| line.strip_prefix("//! |"))
    {
        let _ = writeln!(text, "|{line}");
    }
    text += &run.notes();
    for (track, rows) in tracks(run) {
        let (base, others) = peers(run, &rows);
        let _ = writeln!(
            text,
            "\n## {track}\n\n![Ratios to {base}]({})\n",
            picture(track)
        );
        let _ = writeln!(text, "| | {base}, µs | {} |", others.join(" | "));
        let _ = writeln!(text, "|---|---{}|", "|---".repeat(others.len()));
        for row in rows {
            let mut cells = vec![cell(run.time(row, base))];
            cells.extend(others.iter().map(|peer| cell(run.ratio(row, peer, base))));
            let _ = writeln!(text, "| {} | {} |", row.name(), cells.join(" | "));
        }
    }
    text
}
