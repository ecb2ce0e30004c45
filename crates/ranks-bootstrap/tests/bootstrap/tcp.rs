//! Processes, and threads in their place, that meet at a port.

use std::env;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ranks_bootstrap::{Bootstrap, TcpStore, TcpStoreOptions};
use ranks_comm::{Error, ErrorKind, Result};

const HOST: &str = "127.0.0.1";

/// Longer than any test takes.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// Long enough for ranks that are there, and short for one that never comes.
const SHORT: Duration = Duration::from_millis(300);

/// Rank 0, which serves at a port that is free.
pub(super) fn first(size: usize, limit: Duration) -> TcpStore {
    let options = TcpStoreOptions::new(HOST, 0, 0, size).time_limit(limit);
    options.connect().unwrap()
}

pub(super) fn other(port: u16, rank: usize, size: usize, limit: Duration) -> Result<TcpStore> {
    TcpStoreOptions::new(HOST, port, rank, size)
        .time_limit(limit)
        .connect()
}

/// What rank `rank` passes in a round: each another length, that of one nothing.
fn of(rank: usize, round: usize) -> Vec<u8> {
    vec![u8::try_from(rank).unwrap(); (rank + round) % 3 * 1000]
}

fn rounds(store: &TcpStore) -> Result<()> {
    for round in 0..5 {
        let expected: Vec<_> = (0..store.size()).map(|rank| of(rank, round)).collect();
        assert_eq!(store.exchange(&of(store.rank(), round))?, expected);
    }
    Ok(())
}

/// Says which rank a process is that was started for a test.
const RANK: &str = "RANK";

/// Starts the test anew, as one rank, with the variables that torchrun sets.
fn process(test: &str, port: u16, rank: usize, size: usize) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("MASTER_ADDR", HOST)
        .env("MASTER_PORT", port.to_string())
        .env(RANK, rank.to_string())
        .env("WORLD_SIZE", size.to_string())
        .env_remove("TORCHELASTIC_USE_AGENT_STORE")
        .env_remove("TORCHELASTIC_RESTART_COUNT")
        .env("RANKS_BOOTSTRAP_TEST", test)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns `true` if this process is one that was started for the test.
fn started(test: &str) -> bool {
    env::var("RANKS_BOOTSTRAP_TEST").is_ok_and(|name| name == test)
}

/// Waits for a process, but not for ever, and gives what it wrote to standard error if it has not
/// ended well.
fn ended(mut child: Child) -> std::result::Result<(), String> {
    let end = Instant::now() + LONG;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > end => {
                child.kill().unwrap();
                break child.wait().unwrap();
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    let mut text = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    if status.success() { Ok(()) } else { Err(text) }
}

#[test]
fn processes_meet_as_torchrun_starts_them() {
    const TEST: &str = "tcp::processes_meet_as_torchrun_starts_them";
    if started(TEST) {
        let store = TcpStore::from_env().unwrap();
        return rounds(&store).unwrap();
    }
    for size in 1..=4 {
        let store = first(size, LONG);
        let others: Vec<Child> = (1..size)
            .map(|rank| process(TEST, store.port(), rank, size))
            .collect();
        rounds(&store).unwrap();
        drop(store);
        for child in others {
            assert_eq!(ended(child), Ok(()));
        }
    }
}

#[test]
fn a_process_that_dies_ends_the_exchange_of_the_others() {
    const TEST: &str = "tcp::a_process_that_dies_ends_the_exchange_of_the_others";
    if started(TEST) {
        let _store = TcpStore::from_env().unwrap();
        // At once: nothing is dropped.
        std::process::exit(3);
    }
    let store = first(2, SHORT);
    let child = process(TEST, store.port(), 1, 2);
    assert!(ended(child).is_err());
    let error = store.exchange(b"one is not").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("rank 1 did not come"), "{error}");
    // It cannot be used any more, and says so.
    let error = store.exchange(b"").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerFailed);
}

