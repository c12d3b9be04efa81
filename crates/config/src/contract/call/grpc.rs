//! Calls of gRPC: the request and the expected reply.

use super::{Call, PlaceholderValues};
use crate::ConfigError;
use crate::contract::proto::{MessageText, encode};
use crate::contract::toml::{EventsToml, MessagesToml, TextOrNumber};
use crate::format::suggestion::suggest;
use crate::format::{Spanned, SpannedValue, TomlValue};
use prony_load::events::{Data, EncodedMessages, Events, ExactStream, MessageRule};
use prony_load::grpc::Messages;
use prony_load::{Body, BodyRule, Bytes, Expectation, Header, Request, Template};
use prost_reflect::{MessageDescriptor, MethodDescriptor};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Names of the status codes of gRPC, by number.
const GRPC_CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

pub fn grpc_code_name(code: u32) -> Option<&'static str> {
    GRPC_CODES.get(code as usize).copied()
}

/// The largest number of messages of a stream.
const MOST_MESSAGES: u32 = 100_000;

impl Call<'_> {
    pub(super) fn grpc(
        &self,
        filling: &PlaceholderValues<'_>,
    ) -> Result<(Request, Expectation), ConfigError> {
        let (method, request) = self.grpc_request(filling)?;
        let expectation = self.grpc_expectation(&method, filling)?;
        Ok((request, expectation))
    }

    pub(super) fn grpc_request(
        &self,
        filling: &PlaceholderValues<'_>,
    ) -> Result<(MethodDescriptor, Request), ConfigError> {
        let (method, path) = self.grpc_method()?;
        let body = match (&self.written.messages, method.is_client_streaming()) {
            (Some(messages), true) => Body::Messages(self.messages(&method.input(), messages, filling)?),
            (None, false) => Body::Bytes(self.one_message(&method, filling)?),
            (Some(messages), false) => {
                let message = format!("`messages`: `{}` takes one: give `message`", &path[1..]);
                return Err(self.invalid(messages.span(), message));
            }
            (None, true) => {
                let message = format!(
                    "`{}` takes a stream: give `messages = {{ count = …, each = {{ … }} }}`",
                    &path[1..]
                );
                return Err(self.invalid(self.span.clone(), message));
            }
        };
        let waits = self.written.deadline.map(|time| Header::deadline(time.as_ns()));
        let request = Request {
            method: "POST".into(),
            path: Template::literal(path.as_str()),
            headers: waits.into_iter().collect(),
            body,
        };
        Ok((method, request))
    }

    fn one_message(
        &self,
        method: &MethodDescriptor,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        let nothing = Spanned::new(self.span.clone(), TomlValue::Table(Vec::new()));
        let value = self.written.message.as_ref().unwrap_or(&nothing);
        self.encoded(&method.input(), value, "message", filling)
    }

    /// A message whose texts may have placeholders.
    fn encoded(
        &self,
        kind: &MessageDescriptor,
        value: &SpannedValue,
        key: &str,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        // The parameters that the texts use, and errors of their names.
        let used = RefCell::new(BTreeSet::new());
        let note = |index: usize| {
            used.borrow_mut().insert(index);
            String::new()
        };
        filling.message_value(value, None, &note)?;
        let used: Vec<usize> = used.into_inner().into_iter().collect();
        let parameters = filling.parameters();
        let text = MessageText {
            kind,
            parameters: &parameters,
        };
        let filled = |letters: &dyn Fn(usize) -> String| {
            filling
                .message_value(value, None, letters)
                .map_err(|error| error.to_string())
        };
        text.encode(&used, filled)
            .map_err(|reason| self.invalid(value.span(), format!("`{key}`: {reason}")))
    }

    pub(crate) fn grpc_method(&self) -> Result<(MethodDescriptor, String), ConfigError> {
        let name = self
            .written
            .grpc
            .as_ref()
            .expect("invariant: the call speaks gRPC");
        let at = |message: String, help: String| self.contract.file.invalid_with(name.span(), message, help);
        let schema = self.contract.schema.as_ref().ok_or_else(|| {
            let help = "add `proto = \"FILE.proto\"` at the top of the file".to_owned();
            at("the contract has no `proto`".to_owned(), help)
        })?;
        Ok((
            schema
                .method(name.get_ref())
                .map_err(|help| at(format!("`grpc` is \"{}\"", name.get_ref()), help))?,
            format!("/{}", name.get_ref()),
        ))
    }

    /// The messages of a call that sends a stream.
    fn messages(
        &self,
        kind: &MessageDescriptor,
        written: &Spanned<MessagesToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Messages, ConfigError> {
        let messages = written.get_ref();
        let unanswered = match &messages.unanswered {
            None => None,
            Some(most) => {
                let (number, _) = self.known_number("unanswered", most, filling)?;
                if number == 0 {
                    return Err(self.invalid(most.span(), "`unanswered` is 0: give at least 1"));
                }
                Some(number)
            }
        };
        let (count, _) = self.known_number("count", &messages.count, filling)?;
        Ok(Messages {
            each: self.numbered(kind, (&messages.each, count), "messages.each", filling)?,
            unanswered,
        })
    }

    /// A number that does not change during a load, and its text.
    fn known_number(
        &self,
        key: &str,
        number: &Spanned<TextOrNumber>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<(u32, Template), ConfigError> {
        let text = filling.known_text(&TextOrNumber::at(number))?;
        let parsed = text.parse::<u32>().map_err(|_| {
            self.invalid(
                number.span(),
                format!("`{key}` is \"{text}\": give a whole number"),
            )
        })?;
        Ok((parsed, Template::literal(text.as_str())))
    }

    /// A number of encoded messages; in their formulas, `i` is the number of the message, from 1.
    fn numbered(
        &self,
        kind: &MessageDescriptor,
        (each, count): (&SpannedValue, u32),
        key: &str,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Vec<Bytes>, ConfigError> {
        let at = |reason: String| self.invalid(each.span(), format!("`{key}`: {reason}"));
        if count > MOST_MESSAGES {
            return Err(at(format!("{count} messages: give at most {MOST_MESSAGES}")));
        }
        let differs = Cell::new(false);
        let note = |_: usize| {
            differs.set(true);
            "1".to_owned()
        };
        let one = |i| {
            let value = filling.message_value(each, Some(i), &note)?;
            encode(kind, &value).map(Bytes).map_err(at)
        };
        let messages = (1..=i64::from(count)).map(one).collect::<Result<_, _>>()?;
        if differs.get() {
            return Err(at(
                "a value would differ between requests: set it in the workload".to_owned(),
            ));
        }
        Ok(messages)
    }

    fn grpc_expectation(
        &self,
        method: &MethodDescriptor,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Expectation, ConfigError> {
        let expect = self.expect().get_ref();
        let status = match &expect.grpc_status {
            None => 0,
            Some(name) => GRPC_CODES
                .iter()
                .position(|known| known == name.get_ref())
                .ok_or_else(|| {
                    let message = format!("`grpc_status` is \"{}\"", name.get_ref());
                    let help = suggest(GRPC_CODES, name.get_ref());
                    self.contract.file.invalid_with(name.span(), message, help)
                })?,
        };
        // An error has no message.
        let is_stream = status == 0 && method.is_server_streaming();
        let events = match &expect.events {
            Some(events) if is_stream => Some(self.stream(method, events, filling)?),
            None if is_stream => {
                let message = "the reply is a stream: describe it, `events = { count = …, each = { message = { … } } }`";
                return Err(self.invalid(self.expect().span(), message));
            }
            Some(events) => {
                return Err(self.invalid(events.span(), "`events`: the reply is not a stream"));
            }
            None => None,
        };
        let message = expect.message.as_ref().map(|value| ("message", value));
        let json = expect.json.as_ref().map(|value| ("json", value));
        let message = message.or(json).filter(|_| status == 0);
        if let (Some((key, value)), true) = (message, is_stream) {
            let message = format!("`{key}`: the reply is a stream: use `events`");
            return Err(self.invalid(value.span(), message));
        }
        let mut body = Vec::new();
        if let Some((key, value)) = message {
            body.push(BodyRule::Protobuf {
                schema: self.schema(),
                message: method.output().full_name().to_owned(),
                equals: self.encoded(&method.output(), value, key, filling)?,
            });
        }
        Ok(Expectation {
            status: vec![200],
            grpc_status: Some(status as u32),
            body,
            events,
            ..Expectation::default()
        })
    }

    /// The schema of the contract, encoded.
    fn schema(&self) -> Bytes {
        let schema = self.contract.schema.as_ref();
        let schema = schema.expect("invariant: the method comes from it");
        schema.encoded().clone()
    }

    /// A stream in which every message is known.
    fn stream(
        &self,
        method: &MethodDescriptor,
        written: &Spanned<EventsToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Events, ConfigError> {
        let (span, events) = (written.span(), written.get_ref());
        let each = &events.each;
        let Some(message) = each.message.as_ref().filter(|_| {
            let others = [&each.id, &each.event, &each.text];
            let differing = events.first.is_none() && events.last.is_none() && !events.separate;
            let json = [&each.json, &each.json_contains];
            differing && json.into_iter().all(Option::is_none) && others.into_iter().all(Option::is_none)
        }) else {
            let message = "for gRPC, `events` has `count`, `each = { message = … }`, `gap_us` and `flushed`";
            return Err(self.invalid(span, message));
        };
        let (count, count_text) = self.known_number("count", &events.count, filling)?;
        let gap = match &events.gap_us {
            None => None,
            Some(gap) => Some(self.known_number("gap_us", gap, filling)?.1),
        };
        let encoded = EncodedMessages {
            schema: self.schema(),
            message: method.output().full_name().to_owned(),
            equals: self.numbered(&method.output(), (message, count), "events.each.message", filling)?,
        };
        Ok(Events {
            whole: Some(ExactStream {
                count: count_text,
                each: MessageRule {
                    data: Some(Data::Messages(encoded)),
                    ..MessageRule::default()
                },
                last: None,
                gap_us: gap,
                flushed: events.flushed,
                first: Vec::new(),
                closing: Vec::new(),
                separate: false,
            }),
            ..Events::default()
        })
    }
}
