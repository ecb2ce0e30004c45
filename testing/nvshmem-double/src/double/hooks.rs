//! What tests ask for: modes and delays. Each can be said in the environment as well.

use std::env;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use super::abi::Code;
use super::lock;

fn variable<T: FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

/// A number that the environment says until a test says another.
pub(crate) struct Setting {
    name: &'static str,
    default: i64,
    said: AtomicI64,
}

const NOT_SAID: i64 = i64::MIN;

impl Setting {
    const fn new(name: &'static str, default: i64) -> Self {
        let said = AtomicI64::new(NOT_SAID);
        Self {
            name,
            default,
            said,
        }
    }

    pub(crate) fn number(&self) -> i64 {
        match self.said.load(Ordering::Relaxed) {
            NOT_SAID => {
                let value = variable(self.name).unwrap_or(self.default);
                self.set(value);
                value
            }
            said => said,
        }
    }

    /// Returns `true` if it is not 0.
    pub(crate) fn get(&self) -> bool {
        self.number() != 0
    }

    pub(crate) fn set(&self, value: i64) {
        self.said.store(value, Ordering::Relaxed);
    }
}

/// Ends PEs that call different things with a diagnosis.
pub(crate) static STRICT: Setting = Setting::new("NVSHMEM_DOUBLE_STRICT", 1);
/// Lets PEs share a GPU without MPS.
pub(crate) static LIMITED: Setting = Setting::new("NVSHMEM_DOUBLE_LIMITED", 0);
/// Lets them share one with MPS.
pub(crate) static FULL: Setting = Setting::new("NVSHMEM_DOUBLE_FULL", 0);
/// Takes the GPU away, whatever the driver says.
pub(crate) static NO_GPU: Setting = Setting::new("NVSHMEM_DOUBLE_NO_GPU", 0);
/// Keeps PEs from loading from and storing to the heaps of others: `nvshmem_ptr` gives NULL.
pub(crate) static REMOTE: Setting = Setting::new("NVSHMEM_DOUBLE_REMOTE", 0);
/// Takes memory of the program into the heap, where no other PE has a part of it.
pub(crate) static TAKES_MEMORY: Setting = Setting::new("NVSHMEM_DOUBLE_TAKES_MEMORY", 0);
/// The microseconds for which a put is in flight, unless somebody waits for it.
pub(crate) static DELAY: Setting = Setting::new("NVSHMEM_DOUBLE_DELAY_US", 2000);
static PATIENCE: Setting = Setting::new("NVSHMEM_DOUBLE_PATIENCE", 60);

/// How long anybody waits for what does not come.
pub(crate) fn patience() -> Duration {
    Duration::from_secs(u64::try_from(PATIENCE.number()).unwrap_or(0))
}

pub(crate) fn delay() -> Duration {
    Duration::from_micros(u64::try_from(DELAY.number()).unwrap_or(0))
}

/// Returns `true` if the heap grows, and is lost where it cannot: `NVSHMEM_DISABLE_CUDA_VMM` is not
/// set, before 3.8 (`allocate_physical_memory_to_heap` in `mem_heap.cpp` of 3.4.5 calls
/// `cleanup_symmetric_heap` then; the same in the binaries of 3.3 to 3.7, not in that of 3.8).
pub(crate) fn heap_grows() -> bool {
    let vmm = |text: String| text.starts_with(['0', 'n', 'N', 'f', 'F']);
    crate::VERSION < (3, 8, 0) && variable("NVSHMEM_DISABLE_CUDA_VMM").is_none_or(vmm)
}

/// The size of a heap in bytes: `NVSHMEM_SYMMETRIC_SIZE`, or of one that grows
/// `NVSHMEM_MAX_MEMORY_PER_GPU` in whole pieces of 2 MiB, with K, M or G; 16 MiB (assumed, as that
/// all of it is there from the beginning).
pub(crate) fn symmetric_size() -> usize {
    let (name, piece) = if heap_grows() {
        ("NVSHMEM_MAX_MEMORY_PER_GPU", 2 << 20)
    } else {
        ("NVSHMEM_SYMMETRIC_SIZE", 1)
    };
    let said: Option<String> = variable(name);
    let bytes = said.and_then(|text| {
        let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let scale = match text[digits.len()..].chars().next() {
            Some('k' | 'K') => 1 << 10,
            Some('m' | 'M') => 1 << 20,
            Some('g' | 'G') => 1 << 30,
            _ => 1,
        };
        digits.parse::<usize>().ok()?.checked_mul(scale)
    });
    let bytes = bytes.unwrap_or(16 << 20).clamp(1 << 16, 1 << 32);
    bytes.next_multiple_of(piece)
}

/// Which function fails at its next call, and with which code:
/// `NVSHMEM_DOUBLE_FAIL=nvshmemx_cumodule_init=7`.
static FAILURE: LazyLock<Mutex<Option<(String, Code)>>> = LazyLock::new(|| {
    let asked: Option<String> = variable("NVSHMEM_DOUBLE_FAIL");
    let parsed = asked.and_then(|text| {
        let (name, code) = text.split_once('=')?;
        Some((name.to_owned(), code.parse().ok()?))
    });
    Mutex::new(parsed)
});

/// Asks that the next call of a function fails. Both forms of a collective operation have the name
/// of that without a stream.
pub(crate) fn fail_next(name: String, code: Code) {
    *lock(&FAILURE) = Some((name, code));
}

/// The code that the call of a function is to fail with, once, doing nothing.
pub(crate) fn failure_asked_of(name: &str) -> Option<Code> {
    let mut asked = lock(&FAILURE);
    let (_, code) = asked.take_if(|(function, _)| function == name)?;
    eprintln!("nvshmem double: {name} fails because a test asked for it");
    Some(code)
}

/// A setting by the end of its variable's name.
pub(crate) fn by_name(name: &str) -> Option<&'static Setting> {
    let all = [
        &STRICT, &LIMITED, &FULL, &NO_GPU, &REMOTE, &DELAY, &PATIENCE,
    ];
    all.into_iter()
        .find(|setting| setting.name.strip_prefix("NVSHMEM_DOUBLE_") == Some(name))
}
