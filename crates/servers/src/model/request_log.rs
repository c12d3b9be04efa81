//! What a model has received and sent, for `GET /seen`.
//!
//! `GET /seen` describes all requests, and gives a nonce that none of them has. `GET /seen?nonce=NONCE` describes those of the newest
//! requests whose last user message this is.

use bytes::Bytes;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// Nonces that are remembered.
const REMEMBERED: usize = 4096;
/// An event that is sent later than this is late.
const LATE: Duration = Duration::from_micros(50);

/// The longest delay that is counted as it is, ns.
const LONGEST_NS: u64 = 60_000_000_000;

#[derive(Default)]
pub(super) struct RequestLog(Mutex<Counts>);

/// A request as it was received.
pub(super) struct LoggedRequest<'a> {
    pub(super) body: &'a Bytes,
    /// Whether it has the key of the model.
    pub(super) has_key: bool,
}

struct Counts {
    all: Requests,
    by_nonce: HashMap<String, (Requests, Vec<Bytes>)>,
    /// The remembered nonces, the oldest first.
    order: VecDeque<String>,
    events: u64,
    late: u64,
    /// How often the counts were described: each time with a nonce that no request has had.
    described: u64,
    /// How late events were sent, in nanoseconds.
    lateness: Histogram<u64>,
}

#[derive(Default)]
struct Requests {
    received: u64,
    wrong_keys: u64,
    open: u64,
    /// Streams that were sent to their end.
    completed: u64,
    /// Streams whose client left.
    cancels: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            all: Requests::default(),
            by_nonce: HashMap::new(),
            order: VecDeque::new(),
            events: 0,
            late: 0,
            described: 0,
            lateness: Histogram::new_with_bounds(1, LONGEST_NS, 2)
                .expect("invariant: the limits are in order"),
        }
    }
}

impl Counts {
    /// Counts in the sum and for the nonce.
    fn count(&mut self, nonce: &str, count: &dyn Fn(&mut Requests)) {
        count(&mut self.all);
        if let Some((requests, _)) = self.by_nonce.get_mut(nonce) {
            count(requests);
        }
    }
}

impl RequestLog {
    pub(super) fn received(&self, nonce: &str, request: &LoggedRequest<'_>) {
        let mut counts = self.lock();
        if !counts.by_nonce.contains_key(nonce) {
            if counts.order.len() == REMEMBERED {
                let oldest = counts.order.pop_front().unwrap_or_default();
                counts.by_nonce.remove(&oldest);
            }
            counts.order.push_back(nonce.to_owned());
        }
        let (_, bodies) = counts.by_nonce.entry(nonce.to_owned()).or_default();
        bodies.push(request.body.clone());
        counts.count(nonce, &|requests| {
            requests.received += 1;
            requests.wrong_keys += u64::from(!request.has_key);
        });
    }

    pub(super) fn opened(&self, nonce: &str) {
        self.lock().count(nonce, &|requests| requests.open += 1);
    }

    /// A stream has ended, or its client has left.
    pub(super) fn closed(&self, nonce: &str, is_cancelled: bool) {
        self.lock().count(nonce, &|requests| {
            requests.open = requests.open.saturating_sub(1);
            requests.completed += u64::from(!is_cancelled);
            requests.cancels += u64::from(is_cancelled);
        });
    }

    /// An event was sent so late.
    pub(super) fn sent(&self, lateness: Duration) {
        let mut counts = self.lock();
        counts.events += 1;
        counts.late += u64::from(lateness > LATE);
        counts.lateness.saturating_record(lateness.as_nanos() as u64);
    }

    /// The counts of all requests, or of those with the nonce of the query.
    pub(super) fn describe(&self, query: &str) -> Value {
        let mut counts = self.lock();
        let nonce = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "nonce");
        if let Some((_, nonce)) = nonce {
            let empty = (Requests::default(), Vec::new());
            let (requests, bodies) = counts.by_nonce.get(&*nonce).unwrap_or(&empty);
            let bodies = bodies
                .iter()
                .map(|body| serde_json::from_slice(body).unwrap_or(Value::Null));
            let mut description = description(requests);
            description["bodies"] = bodies.collect();
            return description;
        }
        let mut description = description(&counts.all);
        counts.described += 1;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_nanos());
        description["nonce"] = json!(format!("{now:x}-{}", counts.described));
        description["events"] = json!(counts.events);
        description["late_events"] = json!(counts.late);
        let late = &counts.lateness;
        description["late_ns"] = json!({
            "p50": late.value_at_quantile(0.5),
            "p99": late.value_at_quantile(0.99),
            "max": late.max(),
        });
        description
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0
            .lock()
            .expect("invariant: nothing panics while requests are counted")
    }
}

fn description(requests: &Requests) -> Value {
    json!({
        "requests": requests.received,
        "wrong_keys": requests.wrong_keys,
        "open": requests.open,
        "completed": requests.completed,
        "cancels": requests.cancels,
    })
}
