//! Communicators that are made of others, over an MPI library.
#![allow(unsafe_code)]

pub(crate) mod agree;
mod create_group;
pub(crate) mod environment;
mod fault_tolerance;
pub(crate) mod split;
