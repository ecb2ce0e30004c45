//! Communicators with a topology: the same ranks in the same order, and the topology beside them.

use super::collective::Collective;
use super::comm::Comm;
use crate::result::Result;
use crate::transport::shape::{Adjacency, Edges, Grid, Named, Shape};

impl Comm {
    pub(crate) fn shape(&self) -> Option<&Shape> {
        self.shape.as_deref()
    }

    pub(crate) fn cart_create(&self, grid: &Grid) -> Result<Option<Self>> {
        self.of_first(grid.size(), Shape::Cartesian(grid.clone()))
    }

    /// Makes a communicator for each part, of the ranks that pass its number.
    pub(crate) fn cart_sub(&self, grid: &Grid, part: usize) -> Result<Option<Self>> {
        // There are no more parts than threads of this process.
        let color = i32::try_from(part).unwrap_or(i32::MAX);
        let sub = self.split(Some(color), 0)?;
        Ok(sub.map(|sub| sub.with(Shape::Cartesian(grid.clone()))))
    }

    pub(crate) fn graph_create(&self, graph: &Adjacency) -> Result<Option<Self>> {
        self.of_first(graph.nodes(), Shape::Graph(graph.clone()))
    }

    pub(crate) fn dist_graph_create(&self, named: &Named<'_>) -> Result<Option<Self>> {
        let mut mine = Vec::new();
        for (source, destination, weight) in named.edges() {
            mine.extend([source as u64, destination as u64, u64::from(weight)]);
        }
        let call = Collective::named("MPI_Dist_graph_create");
        let all = self.gather_first(call, &mine)?;
        let all = self.told_by(call, 0, || Ok(all.unwrap_or_default().concat()))?;
        let weighted = named.weights.is_some();
        let me = self.rank() as u64;
        let (from, sources) = pick(&all, |edge| (edge[1] == me).then_some(edge[0]));
        let (to, destinations) = pick(&all, |edge| (edge[0] == me).then_some(edge[1]));
        let edges = Edges {
            sources: from,
            source_weights: weighted.then_some(sources),
            destinations: to,
            destination_weights: weighted.then_some(destinations),
        };
        self.of_first(self.size(), Shape::DistGraph(edges))
    }

    pub(crate) fn dist_graph_create_adjacent(&self, edges: &Edges) -> Result<Option<Self>> {
        self.of_first(self.size(), Shape::DistGraph(edges.clone()))
    }

    /// Makes a communicator of this one's first ranks; `None` on the others.
    fn of_first(&self, count: usize, shape: Shape) -> Result<Option<Self>> {
        let members = &self.members()[..count];
        Ok(self.create(members)?.map(|comm| comm.with(shape)))
    }

    fn with(mut self, shape: Shape) -> Self {
        self.shape = Some(shape.into());
        self
    }
}

/// The ranks at the other end of some of the edges, and the weights of these.
fn pick(edges: &[u64], other_end: impl Fn(&[u64; 3]) -> Option<u64>) -> (Vec<usize>, Vec<u32>) {
    let (edges, _) = edges.as_chunks();
    let found = edges.iter().filter_map(|edge| {
        let rank = usize::try_from(other_end(edge)?).ok()?;
        Some((rank, u32::try_from(edge[2]).ok()?))
    });
    found.unzip()
}
