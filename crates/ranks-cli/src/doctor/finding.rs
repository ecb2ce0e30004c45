//! Something that is wrong, or will surprise.

use serde::Serialize;

/// Something that is wrong, or will surprise, and what to do about it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    /// Set if programs will fail for it; otherwise it is good to know.
    pub(super) trouble: bool,
    pub(super) what: String,
    pub(super) remedy: String,
}

impl Finding {
    pub(super) fn trouble(what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding {
            trouble: true,
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    pub(super) fn note(what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding {
            trouble: false,
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}
