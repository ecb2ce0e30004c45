//! The resources that the control groups of a process leave it, in both versions of the kernel's
//! interface.

use std::path::{Path, PathBuf};

use crate::machine::files::{self, text};

/// The control groups that this process is in, as far as it can see them.
#[derive(Debug)]
pub struct ControlGroups {
    root: PathBuf,
    groups: String,
    mounts: String,
}

impl ControlGroups {
    /// The control groups of this process.
    pub fn of_this_process() -> Self {
        Self::below(Path::new("/"))
    }

    /// Reads the groups from a tree in the place of `/`.
    pub(super) fn below(root: &Path) -> Self {
        let read = |path: &str| files::read(&root.join(path)).unwrap_or_default();
        Self {
            groups: read("proc/self/cgroup"),
            mounts: read("proc/self/mountinfo"),
            root: root.to_owned(),
        }
    }

    /// The least memory in bytes that any of them has left, and the folder of that group.
    pub fn memory_left(&self) -> Option<(u64, PathBuf)> {
        self.least("memory", Version::memory_left)
    }

    /// The least memory in bytes that any of them allows.
    pub fn memory_limit(&self) -> Option<u64> {
        Some(self.least("memory", Version::memory_limit)?.0)
    }

    /// The fewest thousandths of a CPU's time that any of them allows.
    pub fn cpu_limit(&self) -> Option<u64> {
        Some(self.least("cpu", Version::cpu_limit)?.0)
    }

    fn least(
        &self,
        controller: &str,
        of: fn(Version, &Path) -> Option<u64>,
    ) -> Option<(u64, PathBuf)> {
        let mut least: Option<(u64, PathBuf)> = None;
        for version in [Version::One, Version::Two] {
            let mount = mount(&self.mounts, version, controller);
            let group = membership(&self.groups, version, controller);
            let (Some(mount), Some(group)) = (mount, group) else {
                continue;
            };
            for folder in mount.chain(group) {
                let seen = folder.strip_prefix("/").unwrap_or(&folder);
                if let Some(limit) = of(version, &self.root.join(seen))
                    && least.as_ref().is_none_or(|(least, _)| limit < *least)
                {
                    least = Some((limit, folder));
                }
            }
        }
        least
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

impl Version {
    /// The memory that one group may use. `None` if it has no limit.
    fn memory_limit(self, folder: &Path) -> Option<u64> {
        let file = match self {
            Self::One => "memory.limit_in_bytes",
            Self::Two => "memory.max",
        };
        // Version 2 says `max` where there is no limit, and version 1 a number next to the largest.
        let limit: u64 = text(&folder.join(file))?.parse().ok()?;
        Some(limit).filter(|limit| *limit < 1 << 62)
    }

    /// The memory that one group has left: its limit, less what it uses and cannot give back.
    /// `None` if it has no limit.
    fn memory_left(self, folder: &Path) -> Option<u64> {
        let (usage, reclaimed) = match self {
            Self::One => (
                "memory.usage_in_bytes",
                ["total_inactive_file", "total_active_file"],
            ),
            Self::Two => ("memory.current", ["inactive_file", "active_file"]),
        };
        let limit = self.memory_limit(folder)?;
        let used: u64 = text(&folder.join(usage))?.parse().ok()?;
        let statistics = text(&folder.join("memory.stat")).unwrap_or_default();
        let cached = sum_of(&statistics, &reclaimed);
        Some(limit.saturating_sub(used.saturating_sub(cached)))
    }

    /// The time of CPUs that one group may use, in thousandths of one.
    fn cpu_limit(self, folder: &Path) -> Option<u64> {
        let (quota, period): (u64, u64) = match self {
            // A quota of -1 is none.
            Self::One => (
                text(&folder.join("cpu.cfs_quota_us"))?.parse().ok()?,
                text(&folder.join("cpu.cfs_period_us"))?.parse().ok()?,
            ),
            Self::Two => {
                let limit = text(&folder.join("cpu.max"))?;
                let (quota, period) = limit.split_once(' ')?;
                (quota.parse().ok()?, period.parse().ok()?)
            }
        };
        quota.checked_mul(1000)?.checked_div(period)
    }
}

/// The sum of these lines of `memory.stat`.
pub(crate) fn sum_of(statistics: &str, names: &[&str]) -> u64 {
    let mut sum: u64 = 0;
    for line in statistics.lines() {
        if let Some((name, value)) = line.split_once(' ')
            && names.contains(&name)
        {
            sum = sum.saturating_add(value.trim().parse().unwrap_or(0));
        }
    }
    sum
}

/// The folder at which a hierarchy of groups is mounted, and the group of it that is seen there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    root: PathBuf,
    at: PathBuf,
}

impl Mount {
    /// The folders of the group and of all that it is part of, as far as they can be seen from
    /// here.
    pub(crate) fn chain(&self, group: &str) -> Vec<PathBuf> {
        let below = Path::new(group).strip_prefix(&self.root);
        // A container sees its own group as the top, whatever its name is outside.
        let below = below.unwrap_or(Path::new(""));
        below.ancestors().map(|part| self.at.join(part)).collect()
    }
}

/// The group of this process, of the text of `/proc/self/cgroup`: lines of
/// `number:controllers:path`.
pub(crate) fn membership<'a>(text: &'a str, version: Version, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = match version {
            Version::One => controllers.split(',').any(|name| name == controller),
            Version::Two => number == "0" && controllers.is_empty(),
        };
        is_it.then_some(path)
    })
}

