//! A drawing of a job as SVG, which every browser shows: a lane for each rank, a bar for each call,
//! an arrow for each message. It has no scripts, and nothing of it is elsewhere.

mod bars;
mod svg;

use std::collections::HashMap;
use std::io::{self, Write};

use ranks_launch::Count;

use self::bars::{Bar, Lane};
use self::svg::Svg;
use super::arrows;
use super::file::{Event, RankFile};
use crate::operations::SENDS;

/// Pixels: of the names of ranks, between lanes, of a row of bars, of the scale.
const NAMES: f64 = 70.0;
const GAP: f64 = 26.0;
const ROW: f64 = 18.0;
const SCALE: f64 = 34.0;
/// The pixels of a call if all took as long, and the bounds of the whole width.
const CALL: f64 = 20.0;
const WIDTHS: (f64, f64) = (900.0, 6000.0);
/// The most arrows that are drawn.
const ARROWS: usize = 2000;

/// Operations by their colours, as the legend names them.
const KINDS: [(&str, &str); 4] = [
    ("sends", "#4c8dd6"),
    ("receives", "#3f9f5f"),
    ("waits", "#b7bec6"),
    ("all others", "#e2a13c"),
];

/// Draws these ranks, or what they do between two times; returns what was left out.
pub(super) fn write(
    out: &mut impl Write,
    ranks: &[RankFile],
    between: Option<Between>,
) -> io::Result<Vec<String>> {
    let (origin, between) = times(ranks, between);
    let (lanes, mut left_out) = bars::lanes(ranks, between);
    let time = Time::of(&lanes, origin, between);
    let mut svg = Svg::default();
    let mut y = SCALE;
    // The bars, and the heights of their middles, by rank and call.
    let mut places: HashMap<(usize, usize), (f64, &Bar)> = HashMap::new();
    for lane in &lanes {
        svg.text(6.0, y + ROW - 5.0, &format!("rank {}", lane.rank.head.rank));
        let height = ROW * lane.rows as f64;
        svg.lane(NAMES, y, time.width, height);
        for bar in &lane.bars {
            draw_bar(&mut svg, &time, lane.rank, bar, y);
            let middle = y + ROW * (bar.row as f64 + 0.5);
            places.insert((lane.place, bar.event), (middle, bar));
        }
        y += height + GAP;
    }
    let arrows = arrows::find(ranks);
    let ends = arrows
        .iter()
        .filter_map(|arrow| places.get(&arrow.from).zip(places.get(&arrow.to)));
    let mut ends: Vec<_> = ends.collect();
    let messages = ends.len();
    ends.truncate(ARROWS);
    for ((from, sent), (to, received)) in ends {
        svg.arrow((time.x(sent.begin), *from), (time.x(received.end), *to));
    }
    if messages > ARROWS {
        left_out.push(format!("{} of {messages} messages", messages - ARROWS));
    }
    time.draw(&mut svg, y - GAP);
    y += SCALE / 2.0;
    let mut x = NAMES;
    for (name, colour) in KINDS {
        svg.bar((x, y, 10.0, 10.0), colour, false, "");
        svg.text(x + 14.0, y + 9.0, name);
        x += 100.0;
    }
    if !left_out.is_empty() {
        y += ROW;
        svg.text(
            NAMES,
            y + 9.0,
            &format!("left out: {}", left_out.join(", ")),
        );
    }
    svg.finish(out, NAMES + time.width + 40.0, y + ROW)?;
    Ok(left_out)
}

fn draw_bar(svg: &mut Svg, time: &Time, rank: &RankFile, bar: &Bar, top: f64) {
    let event = &rank.events[bar.event];
    let (x, end) = (time.x(bar.begin), time.x(bar.end));
    let y = top + ROW * bar.row as f64 + 1.0;
    let at = (x, y, (end - x).max(1.0), ROW - 2.0);
    svg.bar(at, colour(event), event.error.is_some(), &told(rank, event));
    let name = event.op.strip_prefix("MPI_").unwrap_or(&event.op);
    if Svg::width(name) < at.2 {
        svg.text(x + 3.0, y + ROW - 6.0, name);
    }
}

fn colour(event: &Event) -> &'static str {
    let op = event.op.as_str();
    let kind = match op {
        _ if SENDS.contains(&op) => 0,
        _ if op.to_ascii_lowercase().contains("recv") || op.contains("robe") => 1,
        _ if op.contains("Wait") || op.contains("Test") => 2,
        _ => 3,
    };
    KINDS[kind].1
}

