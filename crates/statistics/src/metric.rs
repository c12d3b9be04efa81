//! The metrics that are estimated for a service, and where a trial holds their values.

use crate::Quantity;
use prony_records::{Figures, Measurement, PairedBlocks, ResponseTimes};
use serde::{Deserialize, Serialize};

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: the metric describes the load that was requested, or the generator.
    Neither,
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident $key:ident $unit:literal $better:ident $title:literal $figures:expr;)*) => {
        /// A number that is estimated for a service over its trials. The order of the variants is the order of the JSON keys.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Metric { $($(#[$doc])* $variant,)* }

        impl Metric {
            /// Every metric, in the order of the JSON keys.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The JSON key, which contains the unit.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => stringify!($key),)* }
            }

            /// The unit: `1/s`, `ns`, `bytes`, `ms`, `s`, `cpus`.
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$variant => $unit,)* }
            }

            /// Which direction is better.
            pub const fn better(self) -> Better {
                match self { $(Self::$variant => Better::$better,)* }
            }

            /// A short name to show to people.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// The set of figures that it belongs to, for warnings that affect a set.
            pub const fn figures(self) -> Figures {
                match self { $(Self::$variant => $figures,)* }
            }
        }

        /// Every metric of a service; `None` if this machine or this load cannot provide it.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Metrics { $($(#[$doc])* pub $key: Option<Quantity>,)* }

        impl Metrics {
            /// The value of a metric.
            pub const fn get(&self, metric: Metric) -> Option<&Quantity> {
                match metric { $(Metric::$variant => self.$key.as_ref(),)* }
            }

            pub(crate) fn set(&mut self, metric: Metric, quantity: Option<Quantity>) {
                match metric { $(Metric::$variant => self.$key = quantity,)* }
            }
        }
    };
}

/// The figures of response times from p99 upwards.
const TAIL: Figures = Figures::TIMES.with(Figures::TAIL);

