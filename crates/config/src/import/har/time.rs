//! Times of entries, to put them in order.

use serde_json::Value;

/// The start of an entry in microseconds since 1970, from a time such as `2026-01-02T03:04:05.678+02:00`.
pub(super) fn of(entry: &Value) -> Option<i64> {
    parse(entry.get("startedDateTime")?.as_str()?)
}

fn parse(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let zone = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone);
    let mut time = time.splitn(3, ':');
    let hour: i64 = time.next()?.parse().ok().filter(|hour| (0..=24).contains(hour))?;
    let minute: i64 = time
        .next()?
        .parse()
        .ok()
        .filter(|minute| (0..60).contains(minute))?;
    let seconds: f64 = time.next().unwrap_or("0").parse().ok()?;
    let seconds = Some(seconds).filter(|seconds| (0.0..=61.0).contains(seconds))?;
    let minutes = days(year, month, day)? * 24 * 60 + hour * 60 + minute - offset(zone)?;
    Some(minutes * 60_000_000 + (seconds * 1e6) as i64)
}

/// The minutes of a time zone such as `Z`, `+02:00` or `-0330`.
fn offset(zone: &str) -> Option<i64> {
    let digits = match zone.strip_prefix(['+', '-']) {
        None => return Some(0),
        Some(digits) => digits.replace(':', ""),
    };
    let number: i64 = digits
        .parse()
        .ok()
        .filter(|number| (0..10_000).contains(number))?;
    let minutes = number / 100 * 60 + number % 100;
    Some(if zone.starts_with('-') { -minutes } else { minutes })
}

/// The days since 1970 of a date in the Gregorian calendar, of which a year begins in March.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=31).contains(&day) || !(1..=12).contains(&month) || !(0..=9999).contains(&year) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(365 * year + leaps + (153 * month + 2) / 5 + day - 719_469)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_compared_across_zones() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2026-03-01T00:00:01.5Z"), Some(1_772_323_201_500_000));
        assert_eq!(
            parse("2024-02-29T12:00:00+02:00"),
            parse("2024-02-29T06:30:00.000-0330")
        );
        assert!(parse("2024-02-29T12:00:00Z") < parse("2024-03-01T00:00:00+01:00"));
        for wrong in ["", "2024-02-29", "2024-13-01T00:00:00Z", "now"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