/// The text of a call, for a pointer that rests on it.
fn told(rank: &RankFile, event: &Event) -> String {
    let mut text = event.op.clone();
    let mut add = |part: String| {
        text.push_str(", ");
        text.push_str(&part);
    };
    if let Some(communicator) = rank.communicator(event.comm) {
        add(format!("{} number {}", communicator.name, event.n));
    }
    let numbers = [
        ("peer", event.peer),
        ("destination", event.dest),
        ("tag", event.tag.and_then(|tag| usize::try_from(tag).ok())),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            add(format!("{name} {number}"));
        }
    }
    if let Some(bytes) = event.bytes {
        add(Count(bytes, "byte").to_string());
    }
    let nanoseconds = event.end.saturating_sub(event.begin);
    add(format!("{:.3} µs", nanoseconds as f64 / 1e3));
    if let Some(error) = &event.error {
        add(error.clone());
    }
    text
}

/// Two times, in microseconds since the first call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between(i64, i64);

impl Between {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let ends = text.split_once("..");
        let ends = ends.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        match ends {
            Some((from, to)) if from < to => Ok(Self(from, to)),
            _ => Err("two times in microseconds are needed, such as 2000..3500".to_owned()),
        }
    }
}

/// The time of the first call, and the first and the last time that are drawn.
fn times(ranks: &[RankFile], between: Option<Between>) -> (i64, (i64, i64)) {
    let events = || ranks.iter().flat_map(|rank| &rank.events);
    let origin = events().map(|event| event.begin).min().unwrap_or(0);
    let end = events().map(|event| event.end.max(event.begin)).max();
    let at = |micros: i64| origin.saturating_add(micros.saturating_mul(1000));
    let whole = (origin, end.unwrap_or(0));
    let ends = between.map_or(whole, |Between(from, to)| (at(from), at(to)));
    (origin, ends)
}

/// The scale: from times to pixels.
struct Time {
    origin: i64,
    begin: i64,
    nanoseconds: f64,
    width: f64,
}

