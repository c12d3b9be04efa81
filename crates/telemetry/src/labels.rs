//! The attributes of a load's metrics: those of prony, and those that the semantic conventions require.

use prony_load::{Body, Operation, Part, Protocol, Template, Workload};

/// Methods that `http.request.method` may contain.
const METHODS: [&str; 10] = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
];
/// What the conventions write for a method that is unknown, as for a workload with several.
const OTHER: &str = "_OTHER";
/// The API for language models that prony speaks: a value for `gen_ai.provider.name`.
const PROVIDER: &str = "openai";

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    Text(String),
    Number(i64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u16> for AttributeValue {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

/// An attribute: its key and its value.
pub(crate) type Attribute = (&'static str, AttributeValue);

/// Labels of the metrics of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Decides the name of the metric for request durations.
    pub(crate) protocol: Protocol,
    /// Attributes of each metric, such as the service and the load.
    pub(crate) attributes: Vec<Attribute>,
    /// Those of the request durations only.
    pub(crate) request: Vec<Attribute>,
    /// Those of calls of a language model, if the load makes any.
    pub(crate) model: Option<Vec<Attribute>>,
    /// Whether replies are streams of messages.
    pub(crate) has_messages: bool,
}

impl Labels {
    /// The labels of a load with these operations.
    pub fn of(protocol: Protocol, workload: &Workload) -> Self {
        let operations = &workload.operations;
        let chat = |operation: &Operation| operation.expect.events.as_ref()?.chat.as_ref().map(|_| ());
        let model = operations.iter().find(|operation| chat(operation).is_some());
        Self {
            protocol,
            attributes: Vec::new(),
            request: request(protocol, operations),
            model: model.map(gen_ai),
            has_messages: protocol == Protocol::WebSocket
                || operations
                    .iter()
                    .any(|operation| operation.expect.events.is_some()),
        }
    }

    /// Sets an attribute of each metric.
    pub fn set(&mut self, key: &'static str, value: impl Into<AttributeValue>) {
        let value = value.into();
        match self.attributes.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.attributes.push((key, value)),
        }
    }

    /// Name of the duration metric in the semantic conventions, which have none for messages over a `WebSocket`.
    pub(crate) const fn duration(&self) -> &'static str {
        match self.protocol {
            Protocol::Http1 | Protocol::Http2 => "http.client.request.duration",
            Protocol::Grpc => "rpc.client.call.duration",
            Protocol::WebSocket => "prony.websocket.request.duration",
        }
    }
}

/// The attributes of requests that all operations have in common.
fn request(protocol: Protocol, operations: &[Operation]) -> Vec<Attribute> {
    match protocol {
        Protocol::Http1 | Protocol::Http2 => {
            let method = common(operations, |one| Some(one.request.method.as_str()));
            let method = method.filter(|method| METHODS.contains(method)).unwrap_or(OTHER);
            let version = if protocol == Protocol::Http1 { "1.1" } else { "2" };
            let mut attributes: Vec<Attribute> = vec![
                ("http.request.method", method.into()),
                ("network.protocol.version", version.into()),
            ];
            // Only valid replies have a duration, so their status is the expected one.
            let status = common(operations, |one| match one.expect.status.as_slice() {
                [status] => Some(*status),
                _ => None,
            });
            attributes.extend(status.map(|status| ("http.response.status_code", status.into())));
            attributes
        }
        Protocol::Grpc => {
            let method = common(operations, |one| Some(text(&one.request.path)));
            let method = method
                .as_deref()
                .map_or(OTHER, |path| path.trim_start_matches('/'));
            vec![("rpc.system.name", "grpc".into()), ("rpc.method", method.into())]
        }
        Protocol::WebSocket => Vec::new(),
    }
}

/// What `part` finds in each of the operations, if it is the same.
fn common<'a, T: PartialEq>(
    operations: &'a [Operation],
    part: impl Fn(&'a Operation) -> Option<T>,
) -> Option<T> {
    let mut all = operations.iter().map(part);
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// The attributes of a chat completion.
fn gen_ai(operation: &Operation) -> Vec<Attribute> {
    let mut attributes: Vec<Attribute> = vec![
        ("gen_ai.operation.name", "chat".into()),
        ("gen_ai.provider.name", PROVIDER.into()),
    ];
    if let Body::Bytes(body) = &operation.request.body {
        attributes.extend(model_of(&text(body)).map(|model| ("gen_ai.request.model", model.into())));
    }
    attributes
}

/// The value of `model` in the text of a request.
fn model_of(body: &str) -> Option<String> {
    let (_, rest) = body.split_once("\"model\":")?;
    let (model, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(model.to_owned())
}

/// The constant start of a template.
fn text(template: &Template) -> String {
    let literal = template.0.iter().map_while(|part| match part {
        Part::Literal(bytes) => Some(String::from_utf8_lossy(bytes.as_slice())),
        _ => None,
    });
    literal.collect()
}
