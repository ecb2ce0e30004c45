//! The agreement of all ranks that each of them can take part, before any of them calls a library,
//! which would wait for a rank that does not come.

use ranks_comm::backend::cut;
use ranks_comm::{Error, ErrorKind, Result};

use super::Bootstrap;

/// The most bytes of the text of an error that are told to the other ranks.
const LONGEST: usize = 2000;

/// The most ranks whose errors are told.
const NAMED: usize = 8;

const READY: u8 = 0;
const FAILED: u8 = 1;

/// The kinds of errors, which travel as their places here. The last stands for all others.
const KINDS: [ErrorKind; 15] = [
    ErrorKind::NotAvailable,
    ErrorKind::NotInLibrary,
    ErrorKind::Device,
    ErrorKind::Memory,
    ErrorKind::Argument,
    ErrorKind::Length,
    ErrorKind::Rank,
    ErrorKind::Root,
    ErrorKind::Mismatch,
    ErrorKind::TimedOut,
    ErrorKind::PeerFailed,
    ErrorKind::WrongThread,
    ErrorKind::Finalized,
    ErrorKind::Aborted,
    ErrorKind::Library,
];

/// Tells all ranks whether this one succeeded, with what it has to say; gives what all of them say,
/// in the order of ranks. Collective.
///
/// # Errors
/// The same on all ranks if any of them failed, with the kind of the first one; what the transport
/// reports.
pub fn all_succeed(
    bootstrap: &dyn Bootstrap,
    operation: &'static str,
    mine: Result<Vec<u8>>,
) -> Result<Vec<Vec<u8>>> {
    let (message, failure) = match mine {
        Ok(said) => ([&[READY], said.as_slice()].concat(), None),
        Err(error) => (encoded(&error), Some(error)),
    };
    let answers = match (bootstrap.exchange(&message), failure) {
        (Ok(answers), _) => answers,
        // Nobody can be told, and what failed here first says more.
        (Err(_), Some(failure)) => return Err(failure),
        (Err(error), None) => return Err(error),
    };
    let size = bootstrap.size();
    if answers.len() != size {
        let text = format_args!(
            "{} of {size} ranks answered the exchange before it",
            answers.len()
        );
        return Err(Error::new(ErrorKind::PeerFailed, operation, text));
    }
    let mut said = Vec::with_capacity(size);
    let mut failures = Vec::new();
    for (rank, answer) in answers.into_iter().enumerate() {
        match answer.split_first() {
            Some((&READY, words)) => said.push(words.to_vec()),
            other => failures.push((rank, decoded(other))),
        }
    }
    match failures.first() {
        None => Ok(said),
        Some(&(_, (kind, _))) => {
            let named = failures.iter().take(NAMED);
            let mut each: Vec<String> = named
                .map(|(rank, (_, text))| format!("rank {rank}: {text}"))
                .collect();
            let count = failures.len();
            if count > NAMED {
                each.push(format!("and {} more", count - NAMED));
            }
            let text = format_args!(
                "{count} of {size} ranks cannot take part: {}",
                each.join("; ")
            );
            Err(Error::new(kind, operation, text))
        }
    }
}

/// An error unless all ranks say the same: `of` says what they have of `library` (`NCCL`), and
/// `variable` names the file of one.
///
/// # Errors
/// [`ErrorKind::Mismatch`], naming the first two that differ.
pub fn same_version(
    operation: &'static str,
    (library, variable): (&str, &str),
    said: &[Vec<u8>],
    of: impl Fn(&[u8]) -> Option<String>,
) -> Result<()> {
    let versions: Vec<Option<String>> = said.iter().map(|words| of(words)).collect();
    let mut numbered = versions.iter().enumerate();
    let Some((_, first)) = numbered.next() else {
        return Ok(());
    };
    let Some((other, different)) = numbered.find(|(_, version)| *version != first) else {
        return Ok(());
    };
    let name = |version: &Option<String>| match version {
        Some(version) => version.clone(),
        None => "one of no known version".to_owned(),
    };
    let text = format_args!(
        "the ranks have different {library} libraries: rank 0 has {}, rank {other} has {}; set {variable} to the same release everywhere",
        name(first),
        name(different),
    );
    Err(Error::new(ErrorKind::Mismatch, operation, text))
}

fn encoded(error: &Error) -> Vec<u8> {
    let others = KINDS.len() - 1;
    let kind = KINDS
        .iter()
        .position(|kind| *kind == error.kind())
        .unwrap_or(others);
    let mut message = vec![FAILED, u8::try_from(kind).unwrap_or(0)];
    message.extend(cut(&error.to_string(), LONGEST).bytes());
    message
}

fn decoded(message: Option<(&u8, &[u8])>) -> (ErrorKind, String) {
    let Some((&FAILED, [kind, text @ ..])) = message else {
        return (
            ErrorKind::Mismatch,
            "it said something that is not understood".to_owned(),
        );
    };
    let kind = KINDS
        .get(usize::from(*kind))
        .copied()
        .unwrap_or(ErrorKind::Library);
    (kind, String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bootstrap in which the others say this.
    struct Saying(Vec<Vec<u8>>);

    impl Bootstrap for Saying {
        fn rank(&self) -> usize {
            0
        }

        fn size(&self) -> usize {
            self.0.len() + 1
        }

        fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
            Ok([mine.to_vec()]
                .into_iter()
                .chain(self.0.iter().cloned())
                .collect())
        }
    }

    #[test]
    fn one_rank_that_cannot_take_part_is_an_error_for_all() {
        let no_gpu = Error::new(ErrorKind::NotAvailable, "cuInit", "no device");
        let others = Saying(vec![encoded(&no_gpu), vec![READY]]);
        let error = all_succeed(&others, "ncclCommInitRankConfig", Ok(vec![])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAvailable);
        assert_eq!(
            error.to_string(),
            "ncclCommInitRankConfig: 1 of 3 ranks cannot take part: rank 1: cuInit: no device"
        );
    }

    #[test]
    fn a_long_text_was_cut_within_a_character() {
        let text = format!("x{}", "é".repeat(LONGEST));
        let said = encoded(&Error::with_text(ErrorKind::Argument, "x", text));
        let error = all_succeed(&Saying(vec![said]), "x", Ok(vec![])).unwrap_err();
        let text = error.to_string();
        assert!(text.ends_with("éé") && !text.contains('\u{fffd}'), "{text}");
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for nonsense in [vec![], vec![FAILED], vec![77, 1, 2]] {
            let error = all_succeed(&Saying(vec![nonsense]), "x", Ok(vec![])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        }
        let beyond = vec![FAILED, 200, b'?'];
        let error = all_succeed(&Saying(vec![beyond]), "x", Ok(vec![])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Library);
    }

    #[test]
    fn different_versions_are_named() {
        let of = |words: &[u8]| {
            Some(String::from_utf8(words.to_vec()).ok()?).filter(|text| !text.is_empty())
        };
        let said = |versions: &[&str]| -> Vec<Vec<u8>> {
            versions
                .iter()
                .map(|text| text.as_bytes().to_vec())
                .collect()
        };
        let names = ("NCCL", "RANKS_NCCL");
        same_version("x", names, &said(&["2.32.3", "2.32.3"]), of).unwrap();
        let error = same_version("x", names, &said(&["2.32.3", "2.18.3"]), of).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(
            error
                .to_string()
                .contains("rank 0 has 2.32.3, rank 1 has 2.18.3"),
            "{error}"
        );
        same_version("x", names, &said(&["2.32.3", ""]), of).unwrap_err();
    }
}
