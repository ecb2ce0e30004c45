//! Ranks that are processes: this program, started again.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ranks_nccl_sys::*;

use crate::support::{
    Rank, at, counted, counted_by_cuda, hook, int, set, threads, unique_id, until,
};

const F32: ncclDataType_t = ncclFloat32;

/// Which rank a process is, of how many.
const RANK: &str = "NCCL_DOUBLE_TEST_RANK";
const SIZE: &str = "NCCL_DOUBLE_TEST_SIZE";
/// What a rank says when it is well until its end, on a line of its own.
const WELL: &str = "this rank has come to its end";

/// The rank that this process is, if it is one.
fn own() -> Option<Rank> {
    let number = |name| env::var(name).ok()?.parse().ok();
    let (rank, size) = (number(RANK)?, number(SIZE)?);
    crate::support::nccl();
    Some(Rank::without(size, rank))
}

/// A process of a test. It does not outlive the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn start(test: &str, rank: usize, size: usize) -> Self {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        command
            .args([test, "--exact", "--nocapture"])
            .env(RANK, rank.to_string())
            .env(SIZE, size.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        Self(command.spawn().expect("it starts"))
    }

    /// Gives it a line.
    fn tell(&mut self, line: &str) {
        let input = self.0.stdin.as_mut().expect("it has an input");
        writeln!(input, "{line}").expect("it reads");
    }

    /// Waits for a line that begins with `mark`, and gives what follows.
    fn hear(&mut self, mark: &str) -> String {
        let output = self.0.stdout.take().expect("it has an output");
        let mut output = BufReader::new(output);
        let mut line = String::new();
        loop {
            line.clear();
            let read = output.read_line(&mut line).expect("it writes");
            assert!(read > 0, "it ended without {mark:?}");
            if let Some((_, rest)) = line.split_once(mark) {
                let rest = rest.trim().to_owned();
                self.0.stdout = Some(output.into_inner());
                return rest;
            }
        }
    }
}

/// Kills processes that are still there after a while, so that a test cannot hang.
fn watched(processes: &[Process]) {
    let ids: Vec<u32> = processes.iter().map(|process| process.0.id()).collect();
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(60));
        for id in ids {
            let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
        }
    });
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{text}").expect("somebody listens");
}

/// The next line that the test says.
fn line() -> String {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .expect("the test speaks");
    line.trim().to_owned()
}

/// The bytes of an id in words, and back.
fn to_text(id: &ncclUniqueId) -> String {
    let bytes = id.internal.iter().map(|byte| byte.to_string());
    bytes.collect::<Vec<_>>().join(" ")
}

fn of_text(text: &str) -> ncclUniqueId {
    let mut internal = [0; 128];
    for (place, byte) in internal.iter_mut().zip(text.split(' ')) {
        *place = byte.parse().expect("a byte");
    }
    ncclUniqueId { internal }
}

/// Starts the ranks, and brings them the id of the first one.
fn start(test: &str, size: usize) -> Vec<Process> {
    let rank = |rank| Process::start(test, rank, size);
    let mut processes: Vec<Process> = (0..size).map(rank).collect();
    watched(&processes);
    let id = processes[0].hear("id: ");
    for process in &mut processes {
        process.tell(&id);
    }
    processes
}

/// Makes the communicator of this process.
fn init(rank: &mut Rank) {
    if rank.rank == 0 {
        say(&format!("id: {}", to_text(&unique_id())));
    }
    let id = of_text(&line());
    assert_eq!(rank.init(id, None), 0);
}

fn left_behind() -> usize {
    let count = |folder| fs::read_dir(folder).map_or(0, Iterator::count);
    let open = count("/dev/shm");
    let names = fs::read_dir(env::temp_dir())
        .into_iter()
        .flatten()
        .flatten();
    let ours = names.filter(|entry| entry.file_name().to_string_lossy().contains("nccl-double"));
    open + ours.count()
}

#[test]
fn processes_compute_together_and_leave_nothing_behind() {
    if let Some(mut rank) = own() {
        init(&mut rank);
        let len = 30_000;
        let memory = rank.memory(&vec![1_f32; len]);
        let (at, comm, stream) = (at(&memory), rank.comm, rank.raw());
        for _ in 0..2 {
            assert_eq!(
                nccl!(ncclAllReduce(at, at, len, F32, ncclSum, comm, stream)),
                0
            );
        }
        let mut child = std::ptr::null_mut();
        let color = int(rank.rank % 2);
        let null = std::ptr::null_mut();
        assert_eq!(
            nccl!(ncclCommSplit(comm, color, 0, &raw mut child, null)),
            0
        );
        rank.sync();
        let size = f32::from(u8::try_from(rank.size).expect("small"));
        assert_eq!(memory.to_vec().expect("memory"), vec![size * size; len]);
        assert_eq!(nccl!(ncclCommDestroy(child)), 0);
        rank.destroy();
        say(WELL);
        return;
    }
    let before = left_behind();
    for size in [2, 4] {
        let mut processes = start(
            "processes::processes_compute_together_and_leave_nothing_behind",
            size,
        );
        for process in &mut processes {
            process.hear(WELL);
        }
    }
    assert!(left_behind() <= before);
}

