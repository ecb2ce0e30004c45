//! What the double does, in both releases, on PEs that are processes.
#![cfg(not(miri))]

#[macro_use]
mod support;

mod collectives;
mod init;
mod life;
mod misuse;
mod one_sided;
mod processes;
mod signals;
mod teams;
mod typed;
