//! Sets of requests, persistent and partitioned operations over an MPI library.
#![allow(unsafe_code)]

pub(crate) mod any;
pub(crate) mod batch;
pub(crate) mod partitioned;
pub(crate) mod persistent;
pub(crate) mod request_copies;
