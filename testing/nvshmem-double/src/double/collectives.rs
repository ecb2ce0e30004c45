//! Operations of all PEs of a team on their heaps. In a reduction each reads from the others when
//! all have come, and writes to its own part when all have read; what only moves is put to the
//! others at once, whether they have come or not (seen of 3.4.5 on an H200).

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::abi::{self, Code};
use super::elements::{self, Element, Operator};
use super::meeting::Call;
use super::pe::{self, Pe};
use super::teams::{self, Team};
use super::{fatal, hooks, order, stream};

/// What is done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Broadcast { root: c_int },
    Fcollect,
    Alltoall,
    Reduce(Element, Operator),
    ReduceScatter(Element, Operator),
}

/// The arguments of a call. Its name is that of the form without a stream: PEs may mix both.
#[derive(Clone, Copy)]
pub(crate) struct Collective {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) team: abi::Team,
    /// Addresses of this PE.
    pub(crate) dest: usize,
    pub(crate) source: usize,
    /// Elements of a block, and bytes of an element.
    pub(crate) count: usize,
    pub(crate) size: usize,
}

/// What runs, now or on a stream.
struct Run {
    name: &'static str,
    kind: Kind,
    team: Arc<Team>,
    /// Offsets in the heaps.
    dest: usize,
    source: usize,
    /// Bytes of a block.
    block: usize,
    call: Call,
}

impl Collective {
    /// Carries it out, on a stream if there is one.
    pub(crate) fn call(self, stream: Option<abi::Stream>) -> Code {
        let pe = pe::unlimited(self.name);
        if let Some(code) = hooks::failure_asked_of(self.name) {
            return code;
        }
        let run = self.check(&pe);
        match stream {
            None => run.carry_out(&pe),
            Some(stream) => {
                let team = Arc::clone(&run.team);
                on_stream(&pe, team, stream, move |pe| run.carry_out(pe));
            }
        }
        abi::SUCCESS
    }

    /// Sees to it that memory is the heap's. The library would read and write elsewhere.
    fn check(&self, pe: &Pe) -> Run {
        let name = self.name;
        let team = teams::of(pe, self.team, name);
        let pes = team.pes.len();
        let root = match self.kind {
            Kind::Broadcast { root } => root,
            _ => 0,
        };
        if usize::try_from(root).is_ok_and(|root| root >= pes) || root < 0 {
            fatal::abort(format_args!("{name}: the root is {root} of {pes} PEs"));
        }
        let block = self.count.checked_mul(self.size);
        let whole = block.and_then(|block| block.checked_mul(pes));
        let (Some(block), Some(whole)) = (block, whole) else {
            fatal::abort(format_args!("{name}: {} elements", self.count))
        };
        let (to, from) = match self.kind {
            Kind::Broadcast { .. } | Kind::Reduce(..) => (block, block),
            Kind::Fcollect => (whole, block),
            Kind::Alltoall => (whole, whole),
            Kind::ReduceScatter(..) => (block, whole),
        };
        let offset = |address: usize, bytes: usize| {
            if bytes == 0 {
                return 0;
            }
            pe.heap().symmetric(name, address, bytes)
        };
        let (dest, source) = (offset(self.dest, to), offset(self.source, from));
        let apart = dest + to <= source || source + from <= dest;
        if hooks::STRICT.get() && !apart && dest != source {
            fatal::abort(format_args!(
                "{name}: the destination and the source overlap"
            ));
        }
        let words = [self.count, dest, source].map(|word| word as u64);
        let [count, dest_word, source_word] = words;
        let root_word = u64::try_from(root).unwrap_or(0);
        Run {
            name,
            kind: self.kind,
            team,
            dest,
            source,
            block,
            call: Call::of(name, [count, dest_word, source_word, root_word]),
        }
    }
}

impl Run {
    fn carry_out(&self, pe: &Pe) {
        let team = &self.team;
        let _busy = team.enter(self.name);
        match self.kind {
            Kind::Reduce(kind, operator) => return self.reduced(pe, kind, operator, 0),
            Kind::ReduceScatter(kind, operator) => {
                return self.reduced(pe, kind, operator, team.me);
            }
            Kind::Broadcast { root } if usize::try_from(root) == Ok(team.me) => {
                self.put_blocks(pe, 0, |_| 0);
            }
            Kind::Broadcast { .. } => {}
            Kind::Fcollect => self.put_blocks(pe, team.me, |_| 0),
            Kind::Alltoall => self.put_blocks(pe, team.me, |to| to),
        }
        pe.meet(&team.pes, team.line, self.call);
    }

    /// Puts a block of this PE to the block `at` of each: `which` says the one for a PE of the
    /// team.
    fn put_blocks(&self, pe: &Pe, at: usize, which: impl Fn(usize) -> usize) {
        for (number, &to) in self.team.pes.iter().enumerate() {
            let source = self.source + which(number) * self.block;
            let bytes = pe.heap().read(pe.my_pe, source, self.block);
            pe.heap().write(to, self.dest + at * self.block, &bytes);
        }
    }

    /// Combines a block of all PEs.
    fn reduced(&self, pe: &Pe, kind: Element, operator: Operator, block: usize) {
        let team = &self.team;
        pe.meet(&team.pes, team.line, self.call);
        let offset = self.source + block * self.block;
        let of = |&other: &usize| pe.heap().read(other, offset, self.block);
        let blocks: Vec<Vec<u8>> = team.pes.iter().map(of).collect();
        let mut result = vec![0; self.block];
        elements::reduce(kind, operator, &blocks, &mut result);
        pe.meet(&team.pes, team.line, self.call);
        pe.heap().write(pe.my_pe, self.dest, &result);
    }
}

/// Enqueues what is done with a team, which is not destroyed meanwhile.
fn on_stream(
    pe: &Arc<Pe>,
    team: Arc<Team>,
    stream: abi::Stream,
    work: impl FnOnce(&Pe) + Send + 'static,
) {
    team.pending.fetch_add(1, Ordering::AcqRel);
    stream::enqueue(pe, stream, move |pe| {
        work(pe);
        team.pending.fetch_sub(1, Ordering::AcqRel);
    });
}

/// `nvshmem_barrier`, `nvshmem_team_sync`: PEs of a team wait for each other, the one after what
/// they have put is delivered.
pub(crate) fn meet(
    name: &'static str,
    team: abi::Team,
    delivers: bool,
    stream: Option<abi::Stream>,
) -> Code {
    let pe = pe::unlimited(name);
    if let Some(code) = hooks::failure_asked_of(name) {
        return code;
    }
    let team = teams::of(&pe, team, name);
    let meet = move |pe: &Pe, team: &Team| {
        let _busy = team.enter(name);
        pe.meet(&team.pes, team.line, Call::new(name));
    };
    match stream {
        None => {
            if delivers {
                order::quiet(&pe);
            }
            meet(&pe, &team);
        }
        Some(stream) => {
            if delivers {
                order::quiet_on_stream(&pe, stream);
            }
            let of = Arc::clone(&team);
            on_stream(&pe, team, stream, move |pe| meet(pe, &of));
        }
    }
    abi::SUCCESS
}
