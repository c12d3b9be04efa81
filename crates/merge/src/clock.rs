//! The clocks of workers as the controller sees them, and the start that is common to all. Pure.
//!
//! Each worker has a monotonic clock of its own, which began at its own boot. The offset of a clock comes from round trips
//! by the method of Cristian (*Probabilistic clock synchronization*, Distributed Computing 3, 1989): the remote time was read
//! somewhere between sending and receiving, so half of the round trip bounds the error, and the shortest of many round trips
//! gives the least bound. From then on the bound grows with the drift between both clocks.

use prony_records::CommonStart;

/// Round trips that a clock is measured with, at least.
pub const FEWEST_TRIPS: usize = 16;

/// The drift between two clocks that nobody has measured, at most, in parts of 10⁹: 100 ppm, as quartz oscillators of
/// machines are specified with room to spare; a clock that is slewed by NTP (at most 500 ppm) is not, but `CLOCK_MONOTONIC`
/// of two machines that are both kept by NTP drifts far less than this.
pub const DRIFT_PPB: u64 = 100_000;

/// A measured drift is not taken to be known better than this, in parts of 10⁹: oscillators change with the temperature.
const LEAST_DRIFT_PPB: u64 = 1_000;

/// Nanoseconds that are lost by rounding, at most.
const ROUNDING_NS: u64 = 4;

/// How long before its start a generator must know of it, ns: its threads look for news each 5 ms, and begin together 12 ms
/// after it was told.
pub const LEAD_NS: u64 = 25_000_000;

/// The shortest time from the decision for a start to the start, ns.
const SOONEST_NS: u64 = 50_000_000;

/// The longest way to a worker that was seen is taken so many times: a start is told long before it, since one that comes too
/// late is late for all.
const WAYS: u64 = 4;

/// One question for the time of another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// When it was sent, ns of the controller's monotonic clock.
    pub sent_ns: u64,
    /// What the other machine answered, ns of its monotonic clock.
    pub remote_ns: u64,
    /// When the answer came, ns of the controller's monotonic clock.
    pub received_ns: u64,
}

impl RoundTrip {
    /// How long it took, ns.
    pub const fn length_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }
}

/// Why a clock is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// Too few answers came.
    #[error(
        "the clock was asked {FEWEST_TRIPS} times at least and answered {0} times: the way to the host loses messages"
    )]
    TooFew(usize),
    /// An answer came before its question.
    #[error("the controller's clock ran backwards between a question for the time and its answer")]
    Backwards,
}

/// The monotonic clock of another machine, as the controller sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The other clock less the controller's at `at_ns`, ns.
    offset_ns: i128,
    /// How wrong that may be, ns.
    error_ns: u64,
    /// When that was, ns of the controller's clock.
    at_ns: u64,
    /// How much faster the other clock runs, in parts of 10⁹.
    drift_ppb: i64,
    /// How wrong that may be.
    drift_error_ppb: u64,
    /// The longest round trip that was seen, ns.
    longest_ns: u64,
}

impl Clock {
    /// The clock by round trips, at least [`FEWEST_TRIPS`].
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
            // Beyond the half: what rounding to whole ns costs in all that is worked out from it.
            error_ns: shortest.length_ns().div_ceil(2) + ROUNDING_NS,
            at_ns: middle,
            drift_ppb: 0,
            drift_error_ppb: DRIFT_PPB,
            longest_ns: trips.iter().map(RoundTrip::length_ns).max().unwrap_or(0),
        })
    }

    /// The same clock measured again: the two offsets give its drift. Where they are too near to each other to say more than
    /// [`DRIFT_PPB`] does, that stays.
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

    /// How far the other clock was moved between this measurement and a later one, ns; `None` where drift, and what both
    /// measurements may be wrong, explain it.
    pub fn moved_ns(&self, later: &Self) -> Option<i64> {
        let moved = later.offset_ns - self.offset_ns;
        let explained = self.error_ns(later.at_ns).saturating_add(later.error_ns);
        (moved.unsigned_abs() > explained.into())
            .then(|| moved.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// How wrong the clock may be known at a time of the controller's clock, ns.
    pub fn error_ns(&self, local_ns: u64) -> u64 {
        let since = u128::from(local_ns.abs_diff(self.at_ns));
        let drifted = (since * u128::from(self.drift_error_ppb)).div_ceil(1_000_000_000);
        self.error_ns.saturating_add(drifted as u64)
    }

    /// The other clock at a time of the controller's clock, ns.
    pub fn remote_ns(&self, local_ns: u64) -> u64 {
        let since = i128::from(local_ns) - i128::from(self.at_ns);
        let drifted = since * i128::from(self.drift_ppb) / 1_000_000_000;
        u64::try_from(i128::from(local_ns) + self.offset_ns + drifted).unwrap_or(0)
    }

    /// The controller's clock at a time of the other clock, ns.
    pub fn local_ns(&self, remote_ns: u64) -> u64 {
        let without_drift = i128::from(remote_ns) - self.offset_ns;
        let since = without_drift - i128::from(self.at_ns);
        let drifted = since * i128::from(self.drift_ppb) / (1_000_000_000 + i128::from(self.drift_ppb));
        u64::try_from(without_drift - drifted).unwrap_or(0)
    }

    /// The offset, ns: the other clock less the controller's, when it was measured.
    pub fn offset_ns(&self) -> i64 {
        self.offset_ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// A start that is common to all workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// When it is, ns of the controller's clock.
    pub local_ns: u64,
    /// When it is on the clock of each worker, in their order, ns: what `Command::MeasureAt` tells.
    pub remote_ns: Vec<u64>,
    /// How far apart the workers may begin for the clocks' sake, if each is told in time, ns.
    pub bound_ns: u64,
}

impl Start {
    /// The next start that each worker surely gets in time, if no message takes more than four times as long as the longest
    /// round trip that was seen. One that takes longer makes its worker begin late, and its part says so.
    pub fn soon(now_ns: u64, clocks: &[Clock]) -> Self {
        let longest = clocks.iter().map(|clock| clock.longest_ns).max().unwrap_or(0);
        let until = |clock: &Clock| clock.error_ns(now_ns + SOONEST_NS);
        let wrong = clocks.iter().map(until).max().unwrap_or(0);
        let ahead = (longest.saturating_mul(WAYS))
            .saturating_add(LEAD_NS)
            .saturating_add(wrong);
        Self::at(now_ns.saturating_add(ahead.max(SOONEST_NS)), clocks)
    }

    /// The start at a time of the controller's clock.
    pub fn at(local_ns: u64, clocks: &[Clock]) -> Self {
        Self {
            local_ns,
            remote_ns: clocks.iter().map(|clock| clock.remote_ns(local_ns)).collect(),
            bound_ns: two_largest(clocks.iter().map(|clock| clock.error_ns(local_ns))),
        }
    }
}

/// How far apart workers began: each with its clock and the time on it at which it did (`Begun::at_ns` of its part). `None`
/// without workers.
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

/// What two clocks may be wrong against each other, at most.
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
