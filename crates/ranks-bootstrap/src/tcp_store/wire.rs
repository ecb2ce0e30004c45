//! The requests of PyTorch's TCPStore, as they are on the wire.
//!
//! A request is a byte that says which it is, and its arguments: numbers in the order of bytes of
//! the machine, and texts with their length before them in eight bytes. What a client sends first
//! is [`Request::Validate`]. The numbers are those of PyTorch 2.3 and later
//! (`torch/csrc/distributed/c10d/TCPStoreBackend.hpp`).

/// The number by which a client shows that it means a store.
pub(super) const MAGIC: u32 = 0x3C85_F7CE;

/// The longest key that PyTorch's servers take.
pub(super) const MAX_KEY: usize = 8 << 10;
/// The longest value.
pub(super) const MAX_VALUE: usize = 8 << 20;
/// The largest number of keys in a request.
const MAX_KEYS: usize = 128 << 10;
/// The longest request that our server takes.
pub(super) const MAX_REQUEST: usize = 32 << 20;

/// The answer to [`Request::Check`] if all keys are there.
pub(super) const READY: u8 = 0;
/// The answer to [`Request::Check`] if one is not.
pub(super) const NOT_READY: u8 = 1;
/// The answer to [`Request::Wait`], when all keys are there.
pub(super) const STOP_WAITING: u8 = 0;
/// The answer to [`Request::CancelWait`].
pub(super) const WAIT_CANCELED: u8 = 1;

/// A request of a client. Others that PyTorch has are not spoken here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request<'a> {
    /// No answer.
    Validate,
    /// No answer.
    Set { key: &'a [u8], value: &'a [u8] },
    /// The value, or an empty one.
    Get { key: &'a [u8] },
    /// The sum, eight bytes. The value is the number in digits.
    Add { key: &'a [u8], number: i64 },
    /// One byte.
    Check { keys: Vec<&'a [u8]> },
    /// One byte, once all are there.
    Wait { keys: Vec<&'a [u8]> },
    /// Answered by the number of keys that were removed, eight bytes.
    DeleteKey { key: &'a [u8] },
    /// The values one after the other.
    MultiGet { keys: Vec<&'a [u8]> },
    /// One byte.
    CancelWait,
    /// The number.
    Ping { number: u32 },
}

const VALIDATE: u8 = 0;
const SET: u8 = 1;
const GET: u8 = 3;
const ADD: u8 = 4;
const CHECK: u8 = 5;
const WAIT: u8 = 6;
const DELETE_KEY: u8 = 8;
const MULTI_GET: u8 = 10;
const CANCEL_WAIT: u8 = 12;
const PING: u8 = 13;

/// Bytes that are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Garbage;

/// The reason why there is no request yet.
enum Stop {
    /// It goes on in bytes that are not there yet.
    More,
    Garbage,
}

/// The beginning of what a client has sent.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Stop> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Stop::More)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Stop::More)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn length(&mut self, most: usize) -> Result<usize, Stop> {
        let length = u64::from_ne_bytes(self.array()?);
        let length = usize::try_from(length).map_err(|_| Stop::Garbage)?;
        if length > most {
            return Err(Stop::Garbage);
        }
        Ok(length)
    }

    fn key(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.length(MAX_KEY)?;
        self.take(length)
    }

    fn value(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.length(MAX_VALUE)?;
        self.take(length)
    }

    fn keys(&mut self) -> Result<Vec<&'a [u8]>, Stop> {
        let number = self.length(MAX_KEYS)?;
        // As many as there are, not as many as are said to be.
        let mut keys = Vec::new();
        for _ in 0..number {
            keys.push(self.key()?);
        }
        Ok(keys)
    }

    fn request(&mut self) -> Result<Request<'a>, Stop> {
        let [kind] = self.array()?;
        Ok(match kind {
            VALIDATE => {
                if u32::from_ne_bytes(self.array()?) != MAGIC {
                    return Err(Stop::Garbage);
                }
                Request::Validate
            }
            SET => Request::Set {
                key: self.key()?,
                value: self.value()?,
            },
            GET => Request::Get { key: self.key()? },
            ADD => Request::Add {
                key: self.key()?,
                number: i64::from_ne_bytes(self.array()?),
            },
            CHECK => Request::Check { keys: self.keys()? },
            WAIT => Request::Wait { keys: self.keys()? },
            DELETE_KEY => Request::DeleteKey { key: self.key()? },
            MULTI_GET => Request::MultiGet { keys: self.keys()? },
            CANCEL_WAIT => Request::CancelWait,
            PING => Request::Ping {
                number: u32::from_ne_bytes(self.array()?),
            },
            _ => return Err(Stop::Garbage),
        })
    }
}

impl<'a> Request<'a> {
    /// The request at the beginning of `bytes` and how many bytes it takes; `None` if it goes on in
    /// bytes that are not there yet.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Option<(Request<'a>, usize)>, Garbage> {
        let mut rest = Bytes(bytes);
        match rest.request() {
            Ok(request) => Ok(Some((request, bytes.len() - rest.0.len()))),
            Err(Stop::More) if bytes.len() <= MAX_REQUEST => Ok(None),
            Err(Stop::More | Stop::Garbage) => Err(Garbage),
        }
    }

    /// The keys that it names.
    pub(super) fn keys(&self) -> &[&'a [u8]] {
        match self {
            Request::Set { key, .. }
            | Request::Get { key }
            | Request::Add { key, .. }
            | Request::DeleteKey { key } => std::slice::from_ref(key),
            Request::Check { keys } | Request::Wait { keys } | Request::MultiGet { keys } => keys,
            Request::Validate | Request::CancelWait | Request::Ping { .. } => &[],
        }
    }

    /// Appends the request to what goes out.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Request::Validate => {
                out.push(VALIDATE);
                out.extend(MAGIC.to_ne_bytes());
            }
            Request::Set { key, value } => {
                out.push(SET);
                text(key, out);
                text(value, out);
            }
            Request::Get { key } => {
                out.push(GET);
                text(key, out);
            }
            Request::Add { key, number } => {
                out.push(ADD);
                text(key, out);
                out.extend(number.to_ne_bytes());
            }
            Request::Check { keys } => texts(CHECK, keys, out),
            Request::Wait { keys } => texts(WAIT, keys, out),
            Request::DeleteKey { key } => {
                out.push(DELETE_KEY);
                text(key, out);
            }
            Request::MultiGet { keys } => texts(MULTI_GET, keys, out),
            Request::CancelWait => out.push(CANCEL_WAIT),
            Request::Ping { number } => {
                out.push(PING);
                out.extend(number.to_ne_bytes());
            }
        }
    }
}

