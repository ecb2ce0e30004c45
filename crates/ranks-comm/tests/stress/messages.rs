//! The messages of a round, which every rank knows.

/// The amount of work.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) rounds: usize,
    /// Messages from each rank to each in a round, under tags of their own.
    pub(crate) tagged: usize,
    /// Messages to each rank in a round that only their order distinguishes.
    pub(crate) ordered: usize,
    /// Messages from each rank to each in a round, some received from any source.
    pub(crate) wild: usize,
    /// The longest message, in bytes.
    pub(crate) longest: usize,
}

/// A number that looks random (splitmix64).
pub(crate) fn hash(parts: &[usize]) -> usize {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for &part in parts {
        state = state
            .wrapping_add(part as u64)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state ^= state >> 29;
        state = state.wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 32;
    }
    (state >> 8) as usize
}

/// One message: its sender, and its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) source: usize,
    pub(crate) dest: usize,
    pub(crate) round: usize,
    /// 0: tagged, 1: ordered, 2: wild.
    pub(crate) kind: usize,
    pub(crate) index: usize,
}

impl Item {
    pub(crate) fn random(self, what: usize) -> usize {
        let Self {
            source,
            dest,
            round,
            kind,
            index,
        } = self;
        hash(&[source, dest, round, kind, index, what])
    }

    /// Mostly short, sometimes as long as allowed.
    pub(crate) fn bytes(self, load: Load) -> usize {
        let (choice, random) = (self.random(1) % 100, self.random(2));
        let most = match (self.kind, choice) {
            (2, _) => return 16 + random % 4000,
            (_, 0..10) => 0,
            (_, 10..65) => 64,
            (_, 65..90) => 4096,
            (_, 90..98) => 1 << 16,
            _ => load.longest,
        };
        random % (most.min(load.longest) + 1)
    }

    /// Different in every byte from the content of another message, nearly always; the first 16
    /// identify it.
    pub(crate) fn payload(self, load: Load) -> Vec<u8> {
        let length = self.bytes(load);
        let first = self.random(3);
        let block: Vec<u8> = (0..251).map(|step| (first + step) as u8).collect();
        let mut bytes = Vec::with_capacity(length + block.len());
        bytes.extend_from_slice(&(self.source as u64).to_le_bytes());
        bytes.extend_from_slice(&(self.index as u64).to_le_bytes());
        while bytes.len() < length {
            bytes.extend_from_slice(&block);
        }
        bytes.truncate(length);
        bytes
    }

    pub(crate) fn check(self, load: Load, got: &[u8]) {
        let wanted = self.payload(load);
        assert_eq!(got.len(), wanted.len(), "{self:?}");
        assert!(got == wanted, "{self:?} has other contents");
    }

    pub(crate) fn tag(self, load: Load, size: usize) -> i32 {
        match self.kind {
            0 => ((self.round * size + self.source) * load.tagged + self.index) as i32,
            _ => 7,
        }
    }

    /// The modes by which a tagged message is sent and received; not both in a scope, which would
    /// make ranks wait for each other.
    pub(crate) fn ways(self) -> (Sending, Receive) {
        let send = match self.random(4) % 10 {
            0..3 => Sending::Standard,
            3..5 => Sending::Synchronous,
            5 => Sending::Dropped,
            6 => Sending::DroppedSynchronous,
            7..9 => Sending::Scoped,
            _ => Sending::ScopedSynchronous,
        };
        let scoped = matches!(send, Sending::Scoped | Sending::ScopedSynchronous);
        let receive = match self.random(5) % 10 {
            0..2 => Receive::Vector,
            2 => Receive::Boxed,
            3..5 => Receive::AnyLength,
            5 => Receive::Dropped,
            6 => Receive::DroppedAnyLength,
            _ if scoped => Receive::Vector,
            _ => Receive::Scoped,
        };
        (send, receive)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    Standard,
    Synchronous,
    Dropped,
    DroppedSynchronous,
    Scoped,
    ScopedSynchronous,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receive {
    Vector,
    Boxed,
    AnyLength,
    Dropped,
    DroppedAnyLength,
    Scoped,
}

/// The messages of one kind that `rank` sends (or gets) in a round.
pub(crate) fn items(
    load: Load,
    size: usize,
    round: usize,
    kind: usize,
    chosen: impl Fn(&Item) -> bool,
) -> Vec<Item> {
    let count = [load.tagged, load.ordered, load.wild][kind];
    let item = |source, dest, index| Item {
        source,
        dest,
        round,
        kind,
        index,
    };
    let mut items = Vec::new();
    for index in 0..count {
        for dest in 0..size {
            // Ordered ones have one sender each.
            let sources = if kind == 1 {
                (dest + round) % size..(dest + round) % size + 1
            } else {
                0..size
            };
            items.extend(sources.map(|source| item(source, dest, index)));
        }
    }
    items.retain(chosen);
    items
}
