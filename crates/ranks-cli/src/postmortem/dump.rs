//! The dump of a rank that was in trouble: a file `rank-N.json` in the folder that `RANKS_DUMP`
//! names.
//!
//! A field that is missing has its default, and one that is not known is passed over: versions of
//! the writer differ.

use std::fmt;

use ranks_comm::backend::printable;
use ranks_launch::Count;
use serde::{Deserialize, Serialize};

/// The version of dumps that is read here.
const VERSION: u32 = 1;

/// The dump of one rank.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Dump {
    pub(super) version: u32,
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) host: String,
    pub(super) pid: u32,
    pub(super) library: String,
    /// The reason why it wrote: `time limit`, `panic`, …
    pub(super) reason: String,
    pub(super) error: Option<String>,
    pub(super) communicators: Vec<Communicator>,
    /// The operations that had not come back.
    pub(super) under_way: Vec<UnderWay>,
}

/// A communicator, and the last of what its rank called on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Communicator {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) size: usize,
    pub(super) rank: usize,
    /// The rank in the world of each of its ranks.
    pub(super) world_ranks: Vec<usize>,
    pub(super) collectives: Vec<RecordedCall>,
    pub(super) messages: Vec<RecordedCall>,
    /// The number of collectives that were started, and of those that have ended.
    pub(super) begun: u64,
    pub(super) ended: u64,
}

/// One call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RecordedCall {
    /// The index of the call among those of its sort on its communicator, from 0.
    pub(super) number: u64,
    /// The name in C.
    pub(super) operation: String,
    pub(super) element: Option<String>,
    pub(super) width: Option<usize>,
    pub(super) reduction: Option<String>,
    pub(super) items: Option<u64>,
    pub(super) root: Option<usize>,
    /// The other rank; any if there is none.
    pub(super) peer: Option<usize>,
    /// The destination of what it sends, of a call that receives as well.
    pub(super) dest: Option<usize>,
    /// Any if there is none.
    pub(super) tag: Option<i64>,
    /// Set if the other rank is `MPI_PROC_NULL`.
    pub(super) nobody: bool,
    pub(super) done: bool,
}

/// A call that had not come back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct UnderWay {
    pub(super) operation: String,
    pub(super) communicator: u64,
    pub(super) number: Option<u64>,
    pub(super) seconds: f64,
    /// The ranks in the world that it waits for, as far as that is known.
    pub(super) waits_for: Vec<usize>,
}

impl Dump {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The reason why it is no dump.
    pub(super) fn read(text: &str) -> Result<Dump, String> {
        let mut dump: Dump = serde_json::from_str(text).map_err(|error| {
            if error.is_eof() {
                format!("it ends too soon, as if its rank had been killed while it wrote: {error}")
            } else {
                format!("it is no dump: {error}")
            }
        })?;
        if dump.version > VERSION {
            return Err(format!(
                "it is of version {}, and this command reads up to {VERSION}: use that of the program's release of ranks",
                dump.version
            ));
        }
        if dump.rank >= dump.size {
            return Err(format!(
                "it is no dump: rank {} of {} ranks",
                dump.rank, dump.size
            ));
        }
        dump.make_printable();
        Ok(dump)
    }
}

impl Dump {
    /// Takes commands to a terminal out of all texts: anybody may have written the file.
    fn make_printable(&mut self) {
        let error = self.error.take();
        let lines = error.map(|error| error.lines().map(printable).collect::<Vec<_>>());
        self.error = lines.map(|lines| lines.join("\n"));
        let mut texts = vec![&mut self.host, &mut self.library, &mut self.reason];
        texts.extend(self.under_way.iter_mut().map(|call| &mut call.operation));
        for part in &mut self.communicators {
            texts.push(&mut part.name);
            for call in part.collectives.iter_mut().chain(&mut part.messages) {
                texts.push(&mut call.operation);
                texts.extend(call.element.iter_mut().chain(&mut call.reduction));
            }
        }
        for text in texts {
            *text = printable(text);
        }
    }

