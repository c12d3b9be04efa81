//! What a stream consists of, piece by piece.

use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;

/// Text events before `fails` and `cut` end.
const BEFORE_FAILURE: u64 = 3;
/// Of the event of `odd` that is sent in single bytes.
const IN_SINGLE_BYTES: u64 = 3;

/// Members of `odd` that no client knows.
const UNKNOWN_MEMBERS: &str =
    r#","service_tier":"default","x_unknown":{"list":[1,null,true],"number":1.5e-7}"#;

/// A request for a stream, as far as the script depends on it.
pub(super) struct StreamRequest {
    pub(super) model: String,
    /// The last user message.
    pub(super) nonce: String,
    /// The system message.
    pub(super) system: String,
    pub(super) prompt_tokens: u64,
    pub(super) max_tokens: u64,
}

/// How the events of a stream are paced.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) first: Duration,
    pub(super) gap: Duration,
}

/// The pieces of a stream, made one by one.
pub(super) struct Script {
    request: StreamRequest,
    pace: Pace,
    /// How each event begins, up to its choices.
    head: String,
    /// The next event, from 1.
    index: u64,
    /// The rest of an event that is sent in several pieces.
    rest: VecDeque<Piece>,
}

pub(super) struct Piece {
    pub(super) bytes: Bytes,
    /// Until the next piece is due.
    pub(super) pause: Duration,
    /// Whether an event begins with it.
    pub(super) is_event: bool,
}

/// How a stream ends.
pub(super) enum End {
    Complete,
    /// The connection is closed in its middle.
    Cut,
}

/// The text of an event.
pub(super) fn word(index: u64) -> String {
    format!("w{} {index} ", index * 7919 % 1000)
}

impl Script {
    pub(super) fn new(request: StreamRequest, pace: Pace) -> Self {
        let (id, model) = (json!(format!("chatcmpl-{}", request.nonce)), json!(request.model));
        let head = format!(
            r#"{{"id":{id},"object":"chat.completion.chunk","created":{CREATED},"model":{model},"choices":["#
        );
        Self {
            request,
            pace,
            head,
            index: 1,
            rest: VecDeque::new(),
        }
    }

    pub(super) const fn first(&self) -> Duration {
        self.pace.first
    }

    pub(super) fn next(&mut self) -> Result<Piece, End> {
        if let Some(piece) = self.rest.pop_front() {
            return Ok(piece);
        }
        let index = self.index;
        self.index += 1;
        let texts = self.request.max_tokens;
        let fails = matches!(self.request.model.as_str(), "fails" | "cut");
        if fails && index > BEFORE_FAILURE.min(texts) {
            return self.failure(index - BEFORE_FAILURE.min(texts));
        }
        let (data, pause) = match index.checked_sub(texts) {
            None | Some(0) => (self.text_event(index), self.pace.gap),
            Some(1) => (
                format!(
                    r#"{}{{"index":0,"delta":{{}},"finish_reason":"stop"}}]}}"#,
                    self.head
                ),
                Duration::ZERO,
            ),
            Some(2) => (
                format!(r#"{}],"usage":{}}}"#, self.head, usage(&self.request)),
                Duration::ZERO,
            ),
            Some(3) => ("[DONE]".to_owned(), Duration::ZERO),
            Some(_) => return Err(End::Complete),
        };
        let is_odd = self.request.model == "odd" && index <= texts;
        Ok(if is_odd {
            self.odd_pieces(index, &data, pause)
        } else {
            Piece {
                bytes: format!("data: {data}\n\n").into(),
                pause,
                is_event: true,
            }
        })
    }

    /// What follows the last text of `fails` and `cut`.
    fn failure(&self, step: u64) -> Result<Piece, End> {
        match (self.request.model.as_str(), step) {
            ("cut", _) => Err(End::Cut),
            (_, 1) => {
                let error = json!({ "error": {
                    "message": "the model failed",
                    "type": "server_error",
                    "param": null,
                    "code": "model_failed",
                } });
                Ok(Piece {
                    bytes: format!("data: {error}\n\n").into(),
                    pause: Duration::ZERO,
                    is_event: true,
                })
            }
            _ => Err(End::Complete),
        }
    }

    fn text_event(&self, index: u64) -> String {
        let is_odd = self.request.model == "odd";
        let mut content = word(index);
        if is_odd {
            content.push_str("é😀 ");
        }
        if is_odd && index == 2 {
            content.push_str(&self.request.system);
        }
        let role = if index == 1 { r#""role":"assistant","# } else { "" };
        let unknown = if is_odd { UNKNOWN_MEMBERS } else { "" };
        let head = &self.head;
        let content = json!(content);
        format!(
            r#"{head}{{"index":0,"delta":{{{role}"content":{content}}},"finish_reason":null}}]{unknown}}}"#
        )
    }

    /// An event of `odd`, in forms that the specification of event streams allows and few servers use.
    fn odd_pieces(&mut self, index: u64, data: &str, pause: Duration) -> Piece {
        let data = if index.is_multiple_of(2) {
            data.replace('é', "\\u00e9").replace('😀', "\\ud83d\\ude00")
        } else {
            data.to_owned()
        };
        let text = match index % 4 {
            0 => format!("data:{data}\n\n"),
            1 => format!(": a comment\ndata: {data}\r\n\r\n"),
            2 => format!("data: {data}\r\n\r\n"),
            _ => format!("data: {data}\n\n: another comment\n\n"),
        };
        let bytes = Bytes::from(text);
        let step = if index == IN_SINGLE_BYTES { 1 } else { bytes.len() };
        let mut pieces: VecDeque<Piece> = (0..bytes.len())
            .step_by(step)
            .map(|from| Piece {
                bytes: bytes.slice(from..bytes.len().min(from + step)),
                pause: Duration::ZERO,
                is_event: from == 0,
            })
            .collect();
        if let Some(last) = pieces.back_mut() {
            last.pause = pause;
        }
        self.rest = pieces;
        self.rest
            .pop_front()
            .expect("invariant: an event has at least one byte")
    }
}

/// When every reply was created, in seconds of Unix time.
pub(super) const CREATED: u64 = 1_700_000_000;

/// The tokens of a request and its reply.
pub(super) fn usage(request: &StreamRequest) -> Value {
    let (prompt, completion) = (request.prompt_tokens, request.max_tokens);
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    })
}
