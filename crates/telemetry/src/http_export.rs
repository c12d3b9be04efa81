//! One request to a collector, and what came of it.

use crate::collector::{Collector, CollectorError};
use crate::otlp::ExportMetricsServiceResponse;
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use prony_load::{Protocol, Tls, TlsChoices};
use prony_protocols::tls::{TlsConfig, explain_io};
use prost::Message as _;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Bytes of an answer that are read.
const MOST_READ: usize = 64 * 1024;
/// Letters of an answer that are shown.
const MOST_SHOWN: usize = 200;

/// Why a collector did not take all that it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It may take it later.
    ForNow(String),
    /// It has taken a part, and does not want the rest.
    Partly(String),
    /// It never will.
    ForGood(String),
}

/// A collector, and the connection to it that is kept.
pub(crate) struct Client {
    collector: Collector,
    tls: Option<TlsConfig>,
    kept: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    pub(crate) fn new(collector: Collector) -> Result<Self, CollectorError> {
        let tls = collector.speaks_tls().then(|| {
            let tls = Tls {
                server_name: collector.host(),
                insecure: false,
                cacert: None,
                choices: TlsChoices::default(),
            };
            TlsConfig::new(&tls, Protocol::Http1)
        });
        Ok(Self {
            tls: tls.transpose()?,
            collector,
            kept: None,
        })
    }

    pub(crate) const fn collector(&self) -> &Collector {
        &self.collector
    }

    pub(crate) async fn post(&mut self, body: Bytes) -> Result<(), Refusal> {
        let reply = self.send(&body).await.map_err(Refusal::ForNow)?;
        let status = reply.status();
        let answer = Limited::new(reply.into_body(), MOST_READ).collect().await;
        let answer = answer.map_err(|error| Refusal::ForNow(error.to_string()))?;
        judge(status, &answer.to_bytes())
    }

    async fn send(&mut self, body: &Bytes) -> Result<Response<Incoming>, String> {
        let request = || {
            self.collector
                .request(body.clone())
                .map_err(|error| error.to_string())
        };
        // It may have closed the connection meanwhile. What comes twice counts once, since sums are sent.
        if let Some(mut kept) = self.kept.take()
            && kept.ready().await.is_ok()
            && let Ok(reply) = kept.send_request(request()?).await
        {
            self.kept = Some(kept);
            return Ok(reply);
        }
        let mut fresh = self.connect().await?;
        let reply = fresh.send_request(request()?).await;
        let reply = reply.map_err(|error| error.to_string())?;
        self.kept = Some(fresh);
        Ok(reply)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let (host, port) = (self.collector.host(), self.collector.port());
        let stream = TcpStream::connect((host.as_str(), port)).await;
        let stream = stream.map_err(|error| error.to_string())?;
        match &self.tls {
            None => begin(TokioIo::new(stream)).await,
            Some(tls) => {
                let connector = TlsConnector::from(Arc::clone(tls.client()));
                let sealed = connector.connect(tls.server_name().clone(), stream).await;
                begin(TokioIo::new(
                    sealed.map_err(|error| explain_io(&error).to_string())?,
                ))
                .await
            }
        }
    }
}

/// HTTP on a connection.
async fn begin(io: impl Read + Write + Unpin + Send + 'static) -> Result<SendRequest<Full<Bytes>>, String> {
    let (sender, connection) = handshake(io).await.map_err(|error| error.to_string())?;
    // It ends when the sender is dropped, or by the collector; the next request tells how.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

/// What an answer means, by the protocol's rules for what may be sent again.
fn judge(status: StatusCode, answer: &[u8]) -> Result<(), Refusal> {
    if status.is_success() {
        let partly = ExportMetricsServiceResponse::decode(answer).ok();
        let partly = partly.and_then(|answer| answer.partial_success);
        return match partly.filter(|partly| partly.rejected_data_points > 0) {
            None => Ok(()),
            Some(partly) => Err(Refusal::Partly(format!(
                "it refused {} of them: {}",
                partly.rejected_data_points,
                shown(partly.error_message.as_bytes())
            ))),
        };
    }
    let reason = format!("it answered {status} {}", shown(answer))
        .trim_end()
        .to_owned();
    Err(match status.as_u16() {
        429 | 502..=504 => Refusal::ForNow(reason),
        _ => Refusal::ForGood(reason),
    })
}

/// What of an answer can be shown, in one line. An error in protobuf has its text between other bytes.
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
            Err(Refusal::ForNow(
                "it answered 503 Service Unavailable soon".to_owned()
            ))
        );
        let good = judge(StatusCode::NOT_FOUND, b"\x08\x05\x12\x04none");
        assert_eq!(
            good,
            Err(Refusal::ForGood("it answered 404 Not Found none".to_owned()))
        );
    }

    #[test]
    fn what_is_taken_in_part_is_told() {
        let answer = ExportMetricsServiceResponse {
            partial_success: Some(ExportMetricsPartialSuccess {
                rejected_data_points: 2,
                error_message: "too old".to_owned(),
            }),
        };
        let told = judge(StatusCode::OK, &answer.encode_to_vec());
        assert_eq!(
            told,
            Err(Refusal::Partly("it refused 2 of them: too old".to_owned()))
        );
    }
}
