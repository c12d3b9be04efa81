//! What a service says about its own methods, where no file describes them.

use super::super::input::DescriptionError;
use prony_config::contract::{ProtoMethod, REFLECTION_PATHS, reflect};
use prony_generator::{CallError, exchange};
use prony_load::{Body, Request, Target, Template};
use std::time::Duration;

/// How long a service may be silent when it is asked for its description.
const PATIENCE: Duration = Duration::from_secs(10);
/// The status of gRPC for a method that is not there, and for what was asked for.
const UNIMPLEMENTED: u32 = 12;
const NOT_FOUND: u32 = 5;

/// Asks the service for the method.
pub(super) fn method(target: &Target, name: &str) -> Result<ProtoMethod, DescriptionError> {
    // The first path that is there answers all questions.
    let mut paths = REFLECTION_PATHS.iter();
    let mut path = paths.next();
    reflect(name, |question| {
        while let Some(method) = path {
            match exchange(target, &request(method, question), PATIENCE) {
                Err(CallError::Status { code, .. }) if code == UNIMPLEMENTED => path = paths.next(),
                Err(CallError::Engine(error)) => return Err(error.into()),
                // Some services say so, instead of answering that they do not have it.
                Err(CallError::Status { code, said }) if code == NOT_FOUND => return Ok(Err(said)),
                other => return other.map(Ok).map_err(DescriptionError::Call),
            }
        }
        Err(DescriptionError::None)
    })
}

fn request(path: &str, question: &[u8]) -> Request {
    Request {
        method: "POST".to_owned(),
        path: Template::literal(path),
        headers: Vec::new(),
        body: Body::Bytes(Template::literal(question.to_vec())),
    }
}
