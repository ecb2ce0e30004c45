//! Operations of the symmetric heap, ours against the same calls of C, on the doubles of NVSHMEM
//! and of the CUDA driver.

use std::fmt;
use std::path::Path;

use super::gates::Gates;
use super::profile::{self, Counts};
use super::report::HEADINGS;

/// The end of the name of an operation where C calls it.
const IN_C: &str = "_c";

/// Counts what a program of one PE does.
///
/// # Errors
/// The output of the program.
pub(super) fn count(program: &Path, calls: u32, folder: &Path) -> Result<Counts, String> {
    let environment = [("RANKS_BACKEND".to_owned(), String::new())];
    Ok(profile::count(program, "multiple", calls, &environment, folder)?.counts)
}

/// Shows the table; returns how many gates are missed.
pub(super) fn show(
    counts: &Counts,
    gates: &Gates,
    out: &mut impl fmt::Write,
) -> Result<usize, fmt::Error> {
    let mut missed = 0;
    writeln!(out, "\nsymmetric heap, on the double of NVSHMEM")?;
    writeln!(out, "{HEADINGS}")?;
    for gate in &gates.heap {
        let call = gate.call.as_str();
        let c = counts.get(&format!("{call}{IN_C}"));
        let (Some(&c), Some(&ours)) = (c, counts.get(call)) else {
            missed += 1;
            writeln!(out, "  {call:<16}  not counted")?;
            continue;
        };
        let verdict = if gate.holds(c, ours) { "ok" } else { "MISSED" };
        missed += usize::from(verdict != "ok");
        let (added, limit) = (ours - c, format!("+{}", gate.added));
        writeln!(
            out,
            "  {call:<16}{c:>9.1}{ours:>9.1}{added:>+9.1}  {limit:<12} {verdict}"
        )?;
    }
    Ok(missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_above_its_limit_and_one_that_is_not_there_are_missed() {
        let gates = Gates::read().unwrap();
        let mut text = String::new();
        assert_eq!(
            show(&Counts::new(), &gates, &mut text),
            Ok(gates.heap.len())
        );
        assert!(text.contains("not counted"));
        let counts = |ours| {
            let names = ["put_on_stream_c", "put_on_stream"];
            Counts::from_iter(names.map(str::to_owned).into_iter().zip([100.0, ours]))
        };
        assert_eq!(show(&counts(139.0), &gates, &mut text), Ok(0));
        assert_eq!(show(&counts(150.0), &gates, &mut text), Ok(1));
    }
}
