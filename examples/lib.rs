//! The parts of the examples that tests call too, and what several of them need.
//!
//! Each of these programs is a folder: `main.rs` starts it, `mod.rs` is the program itself.

#![deny(unsafe_code)]

pub mod nas;
pub mod nas_cg;
pub mod nas_ep;
pub mod nas_ft;
pub mod nas_is;
pub mod nas_mg;
pub mod prk;
pub mod prk_stencil;
pub mod prk_synch_p2p;
pub mod prk_transpose;
pub mod report;
pub mod sample_sort;
pub mod sgd;
pub mod sorted;
