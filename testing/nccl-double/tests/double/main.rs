//! The double of NCCL behaves as NCCL does, wherever a test of the layers above relies on it.
#![allow(missing_docs, reason = "a test")]

#[macro_use]
mod support;

mod children;
mod collectives;
mod groups;
mod life;
mod old;
mod one_sided;
mod operators;
mod processes;
