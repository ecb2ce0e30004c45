//! Systems without the signals of Unix: there is no dump at them.

use super::{FAULTS, VARIABLE};

pub(super) fn on_termination() {
    eprintln!("ranks: SIGTERM is not recorded on this system ({VARIABLE})");
}

pub(super) fn on_faults() {
    eprintln!("ranks: faults are not recorded on this system ({FAULTS})");
}
