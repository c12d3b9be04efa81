//! The response times of every request that was due.

use super::{Histogram, HistogramError, OperationRecording, Outcomes, Recording};
use crate::{Quantile, ResponseTimes};

/// The response times of every request that was due: the time to a valid reply. One that had none ranks above all others.
#[derive(Debug, Clone)]
pub struct Responses {
    /// Times of complete replies, valid or not.
    times: Histogram,
    /// Replies that were not valid.
    unexpected: u64,
    due: u64,
}

impl Responses {
    /// Those of a recording.
    pub fn of(recording: &Recording) -> Result<Self, HistogramError> {
        let streams = recording.messages.and_then(|messages| messages.streams);
        // A stream that the end of the load cut has no response time, through no fault of its own.
        let cut = streams.map_or(0, |streams| streams.cut);
        Ok(Self::new(
            recording.response_times()?,
            &recording.outcomes,
            recording.due().saturating_sub(cut),
        ))
    }

    /// Those of one operation of a recording.
    pub fn of_operation(one: &OperationRecording) -> Result<Self, HistogramError> {
        let due = one.outcomes.total().max(one.requests.offered);
        Ok(Self::new(Histogram::decode(&one.histogram)?, &one.outcomes, due))
    }

    /// Those of replies with these times, where so many requests were due.
    pub fn new(times: Histogram, outcomes: &Outcomes, due: u64) -> Self {
        Self {
            unexpected: (outcomes.status + outcomes.wrong_reply).min(times.len()),
            due: due.max(times.len()),
            times,
        }
    }

    /// Requests of the sample.
    pub const fn len(&self) -> u64 {
        self.due
    }

    /// Whether no request was due.
    pub const fn is_empty(&self) -> bool {
        self.due == 0
    }

    /// The time that a share `quantile` (0 to 1) of all requests does not exceed; `None` where none was due.
    pub fn quantile(&self, quantile: f64) -> Option<Quantile> {
        let rank = ((quantile * self.due as f64).ceil() as u64).clamp(1, self.due.max(1));
        (self.due > 0).then(|| self.at(rank))
    }

    /// The time of the request with this rank, from 1. Replies that are not valid are taken to be the fastest, since it is
    /// not known which they are: a service that fails quickly is never shown to be fast.
    fn at(&self, rank: u64) -> Quantile {
        let replies = self.times.len();
        let rank = rank + self.unexpected;
        if rank > replies {
            return Quantile::Unbounded;
        }
        // Half a rank lower: the histogram rounds the share up to the next reply, whatever the last digits are.
        let share = (rank as f64 - 0.5) / replies as f64;
        self.times
            .quantile(share)
            .map_or(Quantile::Unbounded, Quantile::Exact)
    }

    /// The summary that is shown; `None` where no request was due.
    pub fn times(&self) -> Option<ResponseTimes> {
        let at = |quantile| self.quantile(quantile);
        let whole = self.unexpected == 0 && self.times.len() == self.due;
        let of_all = |ns: Option<u64>| match ns {
            Some(ns) if whole => Quantile::Exact(ns),
            _ => Quantile::Unbounded,
        };
        Some(ResponseTimes {
            mean: of_all(self.times.mean().map(|ns| ns.round() as u64)),
            min: at(0.0)?,
            p50: at(0.5)?,
            p75: at(0.75)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            p99_9: at(0.999)?,
            p99_99: at(0.9999)?,
            max: at(1.0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Quantile::{Exact, Unbounded};
    use super::*;

    /// 1 to `replies` µs, of which `unexpected` were not valid, of `due` requests.
    fn responses(replies: u64, unexpected: u64, due: u64) -> Responses {
        let mut times = Histogram::new();
        (1..=replies).for_each(|us| times.record(us * 1_000));
        let outcomes = Outcomes {
            status: unexpected,
            ..Outcomes::default()
        };
        Responses::new(times, &outcomes, due)
    }

    /// The p99 of 1,000 requests is that of the 990th, whether or not the last ten were answered.
    #[test]
    fn what_was_not_answered_ranks_above_all_replies() {
        let near = |found: Option<Quantile>, us: u64| {
            let ns = found.and_then(Quantile::exact).expect("a time");
            assert!(ns.abs_diff(us * 1_000) <= us, "{ns} ns, not {us} µs");
        };
        let all = responses(990, 0, 1_000);
        near(all.quantile(0.99), 990);
        assert_eq!(all.quantile(0.991), Some(Unbounded));
        let times = all.times().expect("some were due");
        assert_eq!((times.mean, times.max), (Unbounded, Unbounded));
        near(responses(1_000, 0, 1_000).quantile(0.5), 500);
    }

    #[test]
    fn a_reply_that_is_not_valid_is_no_answer() {
        let shed = responses(1_000, 20, 1_000);
        assert_eq!(shed.quantile(0.99), Some(Unbounded));
        assert!(matches!(shed.quantile(0.98), Some(Exact(_))));
        assert_eq!(responses(100, 100, 100).quantile(0.01), Some(Unbounded));
    }

    #[test]
    fn where_nothing_was_due_there_is_no_time() {
        assert!(responses(0, 0, 0).times().is_none());
    }
}
