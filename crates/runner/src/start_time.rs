//! When something began: the time of day, for people, and a clock that nobody sets, for how long it takes.

use std::time::{Duration, Instant, SystemTime};

/// A moment by both clocks. The time of day may jump meanwhile: it is set by hand, by NTP, or by a host that wakes up.
#[derive(Debug, Clone, Copy)]
pub struct Began {
    day: SystemTime,
    clock: Instant,
}

impl Began {
    /// Now.
    pub fn now() -> Self {
        Self {
            day: SystemTime::now(),
            clock: Instant::now(),
        }
    }

    /// The time of day, RFC 3339 in UTC.
    pub fn time_of_day(&self) -> String {
        humantime::format_rfc3339_seconds(self.day).to_string()
    }

    /// How long ago that is.
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_changes_no_duration() {
        let now = Began::now();
        let hour = Duration::from_hours(1);
        let Some(clock) = now.clock.checked_sub(Duration::from_secs(5)) else {
            return; // The machine was started just now.
        };
        for day in [now.day - hour, now.day + hour] {
            let took = Began { day, clock }.elapsed();
            assert!(took >= Duration::from_secs(5) && took < hour, "{took:?}");
        }
    }

    #[test]
    fn the_time_of_day_is_told_as_it_was() {
        let began = Began {
            day: SystemTime::UNIX_EPOCH,
            ..Began::now()
        };
        assert_eq!(began.time_of_day(), "1970-01-01T00:00:00Z");
    }
}