metrics! {
    /// Complete replies per second.
    ThroughputPerS throughput_per_s "1/s" Higher "throughput" Figures::RATES;
    /// Valid replies per second.
    GoodputPerS goodput_per_s "1/s" Higher "goodput" Figures::RATES;
    /// Requests that were due, per second.
    OfferedPerS offered_per_s "1/s" Neither "offered" Figures::OTHER;
    /// Completed sequences per second, if the workload is a sequence.
    SequencesPerS sequences_per_s "1/s" Higher "sequences" Figures::RATES;
    /// Mean response time, ns.
    ResponseTimeNsMean response_time_ns_mean "ns" Lower "response time, mean" Figures::TIMES;
    /// Median response time of a trial, ns.
    ResponseTimeNsP50 response_time_ns_p50 "ns" Lower "response time, p50" Figures::TIMES;
    /// 75th percentile of the response time of a trial, ns.
    ResponseTimeNsP75 response_time_ns_p75 "ns" Lower "response time, p75" Figures::TIMES;
    /// 90th percentile of the response time of a trial, ns.
    ResponseTimeNsP90 response_time_ns_p90 "ns" Lower "response time, p90" Figures::TIMES;
    /// 95th percentile of the response time of a trial, ns.
    ResponseTimeNsP95 response_time_ns_p95 "ns" Lower "response time, p95" Figures::TIMES;
    /// 99th percentile of the response time of a trial, ns.
    ResponseTimeNsP99 response_time_ns_p99 "ns" Lower "response time, p99" TAIL;
    /// 99.9th percentile of the response time of a trial, ns.
    ResponseTimeNsP99_9 response_time_ns_p99_9 "ns" Lower "response time, p99.9" TAIL;
    /// 99.99th percentile of the response time of a trial, ns.
    ResponseTimeNsP99_99 response_time_ns_p99_99 "ns" Lower "response time, p99.99" TAIL;
    /// Longest response time of a trial, ns.
    ResponseTimeNsMax response_time_ns_max "ns" Lower "response time, longest" TAIL;
    /// Median service time of a trial, ns.
    ServiceTimeNsP50 service_time_ns_p50 "ns" Lower "service time, p50" Figures::TIMES;
    /// 99th percentile of the service time of a trial, ns.
    ServiceTimeNsP99 service_time_ns_p99 "ns" Lower "service time, p99" TAIL;
    /// Median time of a whole sequence, ns.
    SequenceTimeNsP50 sequence_time_ns_p50 "ns" Lower "sequence time, p50" Figures::TIMES;
    /// 99th percentile of the time of a whole sequence, ns.
    SequenceTimeNsP99 sequence_time_ns_p99 "ns" Lower "sequence time, p99" TAIL;
    /// CPU time of the service's whole process tree during the measurement per complete reply received in it, ns.
    CpuNsPerRequest cpu_ns_per_request "ns" Lower "CPU per request" Figures::CPU;
    /// CPU time of all backing services together during the measurement per complete reply of the service received in it, ns.
    #[serde(alias = "companion_cpu_ns_per_request")]
    BackingServiceCpuNsPerRequest backing_service_cpu_ns_per_request "ns" Lower "backing services' CPU per request" Figures::CPU;
    /// Number of CPUs that the service kept busy.
    CpusBusy cpus_busy "cpus" Lower "CPUs busy" Figures::CPU;
    /// CPU time of the generator during the measurement per complete reply received in it, ns.
    GeneratorCpuNsPerRequest generator_cpu_ns_per_request "ns" Neither "generator's CPU per request" Figures::CPU;
    /// Peak memory of the service, bytes.
    MemoryBytesPeak memory_bytes_peak "bytes" Lower "memory, peak" Figures::MEMORY;
    /// Mean memory of the service, bytes.
    MemoryBytesMean memory_bytes_mean "bytes" Lower "memory, mean" Figures::MEMORY;
    /// Memory of the service when it is started and idle, bytes.
    MemoryBytesIdle memory_bytes_idle "bytes" Lower "memory, idle" Figures::MEMORY;
    /// Memory of the service at its first valid reply, bytes.
    MemoryBytesFirstReply memory_bytes_first_reply "bytes" Lower "memory, first reply" Figures::MEMORY;
    /// Memory of the service after a load and a rest, bytes.
    MemoryBytesAfterLoad memory_bytes_after_load "bytes" Lower "memory, after load" Figures::MEMORY;
    /// Anonymous memory of the service when it is started and idle, bytes.
    AnonymousBytesIdle anonymous_bytes_idle "bytes" Lower "anonymous memory, idle" Figures::MEMORY;
    /// Pages of files that the service holds when it is started and idle, bytes.
    FileBytesIdle file_bytes_idle "bytes" Lower "file pages, idle" Figures::MEMORY;
    /// Size of the files of the build that the service opened or mapped, bytes.
    ArtefactBytesUsed artefact_bytes_used "bytes" Lower "artefact, used" Figures::OTHER;
    /// Size of all files of the build, bytes.
    ArtefactBytes artefact_bytes "bytes" Lower "artefact" Figures::OTHER;
    /// Time from the start of the process to the first valid reply, ms.
    StartMs start_ms "ms" Lower "start-up" Figures::OTHER;
    /// Time from the start of the process until it accepts a connection, ms.
    ListeningMs listening_ms "ms" Lower "start-up, listening" Figures::OTHER;
    /// CPU time of the service's whole process tree until its first valid reply, ns.
    StartCpuNs start_cpu_ns "ns" Lower "start-up, CPU" Figures::CPU;
    /// Time under load from the first request until the throughput is at 95 % of its steady value, s.
    SteadyRateS steady_rate_s "s" Lower "time to steady rate" Figures::OTHER;
    /// Length of the warm-up, s.
    WarmUpS warm_up_s "s" Lower "warm-up" Figures::OTHER;
    /// Stream messages per second.
    MessagesPerS messages_per_s "1/s" Higher "messages" Figures::RATES;
    /// Median time from sending a request to the end of the first message of its stream, ns.
    FirstMessageNsP50 first_message_ns_p50 "ns" Lower "first message, p50" Figures::TIMES;
    /// 99th percentile of the time to the first message, ns.
    FirstMessageNsP99 first_message_ns_p99 "ns" Lower "first message, p99" TAIL;
    /// What the service adds to the median time to the first event of a stream: the difference to the direct path, ns.
    OverheadFirstNsP50 overhead_first_ns_p50 "ns" Lower "added to the first event, p50" Figures::TIMES;
    /// What it adds to the 99th percentile of the time to the first event, ns.
    OverheadFirstNsP99 overhead_first_ns_p99 "ns" Lower "added to the first event, p99" TAIL;
    /// What it adds to the median gap between events, ns.
    OverheadGapNsP50 overhead_gap_ns_p50 "ns" Lower "added to the gap, p50" Figures::TIMES;
    /// What it adds to the 99th percentile of the gap between events, ns.
    OverheadGapNsP99 overhead_gap_ns_p99 "ns" Lower "added to the gap, p99" TAIL;
    /// What it adds to the median time to the last event of a stream, ns.
    OverheadLastNsP50 overhead_last_ns_p50 "ns" Lower "added to the last event, p50" Figures::TIMES;
    /// What it adds to the 99th percentile of the time to the last event, ns.
    OverheadLastNsP99 overhead_last_ns_p99 "ns" Lower "added to the last event, p99" TAIL;
    /// CPU time of the service's whole process tree per event that it relayed, without its CPU time at rest, ns.
    CpuNsPerEvent cpu_ns_per_event "ns" Lower "CPU per event" Figures::CPU;
    /// Memory of the service per open stream, bytes.
    MemoryBytesPerStream memory_bytes_per_stream "bytes" Lower "memory per stream" Figures::MEMORY;
}

