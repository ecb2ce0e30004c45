//! What the control groups of this process leave it of their memory, in both versions of the kernel's interface.

use std::path::{Path, PathBuf};

use super::room::read;

/// The group with the least memory left of those that this process is in, and how much that is.
pub(super) fn left() -> Option<(u64, PathBuf)> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    [Version::One, Version::Two]
        .into_iter()
        .filter_map(|version| {
            let mount = mount(&mounts, version)?;
            Some((version, mount.chain(membership(&groups, version)?)))
        })
        .flat_map(|(version, folders)| {
            let folders = folders.into_iter();
            folders.filter_map(move |folder| Some((version.left_in(&folder)?, folder)))
        })
        .min_by_key(|(left, _)| *left)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// What one group has left: its limit, less what it uses and cannot give back. `None` if it has no limit.
    fn left_in(self, folder: &Path) -> Option<u64> {
        let (limit, usage, reclaimed) = match self {
            Self::One => (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                ["total_inactive_file", "total_active_file"],
            ),
            Self::Two => (
                "memory.max",
                "memory.current",
                ["inactive_file", "active_file"],
            ),
        };
        // Version 2 says `max` where there is no limit, and version 1 a number next to the largest.
        let limit: u64 = read(folder.join(limit))?.parse().ok()?;
        let limit = Some(limit).filter(|limit| *limit < 1 << 62)?;
        let used: u64 = read(folder.join(usage))?.parse().ok()?;
        let statistics = read(folder.join("memory.stat")).unwrap_or_default();
        let cached = sum_of(&statistics, &reclaimed);
        Some(limit.saturating_sub(used.saturating_sub(cached)))
    }
}

/// The sum of these lines of `memory.stat`.
fn sum_of(statistics: &str, names: &[&str]) -> u64 {
    let of = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        names.contains(&name).then(|| value.trim().parse().ok())?
    };
    statistics
        .lines()
        .filter_map(of)
        .fold(0, |sum: u64, value: u64| sum.saturating_add(value))
}

/// Where a hierarchy of groups is mounted, and which of its groups that is.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    root: PathBuf,
    at: PathBuf,
}

impl Mount {
    /// The folders of the group and of all that it is part of, as far as they can be seen from here.
    fn chain(&self, group: &str) -> Vec<PathBuf> {
        let below = Path::new(group).strip_prefix(&self.root);
        // A container sees its own group as the top, whatever its name is outside.
        let below = below.unwrap_or(Path::new(""));
        below.ancestors().map(|part| self.at.join(part)).collect()
    }
}

/// The group of this process, of the text of `/proc/self/cgroup`: lines of `number:controllers:path`.
fn membership(text: &str, version: Version) -> Option<&str> {
    text.lines().find_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = match version {
            Version::One => controllers.split(',').any(|name| name == "memory"),
            Version::Two => number == "0" && controllers.is_empty(),
        };
        is_it.then_some(path)
    })
}

/// The mount of the hierarchy, of the text of `/proc/self/mountinfo`.
///
/// Its lines are `id parent device root place options … - type source options`, with blanks written as `\040`.
fn mount(text: &str, version: Version) -> Option<Mount> {
    text.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mut fields = front.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        let mut kind = back.split(' ');
        let (name, _source, options) = (kind.next()?, kind.next()?, kind.next().unwrap_or(""));
        let is_it = match version {
            Version::One => name == "cgroup" && options.split(',').any(|word| word == "memory"),
            Version::Two => name == "cgroup2",
        };
        is_it.then(|| Mount {
            root: root.replace("\\040", " ").into(),
            at: at.replace("\\040", " ").into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 /docker/7f /sys/fs/cgroup/my\\040memory rw,relatime shared:9 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const GROUPS: &str = "\
9:name=systemd:/
4:cpu,memory:/docker/7f/step
0::/system.slice/job:1
";

    #[test]
    fn the_group_of_each_version_is_found() {
        assert_eq!(membership(GROUPS, Version::One), Some("/docker/7f/step"));
        assert_eq!(
            membership(GROUPS, Version::Two),
            Some("/system.slice/job:1")
        );
        assert_eq!(membership("1:name=systemd:/\n", Version::Two), None);
        assert_eq!(membership("nonsense", Version::One), None);
    }

    #[test]
    fn the_mount_of_each_version_is_found() {
        let one = mount(MOUNTS, Version::One).unwrap();
        assert_eq!(one.at, Path::new("/sys/fs/cgroup/my memory"));
        assert_eq!(one.root, Path::new("/docker/7f"));
        let two = mount(MOUNTS, Version::Two).unwrap();
        assert_eq!(two.at, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(mount("1 2 0:1 / /x\n", Version::Two), None);
    }

    #[test]
    fn limits_are_looked_for_up_to_the_top_that_is_seen() {
        let mount = Mount {
            root: "/docker/7f".into(),
            at: "/m".into(),
        };
        let folders = ["/m/a/b", "/m/a", "/m"].map(PathBuf::from);
        assert_eq!(mount.chain("/docker/7f/a/b"), folders);
        assert_eq!(mount.chain("/elsewhere"), [PathBuf::from("/m")]);
    }

    #[test]
    fn what_is_left_counts_what_can_be_given_back() {
        let folder = std::env::temp_dir().join(format!("ranks-groups-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        put("memory.max", "1000\n");
        put("memory.current", "900\n");
        assert_eq!(Version::Two.left_in(&folder), Some(100));
        put("memory.stat", "anon 1\ninactive_file 300\nactive_file 50\n");
        assert_eq!(Version::Two.left_in(&folder), Some(450));
        put("memory.max", "max\n");
        assert_eq!(Version::Two.left_in(&folder), None);
        put("memory.limit_in_bytes", "9223372036854771712\n");
        put("memory.usage_in_bytes", "5\n");
        assert_eq!(Version::One.left_in(&folder), None);
        put("memory.limit_in_bytes", "4\n");
        assert_eq!(Version::One.left_in(&folder), Some(0));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
