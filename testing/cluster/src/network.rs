//! The network of a cluster: a bridge in the head, a link from it to each host, and what went over
//! the links.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use super::names;

/// A host's end of its link.
pub(super) const OF_HOST: &str = "eth0";

/// How long links may take until they carry something: they do within milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Carries out lines as `ip -batch` reads them, in the namespaces of this process.
pub(super) fn ip(lines: &[String]) -> Result<(), String> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("ip (of iproute2) cannot be started: {error}"))?;
    let text = lines.join("\n") + "\n";
    let written = child
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(text.as_bytes()));
    let output = child
        .wait_with_output()
        .map_err(|error| format!("ip: {error}"))?;
    if output.status.success() && matches!(written, Some(Ok(()))) {
        return Ok(());
    }
    Err(format!(
        "ip: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

/// The bridge, and a link to the host that is in the namespaces of each of these processes.
pub(super) fn of_head(processes: &[u32]) -> Vec<String> {
    let bridge = names::BRIDGE;
    let mut lines = vec![
        "link set lo up".to_owned(),
        format!("link add {bridge} type bridge"),
        format!("addr add {}/24 dev {bridge}", names::HEAD_ADDRESS),
        format!("link set {bridge} up"),
    ];
    for (number, process) in processes.iter().enumerate() {
        let link = names::link(number);
        lines.push(format!(
            "link add {link} type veth peer name {OF_HOST} netns {process}"
        ));
        lines.push(format!("link set {link} master {bridge} up"));
    }
    lines
}

/// The host's end of its link.
pub(super) fn of_host(number: usize) -> Vec<String> {
    vec![
        "link set lo up".to_owned(),
        format!("addr add {}/24 dev {OF_HOST}", names::address(number)),
        format!("link set {OF_HOST} up"),
    ]
}

/// Waits until all of these links carry something: both ends are up before that, and what is sent
/// then is lost.
pub(super) fn wait_for(links: &[String]) -> Result<(), String> {
    let started = Instant::now();
    loop {
        let all = getifaddrs().map_err(|error| format!("getifaddrs: {error}"))?;
        let running = all.filter(|one| one.flags.contains(InterfaceFlags::IFF_RUNNING));
        let running: BTreeSet<String> = running.map(|one| one.interface_name).collect();
        let Some(link) = links.iter().find(|link| !running.contains(*link)) else {
            return Ok(());
        };
        if started.elapsed() > PATIENCE {
            return Err(format!("{link} carries nothing after {PATIENCE:?}"));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// What went over a link, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Traffic {
    /// From the host.
    pub(super) sent: u64,
    /// To the host.
    pub(super) received: u64,
}

/// The traffic of each host, by its number, from the head's `/proc/net/dev`.
pub(super) fn traffic(text: &str) -> BTreeMap<usize, Traffic> {
    let of_line = |line: &str| {
        let (name, counters) = line.split_once(':')?;
        let number = name.trim().strip_prefix('v')?.parse().ok()?;
        let column = |number| counters.split_whitespace().nth(number)?.parse::<u64>().ok();
        // What the bridge receives is what the host has sent.
        let traffic = Traffic {
            sent: column(0)?,
            received: column(8)?,
        };
        Some((number, traffic))
    };
    text.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICES: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
   br0:     536       8    0    0    0     0          0         0      726       9    0    0    0     0       0          0
    v0:    1100      10    0    0    0     0          0         0  4200000      88    0    0    0     0       0          0
    v1:4200007      88    0    0    0     0          0         0     1107      10    0    0    0     0       0          0
";

    #[test]
    fn traffic_is_seen_from_the_host() {
        let traffic = traffic(DEVICES);
        assert_eq!(traffic.len(), 2);
        assert_eq!(
            traffic[&0],
            Traffic {
                sent: 1100,
                received: 4_200_000
            }
        );
        assert_eq!(
            traffic[&1],
            Traffic {
                sent: 4_200_007,
                received: 1107
            }
        );
    }

    #[test]
    fn each_host_gets_a_link_of_its_own() {
        let lines = of_head(&[12, 34]);
        assert!(lines.contains(&"link add v1 type veth peer name eth0 netns 34".to_owned()));
        assert!(of_host(1).contains(&"addr add 10.232.0.2/24 dev eth0".to_owned()));
    }
}
