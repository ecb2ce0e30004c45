//! A trace in the JSON form that Chrome made and Perfetto reads: a process for each rank, a slice
//! for each call.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;

use super::arrows::{self, Arrow};
use super::file::{Event, Head, RankFile};

/// One entry; what it does not have is left out.
#[derive(Serialize, Default)]
struct Entry<'a> {
    name: &'a str,
    /// The phase: `X` a slice, `M` a name, `s` and `f` the ends of an arrow.
    ph: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    pid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u64>,
    /// Microseconds since the first call of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    /// An arrow ends at the slice that is there, not at the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Args<'a> {
    Name { name: &'a str },
    Order { sort_index: usize },
    TimelineCall(Box<TimelineCall<'a>>),
}

#[derive(Serialize)]
struct TimelineCall<'a> {
    communicator: &'a str,
    number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest_tag: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reduction: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Remarks on the whole trace.
#[derive(Serialize)]
struct Remarks<'a> {
    library: &'a str,
    ranks: usize,
    clocks: Vec<ClockRemark>,
}

#[derive(Serialize)]
struct ClockRemark {
    rank: usize,
    error_ns: Option<u64>,
    drift_corrected: bool,
}

/// Writes the trace of these ranks.
pub(super) fn write(out: &mut impl Write, ranks: &[RankFile]) -> io::Result<()> {
    let begins = ranks
        .iter()
        .flat_map(|rank| &rank.events)
        .map(|event| event.begin);
    let origin = begins.min().unwrap_or(0);
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
    serde_json::to_writer(&mut *out, &remarks(ranks))?;
    out.write_all(b",\"traceEvents\":[\n")?;
    let mut entries = Entries { out, some: false };
    for rank in ranks {
        names(&mut entries, rank)?;
        for event in &rank.events {
            entries.write(&slice(rank, event, origin))?;
        }
    }
    for (id, arrow) in arrows::find(ranks).iter().enumerate() {
        for end in ends(id, arrow, ranks, origin).into_iter().flatten() {
            entries.write(&end)?;
        }
    }
    out.write_all(b"\n]}\n")
}

/// Entries with a comma between them.
struct Entries<'a, W> {
    out: &'a mut W,
    some: bool,
}

impl<W: Write> Entries<'_, W> {
    fn write(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        if std::mem::replace(&mut self.some, true) {
            self.out.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut *self.out, entry)?;
        Ok(())
    }
}

fn remarks(ranks: &[RankFile]) -> Remarks<'_> {
    let clock = |head: &Head| ClockRemark {
        rank: head.rank,
        error_ns: head.clock_error_ns,
        drift_corrected: head.drift_corrected,
    };
    Remarks {
        library: ranks.first().map_or("", |rank| &rank.head.library),
        ranks: ranks.len(),
        clocks: ranks.iter().map(|rank| clock(&rank.head)).collect(),
    }
}

/// Names the process of a rank and its threads.
fn names<W: Write>(entries: &mut Entries<'_, W>, rank: &RankFile) -> io::Result<()> {
    let Head {
        rank: pid,
        host,
        pid: process,
        ..
    } = &rank.head;
    let name = |name, tid, args| Entry {
        name,
        ph: "M",
        pid: *pid,
        tid,
        args: Some(args),
        ..Entry::default()
    };
    let label = format!("rank {pid} on {host}, process {process}");
    entries.write(&name("process_name", None, Args::Name { name: &label }))?;
    let order = Args::Order { sort_index: *pid };
    entries.write(&name("process_sort_index", None, order))?;
    let threads: BTreeSet<u64> = rank.events.iter().map(|event| event.thread).collect();
    let labels = threads
        .into_iter()
        .map(|thread| (thread, format!("thread {thread}")));
    for (thread, label) in &labels.collect::<Vec<_>>() {
        let args = Args::Name { name: label };
        entries.write(&name("thread_name", Some(*thread), args))?;
    }
    Ok(())
}

fn slice<'a>(rank: &'a RankFile, event: &'a Event, origin: i64) -> Entry<'a> {
    let communicator = rank.communicator(event.comm);
    Entry {
        name: &event.op,
        ph: "X",
        cat: "ranks",
        pid: rank.head.rank,
        tid: Some(event.thread),
        ts: Some(micros(event.begin, origin)),
        dur: Some(micros(event.end.max(event.begin), event.begin)),
        args: Some(Args::TimelineCall(Box::new(TimelineCall {
            communicator: communicator.map_or("", |communicator| &communicator.name),
            number: event.n,
            peer: event.peer,
            dest: event.dest,
            dest_tag: event.dest_tag,
            tag: event.tag,
            dtype: event.dtype.as_deref(),
            reduction: event.reduction.as_deref(),
            count: event.count,
            bytes: event.bytes,
            error: event.error.as_deref(),
        }))),
        ..Entry::default()
    }
}

