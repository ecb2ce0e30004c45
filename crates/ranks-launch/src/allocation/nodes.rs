//! Lists of nodes as Slurm writes them: `n[0-3,7],gpu[01-12]-ib`.

/// More nodes than any machine has. A list that stands for more is taken for nonsense rather than
/// expanded.
pub(super) const MOST: usize = 1 << 17;

/// The longest name that is kept: no name of a host is longer.
const LONGEST_NAME: usize = 255;

/// Every name that the list stands for, in its order; `None` if it is no such list, or stands for
/// more than `most`.
///
/// A name has any number of brackets with numbers and ranges of numbers in them; numbers keep their
/// leading zeros.
pub(super) fn expanded(list: &str, most: usize) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for pattern in outside_brackets(list)? {
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return None;
        }
        let room = most.checked_sub(names.len())?;
        names.extend(of_pattern(pattern, room)?);
    }
    Some(names)
}

/// The parts between those commas that are in no bracket; `None` if brackets do not match.
fn outside_brackets(list: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut inside = false;
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if inside => return None,
            ']' if !inside => return None,
            '[' | ']' => inside = !inside,
            ',' if !inside => {
                parts.push(list.get(begin..at)?);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list.get(begin..)?);
    (!inside).then_some(parts)
}

fn of_pattern(pattern: &str, room: usize) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('[') {
        let (ranges, after) = after.split_once(']')?;
        let numbers = numbers_in(ranges, room)?;
        let many = names.len().checked_mul(numbers.len())?;
        if many > room {
            return None;
        }
        let mut longer = Vec::with_capacity(many);
        for name in &names {
            for number in &numbers {
                let name = [name, before, number].concat();
                if name.len() > LONGEST_NAME {
                    return None;
                }
                longer.push(name);
            }
        }
        names = longer;
        rest = after;
    }
    for name in &mut names {
        name.push_str(rest);
        if name.len() > LONGEST_NAME {
            return None;
        }
    }
    (names.len() <= room).then_some(names)
}

/// `0-3,7` or `08-11`.
fn numbers_in(ranges: &str, room: usize) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (number(first)?, number(last)?);
        let many = usize::try_from(to.checked_sub(from)?)
            .ok()?
            .checked_add(1)?;
        if many > room.checked_sub(numbers.len())? {
            return None;
        }
        let width = first.len();
        numbers.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

/// Digits only: a sign or a blank is not part of a name.
fn number(digits: &str) -> Option<u64> {
    let plain =
        !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<String> {
        expanded(list, MOST).unwrap_or_else(|| panic!("{list} is a list"))
    }

    #[test]
    fn lists_are_expanded_in_their_order() {
        assert_eq!(names("n0"), ["n0"]);
        assert_eq!(names("n[0-1],n3"), ["n0", "n1", "n3"]);
        assert_eq!(names("login,n[3,1]"), ["login", "n3", "n1"]);
        assert_eq!(
            names("gpu[08-11]-ib"),
            ["gpu08-ib", "gpu09-ib", "gpu10-ib", "gpu11-ib"]
        );
        assert_eq!(names("r[0-1]c[1-2]"), ["r0c1", "r0c2", "r1c1", "r1c2"]);
        assert_eq!(names("a[099-101]"), ["a099", "a100", "a101"]);
        assert_eq!(names("node-1.site"), ["node-1.site"]);
    }

    #[test]
    fn what_is_no_list_is_nothing() {
        for bad in [
            "",
            ",",
            "n[",
            "n]",
            "n[0-1",
            "n[[0]]",
            "n[3-1]",
            "n[a]",
            "n[-1]",
            "n[+1]",
            "n[]",
            "n[0-]",
            "n[0-99999999999999999999]",
            "n[0-131072]",
            "n[0-999]x[0-999]",
            "n0,,n1",
        ] {
            assert_eq!(expanded(bad, MOST), None, "{bad}");
        }
    }

    #[test]
    fn a_list_of_too_many_takes_no_memory() {
        let many = "n[0-99999][0-99999][0-99999]";
        assert_eq!(expanded(many, MOST), None);
        let long = format!("{}[0-1]", "x".repeat(300));
        assert_eq!(expanded(&long, MOST), None);
    }
}
