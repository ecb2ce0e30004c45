//! Messages and collectives without a check of lengths, for speed.
#![allow(unsafe_code)]

use crate::runtime::Builder;

impl Builder {
    /// Trusts that no message is longer than the memory that it is received into, and that ranks
    /// pass matching lengths to collectives.
    ///
    /// It matters where Open MPI may write past the end of a slice, as
    /// [`Facts::receives`](crate::Facts::receives) tells: there messages are received by a matched
    /// probe, and all collectives are compared. With this, both are passed to Open MPI as to any
    /// other library. It is better to set the parameter that prevents it:
    /// `OMPI_MCA_pml_ob1_max_rdma_per_request=0` in the environment of the job.
    ///
    /// Messages to oneself, which have to be packed for Open MPI lest it truncate them without an
    /// error, are sent as they are.
    ///
    /// The same holds for receives on MPICH up to 3.4 with its device ch3, which may deadlock when
    /// a message is too long. Elsewhere it has no effect.
    ///
    /// # Safety
    /// Until the runtime ends, no rank sends a message to a rank of this process that is longer
    /// than the receive that it matches, in bytes, and the lengths that ranks pass to a collective
    /// are those that the standard requires; whichever part of the program receives, since there is
    /// one runtime for the whole process.
    pub unsafe fn trust_lengths(mut self) -> Self {
        self.trusting = true;
        self
    }
}
