//! Sends a request to a collector and interprets the response.

use crate::collector::{Collector, CollectorError};
use crate::otlp::ExportMetricsServiceResponse;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::StatusCode;
use prony_load::Protocol;
use prony_protocols::client::{BodyFraming, Client, ClientError, Connection, Reply};
use prony_protocols::request_values::Parameters;
use prost::Message as _;
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime};

/// Letters of an answer that are shown.
const MOST_SHOWN: usize = 200;
/// How long a collector may take for a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a collector did not accept everything in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExportError {
    /// It may accept the request later: not before this time, if it says so.
    ForNow(String, Option<Duration>),
    /// It accepted a part and rejects the rest.
    Partly(String),
    /// It will never accept the request.
    ForGood(String),
}

/// A collector, and the connection to it that is kept.
pub(crate) struct Poster {
    collector: Collector,
    compresses: bool,
    client: Client,
    kept: Option<Connection>,
}

impl Poster {
    pub(crate) fn new(collector: Collector, compresses: bool) -> Result<Self, CollectorError> {
        let client = Client::new(&collector.target(), Protocol::Http1);
        Ok(Self {
            client: client.map_err(CollectorError::Client)?,
            collector,
            compresses,
            kept: None,
        })
    }

    pub(crate) const fn collector(&self) -> &Collector {
        &self.collector
    }

    pub(crate) fn post(&mut self, body: Vec<u8>) -> Result<(), ExportError> {
        let reply = self.send(body).map_err(|error| {
            let reason = match error {
                ClientError::TimedOut => format!("it did not answer within {} s", PATIENCE.as_secs()),
                other => other.to_string(),
            };
            ExportError::ForNow(reason, None)
        })?;
        let status = StatusCode::from_u16(reply.status);
        let status = status.map_err(|error| ExportError::ForNow(error.to_string(), None))?;
        let is_wait = |name: &[u8]| name.eq_ignore_ascii_case(b"retry-after");
        let wait = reply.headers.iter().find(|(name, _)| is_wait(name));
        let wait = wait.and_then(|(_, value)| retry_after(value, SystemTime::now()));
        judge(status, &reply.body, wait)
    }

    fn send(&mut self, body: Vec<u8>) -> Result<Reply, ClientError> {
        let deadline = Instant::now() + PATIENCE;
        let body = if self.compresses { compressed(&body) } else { body };
        let request = self.collector.request(body, self.compresses);
        let request = self.client.prepare(&request, BodyFraming::Length)?;
        let ask = |connection: &mut Connection| {
            let token = connection.start(&request, Parameters::new(&[], 0).values(0));
            connection.reply(token, deadline)
        };
        // It may have closed the connection meanwhile. What comes twice counts once, since sums are sent.
        if let Some(mut kept) = self.kept.take() {
            match ask(&mut kept) {
                Ok(reply) => return Ok(self.keep(kept, reply)),
                Err(ClientError::TimedOut) => return Err(ClientError::TimedOut),
                Err(_) => {}
            }
        }
        let mut fresh = self.client.connect(deadline)?;
        let reply = ask(&mut fresh)?;
        Ok(self.keep(fresh, reply))
    }

    fn keep(&mut self, connection: Connection, reply: Reply) -> Reply {
        self.kept = (!reply.closes).then_some(connection);
        reply
    }
}

fn compressed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(body).and_then(|()| encoder.finish());
    written.expect("invariant: a Vec accepts everything")
}

/// The value of `Retry-After`: a number of seconds, or a time.
fn retry_after(value: &[u8], now: SystemTime) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// Interprets a response, by the rules of the protocol for retries.
fn judge(status: StatusCode, answer: &[u8], wait: Option<Duration>) -> Result<(), ExportError> {
    if status.is_success() {
        let partly = ExportMetricsServiceResponse::decode(answer).ok();
        let partly = partly.and_then(|answer| answer.partial_success);
        return match partly.filter(|partly| partly.rejected_data_points > 0) {
            None => Ok(()),
            Some(partly) => Err(ExportError::Partly(format!(
                "it rejected {} of them: {}",
                partly.rejected_data_points,
                shown(partly.error_message.as_bytes())
            ))),
        };
    }
    let reason = format!("it answered {status} {}", shown(answer))
        .trim_end()
        .to_owned();
    Err(match status.as_u16() {
        429 | 502..=504 => ExportError::ForNow(reason, wait),
        _ => ExportError::ForGood(reason),
    })
}

/// The printable part of a response, in one line. An error in protobuf has its text between other bytes.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let letters = text
        .chars()
        .map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    let printable = letters.filter(|letter| !letter.is_control() && *letter != char::REPLACEMENT_CHARACTER);
    printable.take(MOST_SHOWN).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::ExportMetricsPartialSuccess;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        assert_eq!(judge(StatusCode::OK, b"", None), Ok(()));
        // Some collectors answer in JSON.
        assert_eq!(judge(StatusCode::OK, b"{\"partialSuccess\":{}}", None), Ok(()));
        let now = judge(
            StatusCode::SERVICE_UNAVAILABLE,
            b"soon\n",
            Some(Duration::from_secs(30)),
        );
        assert_eq!(
            now,
            Err(ExportError::ForNow(
                "it answered 503 Service Unavailable soon".to_owned(),
                Some(Duration::from_secs(30))
            ))
        );
        let good = judge(StatusCode::NOT_FOUND, b"\x08\x05\x12\x04none", None);
        assert_eq!(
            good,
            Err(ExportError::ForGood("it answered 404 Not Found none".to_owned()))
        );
    }

    #[test]
    fn a_partial_success_is_reported() {
        let answer = ExportMetricsServiceResponse {
            partial_success: Some(ExportMetricsPartialSuccess {
                rejected_data_points: 2,
                error_message: "too old".to_owned(),
            }),
        };
        let told = judge(StatusCode::OK, &answer.encode_to_vec(), None);
        assert_eq!(
            told,
            Err(ExportError::Partly("it rejected 2 of them: too old".to_owned()))
        );
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_time() {
        let now = httpdate::parse_http_date("Fri, 27 Nov 2026 10:00:00 GMT").expect("a time");
        for (value, seconds) in [
            ("30", Some(30)),
            (" 0 ", Some(0)),
            ("Fri, 27 Nov 2026 10:01:00 GMT", Some(60)),
            ("Fri, 27 Nov 2026 09:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            let wait = retry_after(value.as_bytes(), now);
            assert_eq!(wait, seconds.map(Duration::from_secs), "{value}");
        }
    }
}
