//! The calls that are drawn, each in a row of its rank's lane: calls of several threads, and those
//! within another call, lie one below the other.

use std::cmp::Reverse;

use crate::timeline::file::RankFile;

/// The most that are drawn: lanes, rows of a lane, and bars of all of them.
const LANES: usize = 64;
const ROWS: usize = 6;
const BARS: usize = 10_000;

/// A rank that is drawn.
pub(super) struct Lane<'a> {
    pub(super) rank: &'a RankFile,
    /// Its place among all ranks.
    pub(super) place: usize,
    pub(super) bars: Vec<Bar>,
    pub(super) rows: usize,
}

/// A call that is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bar {
    /// Its place among the rank's calls.
    pub(super) event: usize,
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) row: usize,
}

/// The lanes of the first ranks between two times, and what is left out.
pub(super) fn lanes(ranks: &[RankFile], between: (i64, i64)) -> (Vec<Lane<'_>>, Vec<String>) {
    let mut left_out = Vec::new();
    let shown = &ranks[..ranks.len().min(LANES)];
    if shown.len() < ranks.len() {
        let missing = ranks.len() - shown.len();
        left_out.push(format!("{missing} of {} ranks", ranks.len()));
    }
    let of_each = BARS / shown.len().max(1);
    let mut calls = 0;
    let mut lanes = Vec::new();
    for (place, rank) in shown.iter().enumerate() {
        let bars = bars(rank, between);
        calls += bars.len();
        lanes.push(lane(place, rank, bars, of_each));
    }
    let drawn: usize = lanes.iter().map(|lane| lane.bars.len()).sum();
    if drawn < calls {
        left_out.push(format!("{} of {calls} calls, the shortest", calls - drawn));
    }
    (lanes, left_out)
}

fn bars(rank: &RankFile, (first, last): (i64, i64)) -> Vec<Bar> {
    let events = rank.events.iter().enumerate();
    let bars = events.map(|(event, of)| Bar {
        event,
        begin: of.begin,
        end: of.end.max(of.begin),
        row: 0,
    });
    bars.filter(|bar| bar.begin <= last && bar.end >= first)
        .collect()
}

fn lane(place: usize, rank: &RankFile, mut bars: Vec<Bar>, most: usize) -> Lane<'_> {
    let length = |bar: &Bar| bar.end.saturating_sub(bar.begin);
    bars.sort_by_key(|bar| Reverse(length(bar)));
    bars.truncate(most);
    // The call that contains another one is above it.
    bars.sort_by_key(|bar| (bar.begin, Reverse(bar.end)));
    let mut ends = [i64::MIN; ROWS];
    bars.retain_mut(|bar| match ends.iter().position(|&end| end <= bar.begin) {
        Some(row) => {
            bar.row = row;
            ends[row] = bar.end;
            true
        }
        None => false,
    });
    let rows = bars.iter().map(|bar| bar.row + 1).max().unwrap_or(1);
    Lane {
        rank,
        place,
        bars,
        rows,
    }
}
