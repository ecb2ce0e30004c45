//! Lines of cells, in columns.

/// The lines, each with an end, in columns that are as wide as their widest cell. The last cell of
/// a line that is shorter than others may run over the columns to its right.
pub fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths = vec![0; columns];
    for line in lines {
        let counted = if line.len() < columns {
            line.len().saturating_sub(1)
        } else {
            columns
        };
        for (width, cell) in widths.iter_mut().zip(line).take(counted) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_but_for_what_runs_over_them() {
        let line = |cells: &[&str]| {
            cells
                .iter()
                .map(|&cell| cell.to_owned())
                .collect::<Vec<_>>()
        };
        let lines = [
            line(&["é", "b", "c"]),
            line(&["long", "", ""]),
            line(&["x", "why there is no more"]),
        ];
        assert_eq!(
            aligned(&lines),
            "é     b  c\nlong\nx     why there is no more\n"
        );
        assert_eq!(aligned(&[]), "");
    }
}
