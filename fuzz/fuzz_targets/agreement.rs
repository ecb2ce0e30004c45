//! What ranks tell each other over a bootstrap: whether they can take part, what they are about to
//! call, ids.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranks_bootstrap::Bootstrap;
use ranks_bootstrap::backend::{all_succeed, same_version};
use ranks_nccl::NcclId;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_fuzz::messages;
use ranks_nvshmem::fuzzing::{compare, said};

/// Rank 0 of those who say this.
struct Saying(Vec<Vec<u8>>);

impl Bootstrap for Saying {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        self.0.len() + 1
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mine = std::iter::once(mine.to_vec());
        Ok(mine.chain(self.0.iter().cloned()).collect())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let messages = messages(bytes);
    for message in messages.iter().map(Vec::as_slice).chain([bytes]) {
        if let Some(again) = said(message) {
            assert_eq!(again, message);
        }
        if let Ok(id) = NcclId::from_bytes(message) {
            assert_eq!(id.to_bytes(), message);
        }
    }
    if let Some(Err(error)) = compare(&messages) {
        assert_eq!(error.kind(), ErrorKind::Mismatch);
    }
    let text = |bytes: &[u8]| Some(String::from_utf8(bytes.to_vec()).ok()?);
    let same = same_version("x", ("NCCL", "RANKS_NCCL"), &messages, text);
    let differ = messages.iter().any(|one| text(one) != text(&messages[0]));
    assert_eq!(same.is_err(), differ);

    let ready = messages.iter().all(|message| message.first() == Some(&0));
    let others = Saying(messages);
    match all_succeed(&others, "x", Ok(b"mine".to_vec())) {
        Ok(said) => {
            assert!(ready);
            assert_eq!(said[0], b"mine");
            assert!(
                said[1..]
                    .iter()
                    .eq(others.0.iter().map(|message| &message[1..]))
            );
        }
        Err(error) => assert!(!ready && error.to_string().contains("cannot take part")),
    }
    let failed = Error::new(ErrorKind::Device, "x", "no device");
    let error = all_succeed(&others, "x", Err(failed)).expect_err("one has failed");
    assert_eq!(error.kind(), ErrorKind::Device);
});