impl Metrics {
    /// The metrics that have a value, with that value.
    pub fn iter(&self) -> impl Iterator<Item = (Metric, &Quantity)> {
        Metric::ALL
            .iter()
            .filter_map(|&metric| self.get(metric).map(|quantity| (metric, quantity)))
    }
}

impl Metric {
    /// The metric with this JSON key.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|metric| metric.key() == key)
    }

    /// The value of this metric in one trial; `None` if this machine or this load cannot provide it. A response time that has no
    /// bound, or only a lower bound, is infinite.
    pub fn of(self, measured: &Measurement) -> Option<f64> {
        let recording = &measured.recording;
        if !measured.has_load() && !self.is_of_start() {
            return None;
        }
        match self {
            Self::ThroughputPerS => Some(recording.throughput_per_s),
            Self::GoodputPerS => Some(recording.goodput_per_s),
            Self::OfferedPerS => recording
                .offered_per_s
                .or(Some(recording.requests.offered as f64 / recording.duration_s)),
            Self::SequencesPerS => recording.sequences_per_s,
            Self::CpuNsPerRequest => per_reply(measured.service.cpu_ns?, measured),
            Self::BackingServiceCpuNsPerRequest => per_reply(backing_services_cpu_ns(measured)?, measured),
            Self::GeneratorCpuNsPerRequest => per_reply((recording.generator.cpu_s * 1e9) as u64, measured),
            Self::CpusBusy => share(measured.service.cpu_ns?, measured.service.window_ns),
            Self::MemoryBytesPeak => measured.service.memory_bytes_peak.map(|bytes| bytes as f64),
            Self::MemoryBytesMean => measured.service.memory_bytes_mean.map(|bytes| bytes as f64),
            Self::MemoryBytesIdle
            | Self::MemoryBytesFirstReply
            | Self::MemoryBytesAfterLoad
            | Self::AnonymousBytesIdle
            | Self::FileBytesIdle
            | Self::ArtefactBytesUsed
            | Self::ArtefactBytes
            | Self::StartCpuNs => self.of_footprint(measured).map(|count| count as f64),
            Self::StartMs => measured.start_up.first_valid_ms,
            Self::ListeningMs => measured.start_up.listening_ms,
            Self::SteadyRateS => {
                let reached = measured.start_up.steady_rate?;
                Some(reached.after_s.unwrap_or(f64::INFINITY))
            }
            Self::WarmUpS => measured
                .steadiness
                .as_ref()
                .map(|steadiness| steadiness.warm_up_s),
            Self::ServiceTimeNsP50 => recording.service_time_ns.map(|times| times.p50 as f64),
            Self::ServiceTimeNsP99 => recording.service_time_ns.map(|times| times.p99 as f64),
            Self::SequenceTimeNsP50 => recording.sequence_time_ns.map(|times| times.p50 as f64),
            Self::SequenceTimeNsP99 => recording.sequence_time_ns.map(|times| times.p99 as f64),
            Self::MessagesPerS => recording.messages.map(|messages| messages.per_s),
            Self::FirstMessageNsP50 => Some(recording.messages?.first_ns?.p50 as f64),
            Self::FirstMessageNsP99 => Some(recording.messages?.first_ns?.p99 as f64),
            Self::CpuNsPerEvent => measured.paired.as_ref()?.cpu_ns_per_event(),
            Self::MemoryBytesPerStream => measured.paired.as_ref()?.memory_bytes_per_stream(),
            Self::OverheadFirstNsP50
            | Self::OverheadFirstNsP99
            | Self::OverheadGapNsP50
            | Self::OverheadGapNsP99
            | Self::OverheadLastNsP50
            | Self::OverheadLastNsP99 => self.overhead(measured.paired.as_ref()?),
            _ => recording
                .response_time_ns
                .and_then(|times| self.of_response_time(&times)),
        }
    }

    /// Whether it is measured without a load.
    const fn is_of_start(self) -> bool {
        matches!(
            self,
            Self::StartMs
                | Self::ListeningMs
                | Self::StartCpuNs
                | Self::SteadyRateS
                | Self::MemoryBytesIdle
                | Self::MemoryBytesFirstReply
                | Self::MemoryBytesAfterLoad
                | Self::AnonymousBytesIdle
                | Self::FileBytesIdle
                | Self::ArtefactBytesUsed
                | Self::ArtefactBytes
        )
    }

    /// A count of bytes or ns of a start.
    fn of_footprint(self, measured: &Measurement) -> Option<u64> {
        let start = &measured.start_up;
        let files = measured.files.as_ref();
        match self {
            Self::MemoryBytesIdle => start
                .idle
                .map_or(start.idle_memory_bytes, |idle| idle.memory_bytes),
            Self::MemoryBytesFirstReply => start.first_reply?.memory_bytes,
            Self::MemoryBytesAfterLoad => start.after_load?.memory_bytes,
            Self::AnonymousBytesIdle => start.idle?.anonymous_bytes,
            Self::FileBytesIdle => start.idle?.file_bytes,
            Self::ArtefactBytesUsed => files?.artefact_used_bytes,
            Self::ArtefactBytes => files?.artefact_bytes,
            Self::StartCpuNs => start.first_reply?.cpu_ns,
            _ => None,
        }
    }

    /// What the service adds to a time.
    fn overhead(self, paired: &PairedBlocks) -> Option<f64> {
        paired.overhead_ns(|block| {
            Some(match self {
                Self::OverheadFirstNsP50 => block.first_ns?.p50,
                Self::OverheadFirstNsP99 => block.first_ns?.p99,
                Self::OverheadGapNsP50 => block.gap_ns?.p50,
                Self::OverheadGapNsP99 => block.gap_ns?.p99,
                Self::OverheadLastNsP50 => block.last_ns?.p50,
                Self::OverheadLastNsP99 => block.last_ns?.p99,
                _ => return None,
            })
        })
    }

    /// Whether its value is a difference, which may be negative: its interval is on the linear scale.
    pub fn is_difference(self) -> bool {
        matches!(
            self,
            Self::OverheadFirstNsP50
                | Self::OverheadFirstNsP99
                | Self::OverheadGapNsP50
                | Self::OverheadGapNsP99
                | Self::OverheadLastNsP50
                | Self::OverheadLastNsP99
                | Self::CpuNsPerEvent
                | Self::MemoryBytesPerStream
        )
    }

    /// The share of the replies below it, if it is a percentile.
    const fn quantile(self) -> Option<f64> {
        Some(match self {
            Self::ResponseTimeNsP50
            | Self::ServiceTimeNsP50
            | Self::SequenceTimeNsP50
            | Self::FirstMessageNsP50 => 0.5,
            Self::ResponseTimeNsP75 => 0.75,
            Self::ResponseTimeNsP90 => 0.9,
            Self::ResponseTimeNsP95 => 0.95,
            Self::ResponseTimeNsP99
            | Self::ServiceTimeNsP99
            | Self::SequenceTimeNsP99
            | Self::FirstMessageNsP99 => 0.99,
            Self::ResponseTimeNsP99_9 => 0.999,
            Self::ResponseTimeNsP99_99 => 0.9999,
            _ => return None,
        })
    }

    /// The fewest replies that a trial needs for services to be ranked by this metric: with them, ten replies are beyond a
    /// percentile. 0 if any number is enough.
    pub fn fewest_replies(self) -> u64 {
        const BEYOND: f64 = 10.0;
        self.quantile()
            .map_or(0, |quantile| (BEYOND / (1.0 - quantile)).round() as u64)
    }

    /// Whether a trial can leave it without a bound: by a request without a valid reply, or because a load ended before it.
    pub(crate) fn may_have_no_bound(self) -> bool {
        let key = self.key();
        key.starts_with("response_time_ns") || self == Self::SteadyRateS
    }

    fn of_response_time(self, times: &ResponseTimes) -> Option<f64> {
        let quantile = match self {
            Self::ResponseTimeNsMean => times.mean,
            Self::ResponseTimeNsP50 => times.p50,
            Self::ResponseTimeNsP75 => times.p75,
            Self::ResponseTimeNsP90 => times.p90,
            Self::ResponseTimeNsP95 => times.p95,
            Self::ResponseTimeNsP99 => times.p99,
            Self::ResponseTimeNsP99_9 => times.p99_9,
            Self::ResponseTimeNsP99_99 => times.p99_99,
            Self::ResponseTimeNsMax => times.max,
            _ => return None,
        };
        Some(quantile.exact().map_or(f64::INFINITY, |ns| ns as f64))
    }
}

