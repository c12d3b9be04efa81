//! Counts the results of all requests of a load, including warm-up and drain.

use prony_load::Job;
use prony_merge::{STATUSES, StatusCounts};

/// A row of counters per operation, with one counter per status. The first counter is for requests without a complete
/// reply: no reply has status 0.
#[derive(Debug)]
pub(super) struct Answers {
    counts: Box<[u64]>,
}

impl Answers {
    /// The counters of a job, if it counts replies.
    pub(super) fn of(job: &Job) -> Option<Self> {
        let places = job.workload.operations.len() * STATUSES;
        job.count_replies.then(|| Self {
            counts: vec![0; places].into_boxed_slice(),
        })
    }

    #[inline]
    pub(super) fn count(&mut self, operation: u16, status: Option<u16>) {
        let status = usize::from(status.unwrap_or(0)).min(STATUSES - 1);
        self.counts[usize::from(operation) * STATUSES + status] += 1;
    }

    pub(super) fn sum(&self) -> StatusCounts {
        let mut sum = StatusCounts::default();
        for (operation, row) in (0..).zip(self.counts.chunks(STATUSES)) {
            for (status, &count) in (0_u16..).zip(row) {
                sum.add(operation, (status > 0).then_some(status), count);
            }
        }
        sum
    }
}
