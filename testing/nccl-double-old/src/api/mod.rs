//! The exported functions of that release.

#[path = "../../../nccl-double/src/api/since_2_18.rs"]
mod since_2_18;
#[path = "../../../nccl-double/src/api/test_hooks.rs"]
mod test_hooks;
