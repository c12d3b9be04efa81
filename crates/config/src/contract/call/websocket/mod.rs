//! Messages of a WebSocket, and talks in cases, from the words of a contract.

mod turn;

pub use turn::{Frame, FrameKind, Heard, Member, Turn};

use super::{Call, Filling};
use crate::contract::template::{Builder, constant};
use crate::contract::toml::{OneOrMany, WrittenCall};
use crate::contract::{Contract, ContractError};
use prony_load::{Body, BodyRule, Expectation, Request, Template};
use std::ops::Range;

/// The status of a handshake that opens a WebSocket.
const SWITCHED: u16 = 101;

impl Contract {
    /// What is said of a WebSocket must be about one, and nothing else.
    pub(super) fn verify_web_socket(
        &self,
        span: Range<usize>,
        call: &WrittenCall,
    ) -> Result<(), ContractError> {
        let Some(expect) = call.expect.as_ref() else {
            return Ok(());
        };
        let says = expect.get_ref();
        if call.websocket.is_none() {
            return match &call.talk {
                Some(talk) => {
                    Err(self.invalid(talk.span(), "`talk` goes over a WebSocket: give `websocket`"))
                }
                None if says.echoed => {
                    let message = "`expect.echoed` is about a message of a WebSocket: give `websocket`";
                    Err(self.invalid(expect.span(), message))
                }
                None => Ok(()),
            };
        }
        if call.http.is_some() || call.grpc.is_some() {
            let message = "`websocket` beside `http` or `grpc`: an operation is called over a WebSocket, or over the others";
            return Err(self.invalid(span, message));
        }
        let mut other = says.clone();
        (other.status, other.echoed) = (None, false);
        if other.speaks_of_http() || other.speaks_of_grpc() {
            let message =
                "of a WebSocket `expect` says `echoed`, or the `status` of a handshake that is refused";
            return Err(self.invalid(expect.span(), message));
        }
        if says.status.is_some() && (says.echoed || call.talk.is_some()) {
            let message = "`status` is that of a handshake that is refused: nothing is said after it";
            return Err(self.invalid(expect.span(), message));
        }
        match &call.generated {
            Some(generated) if generated.get_ref().chunk.is_some() => {
                Err(self.invalid(generated.span(), "`generated.chunk` is about bodies of HTTP/1.1"))
            }
            _ => Ok(()),
        }
    }
}

impl Call<'_> {
    /// The message with the handshake of its connection, and that it comes back.
    pub(super) fn web_socket(&self, filling: &Filling<'_>) -> Result<(Request, Expectation), ContractError> {
        let request = self.web_socket_request(filling)?;
        let expect = self.expect().get_ref();
        let status = match &expect.status {
            None => vec![SWITCHED],
            Some(OneOrMany(codes)) => codes.clone(),
        };
        let echoed = expect.echoed.then(|| BodyRule::Exact(message(&request.body)));
        let expectation = Expectation {
            status,
            body: echoed.into_iter().collect(),
            ..Expectation::default()
        };
        Ok((request, expectation))
    }

    pub(super) fn web_socket_request(&self, filling: &Filling<'_>) -> Result<Request, ContractError> {
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

    /// What is said and heard on a connection of its own: what is written, or the message and its echo. Nothing where the
    /// call is not over a WebSocket, or its handshake is refused.
    pub(crate) fn talk(&self, request: &Request, filling: &Filling<'_>) -> Result<Vec<Turn>, ContractError> {
        let Some(talk) = &self.written.talk else {
            if !self.expect().get_ref().echoed {
                return Ok(Vec::new());
            }
            let kind = match request.body {
                Body::Generated(_) => FrameKind::Binary,
                _ => FrameKind::Text,
            };
            let said = Frame::new(kind, constant(&message(&request.body)));
            return Ok(vec![Turn::Say(said), Turn::Hear(Heard::Echo)]);
        };
        let has_members = talk.get_ref().iter().any(|written| written.by.is_some());
        // Whose connections are over, by the names of their members.
        let mut over = Vec::new();
        let mut known = Vec::new();
        let mut turns = Vec::new();
        for (number, written) in talk.get_ref().iter().enumerate() {
            let at =
                |reason: String| self.invalid(talk.span(), format!("`talk`, turn {}: {reason}", number + 1));
            if has_members && written.by.is_none() {
                return Err(at("whose turn is it? Others say `by`".to_owned()));
            }
            if over.contains(&&written.by) {
                return Err(at("nothing is said after the end of the connection".to_owned()));
            }
            if known.contains(&&written.by) && written.at.is_some() {
                return Err(at("`at` stands in the first turn of a member".to_owned()));
            }
            known.push(&written.by);
            turn::read(written, (&at, filling), &mut turns)?;
            if matches!(
                turns.last(),
                Some(Turn::Hear(Heard::Close(_)) | Turn::Deaf | Turn::Cut)
            ) {
                over.push(&written.by);
            }
        }
        Ok(turns)
    }
}

/// All bytes of a message.
fn message(body: &Body) -> Template {
    match body {
        // Streams of messages are of gRPC.
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
