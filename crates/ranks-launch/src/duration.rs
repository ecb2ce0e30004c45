//! Durations that users write.

use std::time::Duration;

/// The longest one: a million hours.
const LONGEST: Duration = Duration::from_secs(3_600_000_000);
const OUT_OF_BOUNDS: &str =
    "it must be more than 0 and at most 1000000h; leave it out for no limit";

/// Reads a time limit: seconds, or a number with its unit (`500ms`, `1.5 s`, `2m`, `1h`).
///
/// # Errors
/// The reason why it is none.
pub fn duration(text: &str) -> Result<Duration, String> {
    let duration = any_duration(text)?;
    if duration.is_zero() {
        return Err("a limit of zero ends every job; leave it out for none".to_owned());
    }
    let fits = (duration <= LONGEST).then_some(duration);
    fits.ok_or_else(|| OUT_OF_BOUNDS.to_owned())
}

/// As [`duration`], zero as well, and however long: what no clock reaches is no limit.
#[doc(hidden)]
pub fn any_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("`{other}` is no unit: ms, s, m or h")),
    };
    let number = number.trim_end();
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{number}` is no number"))?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| OUT_OF_BOUNDS.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_written_with_its_unit() {
        assert_eq!(duration("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("0.5m"), Ok(Duration::from_secs(30)));
        assert_eq!(duration(" 1.5 s "), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2 min"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(duration("1000000h"), Ok(LONGEST));
        for bad in [
            "", "s", "1d", "inf", "nan", "0", "0.0ms", "1.2.3", ".", "3 apples",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        for bad in ["-1s", "1e999", "1000001h", "99999999999999999h"] {
            let told = duration(bad).unwrap_err();
            assert!(told.contains("more than 0 and at most 1000000h"), "{told}");
        }
        let most = Duration::from_secs(18_446_744_073_709_549_568);
        assert_eq!(any_duration("18446744073709549568s"), Ok(most));
        assert_eq!(any_duration("0"), Ok(Duration::ZERO));
    }
}
