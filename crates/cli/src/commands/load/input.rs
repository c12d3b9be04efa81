//! Reads user input (text, files, headers), and defines what may be wrong with it.

use super::headers::HeaderError;
use super::template::{PlaceholderTable, TemplateError};
use prony_config::ConfigError;
use prony_config::contract::{ProtoError, ReflectionError};
use prony_config::input::form::{FormContent, FormField};
use prony_config::input::{curl::CurlError, prompts::PromptsError, table::TableError, urls::UrlsError};
use prony_config::target::TargetError;
use prony_generator::EngineError;
use prony_load::Template;
use prony_protocols::client::ClientError;
use std::path::Path;

/// Why a command line describes no job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error("cannot read {path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error(transparent)]
    Proto(#[from] ProtoError),
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error("--grpc calls the method that --method names → Remove `{0}` from the URL.")]
    GrpcPath(String),
    #[error("--expect applies to a single message, but this method answers with a stream → Remove it.")]
    ExpectedStream,
    #[error("{switch} applies to a single HTTP reply: {instead}")]
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
    #[error("{switch} applies to a stream of messages, but `{method}` {does} one message → Remove it.")]
    OneMessage {
        method: String,
        switch: &'static str,
        does: &'static str,
    },
    #[error(
        "--events, --for, --expect-event and --llm over HTTP/1.1 need a connection for each stream: set -c to the number of \
         streams instead of using --in-flight, or use --http2"
    )]
    StreamsInFlight,
    #[error(
        "{0} applies to HTTP requests, but a WebSocket (ws://) carries messages → Use --message TEXT or --message-size SIZE."
    )]
    OfHttp(&'static str),
    #[error(
        "{0} applies to messages of a WebSocket → Use a URL that begins with ws:// or wss://, or --grpc for a call."
    )]
    NoWebSocket(&'static str),
    #[error("--message {0}: this is not UTF-8, so it cannot be sent as text → Use --binary.")]
    NoText(String),
    #[error(
        "--longest-event applies to streams and WebSockets → Use --events N, --for TIME, --expect-event RULE, --llm or a URL with ws://"
    )]
    NoStreams,
    #[error("{0} is not a key: it must be one word of visible ASCII characters")]
    Key(&'static str),
    #[error(
        "--llm: all users who can list processes see a key on the command line, so -H must not set Authorization: put the key \
         into PRONY_API_KEY, or name another variable with --bearer-env"
    )]
    TypedKey,
    #[error("cannot choose a model: {0} → Name one with --model NAME.")]
    Models(String),
    #[error("--prompts {path}: {source}")]
    Prompts { path: String, source: PromptsError },
    #[error("--objective: ttft, tpot, e2el and good apply to language models → Use --llm.")]
    NoLanguageModel,
    #[error("{switch} applies to TLS, but `{url}` does not use it → Write it as https://…")]
    NoTls { switch: &'static str, url: String },
    #[error("--resolve {host}:{port}:… does not match the target of `{url}`, which is {wanted}")]
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
    #[error("--urls {0}: its lines are only paths → Add the URL of the host.")]
    NoHost(String),
    #[error("--urls {path}: `{url}` has another host than `{wanted}`: all requests of a load go to one host")]
    OtherHost {
        path: String,
        url: String,
        wanted: String,
    },
    #[error("--sequence {0}")]
    Sequence(#[source] ConfigError),
    #[error("--sequence: `{0}` has a path, but the steps have their own → Give only the host.")]
    SequencePath(String),
    #[error(
        "--sequence: its table uses each row once, and a warm-up would use up some of them → Remove --warmup."
    )]
    RowsInWarmUp,
    #[error("--sequence: its table uses each row once, which needs a single thread → Remove --threads.")]
    RowsInThreads,
    #[error("--curl: its -k trusts any certificate, but --cacert names one to trust → Remove one of them.")]
    AnyAndOne,
    #[error("--data {path}: {source}")]
    Data { path: String, source: TableError },
    #[error("--unix {0}: the path is not UTF-8")]
    UnixPath(String),
    #[error(
        "--proxy `{0}` is not the address of a proxy → Write it as http://[NAME:PASSWORD@]HOST:PORT, without a path; prony speaks no TLS to a proxy itself."
    )]
    Proxy(String),
    #[error("{0} applies to HTTP/2, but this load uses {1} → Add --http2, or remove it.")]
    OfHttp2(&'static str, &'static str),
    #[error("--proxy carries {0} only within TLS → Use https:// or wss:// in the URL.")]
    PlainProxy(&'static str),
    #[error("-F writes `Content-Type` itself, with the boundary of its fields → Remove that header.")]
    FormType,
    #[error("--feed {name}={path}: the file has no values → Write one on each line.")]
    EmptyFeed { name: String, path: String },
    #[error(
        "-c A:B:TIME needs a closed load; a load with a rate has all its connections from the start → Give -c one number."
    )]
    GrowingOpen,
    #[error("--ramp: a hold of {hold} leaves no time for the ramp itself within {duration}")]
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

/// Why a method is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DescriptionError {
    #[error("{0}")]
    Method(#[from] ProtoError),
    #[error("the service does not describe its methods: {0} → Name a file that does with --proto FILE.")]
    Reflection(#[from] ReflectionError),
    #[error(transparent)]
    Unreachable(#[from] EngineError),
    #[error(
        "cannot ask the service for its methods: {0} → Name a file that describes them with --proto FILE."
    )]
    Call(CallError),
    #[error(
        "the service has no server reflection (grpc.reflection.v1 or v1alpha): name a file that describes its methods with \
         --proto FILE"
    )]
    None,
}

/// The text itself, or the content of the file that `@FILE` names, which may be binary.
pub(super) fn text_or_file(text: &str, places: &mut PlaceholderTable) -> Result<Template, JobError> {
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

/// The content of a field of a form. A text may have placeholders; a file is sent as it is.
pub(super) fn form_content(field: &FormField, places: &mut PlaceholderTable) -> Result<Template, JobError> {
    match &field.content {
        FormContent::Text(text) => Ok(places.template(text)?),
        FormContent::File(path) => {
            let bytes = std::fs::read(path).map_err(|source| JobError::File {
                path: path.clone(),
                source,
            })?;
            Ok(Template::literal(bytes))
        }
    }
}

/// The text itself, or the text of the file that `@FILE` names.
pub(super) fn text(text: &str) -> Result<String, JobError> {
    match text.strip_prefix('@') {
        Some(path) => read(Path::new(path)),
        None => Ok(text.to_owned()),
    }
}

/// Reads a text file. A byte order mark is no part of its text.
pub(super) fn read(path: &Path) -> Result<String, JobError> {
    let text = std::fs::read_to_string(path).map_err(|source| JobError::File {
        path: path.display().to_string(),
        source,
    })?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}
