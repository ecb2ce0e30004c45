//! A TCP store: the server under what any clients say, a client under what any server answers.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use ranks_bootstrap::fuzzing::{Store, answers, requests};

#[derive(Debug, Arbitrary)]
struct Input {
    says: Vec<(bool, Say)>,
    /// How long the pieces are in which it comes.
    cuts: Vec<u8>,
    /// Who does not begin as a client does.
    strangers: [bool; 2],
    answers: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
enum Say {
    Set(Key, Vec<u8>),
    Get(Key),
    Add(Key, i64),
    Check(Vec<Key>),
    Wait(Vec<Key>),
    DeleteKey(Key),
    MultiGet(Vec<Key>),
    CancelWait,
    Ping(u32),
    Validate,
    Any(Vec<u8>),
}

#[derive(Debug, Arbitrary)]
enum Key {
    /// One of few.
    Known(bool),
    Any(Vec<u8>),
}

fuzz_target!(|input: Input| {
    let (mut whole, mut pieces) = (Store::new(2), Store::new(2));
    for (client, stranger) in input.strangers.into_iter().enumerate() {
        if !stranger {
            for store in [&mut whole, &mut pieces] {
                store.hear(client, &Say::Validate.bytes());
            }
        }
    }
    let mut cuts = input.cuts.iter().cycle();
    let mut good = Vec::new();
    let mut any = false;
    for (client, say) in &input.says {
        let (client, bytes) = (usize::from(*client), say.bytes());
        whole.hear(client, &bytes);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let length = cuts.next().map_or(rest.len(), |cut| usize::from(*cut) + 1);
            let (piece, later) = rest.split_at(rest.len().min(length));
            pieces.hear(client, piece);
            rest = later;
        }
        if let Say::Any(_) = say {
            any = true;
            continue;
        }
        good.extend(bytes);
        // Many requests that come at once are answered before those who wait are told.
        if !any {
            for client in [0, 1] {
                assert_eq!(whole.told(client), pieces.told(client));
            }
        }
    }
    assert_eq!(requests(&good), (good.clone(), false));
    let raw: Vec<u8> = input.says.iter().flat_map(|(_, say)| say.bytes()).collect();
    let (again, _) = requests(&raw);
    assert_eq!(again, raw[..again.len()]);
    if input.answers.len() <= 1 << 15 {
        answers(&input.answers);
    }
});

impl Say {
    /// As it is on the wire.
    fn bytes(&self) -> Vec<u8> {
        match self {
            Say::Validate => [&[0][..], &0x3C85_F7CE_u32.to_ne_bytes()].concat(),
            Say::Set(key, value) => [vec![1], key.bytes(), text(value)].concat(),
            Say::Get(key) => [vec![3], key.bytes()].concat(),
            Say::Add(key, number) => [vec![4], key.bytes(), number.to_ne_bytes().to_vec()].concat(),
            Say::Check(keys) => several(5, keys),
            Say::Wait(keys) => several(6, keys),
            Say::DeleteKey(key) => [vec![8], key.bytes()].concat(),
            Say::MultiGet(keys) => several(10, keys),
            Say::CancelWait => vec![12],
            Say::Ping(number) => [&[13][..], &number.to_ne_bytes()].concat(),
            Say::Any(bytes) => bytes.clone(),
        }
    }
}

impl Key {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Key::Known(one) => text(if *one { b"one" } else { b"other" }),
            Key::Any(bytes) => text(bytes),
        }
    }
}

fn text(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_ne_bytes()[..], text].concat()
}

fn several(kind: u8, keys: &[Key]) -> Vec<u8> {
    let number = (keys.len() as u64).to_ne_bytes();
    let keys: Vec<u8> = keys.iter().flat_map(Key::bytes).collect();
    [&[kind][..], &number, &keys].concat()
}