impl Time {
    fn of(lanes: &[Lane<'_>], origin: i64, (begin, end): (i64, i64)) -> Self {
        let calls = lanes.iter().map(|lane| lane.bars.len()).max().unwrap_or(0);
        Self {
            origin,
            begin,
            nanoseconds: (end.saturating_sub(begin) as f64).max(1.0),
            width: (calls as f64 * CALL).clamp(WIDTHS.0, WIDTHS.1),
        }
    }

    /// The place of a time, or that of the nearest one that is drawn.
    fn x(&self, time: i64) -> f64 {
        let since = time.saturating_sub(self.begin) as f64 / self.nanoseconds;
        NAMES + since.clamp(0.0, 1.0) * self.width
    }

    /// Lines at round numbers of microseconds, down to `bottom`.
    fn draw(&self, svg: &mut Svg, bottom: f64) {
        // As few as leave room for their numbers.
        let least = self.nanoseconds * 90.0 / self.width;
        let mut step = 1.0;
        while step < least {
            step *= if step * 2.0 >= least {
                2.0
            } else if step * 5.0 >= least {
                5.0
            } else {
                10.0
            };
        }
        let before = self.begin.saturating_sub(self.origin) as f64;
        // From the beginning on: of a time that is far from the origin no float has a step more.
        let mut since = (before / step).ceil() * step - before;
        while since <= self.nanoseconds {
            let x = NAMES + since / self.nanoseconds * self.width;
            svg.line(x, SCALE - 8.0, bottom);
            svg.text(
                x + 2.0,
                SCALE - 12.0,
                &format!("{} µs", (before + since) / 1e3),
            );
            since += step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank `rank` of two, with so many calls of `op` to the other one, 1 µs each and 1 µs apart.
    fn rank(rank: usize, op: &str, calls: usize, more: &str) -> RankFile {
        let mut text = format!(
            "{{\"ranks_timeline\":1,\"rank\":{rank},\"size\":2,\"job\":\"1\",\"host\":\"\",\"pid\":7,\"library\":\"\",\
             \"lost\":0,\"communicators\":[{{\"id\":0,\"name\":\"a<b\",\"rank\":{rank},\"world_ranks\":[]}}]}}"
        );
        for call in 0..calls {
            let (begin, end, peer) = (2000 * call, 2000 * call + 1000, 1 - rank);
            text += &format!(
                "\n{{\"op\":\"{op}\",\"comm\":0,\"n\":{call},\"thread\":1,\"begin\":{begin},\"end\":{end},\
                 \"peer\":{peer},\"tag\":0{more}}}"
            );
        }
        RankFile::read(text.as_bytes()).unwrap()
    }

    fn drawn(ranks: &[RankFile]) -> (String, Vec<String>) {
        let mut out = Vec::new();
        let left_out = write(&mut out, ranks, None).unwrap();
        (String::from_utf8(out).unwrap(), left_out)
    }

    #[test]
    fn calls_are_bars_and_messages_are_arrows() {
        let ranks = [rank(0, "MPI_Send", 3, ""), rank(1, "MPI_Recv", 3, "")];
        let (svg, left_out) = drawn(&ranks);
        assert!(left_out.is_empty());
        assert_eq!(svg.matches("<title>").count(), 6);
        assert_eq!(svg.matches("marker-end").count(), 3);
        let title = "<title>MPI_Send, a&lt;b number 1, peer 1, tag 0, 1.000 µs</title>";
        assert!(svg.contains(title), "{svg}");
        assert!(svg.contains(">rank 1</text>") && svg.contains(">0 µs</text>"));
        for elsewhere in ["<script", "href", "url(http", "<image"] {
            assert!(!svg.contains(elsewhere), "{elsewhere}");
        }
        for element in ["svg", "rect", "text", "title", "defs", "marker"] {
            let ends = svg.matches(&format!("</{element}>")).count();
            let whole = svg.matches("/>").count();
            let begins = svg.matches(&format!("<{element} ")).count()
                + svg.matches(&format!("<{element}>")).count();
            assert!(begins >= ends && begins <= ends + whole, "{element}");
        }
    }

    #[test]
    fn an_interval_is_drawn_alone() {
        let ranks = [rank(0, "MPI_Send", 9, ""), rank(1, "MPI_Recv", 9, "")];
        let mut out = Vec::new();
        // The third and the fourth call, which begin after 4 and 6 µs.
        let between = Between::read("4..6").unwrap();
        let left_out = write(&mut out, &ranks, Some(between)).unwrap();
        let svg = String::from_utf8(out).unwrap();
        assert_eq!(svg.matches("<title>").count(), 4);
        assert_eq!(svg.matches("marker-end").count(), 2);
        assert!(svg.contains("number 2,") && svg.contains("number 3,"));
        assert!(svg.contains(">6 µs</text>") && !svg.contains(">0 µs</text>"));
        assert!(left_out.is_empty(), "{left_out:?}");
        for wrong in ["", "5", "5..5", "6..5", "a..b", "NaN..1"] {
            assert!(Between::read(wrong).is_err(), "{wrong}");
        }
    }

    /// It drew lines at one place until there was no memory.
    #[test]
    fn an_interval_that_is_far_away_is_drawn_too() {
        for far in [
            "9000000000000000..9000000000000001",
            "9223372036854775806..9223372036854775807",
        ] {
            let between = Between::read(far).unwrap();
            let mut out = Vec::new();
            write(&mut out, &[rank(0, "MPI_Send", 1, "")], Some(between)).unwrap();
            assert!(out.len() < 1 << 16, "{far}: {}", out.len());
        }
    }

    #[test]
    fn what_is_too_much_is_left_out_and_said() {
        let ranks = [
            rank(0, "MPI_Send", 30_000, ""),
            rank(1, "MPI_Recv", 30_000, ""),
        ];
        let (svg, left_out) = drawn(&ranks);
        assert!(svg.len() < 8 << 20, "{}", svg.len());
        assert_eq!(left_out.len(), 2, "{left_out:?}");
        assert!(left_out[0].ends_with("of 60000 calls, the shortest"));
        assert_eq!(left_out[1], "3000 of 5000 messages");
        assert!(svg.contains(&format!("left out: {}", left_out.join(", "))));
        let many: Vec<_> = (0..1000).map(|_| rank(0, "MPI_Barrier", 1, "")).collect();
        let (svg, left_out) = drawn(&many);
        assert!(svg.len() < 1 << 20);
        assert!(left_out[0].ends_with("of 1000 ranks"), "{left_out:?}");
    }

    #[test]
    fn times_of_any_file_are_drawn() {
        let mut odd = rank(0, "MPI_Wait", 3, ",\"error\":\"late & lost\"");
        (odd.events[0].begin, odd.events[0].end) = (i64::MIN, i64::MAX);
        (odd.events[1].begin, odd.events[1].end) = (5, -5);
        let (svg, _) = drawn(&[odd]);
        assert!(svg.contains("late &amp; lost") && !svg.contains("NaN"));
        let (svg, left_out) = drawn(&[]);
        assert!(svg.contains("</svg>") && left_out.is_empty());
    }
}
