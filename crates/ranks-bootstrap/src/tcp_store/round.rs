//! One exchange over a store, which is linear in the number of ranks as far as a table of all
//! contributions on each of them allows.
//!
//! Each rank sets a key of its own and adds one to a number. Who makes that as large as the number
//! of ranks gets the keys of all, removes them, and sets a table of all values, in parts as long as
//! a store takes. All wait for the key that tells of the parts, get these, and add one to another
//! number, whose last rank sets a last key. Rank 0, which may be the one that serves, waits for it:
//! so it does not go before all have what they need. Then it removes what is left. Who passes more
//! than a store takes sets the key that tells of the parts, to say so.
//!
//! Rank 0 sets one more key when it connects: how many ranks there are. Each other one compares it
//! with what it was told itself before it takes part in the first exchange.

use std::fmt;

use ranks_comm::backend::RankList;

use super::connection::{Connection, Deadline, Trouble};
use super::wire::{MAX_VALUE, Request};

/// The most keys in one request, of which each is a few dozen bytes.
const KEYS: usize = 1 << 14;

/// The most ranks that have not come that are looked for.
const NAMED: usize = 16;

/// The beginning of what is told in place of the number of parts: a rank passes too much.
const TOO_LONG: &str = "too long, of rank ";

/// The beginning of the same where a rank was told of another number of ranks than rank 0.
const SIZES: &str = "sizes, of rank ";

/// The key of the number of ranks, for a store whose keys begin so.
pub(super) fn size_key(keys: &str) -> Vec<u8> {
    format!("{keys}/size").into_bytes()
}

/// Sets the key of the number of ranks, which rank 0 does.
pub(super) fn tell_size(
    connection: &mut Connection,
    keys: &str,
    size: usize,
    deadline: Deadline,
) -> Result<(), Trouble> {
    let (key, value) = (size_key(keys), size.to_string());
    let (key, value) = (key.as_slice(), value.as_bytes());
    connection.send(&[Request::Set { key, value }], deadline)
}

/// An exchange among so many ranks, all of whose keys begin alike.
pub(super) struct Round<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) keys: String,
    /// The key to compare the number of ranks with, if that is still to be done.
    pub(super) size_key: Option<Vec<u8>>,
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) deadline: Deadline,
}

/// The reason why there is none.
pub(super) enum Unfinished {
    /// Of these ranks.
    Late(RankList),
    /// This rank was told of `size` ranks, and rank 0 of `first`.
    Sizes {
        rank: usize,
        size: usize,
        first: usize,
    },
    /// This rank passes more than a store takes.
    Long(usize),
    Store(Trouble),
}

impl From<Trouble> for Unfinished {
    fn from(trouble: Trouble) -> Self {
        Self::Store(trouble)
    }
}

