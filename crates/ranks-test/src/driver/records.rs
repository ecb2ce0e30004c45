//! The records of all processes of a job, followed while they are written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::excerpt::excerpt;
use crate::record::Event;

/// The name of the report where all tests have passed, and the job has not.
pub(crate) const END_OF_JOB: &str = "(end of the job)";

/// The state of a job, as the files of its processes tell it.
#[derive(Debug)]
pub(crate) struct Records {
    folder: PathBuf,
    /// The processes by the names of their files, which are their numbers and hosts.
    processes: BTreeMap<String, Process>,
    /// The process that was the first to fail, and when.
    failed: Option<(String, Instant)>,
    library: Option<String>,
}

/// One process of the job.
#[derive(Debug, Default)]
pub(crate) struct Process {
    rank: Option<usize>,
    read: u64,
    half: Vec<u8>,
    started: Option<Started>,
    passed: Vec<String>,
    failed: Option<(String, String)>,
    finalized: bool,
}

#[derive(Debug)]
struct Started {
    test: String,
    limit: u64,
    output: u64,
    since: Instant,
}

impl Records {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            processes: BTreeMap::new(),
            failed: None,
            library: None,
        }
    }

    /// The library's own description of itself, once a rank has asked for it.
    pub(crate) fn library(&self) -> Option<&str> {
        self.library.as_deref()
    }

    /// The folder that holds the records.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads what was written since the last call. Returns `true` if that was anything.
    pub(crate) fn follow(&mut self) -> io::Result<bool> {
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(stem) = name.and_then(|name| name.strip_suffix(".events")) {
                self.processes.entry(stem.to_owned()).or_default();
            }
        }
        let mut news = false;
        for (stem, process) in &mut self.processes {
            let mut file = File::open(self.folder.join(format!("{stem}.events")))?;
            file.seek(SeekFrom::Start(process.read))?;
            let length = file.read_to_end(&mut process.half)?;
            process.read += length as u64;
            news |= length > 0;
            while let Some(end) = process.half.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = process.half.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line[..end]);
                let event = Event::parse(&line);
                if let Some(Event::Rank { library, .. }) = &event
                    && !library.is_empty()
                {
                    self.library = Some(library.clone());
                }
                event.into_iter().for_each(|event| process.take(event));
            }
            if process.failed.is_some() && self.failed.is_none() {
                self.failed = Some((stem.clone(), Instant::now()));
            }
        }
        Ok(news)
    }

    /// The number of ranks that have passed the test.
    pub(crate) fn passed(&self, test: &str) -> usize {
        self.processes
            .values()
            .filter(|process| process.has_passed(test))
            .count()
    }

    /// The moment at which the first rank began the test, and the seconds after which it counts as
    /// timed out.
    pub(crate) fn began(&self, test: &str) -> Option<(Instant, u64)> {
        self.processes
            .values()
            .filter_map(|process| process.in_test(test))
            .map(|started| (started.since, started.limit))
            .min()
    }

    /// The moment at which a rank first failed a test.
    pub(crate) fn failed(&self) -> Option<Instant> {
        self.failed.as_ref().map(|(_, when)| *when)
    }

    /// Returns `true` if all processes of the job have recorded that they are finalized.
    pub(crate) fn finalized(&self, ranks: usize) -> bool {
        self.processes.len() == ranks && self.processes.values().all(|process| process.finalized)
    }

    /// The reason that the first rank to fail gives for the test.
    pub(crate) fn first_failure(&self, test: &str) -> Option<String> {
        let of = |process: &Process| match &process.failed {
            Some((name, why)) if name == test => Some(format!("{} {why}", process.name())),
            _ => None,
        };
        let first = self
            .failed
            .as_ref()
            .and_then(|(stem, _)| of(self.processes.get(stem)?));
        first.or_else(|| self.processes.values().find_map(of))
    }

    /// The ranks that have started the test and not ended it, in words; those that never started it
    /// if there are none.
    pub(crate) fn silent(&self, test: &str, ranks: usize) -> String {
        let names = |chosen: &dyn Fn(&Process) -> bool| {
            let mut names: Vec<(Option<usize>, String)> = self
                .processes
                .values()
                .filter(|process| chosen(process))
                .map(|process| (process.rank, process.name()))
                .collect();
            names.sort();
            let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
            names.join(", ")
        };
        let within = names(&|process| {
            process.in_test(test).is_some() && !process.has_passed(test) && process.failed.is_none()
        });
        let before = names(&|process| process.in_test(test).is_none());
        let mut parts = Vec::new();
        if !within.is_empty() {
            parts.push(format!("{within} had not ended it"));
        }
        if !before.is_empty() {
            parts.push(format!("{before} had not begun it"));
        }
        if self.processes.len() < ranks {
            parts.push(format!(
                "of {ranks} processes {} reported at all",
                self.processes.len()
            ));
        }
        parts.join("; ")
    }

    /// A paragraph a rank: how far it came in the test, and its last lines of output.
    pub(crate) fn describe(&self, test: &str) -> String {
        let mut processes: Vec<(&String, &Process)> = self.processes.iter().collect();
        processes.sort_by_key(|(stem, process)| (process.rank.is_none(), process.rank, *stem));
        let mut text = String::new();
        for (stem, process) in processes {
            let state = match (&process.failed, process.in_test(test)) {
                (Some((name, why)), _) if name == test => format!("failed: {why}"),
                _ if test == END_OF_JOB && process.finalized => "had ended MPI".to_owned(),
                _ if test == END_OF_JOB => "had ended its tests, and not MPI".to_owned(),
                _ if process.has_passed(test) => "passed".to_owned(),
                (_, Some(started)) => format!(
                    "was in the test for {:.1} s",
                    started.since.elapsed().as_secs_f64()
                ),
                (_, None) => "had not begun the test".to_owned(),
            };
            let place = stem.replacen('.', " on ", 1);
            let _ = writeln!(text, "{} (pid {place}) {state}", process.name());
            let from = process.started.as_ref().map_or(0, |started| started.output);
            let output = self.folder.join(format!("{stem}.output"));
            text.push_str(&excerpt(&output, from));
        }
        text
    }
}

