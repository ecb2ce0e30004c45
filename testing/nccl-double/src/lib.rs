//! An NCCL over shared memory, for tests.
