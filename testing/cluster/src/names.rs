//! What the hosts of a cluster are called, and their addresses.

use std::fmt::Write;

/// Where the bridge is; what is done to the network is done there.
pub(super) const HEAD: &str = "head";

/// The bridge that all hosts are at.
pub(super) const BRIDGE: &str = "br0";

/// The most hosts that one network of addresses has room for, with some to spare.
pub(super) const MOST: usize = 200;

/// The host of a number, from 0.
pub(super) fn host(number: usize) -> String {
    format!("n{number}")
}

/// All hosts that ranks can be on.
pub(super) fn hosts(number: usize) -> Vec<String> {
    (0..number).map(host).collect()
}

/// The number of a host, if it is the name of one.
pub(super) fn number(host: &str) -> Option<usize> {
    let digits = host.strip_prefix('n')?;
    let canonical = digits == "0" || !digits.starts_with('0');
    (canonical && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

/// The end of a host's link that is at the bridge.
pub(super) fn link(number: usize) -> String {
    format!("v{number}")
}

/// The address of a host, without the width of its network.
pub(super) fn address(number: usize) -> String {
    format!("10.232.0.{}", number + 1)
}

/// The address of the bridge.
pub(super) const HEAD_ADDRESS: &str = "10.232.0.254";

/// What each host has as `/etc/hosts`.
pub(super) fn table(number: usize) -> String {
    let mut text = format!("127.0.0.1 localhost\n{HEAD_ADDRESS} {HEAD}\n");
    for number in 0..number {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {}", address(number), host(number));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number() {
        assert_eq!(number(&host(0)), Some(0));
        assert_eq!(number(&host(117)), Some(117));
        for other in ["head", "n", "n01", "n-1", "n+1", "m1", "n1x", ""] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn every_host_knows_every_other_by_name() {
        let table = table(2);
        assert!(table.contains("10.232.0.1 n0\n10.232.0.2 n1\n"), "{table}");
        assert!(table.contains("10.232.0.254 head\n"), "{table}");
        assert_eq!(address(MOST - 1), "10.232.0.200");
    }
}