impl Process {
    fn take(&mut self, event: Event) {
        match event {
            Event::Rank { rank, .. } => self.rank = Some(rank),
            Event::Started {
                test,
                limit,
                output,
            } => {
                self.started = Some(Started {
                    test,
                    limit,
                    output,
                    since: Instant::now(),
                });
            }
            Event::Passed { test } => self.passed.push(test),
            Event::Failed { test, why } => {
                self.failed.get_or_insert((test, why));
            }
            Event::Finalized => self.finalized = true,
        }
    }

    fn name(&self) -> String {
        match self.rank {
            Some(rank) => format!("rank {rank}"),
            None => "a rank without a number".to_owned(),
        }
    }

    fn has_passed(&self, test: &str) -> bool {
        self.passed.iter().any(|name| name == test)
    }

    fn in_test(&self, test: &str) -> Option<&Started> {
        self.started.as_ref().filter(|started| started.test == test)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::driver::folder::Folder;

    fn write(folder: &Folder, pid: u32, lines: &str) {
        use std::io::Write;
        let path = folder.path().join(format!("{pid}.n0.events"));
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        file.write_all(lines.as_bytes()).unwrap();
    }

    #[test]
    fn events_are_followed_as_they_come_and_half_lines_wait() {
        let folder = Folder::new().unwrap();
        let mut records = Records::new(folder.path());
        assert!(!records.follow().unwrap());
        write(&folder, 10, "rank\t0\tx\nstarted\ta::np2\t30\t0\nok\ta:");
        assert!(records.follow().unwrap());
        assert_eq!(records.passed("a::np2"), 0);
        assert_eq!(records.began("a::np2").map(|(_, limit)| limit), Some(30));
        write(&folder, 10, ":np2\n");
        assert!(records.follow().unwrap());
        assert_eq!(records.passed("a::np2"), 1);
        assert!(!records.follow().unwrap());
    }

    #[test]
    fn the_first_rank_to_fail_is_the_one_that_is_named() {
        let folder = Folder::new().unwrap();
        let mut records = Records::new(folder.path());
        write(
            &folder,
            11,
            "rank\t1\tx\nstarted\ta::np2\t30\t0\nfailed\ta::np2\tlost it\n",
        );
        records.follow().unwrap();
        write(
            &folder,
            10,
            "rank\t0\tx\nstarted\ta::np2\t30\t0\nfailed\ta::np2\tpeer is gone\n",
        );
        records.follow().unwrap();
        assert_eq!(
            records.first_failure("a::np2").as_deref(),
            Some("rank 1 lost it")
        );
        assert_eq!(records.first_failure("b::np2"), None);
    }

    #[test]
    fn silent_ranks_are_named_and_shown_with_the_output_of_this_test_alone() {
        let folder = Folder::new().unwrap();
        let mut records = Records::new(folder.path());
        write(
            &folder,
            10,
            "rank\t0\tx\nstarted\ta::np3\t30\t8\nok\ta::np3\n",
        );
        write(&folder, 11, "rank\t1\tx\nstarted\ta::np3\t30\t8\n");
        write(&folder, 12, "rank\t2\tx\n");
        fs::write(
            folder.path().join("11.n0.output"),
            "earlier\nwaiting for 0\n",
        )
        .unwrap();
        records.follow().unwrap();
        assert_eq!(
            records.silent("a::np3", 4),
            "rank 1 had not ended it; rank 2 had not begun it; of 4 processes 3 reported at all"
        );
        let text = records.describe("a::np3");
        assert!(text.contains("rank 0 (pid 10 on n0) passed\n"), "{text}");
        assert!(text.contains("    | waiting for 0\n"), "{text}");
        assert!(!text.contains("earlier"), "{text}");
    }
}
