//! numr's communicator over MPI, NCCL and threads.
