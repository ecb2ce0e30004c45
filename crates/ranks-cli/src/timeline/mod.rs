//! `ranks timeline`: the files that ranks wrote under `RANKS_TIMELINE`, as one trace that Perfetto
//! and Chrome show, or as a drawing.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ranks_launch::Count;

mod arrows;
mod drawing;
mod file;
mod trace;

use file::RankFile;

use crate::rank_file;
use crate::tell::{print, say};

/// The size that no timeline exceeds, in bytes.
const LARGEST: u64 = 4 << 30;

/// The files to read and to write.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder that RANKS_TIMELINE named.
    folder: PathBuf,
    /// The file to write: a drawing if its name ends in .svg, otherwise a trace that
    /// ui.perfetto.dev opens. [default: timeline.json in the folder]
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Draws what is between two times, in microseconds of the whole drawing: 2000..3500.
    #[arg(long, value_name = "FROM..TO", value_parser = drawing::Between::read)]
    between: Option<drawing::Between>,
}

pub(crate) fn main(arguments: Arguments) -> crate::Outcome {
    let Arguments {
        folder,
        output,
        between,
    } = arguments;
    let output = output.unwrap_or_else(|| folder.join("timeline.json"));
    let files = files(&folder)?;
    let real = fs::canonicalize(&output).ok();
    if real.is_some() && files.iter().any(|file| fs::canonicalize(file).ok() == real) {
        let output = output.display();
        return Err(
            format!("--output {output} is the timeline of a rank: name another file").into(),
        );
    }
    let mut ranks = Vec::new();
    for path in files {
        let read = rank_file::read(&path, LARGEST).and_then(|bytes| RankFile::read(&bytes));
        match read {
            Ok(rank) => ranks.push(rank),
            Err(why) => say(format_args!("{}: {why}; it is left out", path.display())),
        }
    }
    let (ranks, remarks) = one_job(ranks);
    if ranks.is_empty() {
        let folder = folder.display();
        return Err(format!(
            "{folder} has no file rank-N.timeline that can be read; run the program with RANKS_TIMELINE={folder}"
        )
        .into());
    }
    for remark in remarks {
        say(remark);
    }
    let is_drawing = output.extension() == Some(OsStr::new("svg"));
    if between.is_some() && !is_drawing {
        return Err("--between is for drawings: give an --output that ends in .svg".into());
    }
    let written = fs::File::create(&output).and_then(|file| {
        let mut file = BufWriter::new(file);
        let left_out = if is_drawing {
            drawing::write(&mut file, &ranks, between)?
        } else {
            trace::write(&mut file, &ranks)?;
            Vec::new()
        };
        file.flush()?;
        Ok(left_out)
    });
    let left_out = written.map_err(|error| format!("{}: {error}", output.display()))?;
    if !left_out.is_empty() {
        let what = left_out.join(", ");
        say(format_args!(
            "{what} are not drawn; a trace has all of them"
        ));
    }
    let calls: usize = ranks.iter().map(|rank| rank.events.len()).sum();
    let opens = if is_drawing {
        "any browser"
    } else {
        "https://ui.perfetto.dev"
    };
    let (calls, ranks) = (Count(calls, "call"), Count(ranks.len(), "rank"));
    print(|out| {
        writeln!(
            out,
            "{}: {calls} of {ranks}; {opens} opens it",
            output.display()
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The files of ranks in a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let of_folder = |error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(of_folder)? {
        let path = entry.map_err(of_folder)?.path();
        if path.extension() == Some(OsStr::new("timeline")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The ranks of the job that began last, in their order, and remarks for its reader.
fn one_job(mut ranks: Vec<RankFile>) -> (Vec<RankFile>, Vec<String>) {
    let mut remarks = Vec::new();
    // Ranks that could not agree on a job have none, and are taken for those of any.
    let newest = ranks.iter().map(|rank| rank.head.job).max().unwrap_or(0);
    ranks.sort_by_key(|rank| rank.head.rank);
    ranks.retain(|rank| {
        let is_other = rank.head.job != newest && rank.head.job != 0;
        if is_other {
            remarks.push(format!(
                "the file of rank {} is left out: it is of an earlier job",
                rank.head.rank
            ));
        }
        !is_other
    });
    ranks.dedup_by(|second, first| {
        let again = second.head.rank == first.head.rank;
        if again {
            remarks.push(format!(
                "another file of rank {} is left out",
                first.head.rank
            ));
        }
        again
    });
    let size = ranks.iter().map(|rank| rank.head.size).max().unwrap_or(0);
    let there = ranks.iter().filter(|rank| rank.head.rank < size).count();
    if there < size {
        let mut places = ranks.iter().zip(0..);
        let first = places.find(|(rank, place)| rank.head.rank != *place);
        let first = first.map_or(ranks.len(), |(_, place)| place);
        remarks.push(format!(
            "{} of {size} ranks have written no file, rank {first} first of them",
            size - there
        ));
    }
    for rank in &ranks {
        let head = &rank.head;
        if head.size > 1 && head.clock_error_ns.is_none() {
            remarks.push(format!(
                "the clock of rank {} was not compared with that of rank 0",
                head.rank
            ));
        }
        if rank.cut {
            remarks.push(format!("the file of rank {} ends within a line", head.rank));
        }
        if head.lost > 0 {
            remarks.push(format!(
                "not kept of rank {}: its first {}",
                head.rank,
                Count(head.lost, "call")
            ));
        }
    }
    (ranks, remarks)
}

/// Access to it for fuzz targets.
#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    use super::{RankFile, one_job, trace};

    /// The trace of the files that can be read, as it is read back; `None` if it is no JSON.
    pub fn traced<'a>(files: impl Iterator<Item = &'a str>) -> Option<usize> {
        let read = files.filter_map(|file| RankFile::read(file.as_bytes()).ok());
        let (ranks, _) = one_job(read.collect());
        let mut out = Vec::new();
        trace::write(&mut out, &ranks).ok()?;
        let trace: serde_json::Value = serde_json::from_slice(&out).ok()?;
        Some(trace["traceEvents"].as_array()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: usize, job: u64, more: &str) -> RankFile {
        let text = format!(
            "{{\"ranks_timeline\":1,\"rank\":{rank},\"size\":3,\"job\":\"{job:x}\",\"host\":\"h\",\"pid\":1,\
             \"library\":\"x\",\"lost\":0,\"communicators\":[]{more}}}\n"
        );
        RankFile::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_newest_job_counts_and_what_is_missing_is_said() {
        let clock = ",\"clock_error_ns\":5";
        let (ranks, remarks) = one_job(vec![
            rank(2, 10, clock),
            rank(1, 20, clock),
            rank(0, 20, clock),
        ]);
        let order: Vec<_> = ranks.iter().map(|rank| rank.head.rank).collect();
        assert_eq!(order, [0, 1]);
        assert_eq!(
            remarks,
            [
                "the file of rank 2 is left out: it is of an earlier job",
                "1 of 3 ranks have written no file, rank 2 first of them",
            ]
        );
        let (ranks, remarks) = one_job(vec![rank(0, 0, ""), rank(1, 7, clock), rank(2, 7, clock)]);
        assert_eq!(ranks.len(), 3);
        assert_eq!(
            remarks,
            ["the clock of rank 0 was not compared with that of rank 0"]
        );
        assert!(one_job(Vec::new()).0.is_empty());
        let (ranks, remarks) = one_job((0..4).map(|n| rank(n % 3, 7, clock)).collect());
        assert_eq!(ranks.len(), 3);
        assert_eq!(remarks, ["another file of rank 0 is left out"]);
    }
}
