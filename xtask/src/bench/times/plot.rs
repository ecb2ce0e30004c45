//! Ratios to the yardstick as a plot in SVG: a line a row, a dot a peer, its quartiles as a bar.

use std::fmt::Write as _;

use super::page;
use crate::bench::samples::{Row, Run};

/// Pixels: of the names, of the scale, of the legend above it, of a row and between its dots.
const NAMES: f64 = 150.0;
const SCALE: f64 = 560.0;
const ABOVE: f64 = 62.0;
const ROW: f64 = 20.0;
const BETWEEN: f64 = 4.0;

const STYLE: &str = "\
rect{fill:#ffffff}text{fill:#24292f}line{stroke:#d0d7de}.one{stroke:#24292f}
@media(prefers-color-scheme:dark){rect{fill:#0d1117}text{fill:#e6edf3}line{stroke:#30363d}.one{stroke:#e6edf3}}";

/// A colour on white and on black.
fn colour(peer: &str) -> &'static str {
    match peer {
        "ranks" => "#e6550d",
        "rsmpi" | "crossbeam" => "#3182bd",
        "ferrompi" | "rayon" => "#31a354",
        "mpi4py" | "rayon-twice" => "#8c6bb1",
        _ => "#999999",
    }
}

/// A picture of one track.
pub(super) fn draw(run: &Run, track: &str, rows: &[&Row]) -> String {
    let (base, mut peers) = page::peers(run, rows);
    // All at one thread level.
    peers.retain(|peer| !peer.ends_with("(multiple)"));
    let (mut first, mut last) = (-1.0_f64, 1.0_f64);
    let mut dots = Vec::new();
    for (line, row) in rows.iter().enumerate() {
        for (number, peer) in peers.iter().enumerate() {
            if let Some(ratio) = run.ratio(row, peer, base) {
                let middle = ABOVE + ROW * (line as f64 + 0.5);
                let y = middle + BETWEEN * (number as f64 - (peers.len() - 1) as f64 / 2.0);
                first = first.min(ratio.low.log2().floor());
                last = last.max(ratio.high.log2().ceil());
                dots.push((y, ratio, colour(peer)));
            }
        }
    }
    let x = |ratio: f64| NAMES + (ratio.log2() - first) / (last - first) * SCALE;
    let (width, bottom) = (NAMES + SCALE + 20.0, ABOVE + ROW * rows.len() as f64);
    let height = bottom + 8.0;

    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="monospace" font-size="11">
<!-- made by cargo xtask bench times -->
<style>{STYLE}</style>
<rect width="{width}" height="{height}"/>
<text x="8" y="18" font-weight="bold">{track}: time over that of {base}, less is faster</text>
"#
    );
    for power in -20..=20 {
        if !(first..=last).contains(&f64::from(power)) {
            continue;
        }
        let at = x(2f64.powi(power));
        let class = if power == 0 { r#" class="one""# } else { "" };
        let over = if power < 0 { "1/" } else { "" };
        let _ = writeln!(
            svg,
            r#"<line{class} x1="{at:.1}" y1="{ABOVE}" x2="{at:.1}" y2="{bottom}"/><text x="{at:.1}" y="58" text-anchor="middle">{over}{}</text>"#,
            1 << power.abs()
        );
    }
    for (number, peer) in peers.iter().enumerate() {
        let (at, colour) = (NAMES + 110.0 * number as f64, colour(peer));
        let text = at + 8.0;
        let _ = writeln!(
            svg,
            r#"<circle cx="{at}" cy="33" r="4" fill="{colour}"/><text x="{text}" y="37">{peer}</text>"#
        );
    }
    for (line, row) in rows.iter().enumerate() {
        let y = ABOVE + ROW * line as f64 + 14.0;
        let _ = writeln!(svg, r#"<text x="8" y="{y}">{}</text>"#, row.name());
    }
    for (y, ratio, colour) in dots {
        let (low, at, high) = (x(ratio.low), x(ratio.median), x(ratio.high));
        let _ = writeln!(
            svg,
            r#"<path d="M{low:.1} {y}H{high:.1}" stroke="{colour}" stroke-width="2"/><circle cx="{at:.1}" cy="{y}" r="3" fill="{colour}"/>"#
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::samples::Sample;

    #[test]
    fn twice_the_time_is_one_power_to_the_right() {
        let mut run = Run::default();
        for (peer, line) in [("C", "bw,8,2"), ("ranks", "bw,8,4"), ("rsmpi", "bw,8,2")] {
            run.samples.extend(Sample::parse("m", peer, 1, line));
        }
        let svg = draw(&run, "m", &run.rows());
        // From a half to two: one is in the middle of the scale, two at its end.
        assert!(svg.contains(r#"class="one" x1="430.0""#), "{svg}");
        for dot in [
            r##"<circle cx="710.0" cy="70" r="3" fill="#e6550d"/>"##,
            r##"<circle cx="430.0" cy="74" r="3" fill="#3182bd"/>"##,
        ] {
            assert!(svg.contains(dot), "{svg}");
        }
    }
}
