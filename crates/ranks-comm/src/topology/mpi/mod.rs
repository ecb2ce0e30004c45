//! Topologies over an MPI library.
#![allow(unsafe_code)]

pub(crate) mod cartesian;
pub(crate) mod dist_graph;
pub(crate) mod graph;
