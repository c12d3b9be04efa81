//! The saved replies of a request.

use super::variables::plain;
use crate::import::Operation;
use crate::import::draft::media_type;
use crate::import::message::{CapturedReply, expectation, guess};
use serde_json::Value;

/// Expects the saved reply if there is one, otherwise any success.
pub(super) fn expect(item: &Value, made: &mut Operation) {
    let saved = item.get("response").and_then(Value::as_array);
    let mut replies: Vec<(&Value, u16)> = saved
        .into_iter()
        .flatten()
        .filter_map(|reply| Some((reply, status(reply)?)))
        .collect();
    replies.sort_by_key(|(_, status)| *status >= 400);
    let Some((reply, status)) = replies.first() else {
        return guess(made, "No reply is saved in the collection");
    };
    let of_other = reply.get("originalRequest").filter(|original| {
        let request = item.get("request");
        ["method", "url", "body"]
            .iter()
            .any(|part| shape(original.get(*part)) != shape(request.and_then(|request| request.get(*part))))
    });
    if of_other.is_some() {
        let remark = "The saved reply is one to another request than this: check what is expected.";
        made.remarks.push(remark.to_owned());
    }
    let headers = reply.get("header").and_then(Value::as_array);
    let kind = headers.into_iter().flatten().find_map(|header| {
        let name = header.get("key")?.as_str()?;
        let is_type = name.eq_ignore_ascii_case("content-type");
        is_type.then(|| header.get("value")?.as_str()).flatten()
    });
    let came = CapturedReply {
        status: *status,
        media_type: kind.map(media_type),
        body: reply.get("body").and_then(Value::as_str).map(str::to_owned),
    };
    made.expect = expectation(&came, &mut made.remarks);
}

fn status(reply: &Value) -> Option<u16> {
    let code: u16 = plain(reply.get("code")?)?.parse().ok()?;
    (200..1000).contains(&code).then_some(code)
}

/// A part of a request, to compare two: a URL by its text, nothing and an empty body as the same.
fn shape(part: Option<&Value>) -> Option<&Value> {
    let part = part.filter(|part| !part.is_null())?;
    match part {
        Value::Object(members) if members.contains_key("raw") && members.contains_key("host") => {
            part.get("raw")
        }
        Value::Object(members) if members.is_empty() => None,
        other => Some(other),
    }
}
