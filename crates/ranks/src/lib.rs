//! Communication for Rust on supercomputers: MPI found at run time, or in process
