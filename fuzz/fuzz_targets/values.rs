//! Values that are made of the bytes of a message: of types as programs have them, and the topology
//! of a job.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranks_fuzz::values::check;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
});
