//! The name of a machine, as its system tells it.

/// The name of this machine; empty if it is unknown.
#[must_use]
pub fn host() -> String {
    told().unwrap_or_default().trim().to_owned()
}

#[cfg(target_os = "linux")]
fn told() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").ok()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn told() -> Option<String> {
    nix::unistd::gethostname().ok()?.into_string().ok()
}

#[cfg(not(unix))]
fn told() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_machine_has_a_name_of_one_word() {
        let name = super::host();
        assert!(
            !name.is_empty() && !name.contains(char::is_whitespace),
            "{name:?}"
        );
    }
}
