//! The traits of numr 0.14.

use numr_0_14 as numr;

#[path = "adapter.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "the traits read the same in both versions"
)]
mod adapter;
