//! Collective communication over MPI or in process
