//! What hosts and agents write down, for whoever looks for the reason of a failure.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use super::state::State;

impl State {
    /// Where the processes that hosts are made of write what goes wrong.
    pub(super) fn log(&self) -> PathBuf {
        self.folder().join("log")
    }

    /// Writes down what an agent was asked, or how that ended.
    pub(super) fn note(&self, line: &str) {
        let mut file = fs::OpenOptions::new();
        let file = file.create(true).append(true).open(self.notes());
        let since = fs::metadata(self.folder().join("hosts")).and_then(|hosts| hosts.modified());
        let since = since.ok().and_then(|up| up.elapsed().ok());
        let since = since.unwrap_or_default().as_secs_f64();
        let line = format!("{since:7.3} s  {line}\n");
        // Nothing is lost to the caller with what cannot be noted.
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    fn notes(&self) -> PathBuf {
        self.folder().join("agents")
    }

    /// What the hosts and agents have written, for whoever looks for the reason of a failure.
    pub(super) fn told(&self) -> String {
        let of = |file: PathBuf| fs::read_to_string(file).unwrap_or_default();
        let (log, notes) = (of(self.log()), of(self.notes()));
        let of = |who: &str, text: String| match text.trim_end() {
            "" => String::new(),
            text => format!("\n{who}:\n{text}"),
        };
        of("the hosts", log) + &of("calls of ssh, since the cluster came up", notes)
    }
}
