//! Builds the messages of a WebSocket from the command line.

use super::args::RequestArgs;
use super::input::{JobError, text_or_file};
use super::template::PlaceholderTable;
use prony_load::events::LONGEST_EVENT;
use prony_load::secrets::mask_path;
use prony_load::{
    Body, BodyRule, Expectation, GeneratedBody, Job, Operation, Parameter, Part, Protocol, Request, Source,
    Template,
};

/// Number of digits in the default message.
const DIGITS: u8 = 16;

/// The message that the options describe, which must come back unchanged; `path` is the part of the URL after the authority.
pub(super) fn operation(
    args: &RequestArgs,
    path: &str,
    places: &mut PlaceholderTable,
) -> Result<Operation, JobError> {
    refuse(args)?;
    if args.web_socket.members.is_some() && path.contains("{room}") && !path.contains("{room:") {
        places.room()?;
    }
    let (kind, message) = match (&args.message, args.web_socket.message_size) {
        (_, Some(bytes)) => ("BINARY", of_size(bytes, places)?),
        (Some(typed), None) => typed_message(typed, args.web_socket.binary, places)?,
        (None, None) => (
            if args.web_socket.binary { "BINARY" } else { "TEXT" },
            digits(DIGITS, places)?,
        ),
    };
    Ok(Operation {
        name: format!("{kind} {}", mask_path(path)),
        request: Request {
            method: kind.to_owned(),
            path: places.template(path)?,
            headers: args
                .headers
                .read()?
                .iter()
                .map(|header| header.header(places))
                .collect::<Result<_, _>>()?,
            body: Body::Bytes(message.clone()),
        },
        expect: Expectation {
            status: vec![101],
            body: vec![BodyRule::Exact(message)],
            ..Expectation::default()
        },
    })
}

/// Maximum length of a received message: as given, else the default, or the length of what is sent if that is longer.
pub(super) fn longest(args: &RequestArgs, operation: &Operation, parameters: &[Parameter]) -> u64 {
    let longest = |part: &Part| match part {
        Part::Literal(bytes) => bytes.as_slice().len(),
        Part::Value(index) => longest_value(&parameters[*index].source),
        // The command line has no formulas.
        Part::Formula(_) | Part::BodyBytes(_) | Part::BodySha256(_) => 0,
    };
    let sent = match &operation.request.body {
        Body::Bytes(Template(parts)) => parts.iter().map(longest).sum(),
        _ => 0,
    };
    args.stream
        .longest_event
        .unwrap_or_else(|| LONGEST_EVENT.max(sent as u64))
}

/// The size of the messages of a job; `None` without a WebSocket, or if it varies.
pub(super) fn message_bytes(job: &Job) -> Option<u64> {
    let length = |part: &Part| match part {
        Part::Literal(bytes) => Some(bytes.as_slice().len()),
        Part::Value(index) => match job.workload.parameters[*index].source {
            Source::Hex { digits } => Some(usize::from(digits)),
            _ => None,
        },
        Part::Formula(_) | Part::BodyBytes(_) | Part::BodySha256(_) => None,
    };
    match &job.workload.operations.first()?.request.body {
        Body::Bytes(Template(parts)) if job.protocol == Protocol::WebSocket => {
            Some(parts.iter().map(length).sum::<Option<usize>>()? as u64)
        }
        _ => None,
    }
}

fn longest_value(source: &Source) -> usize {
    match source {
        Source::Counter { .. } | Source::Range { .. } | Source::Random { .. } => u64::MAX.to_string().len(),
        Source::Hex { digits } => usize::from(*digits),
        Source::Lines(values) | Source::Column { values, .. } => {
            values.iter().map(String::len).max().unwrap_or_default()
        }
        Source::Messages(_) | Source::Taken(_) => 0,
    }
}

/// Rejects options for messages if the target is neither a WebSocket nor gRPC.
pub(super) fn refuse_elsewhere(args: &RequestArgs) -> Result<(), JobError> {
    let typed = [
        (args.web_socket.message_size.is_some(), "--message-size"),
        (args.web_socket.binary, "--binary"),
        (args.web_socket.members.is_some(), "--members"),
        (args.message.is_some() && !args.grpc, "--message"),
    ];
    match typed.iter().find(|(is_typed, _)| *is_typed) {
        Some((_, switch)) => Err(JobError::NoWebSocket(switch)),
        None => Ok(()),
    }
}

/// Rejects options for HTTP requests and replies on a WebSocket.
fn refuse(args: &RequestArgs) -> Result<(), JobError> {
    let stream = &args.stream;
    let typed = [
        (args.grpc, "--grpc"),
        (args.http2, "--http2"),
        (args.method != "GET", "--method"),
        (args.body.is_some(), "--body"),
        (!args.form.is_empty(), "--form"),
        (args.expect.is_some(), "--expect"),
        (args.follow.is_some(), "--follow"),
        (args.cookies, "--cookies"),
        (args.decode, "--decode"),
        (stream.events.is_some(), "--events"),
        (stream.for_time.is_some(), "--for"),
        (!stream.expect_event.is_empty(), "--expect-event"),
    ];
    match typed.iter().find(|(is_typed, _)| *is_typed) {
        Some((_, switch)) => Err(JobError::OfHttp(switch)),
        None => Ok(()),
    }
}

fn typed_message(
    typed: &str,
    is_binary: bool,
    places: &mut PlaceholderTable,
) -> Result<(&'static str, Template), JobError> {
    let message = text_or_file(typed, places)?;
    if is_binary {
        return Ok(("BINARY", message));
    }
    if literals(&message).any(|bytes| std::str::from_utf8(bytes).is_err()) {
        return Err(JobError::NoText(typed.to_owned()));
    }
    Ok(("TEXT", message))
}

/// Incompressible bytes, with an end that is different each time.
fn of_size(bytes: u64, places: &mut PlaceholderTable) -> Result<Template, JobError> {
    let end = digits(GeneratedBody::end_length(bytes), places)?;
    let generated = GeneratedBody {
        bytes,
        chunk: None,
        end: Template::default(),
    };
    let filler = generated.filler();
    let mut parts = Vec::new();
    if !filler.is_empty() {
        parts.push(Part::Literal(filler.into()));
    }
    parts.extend(end.0);
    Ok(Template(parts))
}

/// `count` random hexadecimal digits.
fn digits(count: u8, places: &mut PlaceholderTable) -> Result<Template, JobError> {
    Ok(places.template(&format!("{{message:hex({count})}}"))?)
}

fn literals(template: &Template) -> impl Iterator<Item = &[u8]> {
    template.0.iter().filter_map(|part| match part {
        Part::Literal(bytes) => Some(bytes.as_slice()),
        _ => None,
    })
}
