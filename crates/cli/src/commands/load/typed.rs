//! What was typed, read: text, files, headers, and what may be wrong with all of it.

use super::template::{Places, TemplateError};
use prony_config::contract::{ContractError, ProtoError, ReflectionError};
use prony_config::input::{curl::CurlError, prompts::PromptsError, table::TableError, urls::UrlsError};
use prony_config::target::TargetError;
use prony_generator::EngineError;
use prony_load::{Header, Template};
use prony_protocols::client::ClientError;
use std::path::Path;

/// What was typed makes no job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("`{0}` is no header: write it as 'Name: value'")]
    Header(String),
    #[error("cannot read {path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error(transparent)]
    Proto(#[from] ProtoError),
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error("--grpc calls the method that --method names: leave `{0}` out of the URL")]
    GrpcPath(String),
    #[error("--expect judges one message, and this method answers with a stream of them: leave it out")]
    ExpectedStream,
    #[error("{switch} judges one reply of HTTP: {instead}")]
    OneReply {
        switch: &'static str,
        instead: &'static str,
    },
    #[error("--expect-json {rule}: {reason}")]
    JsonRule { rule: String, reason: String },
    #[error("{switch}: {reason}")]
    Pattern {
        switch: &'static str,
        reason: prony_load::ExpectationError,
    },
    #[error("{switch} is about a stream of messages, and `{method}` {does} one message: leave it out")]
    OneMessage {
        method: String,
        switch: &'static str,
        does: &'static str,
    },
    #[error(
        "--events, --for, --expect-event and --llm over HTTP/1.1 need a connection for each stream: give -c the number of \
         streams instead of --in-flight, or speak --http2"
    )]
    StreamsInFlight,
    #[error(
        "{0} is about requests of HTTP, and a WebSocket (ws://) carries messages: give --message TEXT or --message-size SIZE"
    )]
    OfHttp(&'static str),
    #[error(
        "{0} is about the messages of a WebSocket: give a URL that begins with ws:// or wss://, or --grpc for a call"
    )]
    NoWebSocket(&'static str),
    #[error("--message {0}: this is not UTF-8, so that it is no text: send it with --binary")]
    NoText(String),
    #[error(
        "--longest-event is about streams and WebSockets: give --events N, --for TIME, --expect-event RULE, --llm or a URL with ws://"
    )]
    NoStreams,
    #[error("{0} holds no key: it is one word of visible ASCII characters")]
    Key(&'static str),
    #[error(
        "--llm: a key on the command line is seen by all who may list processes, so -H gives no Authorization: put the key \
         into PRONY_API_KEY"
    )]
    TypedKey,
    #[error("which model is not known: {0}; say which, --model NAME")]
    Models(String),
    #[error("--prompts {path}: {source}")]
    Prompts { path: String, source: PromptsError },
    #[error("--objective: ttft, tpot, e2el and good are of language models: ask one, --llm")]
    NoLanguageModel,
    #[error("{switch} is about TLS, and `{url}` speaks none: write it as https://…")]
    NoTls { switch: &'static str, url: String },
    #[error("--resolve {host}:{port}:… is for another target than `{url}`: the URL's is {wanted}")]
    OtherTarget {
        host: String,
        port: u16,
        url: String,
        wanted: String,
    },
    #[error("--curl: {0}")]
    Curl(CurlError),
    #[error("--urls {path}: {source}")]
    Urls { path: String, source: UrlsError },
    #[error("--urls {0}: its lines are paths alone: give the URL of the host beside it")]
    NoHost(String),
    #[error("--urls {path}: `{url}` is of another host than `{wanted}`: a load goes to one host")]
    OtherHost {
        path: String,
        url: String,
        wanted: String,
    },
    #[error("--sequence {0}")]
    Sequence(ContractError),
    #[error("--sequence: `{0}` has a path: its steps say theirs, so give the host alone")]
    SequencePath(String),
    #[error(
        "--sequence: its table gives each row once, and a warm-up would use some of them up: leave --warmup out"
    )]
    RowsInWarmUp,
    #[error("--sequence: its table gives each row once, which one thread counts: leave --threads out")]
    RowsInThreads,
    #[error("--curl: its -k trusts any certificate, and --cacert names one to trust: leave one of them out")]
    AnyAndOne,
    #[error("--data {path}: {source}")]
    Data { path: String, source: TableError },
    #[error("--unix {0}: the path is not UTF-8")]
    UnixPath(String),
    #[error("--feed {name}={path}: the file has no line")]
    EmptyFeed { name: String, path: String },
    #[error(
        "-c A:B:TIME grows a closed load; one with a rate has all its connections from the begin: give -c one number"
    )]
    GrowingOpen,
    #[error("--ramp: it is held for {hold}, which leaves nothing of the {duration} for the ramp itself")]
    NoRamp { hold: String, duration: String },
}

/// Why a call brought no message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// There is no reply.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The service answered with a status other than 0.
    #[error("grpc-status {code} {said}")]
    Status { code: u32, said: String },
    /// The reply is not one of gRPC.
    #[error("it answers with HTTP status {0}")]
    NotGrpc(u16),
}

/// Why a method is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DescriptionError {
    #[error("{0}")]
    Method(#[from] ProtoError),
    #[error("the service does not describe its methods: {0}; give the file that does, --proto FILE")]
    Reflection(#[from] ReflectionError),
    #[error(transparent)]
    Unreachable(#[from] EngineError),
    #[error(
        "the service cannot be asked for its methods: {0}; give the file that describes them, --proto FILE"
    )]
    Call(CallError),
    #[error(
        "the service has no server reflection (grpc.reflection.v1 or v1alpha): give the file that describes its methods, \
         --proto FILE"
    )]
    None,
}

/// A header, `Name: value`.
pub(super) fn header(text: &str, places: &mut Places) -> Result<Header, JobError> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| JobError::Header(text.to_owned()))?;
    Ok(Header {
        name: name.trim().to_owned(),
        value: places.template(value.trim())?,
    })
}

/// The text itself, or what stands in the file that `@FILE` names, bytes as well.
pub(super) fn text_or_file(text: &str, places: &mut Places) -> Result<Template, JobError> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(places.template(text)?);
    };
    let bytes = std::fs::read(path).map_err(|source| JobError::File {
        path: path.to_owned(),
        source,
    })?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(places.template(text)?),
        Err(_) => Ok(Template::literal(bytes)),
    }
}

/// The text itself, or what stands in the file that `@FILE` names.
pub(super) fn text(text: &str) -> Result<String, JobError> {
    match text.strip_prefix('@') {
        Some(path) => read(Path::new(path)),
        None => Ok(text.to_owned()),
    }
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, JobError> {
    std::fs::read_to_string(path).map_err(|source| JobError::File {
        path: path.display().to_string(),
        source,
    })
}
