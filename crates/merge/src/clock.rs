//! Offsets of the workers' clocks from the controller's clock, and a common start for all workers. Pure functions.
//!
//! Each worker has its own monotonic clock, which started when it booted. The offset of a clock comes from round trips by the
//! method of Cristian (*Probabilistic clock synchronization*, Distributed Computing 3, 1989): the remote time was read at some
//! point between sending and receiving, so half of the round trip bounds the error, and the shortest of many round trips gives
//! the tightest bound. After that the bound grows with the drift between the clocks.

use prony_records::CommonStart;

/// Minimum number of round trips for measuring a clock.
pub const FEWEST_TRIPS: usize = 16;

/// Upper limit of the drift between two clocks whose drift has not been measured, in parts of 10⁹: 100 ppm, which leaves a margin
/// over the specification of quartz oscillators in machines. A clock that NTP slews (up to 500 ppm) may exceed it, but the
/// `CLOCK_MONOTONIC` clocks of two machines that NTP keeps in sync drift far less.
pub const DRIFT_PPB: u64 = 100_000;

/// Lower limit of the error of a measured drift, in parts of 10⁹: oscillators change with temperature.
const LEAST_DRIFT_PPB: u64 = 1_000;

/// Upper limit of rounding errors, ns.
const ROUNDING_NS: u64 = 4;

/// How long before its start a generator must receive the command, ns: its threads poll for commands every 5 ms, and start
/// together 12 ms after receiving one.
pub const LEAD_NS: u64 = 25_000_000;

/// Shortest time from deciding on a start to the start, ns.
const SOONEST_NS: u64 = 50_000_000;

/// Multiple of the longest observed round trip that a start is announced in advance: a command that arrives too late delays the
/// start for all.
const WAYS: u64 = 4;

/// One query for the time of another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Send time, ns of the controller's monotonic clock.
    pub sent_ns: u64,
    /// Time in the reply, ns of the other machine's monotonic clock.
    pub remote_ns: u64,
    /// Receive time, ns of the controller's monotonic clock.
    pub received_ns: u64,
}

impl RoundTrip {
    /// The duration of the round trip, ns.
    pub const fn length_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }
}

/// Why a clock could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// Too few replies arrived.
    #[error(
        "only {0} of at least {FEWEST_TRIPS} queries for the host's clock were answered: the connection loses messages"
    )]
    TooFew(usize),
    /// A reply arrived before its query was sent.
    #[error("the controller's clock ran backwards between a query for the time and its reply")]
    Backwards,
}

/// The monotonic clock of another machine, relative to the controller's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The other clock minus the controller's clock at `at_ns`, ns.
    offset_ns: i128,
    /// Upper limit of the error of `offset_ns`, ns.
    error_ns: u64,
    /// Time of the measurement, ns of the controller's clock.
    at_ns: u64,
    /// How much faster the other clock runs, in parts of 10⁹.
    drift_ppb: i64,
    /// Upper limit of the error of `drift_ppb`.
    drift_error_ppb: u64,
    /// Longest observed round trip, ns.
    longest_ns: u64,
}

impl Clock {
    /// Measures a clock by round trips, at least [`FEWEST_TRIPS`].
    pub fn measured(trips: &[RoundTrip]) -> Result<Self, ClockError> {
        if trips.len() < FEWEST_TRIPS {
            return Err(ClockError::TooFew(trips.len()));
        }
        if trips.iter().any(|trip| trip.received_ns < trip.sent_ns) {
            return Err(ClockError::Backwards);
        }
        let shortest = trips
            .iter()
            .min_by_key(|trip| trip.length_ns())
            .ok_or(ClockError::TooFew(0))?;
        let middle = u64::midpoint(shortest.sent_ns, shortest.received_ns);
        Ok(Self {
            offset_ns: i128::from(shortest.remote_ns) - i128::from(middle),
            // Half of the round trip, plus the cost of rounding to whole ns in everything derived from it.
            error_ns: shortest.length_ns().div_ceil(2) + ROUNDING_NS,
            at_ns: middle,
            drift_ppb: 0,
            drift_error_ppb: DRIFT_PPB,
            longest_ns: trips.iter().map(RoundTrip::length_ns).max().unwrap_or(0),
        })
    }

    /// Combines two measurements of the same clock: the two offsets give its drift. If they are too close in time to improve on
    /// [`DRIFT_PPB`], the default drift stays.
    #[must_use]
    pub fn then(&self, later: &Self) -> Self {
        let longest_ns = self.longest_ns.max(later.longest_ns);
        let between = later.at_ns.saturating_sub(self.at_ns);
        let errors = u128::from(self.error_ns + later.error_ns) * 1_000_000_000;
        let error = errors.checked_div(u128::from(between)).unwrap_or(u128::MAX);
        let known_ppb = u64::try_from(error)
            .unwrap_or(u64::MAX)
            .saturating_add(LEAST_DRIFT_PPB);
        if known_ppb >= DRIFT_PPB {
            return Self { longest_ns, ..*later };
        }
        let moved = (later.offset_ns - self.offset_ns) * 1_000_000_000;
        Self {
            drift_ppb: (moved / i128::from(between)) as i64,
            drift_error_ppb: known_ppb,
            longest_ns,
            ..*later
        }
    }

