//! Parameters of Open MPI that this process sets for itself before it initialises MPI; `ranks run`
//! sets them for a whole job.

use std::ffi::OsStr;
use std::{env, fs};

use ranks_launch::has_user_set;

/// Sets a parameter by its variable, unless another part of the program initialises MPI, the user
/// has set it, or other threads run, which may read the environment.
pub(crate) fn set(variable: &str, value: &str, owner: bool) {
    if owner && !has_user_set(variable) && is_single_threaded() {
        // SAFETY: this is the process's only thread, so nobody reads the environment meanwhile.
        unsafe { env::set_var(variable, value) };
    }
}

/// Returns `true` if the variable has one of the values by which Open MPI surely turns the
/// parameter off.
pub(crate) fn is_off(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| says_off(&value))
}

fn says_off(value: &OsStr) -> bool {
    value == "0" || value == "false"
}

fn is_single_threaded() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_turns_it_off_for_sure_is_believed() {
        assert!(["0", "false"].map(OsStr::new).into_iter().all(says_off));
        let others = ["1", "true", "", "off"].map(OsStr::new);
        assert!(!others.into_iter().any(says_off));
    }
}
