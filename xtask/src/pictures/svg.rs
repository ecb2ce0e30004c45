//! Boxes with text, and arrows between them, as SVG.

use std::fmt::Write as _;

/// Pixels of a character, of a line, and around the text of a box.
const CHARACTER: usize = 7;
const LINE: usize = 16;
const MARGIN: usize = 8;

/// A picture that is being drawn.
#[derive(Debug, Default)]
pub(super) struct Picture {
    body: String,
    width: usize,
    height: usize,
}

/// A box: its corner and its size, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Box {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Box {
    /// Number of pixels that these lines of text take.
    pub(super) fn size(lines: &[&str]) -> (usize, usize) {
        let longest = lines.iter().map(|line| line.chars().count()).max();
        (
            longest.unwrap_or(0) * CHARACTER + 2 * MARGIN,
            lines.len() * LINE + MARGIN,
        )
    }
}

impl Picture {
    /// Draws a box with lines of text, the first of which is its name.
    pub(super) fn text(&mut self, at: Box, lines: &[&str]) {
        let Box {
            x,
            y,
            width,
            height,
        } = at;
        self.width = self.width.max(x + width + MARGIN);
        self.height = self.height.max(y + height + MARGIN);
        let _ = writeln!(
            self.body,
            r##"<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="#f6f8fa" stroke="#57606a"/>"##
        );
        for (number, line) in lines.iter().enumerate() {
            let (x, y) = (x + MARGIN, y + (number + 1) * LINE - 2);
            let weight = if number == 0 { "bold" } else { "normal" };
            let line = escaped(line);
            let _ = writeln!(
                self.body,
                r#"<text x="{x}" y="{y}" font-weight="{weight}">{line}</text>"#
            );
        }
    }

    /// Writes a line of text within a box, in spans with attributes of their own. Spaces are kept.
    pub(super) fn spans<'a>(
        &mut self,
        within: Box,
        number: usize,
        spans: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        let (x, y) = (within.x + MARGIN, within.y + (number + 1) * LINE - 2);
        let spans: String = spans
            .map(|(style, text)| format!("<tspan{style}>{}</tspan>", escaped(text)))
            .collect();
        let _ = writeln!(
            self.body,
            r#"<text x="{x}" y="{y}" xml:space="preserve">{spans}</text>"#
        );
    }

    /// Writes text, from there on.
    pub(super) fn label(&mut self, (x, y): (usize, usize), text: &str) {
        let text = escaped(text);
        let _ = writeln!(self.body, r#"<text x="{x}" y="{y}">{text}</text>"#);
    }

    /// Draws an arrow.
    pub(super) fn arrow(&mut self, from: (usize, usize), to: (usize, usize)) {
        let _ = writeln!(
            self.body,
            r##"<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="#57606a" marker-end="url(#end)"/>"##,
            from.0, from.1, to.0, to.1
        );
    }

    /// The file.
    pub(super) fn finish(self) -> String {
        let Self {
            body,
            width,
            height,
        } = self;
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="monospace" font-size="11">
<!-- made by cargo xtask pictures -->
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>
<rect width="{width}" height="{height}" fill="white"/>
{body}</svg>
"##
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
