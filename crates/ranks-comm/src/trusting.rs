//! Giving up one promise for speed.
#![allow(unsafe_code)]

use crate::runtime::Builder;

impl Builder {
    /// Believes that no message is longer than the memory that it is received into, and that ranks pass lengths to collectives that agree.
    ///
    /// It matters where Open MPI may write past the end of a slice, as [`Facts::receives`](crate::Facts::receives) tells: messages are claimed
    /// there, measured, and then received, and all collectives are compared. With this, both are given to Open MPI as to any other library.
    /// Better is to set what keeps it from that: `OMPI_MCA_pml_ob1_max_rdma_per_request=0` in the environment of the job.
    ///
    /// Messages to oneself, which Open MPI has to pack lest it cut them and not say so, are sent as they are.
    ///
    /// So messages are received on MPICH up to 3.4 with its device ch3, which may wait for ever when one is too long. Elsewhere it changes
    /// nothing.
    ///
    /// # Safety
    /// From now on until the runtime ends, no rank sends a message to a rank of this process that is longer than the
    /// receive that it matches, in bytes, and the lengths that ranks pass to a collective are those that the standard asks for; whoever it is that
    /// receives, for the runtime is one for the whole process.
    pub unsafe fn trust_lengths(mut self) -> Self {
        self.trusting = true;
        self
    }
}
