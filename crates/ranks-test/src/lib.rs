//! A test on n ranks under plain cargo test, in process and on every MPI
