//! Numbers per node as Slurm writes them, `4(x2),3`, and amounts of memory and of GPUs.

/// One number for each node: `4(x2),3` are 4, 4 and 3. `None` if it is no such list, or one for
/// more than `most`.
pub(super) fn per_node(list: &str, most: usize) -> Option<Vec<usize>> {
    let mut counts = Vec::new();
    for part in list.split(',') {
        let (count, times) = match part.trim().split_once('(') {
            Some((count, times)) => (count, whole(times.strip_prefix('x')?.strip_suffix(')')?)?),
            None => (part.trim(), 1),
        };
        let count = whole(count)?;
        if times == 0 || times > most.checked_sub(counts.len())? {
            return None;
        }
        counts.extend(std::iter::repeat_n(count, times));
    }
    Some(counts)
}

/// An amount in bytes of what is written in MiB unless a letter says otherwise: `1000`, `4G`.
pub(super) fn mebibytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let at = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(at)?;
    let shift = match unit.to_ascii_uppercase().as_str() {
        "K" | "KB" => 10,
        "" | "M" | "MB" => 20,
        "G" | "GB" => 30,
        "T" | "TB" => 40,
        _ => return None,
    };
    let amount: u64 = digits.parse().ok()?;
    amount.checked_mul(1 << shift)
}

/// The number of GPUs that `2`, `h200:2` or `h200:2,a100:1` stand for.
pub(super) fn gpus(text: &str) -> Option<usize> {
    text.split(',').try_fold(0_usize, |sum, part| {
        let number = part.rsplit(':').next()?;
        sum.checked_add(whole(number.trim())?)
    })
}

/// Digits only.
pub(super) fn whole(digits: &str) -> Option<usize> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_repeated_for_their_nodes() {
        for (list, counts) in [
            ("4(x2),3", &[4, 4, 3][..]),
            ("4,1(x3)", &[4, 1, 1, 1]),
            ("4(x3),1", &[4, 4, 4, 1]),
            ("1,2,1", &[1, 2, 1]),
            ("6", &[6]),
        ] {
            assert_eq!(per_node(list, 16).as_deref(), Some(counts), "{list}");
        }
        for bad in [
            "",
            "x",
            "4(x)",
            "4(x2",
            "4x2",
            "4(x0)",
            "-1",
            "4(x999999999)",
            "1,",
            "4(2)",
            "4(x17)",
        ] {
            assert_eq!(per_node(bad, 16), None, "{bad}");
        }
    }

    #[test]
    fn memory_is_in_mebibytes_unless_said() {
        assert_eq!(mebibytes("1000"), Some(1000 << 20));
        assert_eq!(mebibytes("4G"), Some(4 << 30));
        assert_eq!(mebibytes("512K"), Some(512 << 10));
        for bad in [
            "",
            "G",
            "-1",
            "1P",
            "1 G ?",
            "99999999999999999999",
            "18446744073709551615T",
        ] {
            assert_eq!(mebibytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn gpus_of_every_type_count() {
        assert_eq!(gpus("2"), Some(2));
        assert_eq!(gpus("h200:2"), Some(2));
        assert_eq!(gpus("gpu:h200:2,a100:1"), Some(3));
        assert_eq!(gpus("h200"), None);
        assert_eq!(gpus(""), None);
    }
}
