//! The file of a rank: a line that says whose it is, then a line for each call.

use serde::{Deserialize, Deserializer};

/// The file of a rank.
#[derive(Debug)]
pub(super) struct RankFile {
    pub(super) head: Head,
    pub(super) events: Vec<Event>,
    /// `true` if its last line has no end.
    pub(super) cut: bool,
}

/// The first line.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    /// The form of the file.
    ranks_timeline: u32,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// The time at which the job began: the same for all of its ranks.
    #[serde(deserialize_with = "hexadecimal")]
    pub(super) job: u64,
    pub(super) host: String,
    pub(super) pid: u32,
    pub(super) library: String,
    /// The error bound of times.
    pub(super) clock_error_ns: Option<u64>,
    #[serde(default)]
    pub(super) drift_corrected: bool,
    pub(super) lost: u64,
    pub(super) communicators: Vec<Communicator>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Communicator {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) rank: usize,
}

/// A call.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    pub(super) op: String,
    pub(super) comm: u64,
    /// The number of such calls that the communicator had before.
    pub(super) n: u64,
    pub(super) thread: u64,
    /// Nanoseconds on the clock of rank 0.
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) peer: Option<usize>,
    /// The destination of a message, if another one comes from `peer`.
    pub(super) dest: Option<usize>,
    pub(super) tag: Option<i32>,
    /// The tag of the message to `dest`.
    pub(super) dest_tag: Option<i32>,
    /// `true` if the message may have come from any rank or under any tag.
    #[serde(default)]
    pub(super) wildcard: bool,
    pub(super) dtype: Option<String>,
    pub(super) reduction: Option<String>,
    pub(super) count: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) error: Option<String>,
}

/// The form that this command reads.
const FORM: u32 = 1;

impl RankFile {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let head: Head = serde_json::from_slice(first)
            .map_err(|error| format!("line 1 is not the head of a timeline: {error}"))?;
        if head.ranks_timeline != FORM {
            return Err(format!(
                "it has form {}, and this command reads form {FORM}; take the one of the same version as the program",
                head.ranks_timeline
            ));
        }
        let mut events = Vec::new();
        let mut lines = lines.zip(2..).peekable();
        let mut cut = false;
        while let Some((line, number)) = lines.next() {
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(event) => events.push(event),
                Err(_) if lines.peek().is_none() => cut = true,
                Err(error) => return Err(format!("line {number} is no call: {error}")),
            }
        }
        Ok(Self { head, events, cut })
    }

    pub(super) fn communicator(&self, id: u64) -> Option<&Communicator> {
        let mut all = self.head.communicators.iter();
        all.find(|communicator| communicator.id == id)
    }
}

fn hexadecimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "{\"ranks_timeline\":1,\"rank\":1,\"size\":2,\"job\":\"00ff\",\"host\":\"node\",\"pid\":7,\
        \"library\":\"MPICH 5.0.2\",\"clock_error_ns\":9,\"drift_corrected\":true,\"lost\":0,\
        \"communicators\":[{\"id\":18446744073709551615,\"name\":\"MPI_COMM_WORLD\",\"rank\":1,\"world_ranks\":[0, 1]}]}\n";

    #[test]
    fn a_file_is_read() {
        let call = "{\"op\":\"MPI_Send\",\"comm\":18446744073709551615,\"n\":0,\"thread\":1,\"begin\":-5,\"end\":9,\
            \"peer\":0,\"tag\":3,\"dtype\":\"f64\",\"count\":2,\"bytes\":16}\n";
        let rank = RankFile::read(format!("{HEAD}{call}").as_bytes()).unwrap();
        assert_eq!((rank.head.rank, rank.head.job), (1, 255));
        assert_eq!(rank.events.len(), 1);
        let event = &rank.events[0];
        assert_eq!((event.begin, event.end, event.peer), (-5, 9, Some(0)));
        let world = rank.communicator(event.comm).unwrap();
        assert_eq!(world.name, "MPI_COMM_WORLD");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |text: &str| RankFile::read(text.as_bytes()).unwrap_err();
        assert!(wrong("").starts_with("line 1 is not the head"));
        assert!(wrong(&HEAD.replace(":1,\"rank\"", ":2,\"rank\"")).starts_with("it has form 2"));
        assert!(wrong(&format!("{HEAD}\n{{\"op\":3}}\n")).starts_with("line 3 is no call"));
        let cut = RankFile::read(format!("{HEAD}{{\"op\":\"MPI_Se").as_bytes()).unwrap();
        assert!(cut.cut && cut.events.is_empty());
    }
}
