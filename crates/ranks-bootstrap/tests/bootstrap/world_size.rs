//! Ranks of a store that were told of different numbers of ranks.

use std::thread;

use ranks_bootstrap::Bootstrap;
use ranks_comm::ErrorKind;

use super::tcp::{LONG, first, other};

/// They were told of ranks that did not come, or that a table was none.
#[test]
fn ranks_that_were_told_of_different_numbers_of_ranks_say_so() {
    for [first_size, other_size] in [[2, 3], [3, 2]] {
        let store = first(first_size, LONG);
        let port = store.port();
        let told = thread::scope(|scope| {
            let other = scope.spawn(move || {
                let store = other(port, 1, other_size, LONG).unwrap();
                store.exchange(b"one").unwrap_err()
            });
            [store.exchange(b"first").unwrap_err(), other.join().unwrap()]
        });
        let text = format!("rank 1 was told of {other_size} ranks, and rank 0 of {first_size}");
        for error in told {
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            assert!(error.to_string().contains(&text), "{error}");
        }
    }
    // Of one rank that is done before the other comes.
    let store = first(1, LONG);
    store.exchange(b"alone").unwrap();
    let late = other(store.port(), 1, 2, LONG).unwrap();
    let text = late.exchange(b"").unwrap_err().to_string();
    assert!(
        text.contains("rank 1 was told of 2 ranks, and rank 0 of 1"),
        "{text}"
    );
}
