//! Reasons for which functions are left out, read from `reasons.toml`.

use serde::Deserialize;

/// Patterns of names, each with a reason.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reasons {
    reason: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    functions: Vec<String>,
    why: String,
}

impl Reasons {
    /// The reasons of this workspace.
    ///
    /// # Errors
    /// A sentence if `reasons.toml` cannot be read as such.
    pub(super) fn read() -> Result<Self, String> {
        toml::from_str(include_str!("reasons.toml"))
            .map_err(|error| format!("reasons.toml: {error}"))
    }

    /// The reason for which there is no place for `name`, if it is said.
    pub(super) fn of(&self, name: &str) -> Option<&str> {
        let mut reasons = self.reason.iter();
        let found = reasons.find(|reason| reason.functions.iter().any(|one| fits(one, name)))?;
        Some(&found.why)
    }
}

/// Returns `true` if `name` is of that pattern, in which a `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(fits("MPI_Attr_*", "MPI_Attr_get"));
        assert!(fits("MPI_Comm_*buffer*", "MPI_Comm_flush_buffer"));
        assert!(fits("MPI_Alloc_mem", "MPI_Alloc_mem"));
        assert!(!fits("MPI_Alloc_mem", "MPI_Alloc_mem_c"));
        assert!(!fits("MPI_*errhandler", "MPI_Errhandler_free"));
        assert!(!fits("MPI_Type_*_attr", "MPI_Type_attr_get"));
    }

    #[test]
    fn the_file_can_be_read() {
        assert!(Reasons::read().unwrap().of("MPI_Attr_get").is_some());
    }
}
