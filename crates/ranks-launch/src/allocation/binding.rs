//! The binding of ranks that a scheduler was asked for.

use super::counts::whole;

/// The most CPUs that a mask may name.
const MOST_CPUS: usize = 1 << 14;

/// The most ranks of a node that a list may be for.
const MOST_RANKS: usize = 1 << 12;

/// The most CPUs that a list may name for all ranks together.
const MOST_NAMED: usize = 1 << 20;

/// The binding that was asked for the ranks of a node. Their actual binding is told by the kernel
/// alone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Binding {
    /// No binding.
    None,
    /// These CPUs, a list for each rank of the node, used again from its beginning where there are
    /// more ranks.
    Cpus(Vec<Vec<usize>>),
    /// These memory domains (NUMA), likewise.
    Domains(Vec<Vec<usize>>),
    /// The part of the machine that a word names: `cores`, `sockets`, `rank`, …
    To(String),
}

/// Reads `quiet,mask_cpu:0x1,0x2`, `map_cpu:1,0`, `verbose,none`, `cores`: a list follows the last
/// word. `None` if it makes no sense.
pub(super) fn read(text: &str) -> Option<Binding> {
    let (words, list) = match text.split_once(':') {
        Some((words, list)) => (words, Some(list)),
        None => (text, None),
    };
    let word = words
        .split(',')
        .map(str::trim)
        .rfind(|word| !matches!(*word, "" | "quiet" | "verbose"));
    let list = list.map(str::trim).filter(|list| !list.is_empty());
    match (word, list) {
        (None | Some("none"), None) => Some(Binding::None),
        (Some("mask_cpu"), Some(list)) => each(list, mask).map(Binding::Cpus),
        (Some("map_cpu"), Some(list)) => each(list, one).map(Binding::Cpus),
        (Some("mask_ldom"), Some(list)) => each(list, mask).map(Binding::Domains),
        (Some("map_ldom"), Some(list)) => each(list, one).map(Binding::Domains),
        (Some("mask_cpu" | "map_cpu" | "mask_ldom" | "map_ldom"), None) | (_, Some(_)) => None,
        (Some(word), None) => Some(Binding::To(word.to_owned())),
    }
}

/// An entry for each rank; `x*3` is an entry for three.
fn each(list: &str, read: fn(&str) -> Option<Vec<usize>>) -> Option<Vec<Vec<usize>>> {
    let mut entries = Vec::new();
    let mut room = MOST_NAMED;
    for entry in list.split(',') {
        let (entry, times) = match entry.split_once('*') {
            Some((entry, times)) => (entry, whole(times)?),
            None => (entry, 1),
        };
        if times > MOST_RANKS.checked_sub(entries.len())? {
            return None;
        }
        let cpus = read(entry.trim())?;
        room = room.checked_sub(cpus.len().checked_mul(times)?)?;
        entries.extend(std::iter::repeat_n(cpus, times));
    }
    Some(entries)
}

/// One number, decimal or hexadecimal.
fn one(text: &str) -> Option<Vec<usize>> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with('+'))?,
        None => whole(text)?,
    };
    (number < MOST_CPUS).then(|| vec![number])
}

/// The bits of a hexadecimal number of any length, with or without `0x`.
fn mask(text: &str) -> Option<Vec<usize>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > MOST_CPUS / 4 {
        return None;
    }
    let mut cpus = Vec::new();
    for (place, digit) in digits.chars().rev().enumerate() {
        let bits = digit.to_digit(16)?;
        cpus.extend(
            (0..4)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| 4 * place + bit),
        );
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_maps_in_every_spelling() {
        let cpus = |text: &str| match read(text) {
            Some(Binding::Cpus(cpus)) => cpus,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(cpus("quiet,mask_cpu:0x1,0x2"), [[0], [1]]);
        // A user's own text comes back without its 0x.
        assert_eq!(cpus("quiet,mask_cpu:3,1"), [vec![0, 1], vec![0]]);
        assert_eq!(cpus("mask_cpu:0x8000000000000000000000001"), [[0, 99]]);
        assert_eq!(cpus("quiet,map_cpu:1,0"), [[1], [0]]);
        assert_eq!(cpus("map_cpu:0x1F,2*2"), [[31], [2], [2]]);
        assert_eq!(
            read("mask_ldom:0x3"),
            Some(Binding::Domains(vec![vec![0, 1]]))
        );
    }

    #[test]
    fn words() {
        assert_eq!(read("quiet,none"), Some(Binding::None));
        assert_eq!(read("quiet"), Some(Binding::None));
        assert_eq!(read("quiet,rank"), Some(Binding::To("rank".to_owned())));
        assert_eq!(read("verbose,cores"), Some(Binding::To("cores".to_owned())));
    }

    #[test]
    fn nonsense_is_nothing() {
        for bad in [
            "mask_cpu:",
            "mask_cpu:0x",
            "mask_cpu:xyz",
            "map_cpu:-1",
            "map_cpu:99999999",
            "cores:1",
            "map_cpu:1*99999",
            "map_cpu:0x+1",
            ":1",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_list_of_too_many_takes_no_memory() {
        let mask = "f".repeat(MOST_CPUS / 4);
        assert_eq!(read(&format!("mask_cpu:{mask}*4096")), None);
        assert!(read(&format!("mask_cpu:{mask}*64")).is_some());
    }
}
