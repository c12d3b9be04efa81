//! Blocks of load on two paths: via the service, and directly to its backing service. Their differences are what the service adds.

use crate::{Latency, Recording, Resources};
use serde::{Deserialize, Serialize};

/// The fewest numbers of streams for a slope: none and two others.
const FEWEST_POINTS: usize = 3;

/// The blocks of one start, in order of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairedBlocks {
    /// The blocks.
    pub blocks: Vec<PairedBlock>,
}

/// One block of load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairedBlock {
    /// Whether the load went directly to the backing service.
    pub direct: bool,
    /// Streams that were held open via the service; `None` if the load is that of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Length of the block, s.
    pub length_s: f64,
    /// Number of events that were received.
    pub events: u64,
    /// Time from sending a request to the end of its first event, ns.
    #[serde(default)]
    pub first_ns: Option<PairedTimes>,
    /// Time from one event of a stream to the next, ns.
    #[serde(default)]
    pub gap_ns: Option<PairedTimes>,
    /// Time from sending a request to the end of its last event, ns.
    #[serde(default)]
    pub last_ns: Option<PairedTimes>,
    /// CPU time of the service's whole process tree, ns.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// Mean resident memory of the service, bytes; `None` if it is not known, or if fewer streams were open than planned.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
}

/// Median and 99th percentile of a block, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedTimes {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
}

impl From<Latency> for PairedTimes {
    fn from(times: Latency) -> Self {
        Self {
            p50: times.p50,
            p99: times.p99,
        }
    }
}

impl PairedBlock {
    /// The block that was recorded, with the resources that the service used meanwhile.
    pub fn of(direct: bool, streams: Option<u32>, recording: &Recording, service: &Resources) -> Self {
        let messages = recording.messages;
        let times = |of: fn(&crate::Messages) -> Option<Latency>| {
            messages.as_ref().and_then(of).map(PairedTimes::from)
        };
        let is_held = streams.is_none() || recording.outcomes.are_held();
        Self {
            direct,
            streams,
            length_s: recording.duration_s,
            events: messages.map_or(0, |messages| messages.received),
            first_ns: times(|messages| messages.first_ns),
            gap_ns: times(|messages| messages.gap_ns),
            last_ns: times(|messages| messages.last_ns),
            cpu_ns: service.cpu_ns,
            memory_bytes: service.memory_bytes_mean.filter(|_| is_held),
        }
    }
}

impl PairedBlocks {
    /// What the service adds to a time: the mean of via − direct over neighbouring blocks, ns. In `direct, via, via, direct` a drift of
    /// the machine adds to one pair what it takes from the other. `None` if the blocks have different loads.
    pub fn overhead_ns(&self, time: impl Fn(&PairedBlock) -> Option<u64>) -> Option<f64> {
        if self.blocks.iter().any(|block| block.streams.is_some()) {
            return None;
        }
        let pairs = self
            .blocks
            .chunks_exact(2)
            .filter(|pair| pair[0].direct != pair[1].direct);
        let differences: Option<Vec<f64>> = pairs
            .map(|pair| {
                let (one, other) = (time(&pair[0])? as f64, time(&pair[1])? as f64);
                Some(if pair[0].direct { other - one } else { one - other })
            })
            .collect();
        let differences = differences.filter(|all| !all.is_empty())?;
        Some(differences.iter().sum::<f64>() / differences.len() as f64)
    }

    /// CPU time of the service per event that it relayed, ns, without what it uses while the load goes past it.
    pub fn cpu_ns_per_event(&self) -> Option<f64> {
        let (mut idle, mut idle_s, mut busy, mut busy_s, mut events) = (0.0, 0.0, 0.0, 0.0, 0);
        for block in &self.blocks {
            let cpu_ns = block.cpu_ns? as f64;
            if block.direct {
                idle += cpu_ns;
                idle_s += block.length_s;
            } else {
                busy += cpu_ns;
                busy_s += block.length_s;
                events += block.events;
            }
        }
        let idle_rate = if idle_s > 0.0 { idle / idle_s } else { 0.0 };
        (events > 0 && busy_s > 0.0).then(|| (busy - idle_rate * busy_s) / events as f64)
    }