/// CPU time of all backing services; `None` if there are none or one of them is unknown.
fn backing_services_cpu_ns(measured: &Measurement) -> Option<u64> {
    let each = measured.backing_services.iter();
    let each = each.map(|one| one.resources.as_ref()?.cpu_ns);
    let sum = each.sum::<Option<u64>>();
    sum.filter(|_| !measured.backing_services.is_empty())
}

fn per_reply(ns: u64, measured: &Measurement) -> Option<f64> {
    share(ns, measured.recording.replies())
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::{Footprint, StartUp, SteadyRate};

    #[test]
    fn keys_are_the_names_that_serde_writes() {
        for &metric in Metric::ALL {
            let written = serde_json::to_value(metric).expect("a unit variant");
            assert_eq!(written, metric.key());
        }
        let all = serde_json::to_value(Metrics::default()).expect("plain data");
        let keys = all.as_object().expect("an object").len();
        assert_eq!(keys, Metric::ALL.len());
    }

    #[test]
    fn a_start_without_a_load_has_no_rate_and_no_cost_of_a_request() {
        let used = Footprint {
            cpu_ns: Some(5),
            memory_bytes: Some(7),
            ..Footprint::default()
        };
        let start_up = StartUp {
            first_valid_ms: Some(12.0),
            first_reply: Some(used),
            steady_rate: Some(SteadyRate {
                after_s: None,
                limit_s: 20.0,
            }),
            ..StartUp::default()
        };
        let measured = Measurement {
            start_up,
            ..Measurement::default()
        };
        let known: Vec<(&str, f64)> = Metric::ALL
            .iter()
            .filter_map(|metric| Some((metric.key(), metric.of(&measured)?)))
            .collect();
        let expected = [
            ("memory_bytes_first_reply", 7.0),
            ("start_ms", 12.0),
            ("start_cpu_ns", 5.0),
            // The load ended before it.
            ("steady_rate_s", f64::INFINITY),
        ];
        assert_eq!(known, expected);
    }
}
