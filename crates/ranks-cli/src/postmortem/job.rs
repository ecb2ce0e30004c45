//! All dumps of a job, of a folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::dump::Dump;
use super::rank_list::RankList;
use crate::rank_file;

/// The size that no dump exceeds, in bytes.
const LARGEST: u64 = 256 << 20;

/// The dumps of the ranks of a job.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// The number of its ranks; 0 where no dump tells it.
    pub(super) size: usize,
    pub(super) dumps: BTreeMap<usize, Dump>,
    pub(super) unreadable: Vec<Unreadable>,
    /// The sizes that dumps claim, if they are not the same.
    pub(super) sizes: Vec<usize>,
}

/// A file that is no dump.
#[derive(Debug, Serialize)]
pub(super) struct Unreadable {
    pub(super) file: String,
    pub(super) why: String,
}

/// The names of the dumps in a folder: `rank-*.json`.
pub(super) fn dumps(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("rank-") && name.ends_with(".json") {
            files.push(name);
        }
    }
    Ok(files)
}

impl Job {
    /// Reads the files `rank-*.json` of a folder.
    ///
    /// # Errors
    /// If the folder itself cannot be read; files that cannot are in [`Job::unreadable`].
    pub(super) fn read(folder: &Path) -> io::Result<Job> {
        let mut files = dumps(folder)?;
        // `rank-2` before `rank-10`.
        files.sort_by_key(|name| (name.len(), name.clone()));
        let text = |name: &String| (name.clone(), text(&folder.join(name)));
        Ok(Self::of(files.iter().map(text)))
    }

    /// Of the names of files and their texts.
    pub(super) fn of(files: impl IntoIterator<Item = (String, Result<String, String>)>) -> Job {
        let mut job = Job::default();
        for (file, text) in files {
            let read = text.and_then(|text| Dump::read(&text));
            let why = match read {
                Ok(dump) if job.dumps.contains_key(&dump.rank) => {
                    format!("another file is of rank {}, too", dump.rank)
                }
                Ok(dump) => {
                    job.dumps.insert(dump.rank, dump);
                    continue;
                }
                Err(why) => why,
            };
            job.unreadable.push(Unreadable { file, why });
        }
        let mut sizes: Vec<usize> = job.dumps.values().map(|dump| dump.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        job.size = sizes.last().copied().unwrap_or(0);
        if sizes.len() > 1 {
            job.sizes = sizes;
        }
        job
    }

    /// The ranks of which there is no dump.
    pub(super) fn missing(&self) -> RankList {
        let mut missing = RankList::default();
        let mut next = 0;
        for &rank in self.dumps.keys() {
            missing.push_range(next, rank);
            next = rank.saturating_add(1);
        }
        missing.push_range(next, self.size);
        missing
    }
}

fn text(file: &Path) -> Result<String, String> {
    let bytes = rank_file::read(file, LARGEST)?;
    String::from_utf8(bytes).map_err(|error| format!("it is no text: {error}"))
}
