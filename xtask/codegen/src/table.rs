//! Tables that are text: a row a line, with a colon between columns.

/// The rows of a table of `N` columns.
pub(crate) fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    table.lines().map(|line| {
        let columns: Vec<_> = line.splitn(N, ": ").collect();
        let found = columns.try_into();
        found.unwrap_or_else(|found| panic!("{N} columns, and not {found:?}"))
    })
}
