//! Steps of every call: the check that this thread may call, the record, the list of calls in
//! flight, the time limit.
//!
//! A call on the slow path passes them in this order: [`thread_guard`] lets the thread in, unless
//! [`callback`] says that it is within an operation of a reduction; [`call_guard`] is the call
//! until it is dropped; [`record`] keeps its name; while anybody wants to know, [`inflight_calls`]
//! lists it, where [`limit`] finds what is late and observers are told. The fast path is one
//! comparison with [`fast_path`], and the record. [`call_description`] is what ranks exchange to
//! compare collective calls, where [`checks`] says so, and [`identity`] the numbers of what they
//! have made together.

pub(crate) mod background;
pub(crate) mod call_description;
pub(crate) mod call_guard;
pub(crate) mod callback;
pub(crate) mod calling_back;
pub(crate) mod checks;
pub(crate) mod fast_path;
pub(crate) mod hold;
pub(crate) mod identity;
pub(crate) mod inflight_calls;
pub(crate) mod inside;
pub(crate) mod last_words;
pub(crate) mod limit;
pub(crate) mod lock;
pub(crate) mod observe;
pub(crate) mod rank_list;
pub mod record;
#[cfg(test)]
mod scale;
pub(crate) mod thread_guard;
pub(crate) mod thread_level;
pub(crate) mod unreceived;
