//! Timelines: a rank's calls with their times, in a file that `ranks timeline` reads.
//!
//! The newest calls are kept, up to a fixed number. They are written when communication ends, or
//! when the job is about to be aborted.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::call::Facts;
use crate::clock::Clock;
use crate::collector::Who;
use crate::observer::Failure;
use crate::own_file;

/// The number of calls that are kept of a rank: about twelve megabytes.
const KEPT: usize = 1 << 17;

/// A call from its start to its end. Times are this rank's, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) facts: Facts,
    /// The number of the communicator.
    pub(crate) communicator: u64,
    /// The number of the call among those of its kind on that communicator.
    pub(crate) number: u64,
    pub(crate) thread: u64,
    pub(crate) begun: i64,
    pub(crate) ended: i64,
    pub(crate) error: Option<Failure>,
}

/// The calls of a rank.
#[derive(Debug, Default)]
pub(crate) struct Events {
    kept: VecDeque<Event>,
    /// The number of calls that were dropped.
    lost: u64,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
            self.lost += 1;
        }
        self.kept.push_back(event);
    }
}

/// A communicator that events are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) rank: usize,
    /// The world rank of each of its ranks.
    pub(crate) world_ranks: Vec<usize>,
}

/// The rank whose calls they are.
#[derive(Debug)]
pub(crate) struct Whose<'a> {
    pub(crate) who: &'a Who,
    pub(crate) host: &'a str,
    pub(crate) clock: Clock,
    pub(crate) communicators: &'a [Member],
}

/// The name of a rank's file.
pub(crate) fn file_name(rank: usize) -> String {
    format!("rank-{rank}.timeline")
}

/// Writes the file of a rank: a line about the rank, then a line for each call, all of them JSON.
pub(crate) fn write(folder: &Path, whose: &Whose<'_>, events: &Events) -> io::Result<()> {
    let name = file_name(whose.who.rank);
    own_file::write(folder, &name, text(whose, events).as_bytes())
}

fn text(whose: &Whose<'_>, events: &Events) -> String {
    let mut out = Line::begin(String::with_capacity(160 * (events.kept.len() + 4)));
    out.put("ranks_timeline", &1);
    out.put("rank", &whose.who.rank);
    out.put("size", &whose.who.size);
    // As text: it has more digits than some readers of numbers keep.
    out.text("job", &format!("{:016x}", whose.who.job));
    out.text("host", whose.host);
    out.put("pid", &std::process::id());
    out.text("library", &whose.who.library);
    if let Some(error) = whose.clock.error() {
        out.put("clock_error_ns", &error);
    }
    out.put("drift_corrected", &whose.clock.knows_drift());
    out.put("lost", &events.lost);
    out.put("communicators", &Communicators(whose.communicators));
    let mut out = out.end();
    for event in &events.kept {
        out = line(Line::begin(out), event, &whose.clock).end();
    }
    out
}

fn line(mut out: Line, event: &Event, clock: &Clock) -> Line {
    let facts = &event.facts;
    out.text("op", facts.operation);
    out.put("comm", &event.communicator);
    out.put("n", &event.number);
    out.put("thread", &event.thread);
    out.put("begin", &clock.there(event.begun));
    out.put("end", &clock.there(event.ended));
    if let Some(peer) = facts.peer.or(facts.root) {
        out.put("peer", &peer);
    }
    if let Some(dest) = facts.dest {
        out.put("dest", &dest);
    }
    if let Some(tag) = facts.tag {
        out.put("tag", &tag);
    }
    if let Some(tag) = facts.dest_tag {
        out.put("dest_tag", &tag);
    }
    if facts.wildcard {
        out.put("wildcard", &true);
    }
    if let Some(element) = facts.element {
        out.text("dtype", element);
    }
    if let Some(reduction) = facts.reduction {
        out.text("reduction", reduction);
    }
    out.put("count", &facts.count);
    out.put("bytes", &facts.bytes);
    if let Some(error) = event.error {
        out.text("error", error);
    }
    out
}

/// A JSON object on a line of its own.
struct Line {
    out: String,
    is_first: bool,
}

impl Line {
    fn begin(mut out: String) -> Self {
        out.push('{');
        Self {
            out,
            is_first: true,
        }
    }

    fn end(mut self) -> String {
        self.out.push_str("}\n");
        self.out
    }

    fn put(&mut self, name: &str, value: &dyn std::fmt::Display) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.push(',');
        }
        // Writing to a string does not fail.
        let _ = write!(self.out, "\"{name}\":{value}");
    }

    fn text(&mut self, name: &str, value: &str) {
        self.put(name, &Quoted(value));
    }
}

/// A text as a JSON string.
struct Quoted<'a>(&'a str);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\u{0}'..='\u{1f}' => write!(f, "\\u{:04x}", u32::from(character))?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

struct Communicators<'a>(&'a [Member]);

impl std::fmt::Display for Communicators<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_char('[')?;
        for (index, member) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let Member {
                id,
                name,
                rank,
                world_ranks,
            } = member;
            let name = Quoted(name);
            write!(
                f,
                "{comma}{{\"id\":{id},\"name\":{name},\"rank\":{rank},\"world_ranks\":{world_ranks:?}}}"
            )?;
        }
        f.write_char(']')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Reading;

    fn event(operation: &'static str) -> Event {
        Event {
            facts: Facts {
                operation,
                element: Some("f64"),
                peer: Some(3),
                tag: Some(9),
                count: 4,
                bytes: 32,
                ..Facts::default()
            },
            communicator: 0,
            number: 7,
            thread: 1,
            begun: 1_000,
            ended: 2_000,
            error: None,
        }
    }

    #[test]
    fn a_file_is_lines_of_json_in_the_time_of_rank_0() {
        let reading = Reading {
            at: 0,
            ahead: 100,
            error: 9,
        };
        let members = [Member {
            id: 0,
            name: "say \"hi\"\n".to_owned(),
            rank: 1,
            world_ranks: vec![0, 1],
        }];
        let whose = Whose {
            who: &Who {
                rank: 1,
                size: 2,
                library: "in process".to_owned(),
                job: 255,
            },
            host: "node1",
            clock: Clock {
                first: Some(reading),
                last: None,
            },
            communicators: &members,
        };
        let mut events = Events::default();
        events.push(event("MPI_Send"));
        let process = std::process::id();
        assert_eq!(
            text(&whose, &events),
            format!(
                "{{\"ranks_timeline\":1,\"rank\":1,\"size\":2,\"job\":\"00000000000000ff\",\"host\":\"node1\",\"pid\":{process},\
                 \"library\":\"in process\",\"clock_error_ns\":9,\"drift_corrected\":false,\"lost\":0,\
                 \"communicators\":[{{\"id\":0,\"name\":\"say \\\"hi\\\"\\u000a\",\"rank\":1,\"world_ranks\":[0, 1]}}]}}\n\
                 {{\"op\":\"MPI_Send\",\"comm\":0,\"n\":7,\"thread\":1,\"begin\":900,\"end\":1900,\"peer\":3,\"tag\":9,\
                 \"dtype\":\"f64\",\"count\":4,\"bytes\":32}}\n"
            )
        );
    }

    #[test]
    fn memory_is_bounded_and_the_newest_are_kept() {
        let mut events = Events::default();
        for _ in 0..KEPT {
            events.push(event("MPI_Send"));
        }
        events.push(event("MPI_Recv"));
        assert_eq!((events.kept.len(), events.lost), (KEPT, 1));
        assert_eq!(events.kept.back().unwrap().facts.operation, "MPI_Recv");
        assert!(KEPT * size_of::<Event>() <= 24 << 20);
    }
}
