//! Steps of every call: what is checked before it, the words of its errors, the wait with a time
//! limit.

pub(crate) mod check;
pub(crate) mod error;
pub(crate) mod time_limit;
