//! Drafts from curl commands, from a single URL, and from nothing.

use crate::import::draft::Names;
use crate::import::message::{CapturedRequest, operation, parts};
use crate::import::{Draft, DraftError, Expect, ExpectedBody, Operation};

/// A draft from curl commands, as copied from browsers; all must have the same server.
pub fn from_curl(lines: &[String]) -> Result<Draft, DraftError> {
    let mut names = Names::default();
    let mut draft = Draft {
        title: "Requests from curl".to_owned(),
        source: format!("{} line(s) of curl", lines.len()),
        has_real_requests: true,
        ..Draft::default()
    };
    let mut server: Option<String> = None;
    for (number, line) in (1..).zip(lines) {
        let wrong = |message: String| DraftError::Curl { number, message };
        let asked = crate::input::curl::parse(line).map_err(|error| wrong(error.to_string()))?;
        let (origin, target) = parts(&asked.url).map_err(wrong)?;
        let first = server.get_or_insert_with(|| origin.clone());
        if *first != origin {
            return Err(wrong(format!(
                "it goes to {origin}, the first one to {first}: a contract has one server, so write a second contract for the other"
            )));
        }
        let mut headers = Vec::new();
        for header in &asked.headers {
            let (name, value) = header.split_once(':').ok_or_else(|| {
                // Its text may be a secret.
                wrong("one of its headers has no `:`: write -H 'Name: value'".to_owned())
            })?;
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        let sent = CapturedRequest {
            method: asked.method().to_owned(),
            url: asked.url.clone(),
            headers,
            body: asked.body.clone(),
        };
        draft.operations.push(guessed(operation(
            &mut names,
            format!("--curl number {number}, sent to {origin}"),
            (&sent, &target),
        )));
    }
    draft.summary = format!(
        "{} request(s) from curl to {}.",
        lines.len(),
        server.unwrap_or_default()
    );
    Ok(draft)
}

/// A draft of one GET of this URL.
pub fn from_url(url: &str) -> Result<Draft, DraftError> {
    let mut draft =
        from_curl(&[format!("curl '{}'", url.replace('\'', "%27"))]).map_err(|error| match error {
            DraftError::Curl { message, .. } => DraftError::Empty(message),
            other => other,
        })?;
    "A recorded reply".clone_into(&mut draft.title);
    draft.summary = format!("The reply of {url}.");
    url.clone_into(&mut draft.source);
    for operation in &mut draft.operations {
        url.clone_into(&mut operation.from);
    }
    Ok(draft)
}

/// A draft as a starting point: one path with a greeting.
pub fn from_nothing() -> Draft {
    let hello = Operation {
        name: "hello".to_owned(),
        from: "an example: write your own paths and replies".to_owned(),
        summary: "The greeting.".to_owned(),
        method: "GET".to_owned(),
        path: "/api/test".to_owned(),
        expect: Expect {
            status: vec![200],
            media_type: Some("text/plain".to_owned()),
            body: Some(ExpectedBody::Text("Hello, World!".to_owned())),
        },
        ..Operation::default()
    };
    Draft {
        title: "An API of our own".to_owned(),
        summary: "One path with a greeting.".to_owned(),
        source: "nothing".to_owned(),
        operations: vec![hello],
        ..Draft::default()
    }
}

/// The reply is unknown: any success is valid until the author says more.
fn guessed(mut operation: Operation) -> Operation {
    operation.expect.status = vec![200];
    let remark = "The reply is unknown: 200 is a guess. Use `--record URL` to query the server.";
    operation.remarks.push(remark.to_owned());
    operation
}
