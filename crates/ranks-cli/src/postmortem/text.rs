//! The report for people: what is wrong first, then how far every rank is.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::collectives::{Difference, Story};
use super::rank_list::RankList;
use super::waits::Wait;
use super::{Left, Report};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();

/// The number of ranks up to which each one is listed; of more, those that are no exception are
/// left out.
const MANY: usize = 64;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", report.left_by())?;
    if report.is_well() {
        writeln!(
            out,
            "{GREEN}the ranks differ in nothing that they have recorded{GREEN:#}"
        )?;
    }
    for cause in report.causes.iter().take(MANY) {
        trouble(out, &format!("{:#} {}", cause.ranks, cause.what))?;
    }
    rest(out, report.causes.len())?;
    for file in &report.unreadable {
        trouble(out, &format!("{} cannot be read: {}", file.file, file.why))?;
    }
    if !report.sizes.is_empty() {
        let sizes: Vec<String> = report.sizes.iter().map(usize::to_string).collect();
        let sizes = sizes.join(" and ");
        trouble(
            out,
            &format!(
                "these are dumps of several jobs, of {sizes} ranks: give each run a folder of its own"
            ),
        )?;
    }
    if !report.missing.is_empty() && !report.ranks.is_empty() {
        missing(report, out)?;
    }
    let ended = !report.causes.is_empty();
    for story in &report.communicators {
        if let Some(difference) = &story.difference {
            collective(out, story, difference, ended)?;
        }
    }
    deadlock(report, out)?;
    for wait in report.waits.iter().filter(|wait| wait.is_trouble()) {
        if let Some(why) = &wait.why {
            let waits = if wait.over { "waited" } else { "waits" };
            let (rank, call) = (wait.rank, &wait.call);
            trouble(out, &format!("rank {rank} {waits} in {call}: {why}"))?;
        }
    }
    ranks(&report.ranks, out)?;
    for story in &report.communicators {
        progress(story, out)?;
    }
    waiting(&report.waits, out)
}

fn trouble(out: &mut dyn Write, what: &str) -> io::Result<()> {
    writeln!(out, "{RED}TROUBLE{RED:#}  {what}")
}

/// Writes what follows from trouble.
fn note(out: &mut dyn Write, what: &str) -> io::Result<()> {
    writeln!(out, "{YELLOW}NOTE{YELLOW:#}     {what}")
}

fn heading(out: &mut dyn Write, name: &str) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{name}{BOLD:#}")
}

/// Writes which ranks have left no dump, and where others wait for them.
fn missing(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let left = format!("{} left no dump", report.missing.with("has", "have"));
    if report.causes.is_empty() {
        let why = "killed, cut off, or never in trouble";
        trouble(out, &format!("{left}: {why}"))?;
    } else {
        let why = "killed after that, cut off before, or never in trouble";
        note(out, &format!("{left}: {why}"))?;
    }
    let mut places: BTreeMap<(String, bool), Vec<usize>> = BTreeMap::new();
    for wait in report.waits.iter().filter(|wait| !wait.is_trouble()) {
        if wait.on.iter().any(|rank| report.missing.contains(*rank)) {
            let place = (wait.place(), wait.over);
            places.entry(place).or_default().push(wait.rank);
        }
    }
    let pronoun = if report.missing.is_one() {
        "it"
    } else {
        "them"
    };
    for ((place, over), ranks) in places {
        let ranks: RankList = ranks.into_iter().collect();
        let ranks = if over {
            ranks.with("waited", "waited")
        } else {
            ranks.with("waits", "wait")
        };
        writeln!(out, "         {ranks} for {pronoun} in {place}")?;
    }
    Ok(())
}

