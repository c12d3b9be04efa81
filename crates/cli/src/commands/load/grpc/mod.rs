//! Builds a gRPC call from the command line.

mod reflection;

use super::args::RequestArgs;
use super::input::{JobError, text};
use super::template::PlaceholderTable;
use prony_config::contract::ProtoMethod;
use prony_load::grpc::Messages;
use prony_load::{Body, BodyRule, Bytes, Expectation, Header, Operation, Part, Request, Target, Template};
use prony_protocols::request_values::Parameters;

/// The call that the options describe; `path` is the part of the URL after the authority.
pub(super) fn operation(
    args: &RequestArgs,
    target: &Target,
    path: &str,
    places: &mut PlaceholderTable,
) -> Result<Operation, JobError> {
    if path != "/" {
        return Err(JobError::GrpcPath(path.to_owned()));
    }
    let message = places.template(&text(args.message.as_deref().unwrap_or("{}"))?)?;
    let mut headers: Vec<Header> = args
        .headers
        .read()?
        .iter()
        .map(|header| header.header(places))
        .collect::<Result<_, _>>()?;
    let method = match &args.proto {
        Some(file) => ProtoMethod::find(file, &args.proto_path, &args.method)?,
        None => reflection::method(target, &args.method, &first(&headers, places))?,
    };
    refuse(args, &method)?;
    headers.extend(args.deadline.map(|time| Header::deadline(time.as_ns())));
    let body = if method.is_client_streaming() {
        Body::Messages(Messages {
            each: encode_messages(
                &method,
                &message,
                places,
                u64::from(args.call.messages.unwrap_or(1)),
            )?,
            unanswered: args.call.unanswered,
        })
    } else {
        Body::Bytes(messages(&method, &message, places)?)
    };
    let request = Request {
        method: "POST".to_owned(),
        path: Template::literal(method.path().as_str()),
        headers,
        body,
    };
    let expect = Expectation {
        status: vec![200],
        grpc_status: Some(0),
        body: args
            .expect
            .as_deref()
            .map(|json| rule(&method, json))
            .transpose()?
            .into_iter()
            .collect(),
        events: method.is_server_streaming().then(|| args.stream.events()),
        ..Expectation::default()
    };
    Ok(Operation {
        name: method.path(),
        request,
        expect,
    })
}

/// The headers with the first values of their placeholders.
fn first(headers: &[Header], places: &PlaceholderTable) -> Vec<Header> {
    let parameters = Parameters::new(&places.parameters, 0);
    let values = parameters.values(0);
    let of = |header: &Header| {
        let mut value = Vec::new();
        header
            .value
            .render(&mut value, |index, out| values.append(index, out));
        Header {
            name: header.name.clone(),
            value: Template::literal(value),
        }
    };
    headers.iter().map(of).collect()
}

/// Rejects options for streams that the method does not have.
fn refuse(args: &RequestArgs, method: &ProtoMethod) -> Result<(), JobError> {
    let (sends, answers) = (method.is_client_streaming(), method.is_server_streaming());
    let switch = if args.stream.events.is_some() && !answers {
        Some(("--events", "answers with"))
    } else if args.stream.for_time.is_some() && !answers {
        Some(("--for", "answers with"))
    } else if args.call.messages.is_some() && !sends {
        Some(("--messages", "takes"))
    } else if args.call.unanswered.is_some() && !answers {
        Some(("--unanswered", "answers with"))
    } else {
        None
    };
    match switch {
        None => Ok(()),
        Some((switch, does)) => Err(JobError::OneMessage {
            method: method.path(),
            switch,
            does,
        }),
    }
}

/// Maximum number of messages that are encoded before the load: a message with placeholders differs each time.
const PREPARED: u64 = 10_000;

/// The encoded message. With placeholders, the encoded messages for their successive values.
fn messages(
    method: &ProtoMethod,
    message: &Template,
    places: &mut PlaceholderTable,
) -> Result<Template, JobError> {
    if message.is_constant() {
        let only = encode_messages(method, message, places, 1)?.pop();
        return Ok(Template::literal(only.unwrap_or_default().0));
    }
    let encoded = encode_messages(method, message, places, places.period().min(PREPARED))?;
    Ok(Template(vec![Part::Value(places.messages(encoded))]))
}

/// `count` messages, each with the next values of its placeholders.
fn encode_messages(
    method: &ProtoMethod,
    message: &Template,
    places: &PlaceholderTable,
    count: u64,
) -> Result<Vec<Bytes>, JobError> {
    let parameters = Parameters::new(&places.parameters, 0);
    let mut encoded = Vec::new();
    let mut json = Vec::new();
    for number in 0..count {
        json.clear();
        let values = parameters.values(number);
        message.render(&mut json, |index, out| values.append(index, out));
        let text = String::from_utf8_lossy(&json);
        encoded.push(Bytes(method.encode_request(&text)?));
    }
    Ok(encoded)
}

fn rule(method: &ProtoMethod, json: &str) -> Result<BodyRule, JobError> {
    if method.is_server_streaming() {
        return Err(JobError::ExpectedStream);
    }
    let (schema, message) = method.reply();
    Ok(BodyRule::Protobuf {
        schema,
        message,
        equals: Template::literal(method.encode_reply(&text(json)?)?),
    })
}