#[test]
fn the_death_of_a_process_is_an_asynchronous_error_where_it_is_noticed() {
    if let Some(mut rank) = own() {
        init(&mut rank);
        set("set_notices_death", int(rank.rank % 2));
        let len = 100_000;
        let memory = rank.memory(&vec![1_f32; len]);
        let (at, comm, stream) = (at(&memory), rank.comm, rank.raw());
        if rank.rank == 2 {
            let die_in: extern "C" fn(i64) = hook("ncclDouble_die_in");
            die_in(1);
        }
        let code = nccl!(ncclAllReduce(at, at, len, F32, ncclSum, comm, stream));
        assert_eq!(code, 0);
        if rank.rank == 2 {
            rank.sync();
            unreachable!("it dies in the middle");
        }
        if rank.rank == 1 {
            until("noticed", || rank.state() == ncclRemoteError);
        } else {
            let since = Instant::now();
            while since.elapsed() < Duration::from_millis(200) {
                assert_eq!(rank.state(), 0);
                thread::yield_now();
            }
        }
        assert!(!rank.is_idle(), "what is under way stays so");
        rank.abort();
        rank.sync();
        say(WELL);
        return;
    }
    let test = "processes::the_death_of_a_process_is_an_asynchronous_error_where_it_is_noticed";
    let mut processes = start(test, 3);
    for rank in [0, 1] {
        processes[rank].hear(WELL);
    }
}

#[test]
fn the_id_of_a_process_that_is_over_leads_nowhere() {
    if let Some(rank) = own() {
        assert_eq!(rank.size, 1);
        say(&format!("id: {}", to_text(&unique_id())));
        return;
    }
    crate::support::nccl();
    let mut process = Process::start(
        "processes::the_id_of_a_process_that_is_over_leads_nowhere",
        0,
        1,
    );
    let id = of_text(&process.hear("id: "));
    drop(process);
    let mut rank = Rank::without(2, 1);
    assert_eq!(rank.init(id, None), ncclSystemError);
}

#[test]
fn nothing_is_left_when_the_last_communicator_has_gone() {
    const TEST: &str = "processes::nothing_is_left_when_the_last_communicator_has_gone";
    if own().is_none() {
        let mut process = Process::start(TEST, 0, 1);
        watched(std::slice::from_ref(&process));
        process.hear(WELL);
        return;
    }
    let counts = || {
        let ours = [
            "live_communicators",
            "live_windows",
            "live_operators",
            "pending",
            "threads",
        ];
        let cudas = [
            "live_streams",
            "live_events",
            "live_allocations",
            "live_host_allocations",
        ];
        let ours = ours.into_iter().map(counted);
        ours.chain(cudas.into_iter().map(counted_by_cuda))
            .collect::<Vec<_>>()
    };
    let before = counts();
    for ends in [Rank::destroy, Rank::abort] {
        threads(2, |rank| {
            let other = rank.context.stream().expect("a stream");
            let (comm, first) = (rank.comm, rank.raw());
            let second = ranks_cuda::Stream::raw(&other).0.cast();
            let memory = rank.memory(&[1_f32; 64]);
            let place = at(&memory);
            assert_eq!(nccl!(ncclGroupStart()), 0);
            for stream in [first, second] {
                let code = nccl!(ncclAllReduce(place, place, 64, F32, ncclSum, comm, stream));
                assert_eq!(code, 0);
            }
            assert_eq!(nccl!(ncclGroupEnd()), 0);
            let _entered = rank.context.enter().expect("its context");
            let mut page = std::ptr::null_mut();
            assert_eq!(nccl!(ncclMemAlloc(&raw mut page, 4096)), 0);
            let mut window = std::ptr::null_mut();
            let out = &raw mut window;
            assert_eq!(nccl!(ncclCommWindowRegister(comm, page, 4096, out, 0)), 0);
            let peer = int(1 - rank.rank);
            let code = nccl!(ncclPutSignal(
                place, 64, F32, peer, window, 0, 0, 0, 0, comm, first
            ));
            assert_eq!(code, 0);
            let mut one = ncclWaitSignalDesc_t {
                opCnt: 1,
                peer,
                sigIdx: 0,
                ctx: 0,
            };
            assert_eq!(nccl!(ncclWaitSignal(1, &raw mut one, comm, first)), 0);
            rank.sync();
            let mut factor = 2_f32;
            let scalar = (&raw mut factor).cast();
            let mut operator = 0;
            let op = &raw mut operator;
            let residence = ncclScalarHostImmediate;
            let made = nccl!(ncclRedOpCreatePreMulSum(op, scalar, F32, residence, comm));
            assert_eq!(made, 0);
            ends(&rank);
            assert_eq!(nccl!(ncclMemFree(page)), 0);
        });
        until("gone", || counts() == before);
    }
    say(WELL);
}
