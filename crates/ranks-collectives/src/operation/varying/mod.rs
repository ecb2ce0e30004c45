//! Operations on blocks whose lengths the ranks find out first.

pub(crate) mod allgatherv;
pub(crate) mod alltoallv;
pub(crate) mod counts;
pub(crate) mod gathered;
pub(crate) mod gatherv;
pub(crate) mod scatterv;
