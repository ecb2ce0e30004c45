//! Sets of CPUs, as the kernel writes them.

use std::fmt;

/// Numbers of CPUs, each once, in ascending order. It is as large as it has runs of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Vec<(usize, usize)>"))]
pub struct CpuSet(
    /// The first and the last of each run; one does not follow the other at once.
    Vec<(usize, usize)>,
);

/// Runs in whatever order they come.
impl TryFrom<Vec<(usize, usize)>> for CpuSet {
    type Error = &'static str;

    fn try_from(mut runs: Vec<(usize, usize)>) -> Result<Self, Self::Error> {
        runs.sort_unstable();
        let mut room = MOST;
        for (first, last) in &runs {
            let longer = last.checked_sub(*first);
            let left = longer.and_then(|longer| room.checked_sub(longer)?.checked_sub(1));
            room = left.ok_or("this is no set of CPUs")?;
        }
        let mut set = CpuSet::default();
        runs.into_iter().for_each(|run| set.append(run));
        Ok(set)
    }
}

/// No kernel numbers its CPUs higher.
const MOST: usize = 1 << 16;

impl CpuSet {
    /// Reads `0-3,8`; `None` if it is no such list.
    pub fn parse(text: &str) -> Option<CpuSet> {
        let text = text.trim();
        if text.is_empty() {
            return Some(CpuSet::default());
        }
        let mut runs = Vec::new();
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            if last >= MOST {
                return None;
            }
            runs.push((first, last));
        }
        CpuSet::try_from(runs).ok()
    }

    /// Adds a run that begins no earlier than any that is there.
    fn append(&mut self, (first, last): (usize, usize)) {
        match self.0.last_mut() {
            Some((_, before)) if first <= before.saturating_add(1) => *before = last.max(*before),
            _ => self.0.push((first, last)),
        }
    }

    /// Returns `true` if the set has this CPU.
    pub fn contains(&self, cpu: usize) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= cpu);
        after > 0 && self.0[after - 1].1 >= cpu
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// Returns `true` if the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// Returns `true` if both sets share a CPU.
    pub fn overlaps(&self, other: &CpuSet) -> bool {
        self.0.iter().any(|(first, last)| {
            let after = other.0.partition_point(|(start, _)| start <= last);
            after > 0 && other.0[after - 1].1 >= *first
        })
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut cpus: Vec<usize> = cpus.into_iter().collect();
        cpus.sort_unstable();
        let mut set = CpuSet::default();
        cpus.into_iter().for_each(|cpu| set.append((cpu, cpu)));
        set
    }
}

impl fmt::Display for CpuSet {
    /// `0-3,8`; `none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        let mut comma = "";
        for (first, last) in &self.0 {
            write!(f, "{comma}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for text in ["0", "0-3", "0-3,8", "1,3,5-7", "0-65535"] {
            assert_eq!(
                CpuSet::parse(text).map(|set| set.to_string()).as_deref(),
                Some(text)
            );
        }
        assert_eq!(
            CpuSet::parse("3,1-2,2\n")
                .map(|set| set.to_string())
                .as_deref(),
            Some("1-3")
        );
        assert_eq!(CpuSet::parse("").map(|set| set.len()), Some(0));
        for bad in ["x", "3-1", "-1", "0-70000", "1,,2", "0-65535,0-65535"] {
            assert_eq!(CpuSet::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn sets_are_compared_by_their_runs() {
        let set = |text| CpuSet::parse(text).unwrap();
        let all = set("0-3,8,10-11");
        assert_eq!(all.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(all.len(), 7);
        assert!([0, 3, 8, 11].into_iter().all(|cpu| all.contains(cpu)));
        assert!([4, 7, 9, 12].into_iter().all(|cpu| !all.contains(cpu)));
        for (other, shares) in [
            ("3-4", true),
            ("4-7,9", false),
            ("0-100", true),
            ("9,11", true),
        ] {
            assert_eq!(all.overlaps(&set(other)), shares, "{other}");
            assert_eq!(set(other).overlaps(&all), shares, "{other}");
        }
        assert_eq!([3, 8, 2, 3].into_iter().collect::<CpuSet>(), set("2-3,8"));
        assert!(CpuSet::try_from(vec![(0, usize::MAX)]).is_err());
        assert!(CpuSet::try_from(vec![(2, 1)]).is_err());
        assert!(CpuSet::try_from(vec![(usize::MAX, usize::MAX); 2]).is_ok());
    }
}
