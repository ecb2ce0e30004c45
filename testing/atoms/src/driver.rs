//! Sources of ranks-cuda's folder `driver`.

#[path = "../../../crates/ranks-cuda/src/driver/counted_list.rs"]
pub(crate) mod counted_list;
