//! The memory of tables that grow with the number of ranks: it is counted while the code of a
//! crate makes them for worlds of up to a million ranks, held to a limit, and compared with the
//! row of [docs/scale.md](../../../docs/scale.md).
//!
//! The crate whose tables they are says `#[global_allocator]` of [`Counting`] in its tests, and
//! calls [`row`] in one. `RANKS_BLESS=1` writes the rows.

mod counting;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{env, fs};

pub use counting::Counting;

/// The numbers of ranks of the worlds.
pub const WORLDS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Compares the row of that name with what `make` keeps in each world, of what `receive` says that
/// a process gets: at most `most` bytes a rank and `more` besides, on the way as well. The seconds
/// that it takes are printed.
///
/// # Panics
/// If it keeps more, or the row says otherwise.
pub fn row<I, R>(
    name: &str,
    (most, more): (usize, usize),
    receive: impl Fn(usize) -> I,
    make: impl Fn(usize, &I) -> R,
) {
    let mut cells = String::new();
    for ranks in WORLDS {
        let received = receive(ranks);
        let (begun, before) = (Instant::now(), counting::mark());
        let made = make(ranks, &received);
        let (kept, peak) = counting::since(before);
        let seconds = begun.elapsed().as_secs_f64();
        drop(made);
        eprintln!("{name}: {ranks} ranks, {kept} bytes, {peak} on the way, {seconds:.3} s");
        let limit = most * ranks + more;
        assert!(
            peak <= limit,
            "{name}: {peak} bytes in a world of {ranks} ranks, more than {limit}"
        );
        // Writing to a string does not fail.
        let _ = write!(cells, " {} |", bytes(kept, peak));
    }
    compare(name, &cells);
}

/// Bytes that are kept, and the most that there were.
fn bytes(kept: usize, peak: usize) -> String {
    if kept == peak {
        text(kept)
    } else {
        format!("{} ({})", text(kept), text(peak))
    }
}

/// In two digits, so that what the allocator rounds is not told.
fn text(bytes: usize) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let found = units.iter().find(|(_, unit)| bytes as f64 >= *unit);
    match found {
        Some((name, unit)) if bytes as f64 >= 10.0 * unit => {
            format!("{:.0} {name}", bytes as f64 / unit)
        }
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / unit),
        None => format!("{bytes} B"),
    }
}

/// Compares the last cells of a row.
fn compare(name: &str, cells: &str) {
    /// Tests of one crate may write rows at the same time.
    static PAGE: Mutex<()> = Mutex::new(());
    let _one = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = page();
    let read = fs::read_to_string(&path);
    let page = read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let begins = format!("| {name} |");
    let line = page.lines().find(|line| line.starts_with(&begins));
    let line = line.unwrap_or_else(|| panic!("{} has no row of {name:?}", path.display()));
    if line.ends_with(cells) {
        return;
    }
    let blesses = env::var_os("RANKS_BLESS").is_some();
    assert!(
        blesses,
        "docs/scale.md says\n{line}\nand it is\n{cells}\nRANKS_BLESS=1 writes it"
    );
    let ends: Vec<usize> = line.match_indices(" |").map(|(at, _)| at + 2).collect();
    let kept = ends
        .len()
        .checked_sub(WORLDS.len() + 1)
        .and_then(|last| line.get(..ends[last]));
    let kept = kept.unwrap_or_else(|| panic!("the row of {name:?} has too few cells"));
    let written = fs::write(&path, page.replace(line, &format!("{kept}{cells}")));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scale.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static COUNTING: Counting = Counting;

    #[test]
    fn what_is_kept_and_what_was_there_on_the_way_are_told_apart() {
        let before = counting::mark();
        let kept: Vec<u64> = vec![1; 1000];
        drop(vec![kept.clone(); 3]);
        let (now, peak) = counting::since(before);
        assert_eq!(now, 8000);
        assert!((32_000..32_200).contains(&peak), "{peak}");
        drop(kept);
        assert_eq!(counting::since(before), (0, peak));
    }

    #[test]
    fn bytes_are_rounded() {
        assert_eq!(bytes(999, 999), "999 B");
        assert_eq!(bytes(2_340, 16_000_000), "2.3 kB (16 MB)");
    }
}
