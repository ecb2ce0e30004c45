//! Edges that ranks name, as data.

use ranks_launch::Count;

use crate::call::identity::digest;
use crate::result::{Error, ErrorKind, Result};

/// The edges at one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Edges {
    pub(crate) sources: Vec<usize>,
    pub(crate) source_weights: Option<Vec<u32>>,
    pub(crate) destinations: Vec<usize>,
    pub(crate) destination_weights: Option<Vec<u32>>,
}

impl Edges {
    pub(crate) fn is_weighted(&self) -> bool {
        self.source_weights.is_some()
    }

    /// Checks that they can be edges at a rank of a communicator of `size`.
    pub(crate) fn check(&self, operation: &'static str, size: usize) -> Result<()> {
        if self.source_weights.is_some() != self.destination_weights.is_some() {
            let why = "sources and destinations must both have weights, or both have none";
            return Err(Error::new(ErrorKind::Argument, operation, why));
        }
        check_ranks(operation, &self.sources, size)?;
        check_ranks(operation, &self.destinations, size)?;
        let weights = self.source_weights.as_deref();
        check_weights(operation, weights, self.sources.len())?;
        let weights = self.destination_weights.as_deref();
        check_weights(operation, weights, self.destinations.len())
    }

    /// The edges that start at `me` minus those that end there; over all ranks zero, if each is
    /// named at both ends.
    pub(crate) fn imbalance(&self, me: usize) -> u64 {
        let edge = |from: usize, to: usize| digest([from as u64, to as u64]);
        let out = self.destinations.iter().map(|&to| edge(me, to));
        let into = self.sources.iter().map(|&from| edge(from, me));
        let out = out.fold(0u64, u64::wrapping_add);
        into.fold(out, u64::wrapping_sub)
    }
}

/// Edges between any ranks, as one rank names them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) sources: &'a [usize],
    pub(crate) degrees: &'a [usize],
    pub(crate) destinations: &'a [usize],
    pub(crate) weights: Option<&'a [u32]>,
}

impl Named<'_> {
    pub(crate) fn check(&self, operation: &'static str, size: usize) -> Result<()> {
        check_ranks(operation, self.sources, size)?;
        check_ranks(operation, self.destinations, size)?;
        check_weights(operation, self.weights, self.destinations.len())?;
        let mut degrees = self.degrees.iter().copied();
        let named = degrees.try_fold(0, usize::checked_add);
        if self.degrees.len() == self.sources.len() && named == Some(self.destinations.len()) {
            return Ok(());
        }
        let why = format_args!(
            "{} with {}, whose sum is {}; the number of destinations is {}",
            Count(self.sources.len(), "source"),
            Count(self.degrees.len(), "degree"),
            named.map_or("too large".to_owned(), |named| named.to_string()),
            self.destinations.len()
        );
        Err(Error::new(ErrorKind::Length, operation, why))
    }

    /// Source, destination and weight of each edge; the weight is 0 if there are none.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (usize, usize, u32)> {
        let sources = self.sources.iter().zip(self.degrees);
        let sources = sources.flat_map(|(&source, &degree)| std::iter::repeat_n(source, degree));
        let weights = self.weights.unwrap_or_default().iter().copied();
        let weights = weights.chain(std::iter::repeat(0));
        let destinations = self.destinations.iter().copied();
        let edges = sources.zip(destinations).zip(weights);
        edges.map(|((source, destination), weight)| (source, destination, weight))
    }
}

fn check_ranks(operation: &'static str, ranks: &[usize], size: usize) -> Result<()> {
    if i32::try_from(ranks.len()).is_err() {
        let edges = ranks.len();
        let why = format_args!("{edges} edges are more than MPI can count");
        return Err(Error::new(ErrorKind::Length, operation, why));
    }
    if let Some(rank) = ranks.iter().find(|&&rank| rank >= size) {
        let why = format_args!("rank {rank} is not in this communicator of {size}");
        return Err(Error::new(ErrorKind::Rank, operation, why));
    }
    Ok(())
}

fn check_weights(operation: &'static str, weights: Option<&[u32]>, edges: usize) -> Result<()> {
    let Some(weights) = weights else {
        return Ok(());
    };
    if weights.len() != edges {
        let (weights, edges) = (Count(weights.len(), "weight"), Count(edges, "edge"));
        let why = format_args!("{weights} for {edges}");
        return Err(Error::new(ErrorKind::Length, operation, why));
    }
    let mut weights = weights.iter();
    if let Some(weight) = weights.find(|&&weight| i32::try_from(weight).is_err()) {
        let why = format_args!("weight {weight} is more than an int of C holds");
        return Err(Error::new(ErrorKind::Argument, operation, why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(sources: &[usize], destinations: &[usize]) -> Edges {
        Edges {
            sources: sources.to_vec(),
            destinations: destinations.to_vec(),
            ..Edges::default()
        }
    }

    #[test]
    fn edges_named_at_both_ends_balance() {
        let sum = |all: [Edges; 3]| {
            let ranks = all.iter().enumerate();
            ranks.fold(0u64, |sum, (rank, edges)| {
                sum.wrapping_add(edges.imbalance(rank))
            })
        };
        let ring = [edges(&[2], &[1]), edges(&[0], &[2]), edges(&[1], &[0])];
        assert_eq!(sum(ring), 0);
        let backwards = [edges(&[2], &[1]), edges(&[0], &[2]), edges(&[0], &[0])];
        assert_ne!(sum(backwards), 0);
    }

    #[test]
    fn named_edges_are_counted_out() {
        let named = Named {
            sources: &[1, 0],
            degrees: &[2, 1],
            destinations: &[0, 1, 2],
            weights: Some(&[7, 8, 9]),
        };
        named.check("a test", 3).unwrap();
        let all: Vec<_> = named.edges().collect();
        assert_eq!(all, [(1, 0, 7), (1, 1, 8), (0, 2, 9)]);
        let kind = |named: Named<'_>| named.check("a test", 3).unwrap_err().kind();
        let short = Named {
            degrees: &[2],
            ..named
        };
        assert_eq!(kind(short), ErrorKind::Length);
        let many = Named {
            degrees: &[usize::MAX, 4],
            ..named
        };
        assert_eq!(kind(many), ErrorKind::Length);
        let light = Named {
            weights: Some(&[1]),
            ..named
        };
        assert_eq!(kind(light), ErrorKind::Length);
        let heavy = Named {
            weights: Some(&[1, u32::MAX, 1]),
            ..named
        };
        assert_eq!(kind(heavy), ErrorKind::Argument);
        let outside = Named {
            destinations: &[0, 1, 3],
            ..named
        };
        assert_eq!(kind(outside), ErrorKind::Rank);
    }
}
