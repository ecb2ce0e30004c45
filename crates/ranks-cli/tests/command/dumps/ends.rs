//! The ways in which the jobs end.

/// A way in which a job of two ranks ends, and what is told of rank 0.
pub(super) struct End {
    pub(super) how: &'static str,
    /// Why its dump was written.
    pub(super) reason: &'static str,
    /// The beginning of its error, if it had one.
    pub(super) error: &'static str,
    pub(super) call: Called,
    /// The last collective that it began.
    pub(super) collective: &'static str,
}

/// The call of a rank that its dump is about.
pub(super) enum Called {
    /// It was in this one, and in no other.
    In(&'static str),
    /// This one has failed.
    Failed(&'static str),
    /// The same, after the rank had waited in it.
    Waited(&'static str),
    Nothing,
}

pub(super) const ENDS: [End; 16] = [
    End {
        how: "error",
        reason: "error",
        error: "MPI_Recv: message truncated: ",
        call: Called::Failed("MPI_Recv of 2 i32 from rank 1, tag 0"),
        collective: "MPI_Barrier",
    },
    End {
        how: "error in a context",
        reason: "error",
        error: "exchanging the mesh: MPI_Recv: message truncated: ",
        call: Called::Failed("MPI_Recv of 2 i32 from rank 1, tag 0"),
        collective: "MPI_Barrier",
    },
    End {
        how: "panic",
        reason: "panic",
        error: "panicked: out of luck",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "abort",
        reason: "abort",
        error: "aborted with code 3",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "SIGTERM",
        reason: "SIGTERM",
        error: "",
        call: Called::In("MPI_Sendrecv of i32 from rank 1, tag 0"),
        collective: "MPI_Barrier",
    },
    End {
        how: "SIGFPE",
        reason: "SIGFPE",
        error: "",
        call: Called::In("MPI_Sendrecv of i32 from rank 1, tag 0"),
        collective: "MPI_Barrier",
    },
    End {
        how: "stack overflow",
        reason: "SIGSEGV",
        error: "",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "write to null",
        reason: "SIGSEGV",
        error: "",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "file that was cut",
        reason: "SIGBUS",
        error: "",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "illegal instruction",
        reason: "SIGILL",
        error: "",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "abort of the process",
        reason: "SIGABRT",
        error: "",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "panic that cannot unwind",
        reason: "SIGABRT",
        error: "",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "exit",
        reason: "exit",
        error: "",
        call: Called::Nothing,
        collective: "MPI_Barrier",
    },
    End {
        how: "time limit",
        reason: "time limit",
        error: "MPI_Allreduce: timed out after 4s (RANKS_TIMEOUT) on rank 0 of 2 of MPI_COMM_WORLD",
        call: Called::In("MPI_Allreduce of 1 f64 by Sum"),
        collective: "MPI_Allreduce of 1 f64 by Sum",
    },
    End {
        how: "time limit of a receive",
        reason: "time limit",
        error: "MPI_Recv: timed out after 4s (RANKS_TIMEOUT) on rank 0 of 2 of MPI_COMM_WORLD",
        call: Called::In("MPI_Recv of 2 i32 from rank 1, tag 7"),
        collective: "MPI_Barrier",
    },
    End {
        how: "limit of its own",
        reason: "error",
        error: "MPI_Recv: timed out after 2s (Communicator::within) on rank 0 of 2 of MPI_COMM_WORLD",
        call: Called::Waited("MPI_Recv of 2 i32 from rank 1, tag 7"),
        collective: "MPI_Barrier",
    },
];
