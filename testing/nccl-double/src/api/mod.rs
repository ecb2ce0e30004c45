//! The exported functions, by the release that brought them.

#[macro_use]
mod since_2_18;
mod since_2_30;
mod since_2_31;
mod test_hooks;
