//! Systems without the signals of Unix: there is no dump at them.

use super::{FAULTS, VARIABLE, faults_are_wanted, folder};

pub(super) fn on_termination() {
    if folder().is_some() {
        eprintln!("ranks: SIGTERM is not recorded on this system ({VARIABLE})");
    }
}

pub(super) fn on_faults() {
    if folder().is_some() && faults_are_wanted() {
        eprintln!("ranks: faults are not recorded on this system ({FAULTS})");
    }
}
