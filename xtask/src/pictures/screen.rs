//! The screen of a terminal: what a command has written, with the colours that its escape sequences
//! ask for.

use super::svg::{Box, Picture};

/// Pixels around the screen.
const AROUND: usize = 8;

pub(super) fn draw(written: &str) -> String {
    let lines: Vec<Vec<Span<'_>>> = written.lines().map(spans).collect();
    let plain: Vec<String> = lines
        .iter()
        .map(|line| line.iter().map(|span| span.text).collect())
        .collect();
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    let (width, height) = Box::size(&plain);
    let screen = Box {
        x: AROUND,
        y: AROUND,
        width,
        height,
    };
    let mut picture = Picture::default();
    picture.text(screen, &[]);
    for (number, line) in lines.iter().enumerate() {
        let spans = line.iter().map(|span| (span.style.as_str(), span.text));
        picture.spans(screen, number, spans);
    }
    picture.finish()
}

/// Text of one style.
struct Span<'a> {
    /// As attributes of SVG.
    style: String,
    text: &'a str,
}

/// The spans of a line; a style ends with its line.
fn spans(line: &str) -> Vec<Span<'_>> {
    let mut style = String::new();
    let mut spans = Vec::new();
    for (number, part) in line.split("\x1b[").enumerate() {
        let (codes, text) = match part.split_once('m') {
            Some(both) if number > 0 => both,
            _ => ("", part),
        };
        for code in codes.split(';') {
            match code {
                "0" => style.clear(),
                "1" => style.push_str(r#" font-weight="bold""#),
                "31" => style.push_str(r##" fill="#cf222e""##),
                "32" => style.push_str(r##" fill="#1a7f37""##),
                "33" => style.push_str(r##" fill="#9a6700""##),
                _ => {}
            }
        }
        if !text.is_empty() {
            let style = style.clone();
            spans.push(Span { style, text });
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_styles() {
        let svg = draw("$ command\n\x1b[1m\x1b[31mFAIL\x1b[0m  a < b\n\n\x1b[1;32mpass\x1b[m");
        for part in [
            r#"<tspan>$ command</tspan>"#,
            r##"<tspan font-weight="bold" fill="#cf222e">FAIL</tspan><tspan>  a &lt; b</tspan>"##,
            r##"<tspan font-weight="bold" fill="#1a7f37">pass</tspan>"##,
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains('\x1b'), "{svg}");
    }
}
