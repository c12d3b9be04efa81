//! Asks a service for the description of its methods, if no file describes them.

use super::super::input::{CallError, DescriptionError};
use prony_config::contract::{ProtoMethod, REFLECTION_PATHS, reflect};
use prony_generator::EngineError;
use prony_load::{Body, Header, Protocol, Request, Target, Template};
use prony_protocols::client::{Client, ClientError};
use prony_protocols::grpc::percent_decoded;
use std::time::{Duration, Instant};

/// How long a service may take to send its description.
const PATIENCE: Duration = Duration::from_secs(10);
/// gRPC statuses for a method that does not exist, and for a symbol that was not found.
const UNIMPLEMENTED: u32 = 12;
const NOT_FOUND: u32 = 5;

/// Asks the service for the method. The questions carry the metadata of the calls: a service may refuse questions without a token.
pub(super) fn method(
    target: &Target,
    name: &str,
    metadata: &[Header],
) -> Result<ProtoMethod, DescriptionError> {
    // The first path that exists answers all questions.
    let mut paths = REFLECTION_PATHS.iter();
    let mut path = paths.next();
    reflect(name, |question| {
        while let Some(method) = path {
            match call(target, &request(method, question, metadata)) {
                Err(CallError::Status { code, .. }) if code == UNIMPLEMENTED => path = paths.next(),
                Err(CallError::Client(ClientError::Unreachable(reason))) => {
                    return Err(unreachable(target, reason).into());
                }
                // Some services say so, instead of answering that they do not have it.
                Err(CallError::Status { code, said }) if code == NOT_FOUND => return Ok(Err(said)),
                other => return other.map(Ok).map_err(DescriptionError::Call),
            }
        }
        Err(DescriptionError::None)
    })
}

/// Makes one unary call and gives the message that comes back.
fn call(target: &Target, request: &Request) -> Result<Vec<u8>, CallError> {
    let client = Client::new(target, Protocol::Grpc)?;
    let reply = client.ask(request, Instant::now() + PATIENCE)?;
    match reply.grpc_status {
        Some(0) => Ok(reply.body),
        Some(code) => Err(CallError::Status {
            code,
            said: prony_load::excerpt(&percent_decoded(&reply.grpc_message)),
        }),
        None => Err(CallError::NotGrpc(reply.status)),
    }
}

fn unreachable(target: &Target, reason: String) -> EngineError {
    EngineError::Unreachable {
        address: target
            .connect
            .unix
            .clone()
            .unwrap_or_else(|| target.authority.clone()),
        reason,
    }
}

fn request(path: &str, question: &[u8], metadata: &[Header]) -> Request {
    Request {
        method: "POST".to_owned(),
        path: Template::literal(path),
        headers: metadata.to_vec(),
        body: Body::Bytes(Template::literal(question.to_vec())),
    }
}
