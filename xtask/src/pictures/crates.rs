//! The published crates and what each stands on, from the top down.

use std::collections::{BTreeMap, BTreeSet};

use super::svg::{Box, Picture};
use crate::tidy::metadata::Metadata;

/// Pixels between boxes of a floor, and from one floor to the next.
const BESIDE: usize = 14;
const BELOW: usize = 70;

/// A crate, and those that it uses itself.
type Uses = BTreeMap<String, BTreeSet<String>>;

pub(super) fn draw(metadata: &Metadata) -> String {
    let mut uses = Uses::new();
    for package in metadata.members().filter(|package| package.is_published()) {
        let below = package.dependencies.iter();
        let below = below.filter(|dependency| dependency.kind.is_none());
        let names = below.map(|dependency| dependency.name.clone()).collect();
        uses.insert(package.name.clone(), names);
    }
    let known: BTreeSet<String> = uses.keys().cloned().collect();
    for below in uses.values_mut() {
        below.retain(|name| known.contains(name));
    }
    let mut floors: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for name in uses.keys() {
        floors.entry(floor(&uses, name)).or_default().push(name);
    }
    let mut places: BTreeMap<&str, Box> = BTreeMap::new();
    let mut y = BESIDE;
    for names in floors.values_mut().rev() {
        // Below those that use it, as far as there is room.
        names.sort_by_key(|name| middle(&uses, &places, name));
        let mut x = BESIDE;
        for &mut name in names {
            let (width, height) = Box::size(&[name]);
            x = middle(&uses, &places, name)
                .saturating_sub(width / 2)
                .max(x);
            let at = Box {
                x,
                y,
                width,
                height,
            };
            places.insert(name, at);
            x += width + BESIDE;
        }
        y += BELOW;
    }
    let mut picture = Picture::default();
    for (name, below) in &uses {
        let from = places[name.as_str()];
        // What another one of them uses as well is seen by its arrow.
        let nearest = below.iter().filter(|name| {
            let others = below.iter().filter(|other| other != name);
            !others.into_iter().any(|other| reaches(&uses, other, name))
        });
        for to in nearest {
            let to = places[to.as_str()];
            let start = (from.x + from.width / 2, from.y + from.height);
            picture.arrow(start, (to.x + to.width / 2, to.y));
        }
    }
    for (name, at) in places {
        picture.text(at, &[name]);
    }
    picture.finish()
}

/// The mean of the middles of what uses a crate, in pixels from the left.
fn middle(uses: &Uses, places: &BTreeMap<&str, Box>, name: &str) -> usize {
    let above = places
        .iter()
        .filter(|(user, _)| uses[**user].contains(name));
    let middles: Vec<usize> = above.map(|(_, at)| at.x + at.width / 2).collect();
    middles.iter().sum::<usize>() / middles.len().max(1)
}

/// The number of crates below, along the longest way.
fn floor(uses: &Uses, name: &str) -> usize {
    let below = uses[name].iter().map(|name| floor(uses, name) + 1);
    below.max().unwrap_or(0)
}

fn reaches(uses: &Uses, from: &str, to: &str) -> bool {
    uses[from]
        .iter()
        .any(|name| name == to || reaches(uses, name, to))
}