/// Appends a text with its length, as requests and answers have it.
pub(super) fn text(text: &[u8], out: &mut Vec<u8>) {
    // A length in memory always fits.
    out.extend((text.len() as u64).to_ne_bytes());
    out.extend(text);
}

fn texts(kind: u8, keys: &[&[u8]], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend((keys.len() as u64).to_ne_bytes());
    for key in keys {
        text(key, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same in each run.
    struct Drawn(u64);

    impl Drawn {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn below(&mut self, end: usize) -> usize {
            usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
        }

        fn bytes(&mut self, most: usize) -> Vec<u8> {
            (0..self.below(most + 1))
                .map(|_| self.next().to_ne_bytes()[0])
                .collect()
        }
    }

    fn with_drawn(drawn: &mut Drawn, check: impl Fn(Request<'_>)) {
        let (key, value) = (drawn.bytes(20), drawn.bytes(300));
        let several: Vec<Vec<u8>> = (0..drawn.below(5)).map(|_| drawn.bytes(9)).collect();
        let keys: Vec<&[u8]> = several.iter().map(Vec::as_slice).collect();
        let (key, value) = (key.as_slice(), value.as_slice());
        let number = i64::from_ne_bytes(drawn.next().to_ne_bytes());
        check(match drawn.below(10) {
            0 => Request::Validate,
            1 => Request::Set { key, value },
            2 => Request::Get { key },
            3 => Request::Add { key, number },
            4 => Request::Check { keys },
            5 => Request::Wait { keys },
            6 => Request::DeleteKey { key },
            7 => Request::MultiGet { keys },
            8 => Request::CancelWait,
            _ => Request::Ping { number: 77 },
        });
    }

    #[test]
    fn what_is_written_is_read_and_a_part_of_it_is_waited_for() {
        let mut drawn = Drawn(0x9E37_79B9_7F4A_7C15);
        for _ in 0..300 {
            with_drawn(&mut drawn, |request| {
                let mut bytes = Vec::new();
                request.write(&mut bytes);
                let length = bytes.len();
                for part in 0..length {
                    assert_eq!(Request::parse(&bytes[..part]), Ok(None), "{request:?}");
                }
                bytes.extend(b"what follows");
                assert_eq!(Request::parse(&bytes), Ok(Some((request, length))));
            });
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        let mut drawn = Drawn(1);
        for round in 0..20_000 {
            let mut bytes = drawn.bytes(64);
            if round % 2 == 0 {
                // Something of a request, and a mistake in it.
                with_drawn(&mut Drawn(drawn.next()), |request| {
                    let mut good = Vec::new();
                    request.write(&mut good);
                    let at = bytes.len() % good.len();
                    good[at] ^= 1 << (round % 8);
                    assert!(parsed(&good) <= good.len());
                });
                bytes.insert(0, u8::try_from(round % 14).unwrap());
            }
            assert!(parsed(&bytes) <= bytes.len());
        }
    }

    /// The number of bytes that are requests.
    fn parsed(bytes: &[u8]) -> usize {
        let mut done = 0;
        while let Ok(Some((_, length))) = Request::parse(&bytes[done..]) {
            assert!(length > 0);
            done += length;
        }
        done
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_comes() {
        let long = |length: usize| (length as u64).to_ne_bytes();
        let key = |length| [&[GET][..], &long(length)].concat();
        assert_eq!(Request::parse(&key(MAX_KEY)), Ok(None));
        assert_eq!(Request::parse(&key(MAX_KEY + 1)), Err(Garbage));
        assert_eq!(Request::parse(&key(usize::MAX)), Err(Garbage));
        let value = |length| [&[SET][..], &long(1), b"k", &long(length)].concat();
        assert_eq!(Request::parse(&value(MAX_VALUE)), Ok(None));
        assert_eq!(Request::parse(&value(MAX_VALUE + 1)), Err(Garbage));
        let keys = |number| [&[WAIT][..], &long(number)].concat();
        assert_eq!(Request::parse(&keys(MAX_KEYS)), Ok(None));
        assert_eq!(Request::parse(&keys(MAX_KEYS + 1)), Err(Garbage));
        // Each part of it may be allowed, and all of it not.
        let mut endless = keys(MAX_KEYS);
        while endless.len() <= MAX_REQUEST {
            text(&[b'k'; MAX_KEY], &mut endless);
        }
        assert_eq!(Request::parse(&endless), Err(Garbage));
    }

    #[test]
    fn the_bytes_are_those_of_pytorch() {
        let bytes = |request: Request<'_>| {
            let mut bytes = Vec::new();
            request.write(&mut bytes);
            bytes
        };
        if cfg!(target_endian = "big") {
            return;
        }
        assert_eq!(bytes(Request::Validate), [0, 0xCE, 0xF7, 0x85, 0x3C]);
        let set = Request::Set {
            key: b"a",
            value: b"xy",
        };
        assert_eq!(bytes(set), *b"\x01\x01\0\0\0\0\0\0\0a\x02\0\0\0\0\0\0\0xy");
        let wait = Request::Wait {
            keys: vec![b"a", b"bc"],
        };
        assert_eq!(
            bytes(wait),
            *b"\x06\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0a\x02\0\0\0\0\0\0\0bc"
        );
        let add = Request::Add {
            key: b"n",
            number: -1,
        };
        assert_eq!(
            bytes(add),
            *b"\x04\x01\0\0\0\0\0\0\0n\xff\xff\xff\xff\xff\xff\xff\xff"
        );
        assert_eq!(bytes(Request::CancelWait), [12]);
        assert_eq!(bytes(Request::Ping { number: 258 }), [13, 2, 1, 0, 0]);
    }
}
