//! One test on one number of ranks, as the attribute describes it.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::Duration;

use ranks_comm::ThreadLevel;

/// Seconds after which a test counts as timed out, unless it or `RANKS_TEST_TIMEOUT` says
/// otherwise.
const DEFAULT_LIMIT: u64 = 60;

/// A test on one number of ranks. The attribute writes it; it is no public interface.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// The path of the test with its crate.
    pub path: &'static str,
    /// The number of ranks that it runs on.
    pub ranks: usize,
    /// The thread level that it asks for.
    pub threads: ThreadLevel,
    /// Seconds after which it counts as timed out.
    pub timeout: Option<u64>,
    /// The backends on which it has a meaning.
    pub backends: Backends,
    /// The text that must be in the message with which every rank is to panic.
    pub should_panic: Option<&'static str>,
}

/// The backends on which a test has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backends {
    /// Every backend.
    Everywhere,
    /// An MPI alone.
    MpiOnly,
    /// Threads in process alone.
    InProcessOnly,
}

impl Test {
    /// The name that libtest has for it: the path without the crate.
    pub(crate) fn name(&self) -> &'static str {
        self.path
            .split_once("::")
            .map_or(self.path, |(_, name)| name)
    }

    /// The time limit.
    pub(crate) fn limit(&self) -> Duration {
        let asked = asked_limit().unwrap_or_default();
        Duration::from_secs(self.timeout.max(asked).unwrap_or(DEFAULT_LIMIT))
    }

    /// Runs the test's function on one rank, and gives why the test failed on it, if it did.
    pub(crate) fn attempt(&self, body: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        note_places_of_panics();
        PLACE.take();
        match (catch_unwind(AssertUnwindSafe(body)), self.should_panic) {
            (Ok(result), None) => result,
            (Ok(Ok(())), Some(_)) => Err("did not panic, and should have".to_owned()),
            (Ok(Err(why)), Some(_)) => Err(format!("did not panic, and should have: {why}")),
            (Err(panic), None) => Err(format!("panicked{}: {}", place(), message(&*panic))),
            (Err(panic), Some(expected)) if message(&*panic).contains(expected) => Ok(()),
            (Err(panic), Some(expected)) => Err(format!(
                "panicked{} as it should, but `{expected}` is not in the message: {}",
                place(),
                message(&*panic)
            )),
        }
    }
}

/// The seconds of `RANKS_TEST_TIMEOUT`, where all tests are to have more time, as under an
/// interpreter.
///
/// # Errors
/// A text if it is set to something else.
pub(crate) fn asked_limit() -> Result<Option<u64>, String> {
    const NAME: &str = "RANKS_TEST_TIMEOUT";
    seconds(std::env::var_os(NAME).as_deref()).map_err(|text| {
        format!("{NAME} is `{text}`; it must be a number of seconds, such as `120`")
    })
}

fn seconds(text: Option<&OsStr>) -> Result<Option<u64>, String> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    text.parse().map(Some).map_err(|_| text.into_owned())
}

thread_local! {
    /// The place where this thread panicked last.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has every thread keep the place of its last panic, in addition to the panic hook that was set
/// before.
fn note_places_of_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PLACE.set(info.location().map(ToString::to_string));
            before(info);
        }));
    });
}

fn place() -> String {
    PLACE
        .take()
        .map_or_else(String::new, |place| format!(" at {place}"))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else if let Some(text) = panic.downcast_ref::<&'static str>() {
        text
    } else {
        "(the panic carries no text)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(should_panic: Option<&'static str>) -> Test {
        Test {
            path: "crate_name::inner::ring::np4",
            ranks: 4,
            threads: ThreadLevel::Multiple,
            timeout: Some(5),
            backends: Backends::Everywhere,
            should_panic,
        }
    }

    #[test]
    fn the_name_is_the_path_without_the_crate() {
        assert_eq!(test(None).name(), "inner::ring::np4");
    }

    #[test]
    fn a_panic_is_told_with_its_place_and_message() {
        let why = test(None)
            .attempt(|| panic!("rank {} lost", 3))
            .unwrap_err();
        assert!(why.starts_with("panicked at "), "{why}");
        assert!(why.contains("test.rs:"), "{why}");
        assert!(why.ends_with(": rank 3 lost"), "{why}");
    }

    #[test]
    fn a_panic_that_should_be_is_a_success_and_its_absence_a_failure() {
        let panics = test(Some("lost"));
        assert_eq!(panics.attempt(|| panic!("lost it")), Ok(()));
        assert!(panics.attempt(|| panic!("found it")).is_err());
        let did_not = "did not panic, and should have";
        assert_eq!(panics.attempt(|| Ok(())), Err(did_not.to_owned()));
        let why = panics.attempt(|| Err("returned an error: lost it".to_owned()));
        assert_eq!(why, Err(format!("{did_not}: returned an error: lost it")));
    }

    #[test]
    fn a_limit_of_all_tests_is_a_number_of_seconds() {
        let read = |text: &str| seconds(Some(OsStr::new(text)));
        assert_eq!(seconds(None), Ok(None));
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("900"), Ok(Some(900)));
        assert_eq!(read("soon"), Err("soon".to_owned()));
    }
}
