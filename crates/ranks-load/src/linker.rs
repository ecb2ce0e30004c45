//! The dynamic linker of the system: that of Unix, or none.

#[cfg(unix)]
#[path = "linker/unix.rs"]
mod system;
#[cfg(not(unix))]
#[path = "linker/elsewhere.rs"]
mod system;

pub(crate) use system::{Handle, file_of, loads};

/// The reason why this program can open no library, if that is so.
pub(crate) const REFUSAL: Option<&str> = refusal(
    cfg!(unix),
    cfg!(all(target_env = "musl", target_feature = "crt-static")),
);

/// The reason why a program can open no library: it is for a system other than Unix, or is linked
/// with all of its libraries.
const fn refusal(is_of_unix: bool, is_static: bool) -> Option<&'static str> {
    match (is_of_unix, is_static) {
        (false, _) => {
            Some("on this system ranks opens no library: MPI, NCCL and NVSHMEM are for Unix")
        }
        (true, true) => Some(
            "this program is statically linked with musl and so can open no library: build it with \
             RUSTFLAGS=-Ctarget-feature=-crt-static, or for a target with glibc",
        ),
        (true, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_can_be_opened_one_sentence_says_why() {
        assert_eq!(refusal(true, false), None);
        assert!(refusal(true, true).is_some_and(|why| why.contains("-crt-static")));
        for is_static in [false, true] {
            assert!(refusal(false, is_static).is_some_and(|why| why.contains("Unix")));
        }
    }
}
