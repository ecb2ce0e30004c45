//! The traits of numr 0.5.

use numr_0_5 as numr;

#[path = "adapter.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "the traits read the same in both versions"
)]
mod adapter;
