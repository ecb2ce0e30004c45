//! Communicators, two-sided communication and the runtime, over MPI or in process