    /// Returns `true` if its rank failed in this call, which has come back with the error.
    pub(super) fn failed_in(&self, call: &RecordedCall) -> bool {
        // An error of another rank of this process is told with a reason that names that rank.
        let own = !self.reason.contains(" on rank ");
        let error = self
            .error
            .as_deref()
            .filter(|_| own && call.done && !call.operation.is_empty());
        // The calls of the other ranks follow.
        let own = error.and_then(|error| error.split("; waiting too: ").next());
        own.is_some_and(|error| error.contains(&call.operation))
    }

    /// That call, with ranks of the world, and its communicator.
    pub(super) fn failed_in_what(&self) -> Option<String> {
        let failed = |part: &Communicator| {
            let call = part.last().find(|call| self.failed_in(call))?;
            Some(placed(&part.describe(call), &part.name))
        };
        self.communicators.iter().find_map(failed)
    }

    /// Returns `true` if it did because it had waited until a time limit.
    pub(super) fn waited_in(&self, call: &RecordedCall) -> bool {
        self.failed_in(call) && self.has_waited_in_vain()
    }

    /// Returns `true` if a rank of its process had waited until a time limit: the error says so in
    /// these words, whichever limit it was.
    pub(super) fn has_waited_in_vain(&self) -> bool {
        let in_vain = |error: &str| error.contains(": timed out after ");
        self.error.as_deref().is_some_and(in_vain)
    }
}

impl Communicator {
    /// The rank in the world of a rank of this.
    pub(super) fn world_rank(&self, rank: usize) -> Option<usize> {
        self.world_ranks.get(rank).copied()
    }
}

impl RecordedCall {
    /// Returns `true` if the call is nonblocking: it returns before the operation is complete.
    pub(super) fn is_nonblocking(&self) -> bool {
        let Some(rest) = self.operation.strip_prefix("MPI_I") else {
            return self.operation.ends_with("_init") || self.operation.starts_with("MPI_Start");
        };
        rest.starts_with(|first: char| first.is_ascii_lowercase())
            && !["ntercomm", "nfo", "nit"]
                .iter()
                .any(|word| rest.starts_with(word))
    }

    /// Returns `true` if the call waits for operations that were begun before.
    pub(super) fn completes_requests(&self) -> bool {
        self.operation.starts_with("MPI_Wait")
    }

    /// Returns `true` if ranks may pass different numbers of elements.
    fn may_differ_in_items(&self) -> bool {
        let name = self.operation.as_str();
        let varying = [
            "v",
            "w",
            "v_init",
            "w_init",
            "Reduce_scatter",
            "reduce_scatter",
        ];
        name.contains("eighbor") || varying.iter().any(|end| name.ends_with(end))
    }

    /// Returns `true` if another rank's call of the same number may belong to this.
    pub(super) fn agrees(&self, other: &RecordedCall) -> bool {
        let items = self.items == other.items || self.may_differ_in_items();
        items
            && self.operation == other.operation
            && (&self.element, self.width) == (&other.element, other.width)
            && self.reduction == other.reduction
            && self.root == other.root
    }
}

/// `MPI_Reduce of 4 f64 by Sum, root 0`.
impl fmt::Display for RecordedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.operation.is_empty() {
            "a call without a name"
        } else {
            &self.operation
        })?;
        match (&self.element, self.items) {
            // The length of what `recv_vec` receives is not known before.
            (Some(element), Some(items)) if items > 0 || self.operation != "MPI_Mrecv" => {
                write!(f, " of {items} {}", short(element))?;
            }
            (Some(element), _) => write!(f, " of {}", short(element))?,
            (None, Some(items)) if items > 0 => write!(f, " of {}", Count(items, "element"))?,
            _ => {}
        }
        if let Some(reduction) = &self.reduction {
            write!(f, " by {}", short(reduction))?;
        }
        if let Some(root) = self.root {
            write!(f, ", root {root}")?;
        }
        Ok(())
    }
}

