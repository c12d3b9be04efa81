//! Finds the model to use if the user names none.

use super::Endpoint;
use crate::commands::load::input::JobError;
use prony_check::call;
use prony_config::contract::{Exchange, SingleCall};
use prony_load::{Body, Expectation, Header, Protocol, Request, Target, Template};
use serde_json::Value;

/// Maximum number of models that an error lists.
const NAMED: usize = 8;

/// The only model of the server; an error if it has none or several.
pub(super) fn only_one(
    (target, protocol): (&Target, Protocol),
    endpoint: &Endpoint,
    headers: &[Header],
) -> Result<String, JobError> {
    let path = &endpoint.models;
    let unknown = |reason: String| JobError::Models(format!("GET {path}: {reason}"));
    let is_constant = |header: &&Header| header.value.is_constant();
    let single = SingleCall {
        exchange: Exchange {
            label: format!("GET {path}"),
            request: Request {
                method: "GET".to_owned(),
                path: Template::literal(path.as_str()),
                headers: headers.iter().filter(is_constant).cloned().collect(),
                body: Body::None,
            },
            expect: Expectation::default(),
            script: Vec::new(),
            is_safe: true,
            within: None,
            until: None,
            change: None,
            backing_service: None,
            may_break_off: false,
        },
        expected: false,
    };
    let reply = call(target, protocol, &single).map_err(&unknown)?;
    if reply.status != 200 {
        let said = prony_load::excerpt(&reply.body);
        return Err(unknown(format!("status {}: {said}", reply.status)));
    }
    match names(&reply.body).as_deref() {
        Some([only]) => Ok(only.clone()),
        Some([]) => Err(unknown("the server has no model".to_owned())),
        Some(several) => {
            let shown = several[..several.len().min(NAMED)].join(", ");
            let more = if several.len() > NAMED { ", …" } else { "" };
            Err(unknown(format!(
                "the server has {} models: {shown}{more}",
                several.len()
            )))
        }
        None => Err(unknown("the reply is not a list of models".to_owned())),
    }
}

/// The names of `{"data": [{"id": "…"}]}`.
fn names(body: &[u8]) -> Option<Vec<String>> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let name = |model: &Value| model["id"].as_str().map(str::to_owned);
    answer["data"].as_array()?.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_their_ids() {
        let list = br#"{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}"#;
        assert_eq!(names(list), Some(vec!["a".to_owned(), "b".to_owned()]));
        for none in [&b"[]"[..], b"{}", b"what", br#"{"data":[{"name":"a"}]}"#] {
            assert_eq!(names(none), None);
        }
    }
}
