//! Topologies as data.

mod adjacency;
mod edges;
mod grid;

pub(crate) use adjacency::Adjacency;
pub(crate) use edges::{Edges, Named};
pub(crate) use grid::Grid;

/// A topology as data.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Cartesian(Grid),
    Graph(Adjacency),
    DistGraph(Edges),
}
