//! NCCL, found at run time.
