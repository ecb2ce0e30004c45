//! Bars, lines, arrows and text as SVG.

use std::fmt::Write as _;
use std::io::{self, Write};

/// The pixels of a character.
const CHARACTER: f64 = 6.7;

/// A drawing: lines below bars, bars below arrows.
#[derive(Default)]
pub(super) struct Svg {
    lines: String,
    bars: String,
    arrows: String,
}

impl Svg {
    /// The pixels that a text takes.
    pub(super) fn width(text: &str) -> f64 {
        (text.chars().count() + 1) as f64 * CHARACTER
    }

    pub(super) fn text(&mut self, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        let _ = writeln!(self.bars, r#"<text x="{x:.1}" y="{y:.1}">{text}</text>"#);
    }

    /// The ground of a lane.
    pub(super) fn lane(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let _ = writeln!(
            self.lines,
            r##"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="#f2f4f6"/>"##
        );
    }

    /// A bar at its corner, with its size; `told` is shown where a pointer rests on it.
    pub(super) fn bar(
        &mut self,
        (x, y, width, height): (f64, f64, f64, f64),
        colour: &str,
        failed: bool,
        told: &str,
    ) {
        let stroke = if failed { r##" stroke="#d1242f""## } else { "" };
        let told = match told {
            "" => String::new(),
            told => format!("<title>{}</title>", escaped(told)),
        };
        let _ = writeln!(
            self.bars,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"{stroke}>{told}</rect>"#
        );
    }

    /// A line of the scale.
    pub(super) fn line(&mut self, x: f64, top: f64, bottom: f64) {
        let _ = writeln!(
            self.lines,
            r##"<line x1="{x:.1}" y1="{top:.1}" x2="{x:.1}" y2="{bottom:.1}" stroke="#d0d7de"/>"##
        );
    }

    pub(super) fn arrow(&mut self, from: (f64, f64), to: (f64, f64)) {
        let _ = writeln!(
            self.arrows,
            r##"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="#24292f" stroke-width="0.7" stroke-opacity="0.6" marker-end="url(#end)"/>"##,
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn finish(self, out: &mut impl Write, width: f64, height: f64) -> io::Result<()> {
        let Self {
            lines,
            bars,
            arrows,
        } = self;
        write!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="monospace" font-size="11">
<!-- made by ranks timeline -->
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z" fill="#24292f"/></marker></defs>
<rect width="100%" height="100%" fill="white"/>
{lines}{bars}{arrows}</svg>
"##
        )
    }
}

/// Text without what means something in XML, or may not be in it.
fn escaped(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
