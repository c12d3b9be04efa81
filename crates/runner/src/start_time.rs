//! Times of day for records, and start times by two clocks: the time of day for people, and the monotonic clock for durations.

use std::time::{Duration, Instant, SystemTime};

/// The time of day may jump later when it is set manually, by NTP, or after a suspend.
#[derive(Debug, Clone, Copy)]
pub struct StartTime {
    day: SystemTime,
    clock: Instant,
}

impl StartTime {
    pub fn now() -> Self {
        Self {
            day: SystemTime::now(),
            clock: Instant::now(),
        }
    }

    /// The time of day in UTC (RFC 3339).
    pub fn time_of_day(&self) -> String {
        humantime::format_rfc3339_seconds(self.day).to_string()
    }

    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }
}

/// The current time in UTC (RFC 3339).
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_changes_no_duration() {
        let now = StartTime::now();
        let hour = Duration::from_hours(1);
        let Some(clock) = now.clock.checked_sub(Duration::from_secs(5)) else {
            return; // The machine has just booted.
        };
        for day in [now.day - hour, now.day + hour] {
            let took = StartTime { day, clock }.elapsed();
            assert!(took >= Duration::from_secs(5) && took < hour, "{took:?}");
        }
    }

    #[test]
    fn the_time_of_day_is_told_as_it_was() {
        let began = StartTime {
            day: SystemTime::UNIX_EPOCH,
            ..StartTime::now()
        };
        assert_eq!(began.time_of_day(), "1970-01-01T00:00:00Z");
    }
}
