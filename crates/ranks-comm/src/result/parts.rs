//! Names of packed values in errors.

use std::borrow::Cow;

/// The beginning of the name of two packed values, one behind the other.
const PAIR: &str = "ranks_comm::data::element::pack::Pair<";

/// The name of a type in which packed values are what they consist of: `(u8, f64)`.
#[must_use]
pub fn parts_of(name: &str) -> Cow<'_, str> {
    if !name.contains(PAIR) {
        return Cow::Borrowed(name);
    }
    let (mut parts, mut rest, mut within) = (String::new(), name, Vec::new());
    while let Some(mark) = rest.chars().next() {
        if let Some(inner) = rest.strip_prefix(PAIR) {
            // A pair in a pair is more of its parts.
            let is_part = matches!(within.last(), Some(&("(" | "")));
            within.push(if is_part { "" } else { "(" });
            parts.push_str(if is_part { "" } else { "(" });
            rest = inner;
            continue;
        }
        match mark {
            '<' => within.push("<"),
            '[' => within.push("["),
            _ => {}
        }
        let closed = matches!(mark, '>' | ']').then(|| within.pop()).flatten();
        match closed {
            Some("(") => parts.push(')'),
            Some("") => {}
            _ => parts.push(mark),
        }
        rest = &rest[mark.len_utf8()..];
    }
    Cow::Owned(parts)
}