/// The mount of the hierarchy, of the text of `/proc/self/mountinfo`.
///
/// Its lines are `id parent device root place options … - type source options`, with blanks written
/// as `\040`.
pub(crate) fn mount(text: &str, version: Version, controller: &str) -> Option<Mount> {
    text.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (root, at) = (fields.nth(3)?, fields.next()?);
        let mut kind = fields.skip_while(|field| *field != "-").skip(1);
        let (name, _source, options) = (kind.next()?, kind.next()?, kind.next().unwrap_or(""));
        let is_it = match version {
            Version::One => name == "cgroup" && options.split(',').any(|word| word == controller),
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
    use crate::machine::testing::Tree;

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
        assert_eq!(
            membership(GROUPS, Version::One, "memory"),
            Some("/docker/7f/step")
        );
        assert_eq!(
            membership(GROUPS, Version::Two, "memory"),
            Some("/system.slice/job:1")
        );
        assert_eq!(
            membership("1:name=systemd:/\n", Version::Two, "memory"),
            None
        );
        assert_eq!(membership("nonsense", Version::One, "memory"), None);
    }

    #[test]
    fn the_mount_of_each_version_is_found() {
        let one = mount(MOUNTS, Version::One, "memory").unwrap();
        assert_eq!(one.at, Path::new("/sys/fs/cgroup/my memory"));
        assert_eq!(one.root, Path::new("/docker/7f"));
        let two = mount(MOUNTS, Version::Two, "memory").unwrap();
        assert_eq!(two.at, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(mount("1 2 0:1 / /x\n", Version::Two, "memory"), None);
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
        let tree = Tree::new("groups-left");
        let folder = tree.root();
        tree.put("memory.max", "1000\n");
        tree.put("memory.current", "900\n");
        assert_eq!(Version::Two.memory_left(folder), Some(100));
        tree.put("memory.stat", "anon 1\ninactive_file 300\nactive_file 50\n");
        assert_eq!(Version::Two.memory_left(folder), Some(450));
        tree.put("memory.max", "max\n");
        assert_eq!(Version::Two.memory_left(folder), None);
        tree.put("memory.limit_in_bytes", "9223372036854771712\n");
        tree.put("memory.usage_in_bytes", "5\n");
        assert_eq!(Version::One.memory_left(folder), None);
        tree.put("memory.limit_in_bytes", "4\n");
        assert_eq!(Version::One.memory_left(folder), Some(0));
    }

    #[test]
    fn time_of_cpus() {
        let tree = Tree::new("groups-cpu");
        let folder = tree.root();
        tree.put("cpu.max", "150000 100000\n");
        assert_eq!(Version::Two.cpu_limit(folder), Some(1500));
        tree.put("cpu.max", "max 100000\n");
        assert_eq!(Version::Two.cpu_limit(folder), None);
        tree.put("cpu.cfs_quota_us", "-1\n");
        tree.put("cpu.cfs_period_us", "100000\n");
        assert_eq!(Version::One.cpu_limit(folder), None);
        tree.put("cpu.cfs_quota_us", "200000\n");
        assert_eq!(Version::One.cpu_limit(folder), Some(2000));
        tree.put("cpu.cfs_period_us", "0\n");
        assert_eq!(Version::One.cpu_limit(folder), None);
    }

    #[test]
    fn the_tightest_of_all_groups_counts() {
        let tree = Tree::new("groups-chain");
        tree.put("proc/self/cgroup", "0::/job/step\n");
        tree.put(
            "proc/self/mountinfo",
            "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        );
        tree.put("sys/fs/cgroup/job/memory.max", "700\n");
        tree.put("sys/fs/cgroup/job/step/memory.max", "900\n");
        tree.put("sys/fs/cgroup/job/step/cpu.max", "50000 100000\n");
        let groups = ControlGroups::below(tree.root());
        assert_eq!(groups.memory_limit(), Some(700));
        assert_eq!(groups.cpu_limit(), Some(500));
        assert_eq!(groups.memory_left(), None, "what is used is not told");
    }
}
