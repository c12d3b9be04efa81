//! Sends a request to a collector and interprets the response.

use crate::collector::{Collector, CollectorError};
use crate::otlp::ExportMetricsServiceResponse;
use http::StatusCode;
use prony_load::Protocol;
use prony_protocols::client::{BodyFraming, Client, ClientError, Connection, Reply};
use prony_protocols::request_values::Parameters;
use prost::Message as _;
use std::time::{Duration, Instant};

/// Letters of an answer that are shown.
const MOST_SHOWN: usize = 200;
/// How long a collector may take for a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a collector did not accept everything in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExportError {
    /// It may accept the request later.
    ForNow(String),
    /// It accepted a part and rejects the rest.
    Partly(String),
    /// It will never accept the request.
    ForGood(String),
}

/// A collector, and the connection to it that is kept.
pub(crate) struct Poster {
    collector: Collector,
    client: Client,
    kept: Option<Connection>,
}

impl Poster {
    pub(crate) fn new(collector: Collector) -> Result<Self, CollectorError> {
        let client = Client::new(&collector.target(), Protocol::Http1);
        Ok(Self {
            client: client.map_err(CollectorError::Client)?,
            collector,
            kept: None,
        })
    }

    pub(crate) const fn collector(&self) -> &Collector {
        &self.collector
    }

    pub(crate) fn post(&mut self, body: Vec<u8>) -> Result<(), ExportError> {
        let reply = self.send(body).map_err(|error| {
            ExportError::ForNow(match error {
                ClientError::TimedOut => format!("it did not answer within {} s", PATIENCE.as_secs()),
                other => other.to_string(),
            })
        })?;
        let status =
            StatusCode::from_u16(reply.status).map_err(|error| ExportError::ForNow(error.to_string()))?;
        judge(status, &reply.body)
    }

    fn send(&mut self, body: Vec<u8>) -> Result<Reply, ClientError> {
        let deadline = Instant::now() + PATIENCE;
        let request = self
            .client
            .prepare(&self.collector.request(body), BodyFraming::Length)?;
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

/// Interprets a response, by the rules of the protocol for retries.
fn judge(status: StatusCode, answer: &[u8]) -> Result<(), ExportError> {
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
        429 | 502..=504 => ExportError::ForNow(reason),
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
        assert_eq!(judge(StatusCode::OK, b""), Ok(()));
        // Some collectors answer in JSON.
        assert_eq!(judge(StatusCode::OK, b"{\"partialSuccess\":{}}"), Ok(()));
        let now = judge(StatusCode::SERVICE_UNAVAILABLE, b"soon\n");
        assert_eq!(
            now,
            Err(ExportError::ForNow(
                "it answered 503 Service Unavailable soon".to_owned()
            ))
        );
        let good = judge(StatusCode::NOT_FOUND, b"\x08\x05\x12\x04none");
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
        let told = judge(StatusCode::OK, &answer.encode_to_vec());
        assert_eq!(
            told,
            Err(ExportError::Partly("it rejected 2 of them: too old".to_owned()))
        );
    }
}
