//! Measures the clocks of workers against the clock of the controller.

use crate::testbed::Member;
use nix::time::{ClockId, clock_gettime};
use prony_host::HostError;
use prony_merge::clock::{Clock, FEWEST_TRIPS, RoundTrip};
use std::time::Instant;

/// Round trips per measurement of a clock.
const TRIPS: usize = 2 * FEWEST_TRIPS;

/// The monotonic clock of this machine in ns.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("invariant: every Linux has this clock");
    u64::try_from(now.tv_sec()).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec()).unwrap_or(0)
}

/// Measures the clock of a host.
pub(crate) fn of(member: &Member) -> Result<Clock, HostError> {
    let trips: Vec<RoundTrip> = (0..TRIPS).map(|_| trip(member)).collect::<Result<_, _>>()?;
    Clock::measured(&trips).map_err(|error| HostError::There {
        host: member.name.clone(),
        text: error.to_string(),
    })
}

fn trip(member: &Member) -> Result<RoundTrip, HostError> {
    let Some(remote) = &member.remote else {
        // This is the controller itself.
        let now = now_ns();
        return Ok(RoundTrip {
            sent_ns: now,
            remote_ns: now,
            received_ns: now,
        });
    };
    let sample = remote.clock_sample()?;
    let (now, instant) = (now_ns(), Instant::now());
    let ago = |then: Instant| {
        let ago = instant.saturating_duration_since(then).as_nanos();
        now.saturating_sub(u64::try_from(ago).unwrap_or(u64::MAX))
    };
    Ok(RoundTrip {
        sent_ns: ago(sample.sent),
        remote_ns: sample.monotonic_ns,
        received_ns: ago(sample.received),
    })
}

/// The current uncertainty of the clock of a host in ns.
pub(crate) fn error_ns(member: &Member) -> Result<u64, HostError> {
    Ok(of(member)?.error_ns(now_ns()))
}
