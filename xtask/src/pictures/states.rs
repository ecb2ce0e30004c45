//! States, and what leads from one to another: a listing in a page.
//!
//! A line is a name, and after two spaces or more what can be done there; or two names with `->`
//! between them, and what leads from the first to the second. The first state is at the left, and
//! what is reached from a state is at its right.

use super::svg::{Box, Picture};

/// Pixels between a state and those below it, around labels, and between the two ways of a pair.
const BELOW: usize = 14;
const BESIDE: usize = 14;
const APART: usize = 14;
/// The least height of a state, with room for both ways and their labels.
const LEAST: usize = 56;

struct Listing<'a> {
    /// Each with its lines of text.
    states: Vec<(&'a str, Vec<&'a str>)>,
    ways: Vec<Way<'a>>,
}

struct Way<'a> {
    from: &'a str,
    to: &'a str,
    label: &'a str,
}

/// Returns `true` for a listing of states.
pub(super) fn is_one(listing: &[&str]) -> bool {
    listing.iter().any(|line| line.contains(" -> "))
}

pub(super) fn draw(listing: &[&str]) -> String {
    let listing = Listing::of(listing);
    let mut picture = Picture::default();
    if let Some((first, _)) = listing.states.first() {
        listing.place(&mut picture, first, (BESIDE, BELOW));
    }
    picture.finish()
}

impl<'a> Listing<'a> {
    fn of(lines: &[&'a str]) -> Self {
        let (mut states, mut ways): (Vec<(&str, Vec<&str>)>, Vec<_>) = Default::default();
        for line in lines.iter().filter(|line| !line.trim().is_empty()) {
            let (name, text) = line.trim().split_once("  ").unwrap_or((line, ""));
            let (name, label) = (name.trim(), text.trim());
            if let Some((from, to)) = name.split_once(" -> ") {
                ways.push(Way { from, to, label });
            } else {
                let mut lines = vec![name];
                lines.extend(label.split("; ").filter(|line| !line.is_empty()));
                states.push((name, lines));
            }
        }
        Self { states, ways }
    }

    fn label(&self, from: &str, to: &str) -> Option<&'a str> {
        let mut ways = self.ways.iter();
        ways.find(|way| way.from == from && way.to == to)
            .map(|way| way.label)
    }

    /// The states that are listed behind `state` and reached from it.
    fn reached<'b>(&'b self, state: &'b str) -> impl Iterator<Item = &'a str> {
        let names = self.states.iter().map(|(name, _)| *name);
        names
            .skip_while(move |name| *name != state)
            .skip(1)
            .filter(move |name| self.label(state, name).is_some())
    }

    /// Draws a state and what is reached from it, with its corner there; returns its height.
    fn place(&self, picture: &mut Picture, state: &str, (x, y): (usize, usize)) -> usize {
        let mut states = self.states.iter();
        let Some((_, lines)) = states.find(|(name, _)| *name == state) else {
            return 0;
        };
        let (width, own) = Box::size(lines);
        let reached: Vec<&str> = self.reached(state).collect();
        let labels = self.ways.iter().filter(|way| {
            reached.contains(&way.to) && way.from == state
                || reached.contains(&way.from) && way.to == state
        });
        let longest = labels.map(|way| Box::size(&[way.label]).0).max();
        let right = x + width + longest.unwrap_or(0) + BESIDE;
        let mut bottom = y;
        for other in reached {
            let height = self.place(picture, other, (right, bottom));
            let middle = bottom + height / 2;
            if let Some(label) = self.label(state, other) {
                let at = middle - APART / 2;
                picture.label((x + width + BESIDE / 2, at - 4), label);
                picture.arrow((x + width, at), (right, at));
            }
            if let Some(label) = self.label(other, state) {
                let at = middle + APART / 2;
                picture.label((x + width + BESIDE / 2, at + 12), label);
                picture.arrow((right, at), (x + width, at));
            }
            bottom += height + BELOW;
        }
        let height = own.max(LEAST).max(bottom.saturating_sub(y + BELOW));
        let whole = Box {
            x,
            y,
            width,
            height,
        };
        picture.text(whole, lines);
        height
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_a_box_and_each_way_an_arrow() {
        let listing = [
            "Quiet  local(): &[T]; free()",
            "Open  put(), get()",
            "Locked  put()",
            "Quiet -> Open  fence()",
            "Open -> Quiet  close()",
            "Quiet -> Locked  lock()",
        ];
        assert!(is_one(&listing) && !is_one(&["f(x)  calls", "> g"]));
        let svg = draw(&listing);
        assert_eq!(svg.matches("rx=").count(), 3);
        assert_eq!(svg.matches("<line ").count(), 3);
        for text in ["&amp;[T]", ">free()<", ">fence()<", ">close()<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }
}
