//! Ids of teams, the same on all PEs of a team.

use std::fmt;

/// The name of a team: the same on all its PEs, and no other team's that any of them is in.
///
/// It says where the team comes from, and of which splits. What the PEs of a team split together
/// they count together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TeamId {
    origin: Origin,
    splits: Vec<(u64, Part)>,
}

/// A team that was not split from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Origin {
    World,
    Shared,
    Node,
    /// Made with this number, and how many of it were made before.
    Unique(u64, u64),
}

/// A team of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Part {
    /// The only one.
    Whole,
    /// The row with this number.
    Row(usize),
    /// The column with this number.
    Column(usize),
}

impl From<Origin> for TeamId {
    fn from(origin: Origin) -> Self {
        Self {
            origin,
            splits: Vec::new(),
        }
    }
}

impl TeamId {
    /// A team of the split with this number of this one.
    pub(crate) fn child(&self, split: u64, part: Part) -> Self {
        let mut child = self.clone();
        child.splits.push((split, part));
        child
    }

    /// The name as it is told to other PEs.
    pub(crate) fn words(&self) -> Vec<u64> {
        let (origin, number, uses) = match self.origin {
            Origin::World => (0, 0, 0),
            Origin::Shared => (1, 0, 0),
            Origin::Node => (2, 0, 0),
            Origin::Unique(number, uses) => (3, number, uses),
        };
        let mut words = vec![origin, number, uses];
        for (split, part) in &self.splits {
            let (axis, index) = match *part {
                Part::Whole => (0, 0),
                Part::Row(index) => (1, index),
                Part::Column(index) => (2, index),
            };
            words.extend([*split, axis, index as u64]);
        }
        words
    }
}

impl fmt::Display for TeamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (split, part) in self.splits.iter().rev() {
            match part {
                Part::Whole => write!(f, "the part of split {split} of ")?,
                Part::Row(index) => write!(f, "row {index} of split {split} of ")?,
                Part::Column(index) => write!(f, "column {index} of split {split} of ")?,
            }
        }
        match self.origin {
            Origin::World => f.write_str("the world team"),
            Origin::Shared => f.write_str("the shared team"),
            Origin::Node => f.write_str("the team of the node"),
            Origin::Unique(number, _) => write!(f, "the team of id {number:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, Part, TeamId};

    #[test]
    fn no_two_teams_of_a_pe_have_one_name() {
        let world = TeamId::from(Origin::World);
        let first = world.child(0, Part::Whole);
        let names = [
            world.words(),
            TeamId::from(Origin::Shared).words(),
            TeamId::from(Origin::Node).words(),
            first.words(),
            world.child(1, Part::Whole).words(),
            world.child(1, Part::Row(0)).words(),
            world.child(1, Part::Column(0)).words(),
            first.child(0, Part::Whole).words(),
            TeamId::from(Origin::Unique(0, 0)).words(),
            TeamId::from(Origin::Unique(0, 1)).words(),
        ];
        for (at, name) in names.iter().enumerate() {
            assert_eq!(names.iter().position(|other| other == name), Some(at));
        }
    }

    #[test]
    fn a_name_says_where_the_team_comes_from() {
        let world = TeamId::from(Origin::World);
        let nested = world.child(3, Part::Row(1)).child(0, Part::Whole);
        let text = "the part of split 0 of row 1 of split 3 of the world team";
        assert_eq!(nested.to_string(), text);
        let unique = TeamId::from(Origin::Unique(255, 0));
        assert_eq!(unique.to_string(), "the team of id 0xff");
    }
}
