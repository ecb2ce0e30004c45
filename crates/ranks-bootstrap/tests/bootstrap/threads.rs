//! Threads of one process.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use ranks_bootstrap::{Bootstrap, ThreadBootstrap};
use ranks_comm::{Error, ErrorKind};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(60);

/// What `body` gives on each of so many threads.
fn on_threads<R: Send>(
    ranks: Vec<ThreadBootstrap>,
    body: impl Fn(ThreadBootstrap) -> R + Sync,
) -> Vec<thread::Result<R>> {
    thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> = ranks
            .into_iter()
            .map(|rank| scope.spawn(move || body(rank)))
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    })
}

#[test]
fn each_thread_gets_what_all_pass_again_and_again() {
    for size in 1..=4 {
        let results = on_threads(ThreadBootstrap::of(size, LONG).unwrap(), |me| {
            assert_eq!(me.size(), size);
            for round in 0..50_usize {
                let of = |rank: usize| vec![7; (rank + round) % 5];
                let all = me.exchange(&of(me.rank())).unwrap();
                assert_eq!(all, (0..size).map(of).collect::<Vec<_>>());
            }
        });
        assert!(results.iter().all(Result::is_ok));
    }
}

/// What is left of the error, to compare.
fn told(error: Error) -> (ErrorKind, String) {
    (error.kind(), error.to_string())
}

#[test]
fn a_thread_that_drops_its_handle_is_told_to_the_others() {
    let results = on_threads(ThreadBootstrap::of(3, LONG).unwrap(), |me| {
        me.exchange(b"all are here").unwrap();
        if me.rank() == 1 {
            return None;
        }
        let first = told(me.exchange(b"one has gone").unwrap_err());
        // And nothing heals it.
        assert_eq!(told(me.exchange(b"again").unwrap_err()), first);
        Some(first)
    });
    for (rank, result) in results.into_iter().enumerate() {
        match result.unwrap() {
            None => assert_eq!(rank, 1),
            Some((kind, text)) => {
                assert_eq!(kind, ErrorKind::PeerFailed);
                assert!(text.contains("rank 1 has dropped"), "{text}");
            }
        }
    }
}

#[test]
fn a_thread_that_panics_is_told_to_the_others() {
    let results = on_threads(ThreadBootstrap::of(3, LONG).unwrap(), |me| {
        if me.rank() == 2 {
            let panic = catch_unwind(AssertUnwindSafe(move || {
                let _mine = me;
                // Without a line on standard error.
                resume_unwind(Box::new("by design"))
            }));
            assert!(panic.is_err());
            return None;
        }
        Some(told(me.exchange(b"").unwrap_err()))
    });
    for result in results.into_iter().flat_map(Result::unwrap) {
        assert_eq!(result.0, ErrorKind::PeerFailed);
        assert!(result.1.contains("rank 2 panicked"), "{}", result.1);
    }
}

#[test]
fn one_that_has_done_its_part_may_go() {
    let mut ranks = ThreadBootstrap::of(2, LONG).unwrap();
    let second = ranks.pop().unwrap();
    let first = ranks.pop().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || first.exchange(b"a").unwrap());
        assert_eq!(second.exchange(b"b").unwrap(), [b"a", b"b"]);
    });
}

#[test]
fn who_does_not_come_in_time_is_named() {
    let mut ranks = ThreadBootstrap::of(4, Duration::from_millis(30)).unwrap();
    let late = ranks.remove(2);
    let later = ranks.remove(1);
    for result in on_threads(ranks, |me| told(me.exchange(b"secret").unwrap_err())) {
        let (kind, text) = result.unwrap();
        assert_eq!(kind, ErrorKind::TimedOut);
        assert!(text.contains("ranks 1 and 2 did not come"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
    // Those who come after all are not left waiting.
    for me in [late, later] {
        assert_eq!(me.exchange(b"").unwrap_err().kind(), ErrorKind::TimedOut);
    }
}

#[test]
fn two_threads_of_a_rank_never_get_what_another_exchange_gave() {
    const EACH: u32 = 500;
    let ranks = ThreadBootstrap::of(2, LONG).unwrap();
    // Two threads pass numbers of their own, of which both get back none but what they passed.
    let exchange = |rank: usize, thread: u32| {
        let mut done = 0;
        while done < EACH {
            let mine = (2 * done + thread).to_ne_bytes();
            match ranks[rank].exchange(&mine) {
                Ok(all) => {
                    assert_eq!(all[rank], mine);
                    done += 1;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Argument, "{error}"),
            }
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        let exchange = &exchange;
        for (rank, thread) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            scope.spawn(move || exchange(rank, thread));
        }
    });
}

/// It panicked: the capacity of a vector was too large.
#[test]
fn ranks_without_number_are_an_error() {
    for many in [0, 8193, usize::MAX] {
        let error = ThreadBootstrap::of(many, LONG).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        let text = error.to_string();
        assert!(
            text.contains(&format!("of: {many} ranks were asked for")),
            "{text}"
        );
        assert!(text.contains("1 to 8192"), "{text}");
    }
}