/// Writes a collective that is not the same everywhere; of a job that a rank `ended`, others may
/// only have been late to it.
fn collective(
    out: &mut dyn Write,
    story: &Story,
    difference: &Difference,
    ended: bool,
) -> io::Result<()> {
    let (name, number) = (&story.communicator, difference.number);
    let of = format!("{name}, collective number {number}");
    if difference.calls.len() > 1 {
        trouble(
            out,
            &format!("{of}: the ranks disagree about the collective"),
        )?;
    } else if ended {
        note(out, &format!("{of}: not all ranks had come to it by then"))?;
    } else {
        trouble(out, &format!("{of}: not all ranks have come to it"))?;
    }
    let line = |out: &mut dyn Write, ranks: &RankList, what: &str| {
        if ranks.is_empty() {
            return Ok(());
        }
        let ranks = format!("{ranks:#}");
        writeln!(out, "         {ranks:<12} {what}")
    };
    for (call, ranks) in &difference.calls {
        line(out, ranks, call)?;
    }
    line(out, &difference.not_there, "not there")?;
    line(out, &difference.unknown, "not known")
}

fn deadlock(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = report.deadlock.first() else {
        return Ok(());
    };
    trouble(
        out,
        "deadlock: these ranks wait for each other, and none can go on",
    )?;
    let next = report.deadlock.iter().skip(1).chain([first]);
    for (rank, next) in report.deadlock.iter().zip(next) {
        let wait = report
            .waits
            .iter()
            .find(|wait| wait.rank == *rank && wait.on.contains(next));
        let call = wait.map_or("a call".to_owned(), Wait::place);
        writeln!(out, "         rank {rank} waits for rank {next} in {call}")?;
    }
    Ok(())
}

fn ranks(ranks: &[Left], out: &mut dyn Write) -> io::Result<()> {
    if ranks.is_empty() {
        return Ok(());
    }
    heading(out, "Why ranks left dumps")?;
    for left in ranks.iter().take(MANY) {
        let Left {
            rank,
            host,
            pid,
            reason,
            error,
            failed_in,
        } = left;
        writeln!(out, "  rank {rank:<6} {reason} (process {pid} on {host})")?;
        for line in error.iter().flat_map(|error| error.lines()) {
            writeln!(out, "              {line}")?;
        }
        if let Some(call) = failed_in {
            writeln!(out, "              the call was {call}")?;
        }
    }
    rest(out, ranks.len())
}

fn rest(out: &mut dyn Write, of: usize) -> io::Result<()> {
    match of.checked_sub(MANY) {
        Some(more) if more > 0 => writeln!(out, "  … and {more} more: --json has all"),
        _ => Ok(()),
    }
}

fn progress(story: &Story, out: &mut dyn Write) -> io::Result<()> {
    heading(
        out,
        &format!("{} ({:#}): collectives", story.communicator, story.members),
    )?;
    for progress in story.progress.iter().take(MANY) {
        let (rank, begun, failed) = (progress.rank, progress.begun, progress.failed);
        let ended = progress.ended.saturating_sub(failed.into());
        let last = match &progress.last {
            Some(last) if failed => format!(", failed in {last}"),
            Some(last) if ended < begun => format!(", in {last}"),
            Some(last) => format!(", the last was {last}"),
            None => String::new(),
        };
        writeln!(out, "  rank {rank:<6} {begun} begun, {ended} done{last}")?;
    }
    rest(out, story.progress.len())?;
    if !story.without.is_empty() {
        let without = story.without.with("has", "have");
        writeln!(
            out,
            "  {without} no such communicator: not yet, or no longer"
        )?;
    }
    for gap in &story.gaps {
        writeln!(out, "  {gap}")?;
    }
    Ok(())
}

fn waiting(waits: &[Wait], out: &mut dyn Write) -> io::Result<()> {
    if waits.is_empty() {
        return Ok(());
    }
    heading(out, "Who waits for whom")?;
    for wait in waits.iter().take(MANY) {
        let Wait {
            rank,
            over,
            seconds,
            on,
            ..
        } = wait;
        let (is, waits) = if *over {
            ("was in", "waited")
        } else {
            ("in", "waits")
        };
        write!(out, "  rank {rank:<6} {is} {}", wait.place())?;
        if let Some(seconds) = seconds {
            write!(out, " for {seconds:.1} s")?;
        }
        let on: RankList = on.iter().copied().collect();
        if on.is_empty() {
            writeln!(out)?;
        } else {
            writeln!(out, ": {waits} for {on:#}")?;
        }
    }
    rest(out, waits.len())
}
