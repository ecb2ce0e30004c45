//! Operations of MPI that several reports know.

/// Functions that send a message and receive none.
pub(crate) const SENDS: [&str; 8] = [
    "MPI_Send",
    "MPI_Ssend",
    "MPI_Bsend",
    "MPI_Rsend",
    "MPI_Isend",
    "MPI_Issend",
    "MPI_Ibsend",
    "MPI_Irsend",
];