/// What each of the others gets, on threads, while `first` does its part.
fn with_others<R: Send>(
    first: TcpStore,
    mine: impl FnOnce(TcpStore),
    others: impl Fn(TcpStore) -> R + Sync,
) -> Vec<R> {
    let (port, size) = (first.port(), first.size());
    thread::scope(|scope| {
        let others = &others;
        let threads: Vec<_> = (1..size)
            .map(|rank| scope.spawn(move || others(other(port, rank, size, LONG).unwrap())))
            .collect();
        mine(first);
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn when_the_store_goes_the_others_are_told() {
    let told = with_others(
        first(3, LONG),
        |store| {
            store.exchange(b"").unwrap();
            // And ends.
        },
        |store| {
            store.exchange(b"").unwrap();
            store.exchange(b"secret").unwrap_err()
        },
    );
    for error in told {
        assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

/// Waits until somebody has set a key.
fn wait_for(port: u16, key: &str) {
    let mut stream = TcpStream::connect((HOST, port)).unwrap();
    let mut request = [&[0][..], &0x3C85_F7CE_u32.to_ne_bytes(), &[6]].concat();
    request.extend(1_u64.to_ne_bytes());
    request.extend((key.len() as u64).to_ne_bytes());
    request.extend(key.as_bytes());
    stream.write_all(&request).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.read_exact(&mut [1]).unwrap();
}

#[test]
fn ranks_that_do_not_come_are_named() {
    let store = first(4, SHORT);
    let third = other(store.port(), 2, 4, SHORT).unwrap();
    let its_key = "ranks/0/default/1/0/2";
    let errors: [Error; 2] = thread::scope(|scope| {
        let third = scope.spawn(move || third.exchange(b"").unwrap_err());
        wait_for(store.port(), its_key);
        [store.exchange(b"").unwrap_err(), third.join().unwrap()]
    });
    for error in &errors {
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
    let text = errors[0].to_string();
    assert!(text.contains("ranks 1 and 3 did not come"), "{text}");
}

#[test]
fn two_of_one_rank_were_told_that_others_did_not_come() {
    let store = first(2, SHORT);
    let [_, second] = [(); 2].map(|()| other(store.port(), 1, 2, SHORT).unwrap());
    let text = second.exchange(b"").unwrap_err().to_string();
    assert!(
        text.contains("store 2 of rank 1") && text.contains("another is rank 1 too"),
        "{text}"
    );
}

#[test]
fn where_no_store_is_the_time_limit_passes() {
    // A port at which somebody listens and says nothing, then one at which nobody does.
    let silent = TcpListener::bind((HOST, 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let error = other(port, 1, 2, SHORT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("gives no answer"), "{error}");
    // Rank 0 does not serve there either, where somebody else is.
    let error = other(port, 0, 2, SHORT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    drop(silent);
    let error = other(port, 1, 2, SHORT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn any_free_port_is_for_who_serves() {
    let error = other(0, 1, 2, LONG).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("TcpStore::port"), "{error}");
}

#[test]
fn strangers_do_no_harm() {
    let store = first(2, LONG);
    let address = (HOST, store.port());
    let strange: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\n\r\n",
        // A key of more bytes than there are in the world.
        b"\x03\xff\xff\xff\xff\xff\xff\xff\xff",
        // What would be right, had it begun as clients do.
        b"\x01\x01\0\0\0\0\0\0\0a\x01\0\0\0\0\0\0\0x",
        b"\x00????",
        // One that begins well.
        b"\x00\xCE\xF7\x85\x3C\xff",
        b"",
    ];
    let mut held = Vec::new();
    for bytes in strange {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(bytes).unwrap();
        if bytes.is_empty() {
            // Says nothing, and stays.
            held.push(stream);
        } else {
            // Is left without an answer, whether the end is polite or not.
            assert!(matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_)));
        }
    }
    with_others(
        store,
        |store| rounds(&store).unwrap(),
        |store| rounds(&store).unwrap(),
    );
}

#[test]
fn of_a_stranger_little_is_kept() {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    /// Less than the time after which a stranger is left in any case.
    const SOON: Duration = Duration::from_secs(5);
    let open = first(1, LONG);
    let closed = TcpStoreOptions::new(HOST, 0, 0, 1).secret("5 gold");
    let closed = closed.connect().unwrap();
    // A value that does not begin as clients do, and keys without end of one who does not know the
    // secret.
    let mut set = b"\x01\x01\0\0\0\0\0\0\0a".to_vec();
    set.extend((8_u64 << 20).to_ne_bytes());
    let mut wait = vec![0];
    wait.extend(0x3C85_F7CE_u32.to_ne_bytes());
    wait.push(6);
    wait.extend((100_u64 << 10).to_ne_bytes());
    for (store, begins, goes_on) in [(&open, set, 0), (&closed, wait, 1)] {
        let mut stream = TcpStream::connect((HOST, store.port())).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_write_timeout(Some(SOON)).unwrap();
        stream.write_all(&begins).unwrap();
        // Keys of one byte, or a value.
        let more = [goes_on, 0, 0, 0, 0, 0, 0, 0, 0].repeat(64 << 10);
        let told = stream.write_all(&more).and_then(|()| stream.read(&mut [0]));
        let left = match told {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), WouldBlock | TimedOut),
        };
        assert!(left, "it keeps what a stranger sends");
    }
    rounds(&open).unwrap();
    rounds(&closed).unwrap();
}

#[test]
fn it_listens_where_it_is_told_to_and_nowhere_else() {
    let told: IpAddr = Ipv4Addr::new(127, 0, 0, 2).into();
    let host = told.to_string();
    let with = |port: u16, rank: usize| {
        let options = TcpStoreOptions::new(&host, port, rank, 2).time_limit(LONG);
        options.listen_at(told).connect().unwrap()
    };
    let store = with(0, 0);
    let port = store.port();
    assert!(TcpStream::connect((HOST, port)).is_err());
    let body = |store: &TcpStore| rounds(store).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| body(&with(port, 1)));
        body(&store);
    });
    // An address of documents, which no machine has.
    let nowhere = Ipv4Addr::new(192, 0, 2, 1).into();
    let options = TcpStoreOptions::new(HOST, 0, 0, 1).listen_at(nowhere);
    let error = options.connect().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
    assert!(error.to_string().contains("192.0.2.1"), "{error}");
}

#[test]
fn a_stranger_lacks_the_secret() {
    let with = |port: u16, rank: usize, secret: &str| {
        let options = TcpStoreOptions::new(HOST, port, rank, 2).time_limit(LONG);
        options.secret(secret).connect()
    };
    let store = with(0, 0, "5 gold").unwrap();
    let port = store.port();
    for wrong in ["", "5 golf", "5"] {
        let error = with(port, 1, wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerFailed);
        let text = error.to_string();
        assert!(
            text.contains("RANKS_STORE_SECRET") && !text.contains("gold"),
            "{text}"
        );
    }
    // Nor can this process serve another one there.
    let error = with(port, 0, "6 gold").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
    let long = vec![7; 1 << 20];
    let all = |store: &TcpStore| {
        assert_eq!(store.exchange(&long).unwrap(), [&*long; 2]);
        rounds(store).unwrap();
    };
    thread::scope(|scope| {
        scope.spawn(|| all(&with(port, 1, "5 gold").unwrap()));
        all(&store);
    });
}

#[test]
fn many_ranks_that_do_not_come_are_counted() {
    let error = first(1000, SHORT).exchange(b"").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let text = error.to_string();
    assert!(
        text.contains("ranks 1-16 and 983 more did not come"),
        "{text}"
    );
}

/// A table of more bytes than one value may have.
#[test]
fn what_all_exchange_may_be_longer_than_one_value() {
    let long = |rank: usize| vec![u8::try_from(rank).unwrap(); (5 << 20) + rank];
    let all: Vec<_> = (0..3).map(long).collect();
    let same = |store: TcpStore| assert!(store.exchange(&long(store.rank())).unwrap() == all);
    with_others(first(3, LONG), same, same);
}

#[test]
fn a_client_of_pytorch_is_understood() {
    let store = first(1, LONG);
    let mut stream = TcpStream::connect((HOST, store.port())).unwrap();
    let mut ask = |question: &[u8], answer: &[u8]| {
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(question).unwrap();
        let mut got = vec![0; answer.len()];
        stream.read_exact(&mut got).unwrap();
        assert_eq!(got, answer);
    };
    if cfg!(target_endian = "big") {
        return;
    }
    // Validate and ping; set "k" and wait for it; get; add; check what is there and what is not;
    // wait for nothing and give up; delete.
    ask(
        b"\x00\xCE\xF7\x85\x3C\x0D\x01\x02\x03\x04",
        b"\x01\x02\x03\x04",
    );
    ask(
        b"\x01\x01\0\0\0\0\0\0\0k\x02\0\0\0\0\0\0\0xy\x06\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0k",
        b"\0",
    );
    ask(b"\x03\x01\0\0\0\0\0\0\0k", b"\x02\0\0\0\0\0\0\0xy");
    ask(
        b"\x04\x01\0\0\0\0\0\0\0n\x07\0\0\0\0\0\0\0",
        b"\x07\0\0\0\0\0\0\0",
    );
    ask(b"\x05\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0n", b"\0");
    ask(b"\x05\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0?", b"\x01");
    ask(b"\x06\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0?\x0C", b"\x01");
    ask(
        b"\x0A\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0n\x01\0\0\0\0\0\0\0?",
        b"\x01\0\0\0\0\0\0\x007\0\0\0\0\0\0\0\0",
    );
    ask(b"\x08\x01\0\0\0\0\0\0\0k", b"\x01\0\0\0\0\0\0\0");
}

#[test]
fn stores_of_several_names_and_several_of_one_share_a_port() {
    let server = first(1, LONG);
    let port = server.port();
    // Served by another, as torchrun does; and by rank 0, which finds that its process serves there
    // already.
    for elsewhere in [true, false] {
        let make = |rank: usize, name: &str| {
            let options = TcpStoreOptions::new(HOST, port, rank, 2).time_limit(LONG);
            options.name(name).served_elsewhere(elsewhere).connect()
        };
        thread::scope(|scope| {
            for rank in 0..2 {
                scope.spawn(move || {
                    // All are made before one is used, and used in another order.
                    let stores = ["a", "b", "a"].map(|name| make(rank, name).unwrap());
                    for (which, store) in stores.iter().enumerate().rev() {
                        let of = |rank| [u8::try_from(rank).unwrap(), u8::try_from(which).unwrap()];
                        assert_eq!(store.exchange(&of(rank)).unwrap(), [of(0), of(1)]);
                    }
                });
            }
        });
    }
    rounds(&server).unwrap();
}

#[test]
fn after_too_much_a_store_cannot_be_used() {
    let store = first(1, LONG);
    let most = vec![5; 8 << 20];
    assert!(store.exchange(&most).unwrap() == [most]);
    let error = store.exchange(&vec![0; (8 << 20) + 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length);
    // The others have left that exchange as well.
    let error = store.exchange(&[1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerFailed, "{error}");
}

#[test]
fn too_much_of_one_rank_is_an_error_of_all() {
    let exchanged = |store: &TcpStore| {
        let long = vec![0; (8 << 20) + usize::from(store.rank() == 1)];
        let error = store.exchange(&long).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Length, "{error}");
        assert!(error.to_string().contains("rank 1 passes"), "{error}");
    };
    let store = first(3, LONG);
    let port = store.port();
    thread::scope(|scope| {
        for rank in 1..3 {
            scope.spawn(move || exchanged(&other(port, rank, 3, LONG).unwrap()));
        }
        exchanged(&store);
    });
}
