//! The kernel's table of memory.

use std::path::Path;

use crate::machine::files;

/// The text of `/proc/meminfo`, or a table of the same form.
#[derive(Debug, Clone)]
pub struct Meminfo(String);

impl Meminfo {
    /// Reads the kernel's table; an empty one where there is none.
    pub fn read() -> Meminfo {
        Self::from_file(Path::new("/proc/meminfo"))
    }

    /// Reads a table of the same form.
    pub(super) fn from_file(file: &Path) -> Meminfo {
        Meminfo(files::read(file).unwrap_or_default())
    }

    /// A table whose text is known.
    pub fn of(text: impl Into<String>) -> Meminfo {
        Meminfo(text.into())
    }

    /// The value in the line of this name, without its unit: `HugePages_Total`.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.line(name)?.split_whitespace().next()?.parse().ok()
    }

    /// The value in bytes, of a line that gives it in kB: `MemAvailable`.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        let kibibytes = self.line(name)?.trim().strip_suffix("kB")?;
        let kibibytes: u64 = kibibytes.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    }

    fn line(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_whole_names() {
        let table = Meminfo::of(
            "MemTotalX: 9 kB\nMemTotal:   2 kB\nHugePages_Total:  3\nNode 0 MemFree: 1 kB\n",
        );
        assert_eq!(table.bytes("MemTotal"), Some(2048));
        assert_eq!(table.value("HugePages_Total"), Some(3));
        assert_eq!(table.bytes("Node 0 MemFree"), Some(1024));
        assert_eq!(table.bytes("MemAvailable"), None);
    }

    #[test]
    fn what_is_no_amount_is_none() {
        let table = Meminfo::of("A: many kB\nB: 1\nC: 18446744073709551615 kB\nD:\n");
        for name in ["A", "B", "C", "D"] {
            assert_eq!(table.bytes(name), None, "{name}");
        }
        assert!(
            Meminfo::read()
                .bytes("MemTotal")
                .is_some_and(|bytes| bytes > 0)
        );
    }
}