    /// How far the other clock was set between this measurement and a later one, ns; `None` if drift and the errors of both
    /// measurements explain the difference.
    pub fn moved_ns(&self, later: &Self) -> Option<i64> {
        let moved = later.offset_ns - self.offset_ns;
        let explained = self.error_ns(later.at_ns).saturating_add(later.error_ns);
        (moved.unsigned_abs() > explained.into())
            .then(|| moved.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// Upper limit of the error of the clock at a time of the controller's clock, ns.
    pub fn error_ns(&self, local_ns: u64) -> u64 {
        let since = u128::from(local_ns.abs_diff(self.at_ns));
        let drifted = (since * u128::from(self.drift_error_ppb)).div_ceil(1_000_000_000);
        self.error_ns.saturating_add(drifted as u64)
    }

    /// Converts a time of the controller's clock to the other clock, ns.
    pub fn remote_ns(&self, local_ns: u64) -> u64 {
        let since = i128::from(local_ns) - i128::from(self.at_ns);
        let drifted = since * i128::from(self.drift_ppb) / 1_000_000_000;
        u64::try_from(i128::from(local_ns) + self.offset_ns + drifted).unwrap_or(0)
    }

    /// Converts a time of the other clock to the controller's clock, ns.
    pub fn local_ns(&self, remote_ns: u64) -> u64 {
        let without_drift = i128::from(remote_ns) - self.offset_ns;
        let since = without_drift - i128::from(self.at_ns);
        let drifted = since * i128::from(self.drift_ppb) / (1_000_000_000 + i128::from(self.drift_ppb));
        u64::try_from(without_drift - drifted).unwrap_or(0)
    }

    /// The offset at the time of measurement, ns: the other clock minus the controller's clock.
    pub fn offset_ns(&self) -> i64 {
        self.offset_ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// A common start of all workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Start time, ns of the controller's clock.
    pub local_ns: u64,
    /// Start time on the clock of each worker, in their order, ns: the value for `Command::MeasureAt`.
    pub remote_ns: Vec<u64>,
    /// Upper limit of the spread of the starts because of clock errors, if every worker receives the command in time, ns.
    pub bound_ns: u64,
}

impl Start {
    /// The next start that every worker learns of in time, unless a message takes more than four times as long as the longest
    /// observed round trip. A slower message makes its worker start late, which its part reports.
    pub fn earliest(now_ns: u64, clocks: &[Clock]) -> Self {
        let longest = clocks.iter().map(|clock| clock.longest_ns).max().unwrap_or(0);
        let until = |clock: &Clock| clock.error_ns(now_ns + SOONEST_NS);
        let wrong = clocks.iter().map(until).max().unwrap_or(0);
        let ahead = (longest.saturating_mul(WAYS))
            .saturating_add(LEAD_NS)
            .saturating_add(wrong);
        Self::at(now_ns.saturating_add(ahead.max(SOONEST_NS)), clocks)
    }

    /// A start at a time of the controller's clock.
    pub fn at(local_ns: u64, clocks: &[Clock]) -> Self {
        Self {
            local_ns,
            remote_ns: clocks.iter().map(|clock| clock.remote_ns(local_ns)).collect(),
            bound_ns: two_largest(clocks.iter().map(|clock| clock.error_ns(local_ns))),
        }
    }
}

/// How far apart the workers started. Takes each worker's clock and the time on it at which the worker started (`Begun::at_ns` of
/// its part). `None` without workers.
pub fn common_start(began: &[(Clock, u64)]) -> Option<CommonStart> {
    let local = || began.iter().map(|(clock, at_ns)| clock.local_ns(*at_ns));
    let spread_ns = local().max()? - local().min()?;
    let errors = began
        .iter()
        .map(|(clock, at_ns)| clock.error_ns(clock.local_ns(*at_ns)));
    Some(CommonStart {
        spread_ns,
        bound_ns: spread_ns.saturating_add(two_largest(errors)),
    })
}

/// Upper limit of the error between any two clocks: the sum of the two largest errors.
fn two_largest(errors: impl Iterator<Item = u64>) -> u64 {
    let (most, next) = errors.fold((0, 0), |(most, next): (u64, u64), error| {
        if error > most {
            (error, most)
        } else {
            (most, next.max(error))
        }
    });
    most.saturating_add(next)
}
