//! The warning of a rank whose communication ends before it has received all that was sent to it:
//! on standard error, in builds with debug assertions.

use std::fmt;
use std::io::Write as _;

/// The most that one warning lists.
const LISTED: usize = 8;

/// `false` in builds that do not look for it.
pub(crate) const IS_TOLD: bool = cfg!(debug_assertions);

/// The origin of a message, or of those that a receive takes; `None` is any. Communicators may
/// have no name.
pub(crate) fn origin(source: Option<usize>, tag: Option<i32>, communicator: &str) -> String {
    let source = source.map_or("any rank".to_owned(), |source| format!("rank {source}"));
    let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
    // A terminal takes some characters for commands.
    let communicator = match communicator {
        "" => "a communicator without a name".to_owned(),
        name => name.escape_debug().to_string(),
    };
    format!("from {source} with {tag} on {communicator}")
}

/// The first of what is left, each as a text, and the number of the others.
#[derive(Debug, Default)]
pub(crate) struct Left {
    listed: Vec<String>,
    more: usize,
}

impl Left {
    pub(crate) fn of<T>(mut all: impl Iterator<Item = T>, text: impl Fn(T) -> String) -> Self {
        let listed = all.by_ref().take(LISTED).map(text).collect();
        let more = all.count();
        Self { listed, more }
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.listed.join("; "))?;
        match self.more {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// The two kinds of what a rank leaves.
pub(crate) const MESSAGES: &str = "has not received what was sent to it";
pub(crate) const RECEIVES: &str = "has dropped receives before a message came";

/// Tells what `rank` of `size` has left, if there is any.
pub(crate) fn warn((rank, size): (usize, usize), what: &str, left: &Left) {
    if left.listed.is_empty() {
        return;
    }
    let text = format!("ranks: rank {rank} of {size} {what}: {left}\n");
    // In one write, so that no other rank's output comes between. An error here could not be
    // reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_listed_and_the_others_counted() {
        let left =
            |count: i32| Left::of(0..count, |tag| origin(Some(3), Some(tag), "ring")).to_string();
        assert_eq!(
            left(2),
            "from rank 3 with tag 0 on ring; from rank 3 with tag 1 on ring"
        );
        let many = left(11);
        assert!(many.ends_with("with tag 7 on ring; and 3 more"), "{many}");
        assert_eq!(
            origin(None, None, ""),
            "from any rank with any tag on a communicator without a name"
        );
    }
}
