//! A CUDA driver that computes nothing and has no device, for tests: asynchronous streams over the memory of the host.