    /// Memory of the service per open stream, bytes: the slope over the numbers of streams, by least squares. A direct block holds none.
    /// `None` if fewer than two numbers of streams could be held.
    pub fn memory_bytes_per_stream(&self) -> Option<f64> {
        let points: Vec<(f64, f64)> = self
            .blocks
            .iter()
            .filter(|block| block.direct || block.streams.is_some())
            .filter_map(|block| {
                let streams = f64::from(block.streams.unwrap_or(0));
                Some((streams, block.memory_bytes? as f64))
            })
            .collect();
        if points.len() < FEWEST_POINTS {
            return None;
        }
        slope(&points)
    }
}

/// The slope of the line of least squares through these points; `None` if all are at the same place.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (centre, height) = (mean(|point| point.0), mean(|point| point.1));
    let width: f64 = points.iter().map(|point| (point.0 - centre).powi(2)).sum();
    let rise: f64 = points
        .iter()
        .map(|point| (point.0 - centre) * (point.1 - height))
        .sum();
    (width > 0.0).then(|| rise / width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(direct: bool, first_ns: u64, cpu_ns: u64) -> PairedBlock {
        PairedBlock {
            direct,
            length_s: 2.0,
            events: 1_000,
            first_ns: Some(PairedTimes {
                p50: first_ns,
                p99: first_ns,
            }),
            cpu_ns: Some(cpu_ns),
            ..PairedBlock::default()
        }
    }

    #[test]
    fn the_overhead_is_the_mean_difference_of_neighbours_and_a_drift_cancels() {
        // The machine becomes 10 µs slower with each block, and the service adds 200 µs.
        let blocks = [(true, 1_000), (false, 1_210), (false, 1_220), (true, 1_030)];
        let paired = PairedBlocks {
            blocks: blocks.map(|(direct, us)| block(direct, us * 1_000, 0)).to_vec(),
        };
        let overhead = paired.overhead_ns(|block| Some(block.first_ns?.p50));
        assert_eq!(overhead, Some(200_000.0));
        assert_eq!(paired.overhead_ns(|block| Some(block.gap_ns?.p50)), None);
        assert_eq!(
            PairedBlocks::default().overhead_ns(|block| Some(block.first_ns?.p50)),
            None
        );
    }

    #[test]
    fn cpu_per_event_is_without_the_idle_rate() {
        let paired = PairedBlocks {
            blocks: vec![block(true, 1, 200_000), block(false, 1, 5_200_000)],
        };
        assert_eq!(paired.cpu_ns_per_event(), Some(5_000.0));
    }

    #[test]
    fn memory_per_stream_is_the_slope() {
        let held = |streams: Option<u32>, bytes: u64| PairedBlock {
            direct: streams.is_none(),
            streams,
            memory_bytes: Some(bytes),
            ..PairedBlock::default()
        };
        let paired = PairedBlocks {
            blocks: vec![
                held(None, 50_000_000),
                held(Some(250), 60_000_000),
                held(Some(500), 70_000_000),
                held(Some(1000), 90_000_000),
            ],
        };
        assert_eq!(paired.memory_bytes_per_stream(), Some(40_000.0));
        assert_eq!(paired.overhead_ns(|block| block.memory_bytes), None);
        assert_eq!(PairedBlocks::default().memory_bytes_per_stream(), None);
    }

    /// A gateway gave 397 of 1,000 streams no complete reply, and seemed to need the least memory of all.
    #[test]
    fn streams_that_were_not_held_are_no_point_of_the_slope() {
        let held = |streams: Option<u32>, bytes: u64, failed: u64| {
            let mut recording = Recording::default();
            recording.outcomes.valid = 1_000 - failed;
            recording.outcomes.timeout = failed;
            let used = Resources {
                memory_bytes_mean: Some(bytes),
                ..Resources::default()
            };
            PairedBlock::of(streams.is_none(), streams, &recording, &used)
        };
        let blocks = vec![
            held(None, 50_000_000, 0),
            held(Some(250), 60_000_000, 0),
            held(Some(500), 70_000_000, 5),
            held(Some(1000), 71_000_000, 397),
        ];
        let paired = PairedBlocks {
            blocks: blocks.clone(),
        };
        assert_eq!(paired.memory_bytes_per_stream(), Some(40_000.0));
        let too_few = PairedBlocks {
            blocks: vec![blocks[0].clone(), blocks[1].clone(), blocks[3].clone()],
        };
        assert_eq!(too_few.memory_bytes_per_stream(), None);
    }
}
