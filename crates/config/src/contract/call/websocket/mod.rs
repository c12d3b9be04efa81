//! Messages of a WebSocket, and scripts in cases, built from a contract.

mod turn;

use turn::ErrorLocation;
pub use turn::{ExpectedFrame, Frame, FrameKind, Member, ScriptStep};

use super::{Call, PlaceholderValues};
use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::template::{Builder, constant};
use crate::contract::toml::{CallToml, OneOrMany, Status};
use prony_load::{Body, BodyRule, Expectation, Request, Template};
use std::ops::Range;

/// The status of a handshake that opens a WebSocket.
const SWITCHED: u16 = 101;

impl Contract {
    /// Keys for WebSockets need a WebSocket call, and a WebSocket call allows only these.
    pub(super) fn verify_web_socket(&self, span: Range<usize>, call: &CallToml) -> Result<(), ConfigError> {
        let Some(expect) = call.expect.as_ref() else {
            return Ok(());
        };
        let says = expect.get_ref();
        if call.websocket.is_none() {
            return match &call.script {
                Some(talk) => Err(self.invalid(talk.span(), "`script` needs a WebSocket: give `websocket`")),
                None if says.echoed => {
                    let message = "`echoed` needs a WebSocket: give `websocket`";
                    Err(self.invalid(expect.span(), message))
                }
                None => Ok(()),
            };
        }
        if call.http.is_some() || call.grpc.is_some() {
            let message = "`websocket` together with `http` or `grpc`: give only one of them";
            return Err(self.invalid(span, message));
        }
        let mut other = says.clone();
        (other.status, other.echoed, other.within) = (None, false, None);
        if other.speaks_of_http() || other.speaks_of_grpc() {
            let message = "for a WebSocket, `expect` has `echoed`, or the `status` of a rejected handshake";
            return Err(self.invalid(expect.span(), message));
        }
        if says.status.is_some() && (says.echoed || call.script.is_some()) {
            let message = "`status` is for a rejected handshake: remove the messages after it";
            return Err(self.invalid(expect.span(), message));
        }
        match &call.generated {
            Some(generated) if generated.get_ref().chunk.is_some() => {
                Err(self.invalid(generated.span(), "`generated.chunk` is for bodies of HTTP/1.1"))
            }
            _ => Ok(()),
        }
    }
}

impl Call<'_> {
    /// The message, the handshake of its connection, and the expectation of the echo.
    pub(super) fn web_socket(
        &self,
        filling: &PlaceholderValues<'_>,
    ) -> Result<(Request, Expectation), ConfigError> {
        let request = self.web_socket_request(filling)?;
        let expect = self.expect().get_ref();
        let status = match &expect.status {
            None => vec![SWITCHED],
            Some(OneOrMany(codes)) => Status::codes(codes),
        };
        let echoed = expect.echoed.then(|| BodyRule::Exact(message(&request.body)));
        let expectation = Expectation {
            status,
            body: echoed.into_iter().collect(),
            ..Expectation::default()
        };
        Ok((request, expectation))
    }

    pub(super) fn web_socket_request(&self, filling: &PlaceholderValues<'_>) -> Result<Request, ConfigError> {
        let path = self.written.websocket.as_ref();
        let path = path.expect("invariant: the call speaks WebSocket");
        let (body, _) = self.http_body(filling)?;
        let is_binary = matches!(body, Body::Generated(_));
        Ok(Request {
            method: if is_binary { "BINARY" } else { "TEXT" }.to_owned(),
            path: self.path("websocket", (path.span(), path.get_ref()), filling)?,
            headers: self.headers(filling)?,
            body,
        })
    }

    /// The frames that a case sends and expects on its own connection: those of `script`, or the message and its echo. Empty if
    /// the call is not over a WebSocket, or if the handshake must be rejected.
    pub(crate) fn script(
        &self,
        request: &Request,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Vec<ScriptStep>, ConfigError> {
        let Some(talk) = &self.written.script else {
            if !self.expect().get_ref().echoed {
                return Ok(Vec::new());
            }
            let kind = match request.body {
                Body::Generated(_) => FrameKind::Binary,
                _ => FrameKind::Text,
            };
            let said = Frame::new(kind, constant(&message(&request.body)));
            return Ok(vec![
                ScriptStep::Send(said),
                ScriptStep::Expect(ExpectedFrame::Echo),
            ]);
        };
        let has_members = talk.get_ref().iter().any(|step| step.get_ref().client.is_some());
        // The members whose connections have ended.
        let mut over = Vec::new();
        let mut known = Vec::new();
        let mut turns = Vec::new();
        for step in talk.get_ref() {
            let (span, written) = (step.span(), step.get_ref());
            let at = |reason: String| self.invalid(span.clone(), reason);
            if has_members && written.client.is_none() {
                return Err(at(
                    "no `client`: other steps name theirs, so give it here, too".to_owned()
                ));
            }
            if over.contains(&&written.client) {
                return Err(at("the connection has already ended: remove this step".to_owned()));
            }
            if known.contains(&&written.client) && written.path.is_some() {
                return Err(at("`path` is only for the first step of a client".to_owned()));
            }
            known.push(&written.client);
            let location = ErrorLocation {
                span: span.clone(),
                at: &at,
                filling,
            };
            turn::read(written, &location, &mut turns)?;
            if matches!(
                turns.last(),
                Some(
                    ScriptStep::Expect(ExpectedFrame::Close(_)) | ScriptStep::StopReading | ScriptStep::Abort
                )
            ) {
                over.push(&written.client);
            }
        }
        Ok(turns)
    }
}

/// All bytes of a message.
fn message(body: &Body) -> Template {
    match body {
        // Only gRPC has streams of messages.
        Body::None | Body::Messages(_) => Template::default(),
        Body::Bytes(template) => template.clone(),
        Body::Generated(generated) => {
            let mut builder = Builder::default();
            builder.literal(&generated.filler());
            builder.template(&generated.end);
            builder.build()
        }
    }
}