/// Both ends of an arrow; the second is where the receive ends.
fn ends<'a>(
    id: usize,
    arrow: &Arrow,
    ranks: &'a [RankFile],
    origin: i64,
) -> [Option<Entry<'a>>; 2] {
    let end = |(rank, event): (usize, usize), ph, at: fn(&Event) -> i64| {
        let rank = ranks.get(rank)?;
        let event = rank.events.get(event)?;
        Some(Entry {
            name: "message",
            ph,
            cat: "message",
            pid: rank.head.rank,
            tid: Some(event.thread),
            ts: Some(micros(at(event), origin)),
            id: Some(id),
            ..Entry::default()
        })
    };
    let begin = end(arrow.from, "s", |event| event.begin);
    let finish = end(arrow.to, "f", |event| event.end).map(|entry| Entry {
        bp: Some("e"),
        ..entry
    });
    match (begin, finish) {
        (Some(begin), Some(finish)) => [Some(begin), Some(finish)],
        _ => [None, None],
    }
}

/// From one time to a later one.
#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds with three places are exact for months"
)]
fn micros(time: i64, since: i64) -> f64 {
    time.saturating_sub(since) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn rank(rank: usize, events: &str) -> RankFile {
        let head = format!(
            "{{\"ranks_timeline\":1,\"rank\":{rank},\"size\":2,\"job\":\"1\",\"host\":\"node\",\"pid\":7,\
             \"library\":\"in process\",\"clock_error_ns\":0,\"lost\":0,\"communicators\":\
             [{{\"id\":4,\"name\":\"MPI_COMM_WORLD\",\"rank\":{rank},\"world_ranks\":[0,1]}}]}}\n"
        );
        RankFile::read(format!("{head}{events}").as_bytes()).unwrap()
    }

    #[test]
    fn ranks_are_processes_and_calls_are_slices() {
        let send = "{\"op\":\"MPI_Send\",\"comm\":4,\"n\":0,\"thread\":2,\"begin\":5000,\"end\":7500,\"peer\":1,\
            \"tag\":0,\"dtype\":\"f64\",\"count\":1,\"bytes\":8}\n";
        let recv = "{\"op\":\"MPI_Recv\",\"comm\":4,\"n\":0,\"thread\":3,\"begin\":4000,\"end\":8000,\"peer\":0,\
            \"tag\":0,\"dtype\":\"f64\",\"count\":1,\"bytes\":8}\n";
        let mut out = Vec::new();
        write(&mut out, &[rank(0, send), rank(1, recv)]).unwrap();
        let trace: Value = serde_json::from_slice(&out).unwrap();
        let entries = trace["traceEvents"].as_array().unwrap();
        let of = |ph: &str| {
            entries
                .iter()
                .filter(|entry| entry["ph"] == ph)
                .collect::<Vec<_>>()
        };
        let slices = of("X");
        assert_eq!(slices.len(), 2);
        assert_eq!(slices[0]["name"], "MPI_Send");
        assert_eq!(
            (&slices[0]["pid"], &slices[0]["tid"]),
            (&0.into(), &2.into())
        );
        assert_eq!(
            (&slices[0]["ts"], &slices[0]["dur"]),
            (&1.0.into(), &2.5.into())
        );
        assert_eq!(slices[0]["args"]["communicator"], "MPI_COMM_WORLD");
        assert_eq!(slices[1]["ts"], 0.0);
        let arrow = (of("s"), of("f"));
        assert_eq!(
            (&arrow.0[0]["pid"], &arrow.0[0]["ts"]),
            (&0.into(), &1.0.into())
        );
        assert_eq!(
            (&arrow.1[0]["pid"], &arrow.1[0]["ts"]),
            (&1.into(), &4.0.into())
        );
        assert_eq!(arrow.0[0]["id"], arrow.1[0]["id"]);
        // Two names and an order for each rank.
        assert_eq!(of("M").len(), 6);
    }

    #[test]
    fn nothing_is_a_trace_too() {
        let mut out = Vec::new();
        write(&mut out, &[]).unwrap();
        let trace: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(trace["traceEvents"].as_array().unwrap().len(), 0);
    }
}
