//! Sets of CPUs, as the kernel writes them.

use std::fmt;

/// Numbers of CPUs, each once, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpuSet(#[cfg_attr(feature = "serde", serde(deserialize_with = "ascending"))] Vec<usize>);

/// Numbers in whatever order they come.
#[cfg(feature = "serde")]
fn ascending<'de, D: serde::Deserializer<'de>>(numbers: D) -> Result<Vec<usize>, D::Error> {
    let numbers: Vec<usize> = serde::Deserialize::deserialize(numbers)?;
    Ok(numbers.into_iter().collect::<CpuSet>().0)
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
        let mut cpus = Vec::new();
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            if first > last || last >= MOST || cpus.len() + (last - first) >= MOST {
                return None;
            }
            cpus.extend(first..=last);
        }
        Some(cpus.into_iter().collect())
    }

    /// Returns `true` if the set has this CPU.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Returns `true` if both sets share a CPU.
    pub fn overlaps(&self, other: &CpuSet) -> bool {
        self.iter().any(|cpu| other.contains(cpu))
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut cpus: Vec<usize> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        CpuSet(cpus)
    }
}

impl fmt::Display for CpuSet {
    /// `0-3,8`; `none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        let mut rest = self.0.as_slice();
        let mut comma = "";
        while let Some(&first) = rest.first() {
            let many = rest
                .iter()
                .enumerate()
                .take_while(|(place, cpu)| **cpu == first + place)
                .count();
            let last = first + (many - 1);
            if many == 1 {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
            rest = rest.get(many..).unwrap_or_default();
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
}
