//! The file in which this process records what it does.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::record::{self, Event};

/// An open file of events.
#[derive(Debug)]
pub(super) struct Recorder {
    file: File,
}

impl Recorder {
    /// Opens the file of this process in the folder.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let name = format!("{}.events", record::stem());
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join(name))?;
        Ok(Self { file })
    }

    /// Writes a line with one call, so that a reader that waits for its end never takes a part for
    /// the whole.
    pub(super) fn record(&mut self, event: &Event) -> io::Result<()> {
        self.file.write_all(format!("{event}\n").as_bytes())
    }
}