impl Round<'_> {
    fn key(&self, what: impl fmt::Display) -> Vec<u8> {
        format!("{}/{what}", self.keys).into_bytes()
    }

    /// The bytes of all ranks.
    pub(super) fn exchange(mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Unfinished> {
        let [came, all, read, over] = ["came", "all", "read", "over"].map(|what| self.key(what));
        if mine.len() > MAX_VALUE {
            self.set(&all, format!("{TOO_LONG}{}", self.rank).as_bytes())?;
            return Err(Unfinished::Long(self.rank));
        }
        if let Some(key) = self.size_key.take() {
            self.compare_sizes(&key, &all)?;
        }
        self.set(&self.key(self.rank), mine)?;
        if self.add(&came, 1)? == self.size as i64 {
            let parts = self.gather()?;
            self.set(&all, parts.to_string().as_bytes())?;
        }
        match self.connection.wait(vec![&all], self.deadline) {
            Ok(()) => {}
            Err(Trouble::TimedOut) => return Err(self.late(&came)?),
            Err(lost) => return Err(lost.into()),
        }
        let (parts, table) = self.table(&all)?;
        let values = split(&table, self.size).ok_or_else(misunderstood)?;
        if self.add(&read, 1)? == self.size as i64 {
            self.set(&over, b"1")?;
        }
        if self.rank == 0 {
            self.connection.wait(vec![&over], self.deadline)?;
            let parts = (0..parts).map(|part| self.part(part));
            self.delete(&parts.chain([came, all, read, over]).collect::<Vec<_>>())?;
        }
        Ok(values)
    }

    /// Compares the number of ranks with that of rank 0. A rank that was told of another one takes
    /// no part: it says so to those who wait.
    fn compare_sizes(&mut self, key: &[u8], all: &[u8]) -> Result<(), Unfinished> {
        match self.connection.wait(vec![key], self.deadline) {
            Ok(()) => {}
            Err(Trouble::TimedOut) => return Err(Unfinished::Late([0].into_iter().collect())),
            Err(lost) => return Err(lost.into()),
        }
        let (rank, size) = (self.rank, self.size);
        let first = number(&self.values(&[key.to_vec()])?.concat())?;
        if first == size {
            return Ok(());
        }
        self.set(all, format!("{SIZES}{rank} {size}").as_bytes())?;
        Err(Unfinished::Sizes { rank, size, first })
    }

    /// The key of a part of the table.
    fn part(&self, number: usize) -> Vec<u8> {
        self.key(format_args!("all/{number}"))
    }

    /// Makes the table of what all ranks have set, and returns the number of its parts.
    fn gather(&mut self) -> Result<usize, Trouble> {
        let mut table = Vec::new();
        for first in (0..self.size).step_by(KEYS) {
            let ranks = first..self.size.min(first + KEYS);
            let keys: Vec<Vec<u8>> = ranks.map(|rank| self.key(rank)).collect();
            for value in self.values(&keys)? {
                table.extend((value.len() as u64).to_le_bytes());
                table.extend(value);
            }
            self.delete(&keys)?;
        }
        let parts = table.chunks(MAX_VALUE);
        let count = parts.len();
        for (number, part) in parts.enumerate() {
            self.set(&self.part(number), part)?;
        }
        Ok(count)
    }

    /// The number of parts of the table, and the table.
    fn table(&mut self, all: &[u8]) -> Result<(usize, Vec<u8>), Unfinished> {
        let told = self.values(&[all.to_vec()])?.concat();
        if let Some(rank) = told.strip_prefix(TOO_LONG.as_bytes()) {
            return Err(Unfinished::Long(number(rank)?));
        }
        if let Some(numbers) = told.strip_prefix(SIZES.as_bytes()) {
            let mut numbers = numbers.splitn(2, |&byte| byte == b' ').map(number);
            let mut next = || numbers.next().unwrap_or_else(|| Err(misunderstood()));
            let (rank, size, first) = (next()?, next()?, self.size);
            return Err(Unfinished::Sizes { rank, size, first });
        }
        let parts = number(&told)?;
        let mut table = Vec::new();
        for part in 0..parts {
            let part = self.values(&[self.part(part)])?.concat();
            if part.is_empty() {
                return Err(misunderstood().into());
            }
            table.extend(part);
        }
        Ok((parts, table))
    }

    /// The ranks that have not come.
    fn late(&mut self, came: &[u8]) -> Result<Unfinished, Trouble> {
        let grace = Deadline::grace();
        let add = Request::Add {
            key: came,
            number: 0,
        };
        self.connection.send(&[add], grace)?;
        let came = usize::try_from(self.connection.receive_number(grace)?).unwrap_or(0);
        let mut late = RankList::default();
        let mut ranks = 0..self.size;
        if came >= self.size {
            // All have come, and the last one does not do its part.
            return Ok(Unfinished::Store(Trouble::TimedOut));
        }
        while late.count() < NAMED && !ranks.is_empty() {
            let some = ranks.start..ranks.end.min(ranks.start + KEYS / 64);
            ranks.start = some.end;
            let keys: Vec<Vec<u8>> = some.clone().map(|rank| self.key(rank)).collect();
            for index in self.connection.missing(&keys, NAMED)? {
                late.push(some.start + index);
            }
        }
        if late.count() >= NAMED {
            late.and_more((self.size - came).saturating_sub(late.count()));
        }
        Ok(Unfinished::Late(late))
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Trouble> {
        self.connection
            .send(&[Request::Set { key, value }], self.deadline)
    }

    fn add(&mut self, key: &[u8], number: i64) -> Result<i64, Trouble> {
        let add = Request::Add { key, number };
        self.connection.send(&[add], self.deadline)?;
        self.connection.receive_number(self.deadline)
    }

    fn values(&mut self, keys: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Trouble> {
        let get = Request::MultiGet {
            keys: keys.iter().map(Vec::as_slice).collect(),
        };
        self.connection.send(&[get], self.deadline)?;
        let values = keys
            .iter()
            .map(|_| self.connection.receive_value(self.deadline));
        values.collect()
    }

    fn delete(&mut self, keys: &[Vec<u8>]) -> Result<(), Trouble> {
        let requests: Vec<_> = keys.iter().map(|key| Request::DeleteKey { key }).collect();
        self.connection.send(&requests, self.deadline)?;
        for _ in &requests {
            self.connection.receive_number(self.deadline)?;
        }
        Ok(())
    }
}

/// The values of a table of so many; `None` if it is none.
fn split(mut table: &[u8], size: usize) -> Option<Vec<Vec<u8>>> {
    // As many as there may be, not as many as are said to be.
    let mut values = Vec::with_capacity(size.min(table.len() / size_of::<u64>()));
    for _ in 0..size {
        let (length, rest) = table.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (value, rest) = rest.split_at_checked(length)?;
        values.push(value.to_vec());
        table = rest;
    }
    table.is_empty().then_some(values)
}

/// A number in digits.
fn number(digits: &[u8]) -> Result<usize, Trouble> {
    let digits = std::str::from_utf8(digits).ok();
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(misunderstood)
}

fn misunderstood() -> Trouble {
    Trouble::Lost("its table of this exchange is none".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_none_is_refused() {
        let table = b"\x02\0\0\0\0\0\0\0ab\0\0\0\0\0\0\0\0";
        assert_eq!(split(table, 2), Some(vec![b"ab".to_vec(), vec![]]));
        for (bytes, size) in [
            (&table[..], 1),
            (table, 3),
            (&table[..17], 2),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff", 1),
            (b"", 1),
        ] {
            assert_eq!(split(bytes, size), None);
        }
    }

    #[test]
    fn a_table_takes_what_ranks_have_said() {
        ranks_scale::row(
            "an exchange of 64 bytes over a `TcpStore`, on each rank",
            (64 + 48, 64),
            |ranks| {
                let said = [&64_u64.to_le_bytes()[..], &[7; 64]].concat();
                said.repeat(ranks)
            },
            |ranks, table| split(table, ranks),
        );
    }
}
