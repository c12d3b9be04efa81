//! From what was typed to a gRPC call.

use super::args::RequestArgs;
use super::job::{JobError, header, text};
use super::template::Places;
use prony_contract::ProtoMethod;
use prony_load::{Body, BodyRule, Expectation, MessageCount, Operation, Request, Template};

/// The call that was typed; `path` is what the URL holds after the authority.
pub(super) fn operation(args: &RequestArgs, path: &str, places: &mut Places) -> Result<Operation, JobError> {
    if path != "/" {
        return Err(JobError::GrpcPath(path.to_owned()));
    }
    let (Some(file), method) = (&args.proto, args.method.as_str()) else {
        return Err(JobError::NoProto);
    };
    let method = ProtoMethod::find(file, method)?;
    let message = text(args.message.as_deref().unwrap_or("{}"))?;
    let request = Request {
        method: "POST".to_owned(),
        path: Template::literal(method.path().as_str()),
        headers: args
            .headers
            .iter()
            .map(|text| header(text, places))
            .collect::<Result<_, _>>()?,
        body: Body::Bytes(Template::literal(method.encode_request(&message)?)),
    };
    let any = MessageCount {
        at_least: 0,
        at_most: None,
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
        messages: method.is_server_streaming().then_some(any),
        ..Expectation::default()
    };
    Ok(Operation {
        name: method.path(),
        request,
        expect,
    })
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
