//! An OpenTelemetry collector for tests: it receives and decodes metrics.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point};
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// Longest wait for an expected request.
const PATIENCE: Duration = Duration::from_mins(1);

/// A received request.
#[derive(Debug)]
pub(crate) struct Posted {
    /// The lines of its head, in lowercase.
    pub(crate) head: String,
    /// When it arrived.
    pub(crate) at: Instant,
    pub(crate) metrics: ExportMetricsServiceRequest,
}

pub(crate) struct Collector {
    pub(crate) url: String,
    posted: Receiver<Posted>,
}

/// Metric and attributes of a data point.
pub(crate) type Key = (String, BTreeMap<String, String>);

/// The value of a data point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A monotonic sum.
    Count(u64),
    /// The current value of a gauge.
    Now(f64),
    /// Times: their number, their sum in s, and the number in each bucket.
    Times {
        count: u64,
        sum_s: f64,
        buckets: Vec<u64>,
    },
}

impl Collector {
    /// A collector that replies to request `n`, from 0, with `answer(n)`, for example `200 OK`, followed by lines with headers;
    /// `None`: it never replies.
    pub(crate) fn new(answer: impl Fn(usize) -> Option<&'static str> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (sender, posted) = mpsc::channel();
        std::thread::spawn(move || {
            let mut number = 0;
            for stream in listener.incoming().flatten() {
                let _ = talk(&stream, &sender, &mut |_: &Posted| {
                    number += 1;
                    answer(number - 1)
                });
            }
        });
        Self { url, posted }
    }

    /// Waits for the next request.
    pub(crate) fn next(&self) -> Posted {
        self.posted.recv_timeout(PATIENCE).expect("something is posted")
    }

    /// All received requests that have not been returned yet.
    pub(crate) fn all(&self) -> Vec<Posted> {
        self.posted.try_iter().collect()
    }
}

/// Handles the requests of a connection, one after the other.
fn talk(
    mut stream: &TcpStream,
    sender: &Sender<Posted>,
    answer: &mut dyn FnMut(&Posted) -> Option<&'static str>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut unanswered = Vec::new();
    loop {
        let posted = read(&mut reader)?;
        let status = answer(&posted);
        // Sent after the answer is known, so that the test sees both together.
        sender.send(posted).ok()?;
        match status {
            Some(status) => write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").ok()?,
            // The connection stays open until the client closes it.
            None => {
                let _ = reader.read_to_end(&mut unanswered);
            }
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Posted> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let begin = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        let line = head[begin..].trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let head = head.to_ascii_lowercase();
    if head.contains("content-encoding: gzip") {
        let mut plain = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(body.as_slice());
        decoder.read_to_end(&mut plain).expect("gzip");
        body = plain;
    }
    Some(Posted {
        head,
        at: Instant::now(),
        metrics: ExportMetricsServiceRequest::decode(body.as_slice()).expect("metrics in protobuf"),
    })
}

/// The last value of each data point.
pub(crate) fn last(posted: &[Posted]) -> BTreeMap<Key, Value> {
    let resources = posted.iter().flat_map(|posted| &posted.metrics.resource_metrics);
    let scopes = resources.flat_map(|resource| &resource.scope_metrics);
    let mut found = BTreeMap::new();
    for metric in scopes.flat_map(|scope| &scope.metrics) {
        let key = |attributes: &[KeyValue]| (metric.name.clone(), texts(attributes));
        match metric.data.as_ref().expect("data") {
            metric::Data::Sum(sum) => {
                assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "{sum:?}");
                for point in &sum.data_points {
                    let Some(number_data_point::Value::AsInt(count)) = point.value else {
                        panic!("no count: {point:?}");
                    };
                    found.insert(key(&point.attributes), Value::Count(count.unsigned_abs()));
                }
            }
            metric::Data::Gauge(gauge) => {
                for point in &gauge.data_points {
                    let value = match point.value {
                        Some(number_data_point::Value::AsDouble(value)) => value,
                        Some(number_data_point::Value::AsInt(value)) => value as f64,
                        None => panic!("no number: {point:?}"),
                    };
                    found.insert(key(&point.attributes), Value::Now(value));
                }
            }
            metric::Data::Histogram(times) => {
                assert_eq!(times.aggregation_temporality, 2, "cumulative");
                for point in &times.data_points {
                    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                    let value = Value::Times {
                        count: point.count,
                        sum_s: point.sum.expect("a sum"),
                        buckets: point.bucket_counts.clone(),
                    };
                    found.insert(key(&point.attributes), value);
                }
            }
            metric::Data::ExponentialHistogram(times) => {
                assert_eq!(times.aggregation_temporality, 2, "cumulative");
                for point in &times.data_points {
                    let buckets = point.positive.as_ref();
                    let value = Value::Times {
                        count: point.count,
                        sum_s: point.sum.expect("a sum"),
                        buckets: buckets.map(|one| one.bucket_counts.clone()).unwrap_or_default(),
                    };
                    found.insert(key(&point.attributes), value);
                }
            }
            metric::Data::Summary(_) => panic!("a summary: {}", metric.name),
        }
    }
    found
}

/// Attributes by their name.
pub(crate) fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |attribute: &KeyValue| match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => (attribute.key.clone(), text.clone()),
        Some(any_value::Value::IntValue(number)) => (attribute.key.clone(), number.to_string()),
        other => panic!("{}: {other:?}", attribute.key),
    };
    attributes.iter().map(text).collect()
}

/// The address of a collector that has stopped.
pub(crate) fn gone() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}
