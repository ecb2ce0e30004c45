//! Checks, before a collective, that all ranks make the same call.
#![allow(unsafe_code)]

use ranks_comm::Result;
use ranks_raw::{Dtype, RawCollectives, RawOp};

/// A call of a rank, as far as it must be the same everywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallSignature {
    /// The method of numr's trait.
    pub(crate) name: &'static str,
    count: usize,
    dtype: Option<Dtype>,
    op: Option<RawOp>,
    root: Option<usize>,
}

/// The methods that all ranks call together.
const NAMES: [&str; 6] = [
    "all_reduce",
    "broadcast",
    "all_gather",
    "reduce_scatter",
    "barrier",
    "split",
];

/// The operations that numr has.
const OPS: [RawOp; 4] = [RawOp::Sum, RawOp::Prod, RawOp::Min, RawOp::Max];

/// The length of the message that describes a call: method, count, type, operation, root, and
/// whether it is refused.
const WORDS: usize = 6;

impl CallSignature {
    pub(crate) fn of(name: &'static str) -> Self {
        Self {
            name,
            count: 0,
            dtype: None,
            op: None,
            root: None,
        }
    }

    pub(crate) fn moving(name: &'static str, count: usize, dtype: Dtype) -> Self {
        Self {
            count,
            dtype: Some(dtype),
            ..Self::of(name)
        }
    }

    pub(crate) fn reducing(name: &'static str, count: usize, dtype: Dtype, op: RawOp) -> Self {
        Self {
            op: Some(op),
            ..Self::moving(name, count, dtype)
        }
    }

    pub(crate) fn at(self, root: usize) -> Self {
        Self {
            root: Some(root),
            ..self
        }
    }

    /// The message to the other ranks that describes it; numbers from 1 where 0 is none.
    fn told(self, refused: bool) -> [u64; WORDS] {
        let place =
            |index: Option<usize>| index.map_or(0, |index| (index as u64).saturating_add(1));
        [
            place(NAMES.iter().position(|name| *name == self.name)),
            self.count as u64,
            place(
                self.dtype
                    .and_then(|dtype| Dtype::ALL.iter().position(|one| *one == dtype)),
            ),
            place(self.op.and_then(|op| OPS.iter().position(|one| *one == op))),
            place(self.root),
            u64::from(refused),
        ]
    }
}

/// Exchanges `call` with the other ranks, over a communicator on which nothing else is in flight:
/// `Err` with a text that is the same on all ranks, unless all make the same call and none refuses
/// it.
pub(crate) fn compare(
    aside: &dyn RawCollectives,
    call: CallSignature,
    refused: bool,
) -> Result<std::result::Result<(), String>> {
    let mine = call.told(refused);
    let mut all = vec![0_u64; WORDS * aside.size()];
    // SAFETY: `mine` and `all` have `WORDS` elements a rank, and live until `sync` has returned,
    // below.
    unsafe {
        aside.allgather(
            mine.as_ptr().cast(),
            all.as_mut_ptr().cast(),
            WORDS,
            Dtype::U64,
        )?;
    }
    aside.sync()?;
    Ok(differences(&all))
}

fn differences(all: &[u64]) -> std::result::Result<(), String> {
    let mut ranks = all.chunks_exact(WORDS).enumerate();
    let Some((_, first)) = ranks.next() else {
        return Ok(());
    };
    if let Some((rank, other)) = ranks.clone().find(|(_, other)| other[..5] != first[..5]) {
        return Err(format!(
            "ranks call differently: rank 0 calls {}, rank {rank} calls {}",
            described(first),
            described(other)
        ));
    }
    match all.chunks_exact(WORDS).position(|told| told[5] != 0) {
        Some(rank) => Err(format!(
            "rank {rank} of {} refuses its call of {}; its own error says why",
            all.len() / WORDS,
            described(first)
        )),
        None => Ok(()),
    }
}

/// The call that `told` describes, whatever a peer has sent.
fn described(told: &[u64]) -> String {
    fn place<T>(list: &[T], word: u64) -> Option<&T> {
        list.get(usize::try_from(word).ok()?.checked_sub(1)?)
    }
    let &[name, count, dtype, op, root, _] = told else {
        return "something else".to_owned();
    };
    let mut text = (*place(&NAMES, name).unwrap_or(&"something else")).to_owned();
    if let Some(dtype) = place(&Dtype::ALL, dtype) {
        text += &format!(" with count {count} of {dtype:?}");
    }
    if let Some(op) = place(&OPS, op) {
        text += &format!(", {op:?}");
    }
    if let Some(root) = root.checked_sub(1) {
        text += &format!(", root {root}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(calls: &[(CallSignature, bool)]) -> std::result::Result<(), String> {
        let all: Vec<u64> = calls
            .iter()
            .flat_map(|(call, refused)| call.told(*refused))
            .collect();
        differences(&all)
    }

    #[test]
    fn the_same_calls_agree() {
        let call = CallSignature::reducing("all_reduce", 4, Dtype::F32, RawOp::Max);
        assert_eq!(outcome(&[(call, false); 3]), Ok(()));
        assert_eq!(outcome(&[]), Ok(()));
    }

    #[test]
    fn both_sides_of_a_difference_are_named() {
        let call = CallSignature::moving("broadcast", 4, Dtype::F32);
        let text = outcome(&[
            (call.at(0), false),
            (call.at(0), false),
            (call.at(1), false),
        ]);
        assert_eq!(
            text.unwrap_err(),
            "ranks call differently: rank 0 calls broadcast with count 4 of F32, root 0, \
             rank 2 calls broadcast with count 4 of F32, root 1"
        );
        let text = outcome(&[(CallSignature::of("barrier"), false), (call, false)]).unwrap_err();
        assert!(
            text.contains("rank 0 calls barrier, rank 1 calls broadcast"),
            "{text}"
        );
    }

    #[test]
    fn who_refuses_is_named() {
        let call = CallSignature::reducing("reduce_scatter", 4, Dtype::Bool, RawOp::Sum);
        let text = outcome(&[(call, false), (call, true)]).unwrap_err();
        assert!(
            text.contains("rank 1 of 2 refuses") && text.contains("Bool, Sum"),
            "{text}"
        );
    }

    #[test]
    fn numbers_that_tell_of_nothing_do_no_harm() {
        assert_eq!(described(&[99, 1, u64::MAX, 5, 0, 0]), "something else");
        assert_eq!(described(&[]), "something else");
    }
}