/// A call and its communicator, if that has a name.
pub(super) fn placed(call: &str, communicator: &str) -> String {
    let on = if communicator.is_empty() { "" } else { " on " };
    format!("{call}{on}{communicator}")
}

/// The name of a type without its path.
fn short(name: &str) -> &str {
    let plain = name.split('<').next().unwrap_or(name);
    let path = plain.rfind("::").map_or(0, |at| at + 2);
    name.get(path..).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(operation: &str) -> RecordedCall {
        RecordedCall {
            operation: operation.to_owned(),
            ..RecordedCall::default()
        }
    }

    #[test]
    fn calls_that_return_at_once_are_known_by_their_names() {
        for name in ["MPI_Irecv", "MPI_Iallreduce", "MPI_Allreduce_init"] {
            assert!(call(name).is_nonblocking(), "{name}");
        }
        for name in [
            "MPI_Recv",
            "MPI_Intercomm_create",
            "MPI_Init",
            "MPI_I",
            "",
            "é",
        ] {
            assert!(!call(name).is_nonblocking(), "{name}");
        }
    }

    #[test]
    fn lengths_may_differ_where_the_operation_allows_it() {
        let of = |name: &str, items| RecordedCall {
            items: Some(items),
            ..call(name)
        };
        assert!(of("MPI_Gatherv", 1).agrees(&of("MPI_Gatherv", 2)));
        assert!(of("MPI_Neighbor_allgather", 1).agrees(&of("MPI_Neighbor_allgather", 2)));
        assert!(!of("MPI_Allreduce", 1).agrees(&of("MPI_Allreduce", 2)));
        assert!(!of("MPI_Bcast", 1).agrees(&of("MPI_Ibcast", 1)));
    }

    #[test]
    fn a_call_says_what_it_moves() {
        let reduce = RecordedCall {
            element: Some("f64".to_owned()),
            reduction: Some("ranks_collectives::ops::Sum".to_owned()),
            items: Some(4),
            root: Some(0),
            ..call("MPI_Reduce")
        };
        assert_eq!(reduce.to_string(), "MPI_Reduce of 4 f64 by Sum, root 0");
        assert_eq!(call("MPI_Barrier").to_string(), "MPI_Barrier");
        assert_eq!(short("a::B<c::D>"), "B<c::D>");
    }

    #[test]
    fn a_name_is_on_one_line() {
        let text = r#"{"rank":0,"size":1,"communicators":[{"name":"two\nlines\u001b[2J"}]}"#;
        let dump = Dump::read(text).unwrap();
        assert_eq!(dump.communicators[0].name, r"two\nlines\u{1b}[2J");
    }

    /// They were written to the terminal of who read the report.
    #[test]
    fn commands_to_a_terminal_are_in_no_text() {
        let text = r#"{"rank":0,"size":1,"host":"E","library":"E","reason":"E","error":"one\nE",
            "communicators":[{"name":"E","collectives":[{"operation":"E","element":"E"}],
            "messages":[{"operation":"E","reduction":"E"}]}],"under_way":[{"operation":"E"}]}"#;
        let dump = Dump::read(&text.replace('E', r"\u001b[2J")).unwrap();
        assert_eq!(dump.error.as_deref(), Some("one\n\\u{1b}[2J"));
        let all = format!("{dump:?}");
        assert_eq!(all.matches("u{1b}[2J").count(), 10, "{all}");
        let json = serde_json::to_string(&dump).unwrap();
        assert!(!json.contains(r"\u001b"), "{json}");
    }

    #[test]
    fn what_is_no_dump_says_why() {
        let why = |text: &str| Dump::read(text).unwrap_err();
        assert!(why("").contains("ends too soon"));
        assert!(why("{\"rank\": 0, \"siz").contains("ends too soon"));
        assert!(why("[1]").contains("no dump"));
        assert!(why("{}").contains("rank 0 of 0 ranks"));
        assert!(why("{\"rank\":0,\"size\":1,\"version\":99}").contains("version 99"));
        assert!(Dump::read("{\"rank\":0,\"size\":1,\"new\":{}}").is_ok());
    }
}
