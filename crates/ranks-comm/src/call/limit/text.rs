//! The syntax of `RANKS_TIMEOUT`: `3`, `3s`, `500ms`, `2m`, and the effect.

use std::time::Duration;

use super::OnTimeLimit;

/// Parses the text of a user; `None` if it is not understood.
pub(crate) fn parse(text: &str) -> Option<(Duration, Option<OnTimeLimit>)> {
    let (limit, then) = match text.split_once(',') {
        None => (text, None),
        Some((limit, then)) => {
            let then = match then.trim() {
                "error" => OnTimeLimit::Error,
                "abort" => OnTimeLimit::Abort,
                "warn" => OnTimeLimit::Warn,
                _ => return None,
            };
            (limit, Some(then))
        }
    };
    let limit = ranks_launch::any_duration(limit).ok();
    let limit = limit.filter(|limit| !limit.is_zero());
    limit.map(|limit| (limit, then))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let seconds = |seconds| Some((Duration::from_secs_f64(seconds), None));
        assert_eq!(parse("3"), seconds(3.0));
        assert_eq!(parse(" 1.5 s "), seconds(1.5));
        assert_eq!(parse("500ms"), seconds(0.5));
        assert_eq!(parse("2m"), seconds(120.0));
        assert_eq!(parse("2 min"), seconds(120.0));
        assert_eq!(parse("1h"), seconds(3600.0));
        let abort = Some((Duration::from_secs(3), Some(OnTimeLimit::Abort)));
        assert_eq!(parse("3s,abort"), abort);
        assert_eq!(
            parse("3 , warn").map(|(_, then)| then),
            Some(Some(OnTimeLimit::Warn))
        );
        assert_eq!(
            parse("3,error").map(|(_, then)| then),
            Some(Some(OnTimeLimit::Error))
        );
    }

    #[test]
    fn what_is_no_limit_is_none() {
        for text in [
            "", "s", "0", "-1", "3 apples", "3s,die", "3,", "1e400", ".", "1.2.3", "nan", "inf",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
