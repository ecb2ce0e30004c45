//! The way of output from stand-ins to this process, past a launcher that would lose some of it.
//!
//! A pipe with a name for each stream, in a folder that is this user's alone. What a stand-in
//! writes at once is no more than a pipe takes whole, so that the output of ranks is not mixed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::supervisor::Stream;
use crate::job::output::HYDRA;

/// The names of the pipes of standard output and standard error.
pub(super) const NAMES: [&str; 2] = ["stdout", "stderr"];

/// The least size, in bytes, that the systems with which jobs are started write whole.
const WHOLE: usize = 512;

/// The pipes, as the process that has started the job reads them.
#[derive(Debug)]
pub(super) struct Detour {
    pub(super) streams: [Stream; 2],
    /// Both ends of each: as long as they are held, the pipes are not at their end.
    held: Vec<File>,
}

impl Detour {
    pub(super) fn new(folder: &Path) -> io::Result<Detour> {
        let mut held = Vec::new();
        let mut open = |name| {
            let path = folder.join(name);
            mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).map_err(|error| {
                let reason = format!("no pipe {} for its output: {error}", path.display());
                io::Error::new(io::Error::from(error).kind(), reason)
            })?;
            // Opened so, it waits for nobody; nor does the next, since there is a writer.
            held.push(OpenOptions::new().read(true).write(true).open(&path)?);
            Stream::read(Some(File::open(&path)?))
        };
        let [stdout, stderr] = NAMES;
        let streams = [open(stdout)?, open(stderr)?];
        Ok(Detour { streams, held })
    }

    /// Lets the pipes come to their end when the last stand-in is gone.
    pub(super) fn let_go(&mut self) {
        self.held.clear();
    }
}

/// The pipe of this name, if the job has been given one.
pub(super) fn of_job(folder: &Path, name: &str) -> Option<File> {
    OpenOptions::new().write(true).open(folder.join(name)).ok()
}

/// Hands on what a rank writes, each line with its label, until it writes no more.
pub(super) fn hand_on(rank: usize, mut from: impl Read, to: impl Write) -> io::Result<()> {
    // What does not fit with the rest is the beginning of the next write.
    let mut to = BufWriter::with_capacity(WHOLE, to);
    let label = format!("{}{rank}{}", HYDRA.0, HYDRA.1);
    let mut read = [0; 16 * 1024];
    loop {
        let count = match from.read(&mut read) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if count == 0 {
            return Ok(());
        }
        let fresh = read.get(..count).unwrap_or_default();
        for line in fresh.split_inclusive(|&byte| byte == b'\n') {
            for piece in line.chunks(WHOLE - label.len()) {
                to.write_all(&[label.as_bytes(), piece].concat())?;
            }
        }
        to.flush()?;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;
    use crate::job::output::Labels;
    use crate::job::splitter::Splitter;
    use crate::job::system::supervisor::PATIENCE;

    /// The writes that come, each as one.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for &mut Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn ranks_whose_writes_come_by_turns_are_told_apart() {
        let bytes: Vec<u8> = (0..=u8::MAX).rev().cycle().take(40_000).collect();
        let lines = "1\n".repeat(5_000).into_bytes();
        let written = [&bytes, &lines];
        let mut writes = [Writes::default(), Writes::default()];
        for (rank, writes) in writes.iter_mut().enumerate() {
            hand_on(rank, &written[rank][..], writes).unwrap();
        }
        let most = writes.iter().map(|writes| writes.0.len()).max().unwrap();
        let mut splitter = Splitter::new(Labels::Hydra, 2);
        let mut arrived = [Vec::new(), Vec::new()];
        for turn in 0..=most {
            for Writes(writes) in &writes {
                let fresh = writes.get(turn).map(Vec::as_slice).unwrap_or_default();
                assert!(fresh.len() <= WHOLE);
                splitter.take(fresh, turn == most, &mut |rank, text| {
                    arrived[rank.unwrap()].extend_from_slice(text);
                });
            }
        }
        assert!(arrived == written.map(Clone::clone));
    }

    #[test]
    fn pipes_are_at_their_end_when_they_are_let_go() {
        let folder = std::env::temp_dir().join(format!("ranks-detour-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let [stdout, _] = NAMES;
        assert!(of_job(&folder, stdout).is_none());
        let mut detour = Detour::new(&folder).unwrap();
        hand_on(3, &b"a\n"[..], of_job(&folder, stdout).unwrap()).unwrap();
        detour.let_go();
        let [stdout, _] = &mut detour.streams;
        let until = Instant::now() + PATIENCE;
        assert_eq!(stdout.take(until), b"<ranks:rank:3>a\n");
        assert!(Instant::now() < until);
        fs::remove_dir_all(folder).unwrap();
    }
}
