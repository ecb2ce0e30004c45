//! The way of a call: a listing in a page, with a box for each line.
//!
//! A line is a name, and after two spaces or more what is done there. One that begins with `>` is
//! the way that a call takes instead.

use super::svg::{Box, Picture};

/// Pixels between a box and the next.
const GAP: usize = 22;
/// Characters after which text is broken.
const WRAP: usize = 64;

pub(super) fn draw(listing: &[&str]) -> String {
    let mut picture = Picture::default();
    // The box that the next one comes after, and where the next one beside it begins.
    let mut last: Option<Box> = None;
    let (mut bottom, mut aside) = (0, GAP);
    for line in listing.iter().filter(|line| !line.trim().is_empty()) {
        let (line, beside) = match line.strip_prefix('>') {
            Some(rest) => (rest.trim(), last),
            None => (line.trim(), None),
        };
        let (name, text) = line.split_once("  ").unwrap_or((line, ""));
        let mut lines = vec![name.to_owned()];
        lines.extend(wrapped(text.trim()));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (width, height) = Box::size(&lines);
        let (x, y) = match beside {
            Some(before) => (before.x + before.width + 2 * GAP, aside),
            None => (GAP, bottom + GAP),
        };
        let here = Box {
            x,
            y,
            width,
            height,
        };
        picture.text(here, &lines);
        bottom = bottom.max(y + height);
        if let Some(before) = beside {
            let right = (before.x + before.width, before.y + before.height / 2);
            picture.arrow(right, (x, y + height / 2));
            aside = bottom + GAP / 2;
        } else {
            if let Some(before) = last {
                picture.arrow((2 * GAP, before.y + before.height), (2 * GAP, y));
            }
            (last, aside) = (Some(here), y);
        }
    }
    picture.finish()
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < WRAP => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_box_with_an_arrow_to_the_next() {
        let svg = draw(&["f(&x)  calls", "> g  instead", "h"]);
        assert!(svg.contains(">f(&amp;x)</text>"), "{svg}");
        assert_eq!(svg.matches("<line ").count(), 2);
    }

    #[test]
    fn text_is_broken_between_words() {
        let words = "word ".repeat(40);
        let lines = wrapped(&words);
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= WRAP));
        assert_eq!(lines.join(" "), words.trim());
    }
}
