//! Credentials of a request, a folder or a collection.

use super::variables::{RequestVariables, plain, values};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::BTreeMap;

/// How credentials are sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    Nothing,
    Header(String, String),
    /// A parameter of the query.
    Parameter(String, String),
    /// A kind that needs more than a fixed text.
    Unsupported(String),
}

/// The credentials that a part of a collection has of its own; `None` if it inherits them.
pub(super) fn own<'a>(part: &'a Value, inherited: Option<&'a Value>) -> Option<&'a Value> {
    let own = part
        .get("auth")
        .filter(|auth| kind(auth).is_some_and(|kind| kind != "inherit"));
    own.or(inherited)
}

fn kind(auth: &Value) -> Option<&str> {
    auth.get("type")?.as_str().filter(|kind| !kind.is_empty())
}

/// What a request sends.
pub(super) fn read(auth: Option<&Value>, variables: &RequestVariables<'_>) -> Credentials {
    let Some((auth, kind)) = auth.and_then(|auth| Some((auth, kind(auth)?))) else {
        return Credentials::Nothing;
    };
    // A list in version 2.1, an object in version 2.0.
    let members: BTreeMap<String, String> = match auth.get(kind) {
        Some(Value::Object(members)) => members
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), plain(value)?)))
            .collect(),
        list => values(list),
    };
    let value = |name: &str| variables.fill(members.get(name).map_or("", String::as_str));
    match kind {
        "noauth" => Credentials::Nothing,
        "bearer" => Credentials::Header("Authorization".to_owned(), format!("Bearer {}", value("token"))),
        "basic" => {
            let pair = format!("{}:{}", value("username"), value("password"));
            let coded = variables.encoded(&pair, "credentials", |pair| STANDARD.encode(pair));
            Credentials::Header("Authorization".to_owned(), format!("Basic {coded}"))
        }
        "apikey" if value("key").is_empty() => Credentials::Nothing,
        "apikey" if value("in") == "query" => Credentials::Parameter(value("key"), value("value")),
        "apikey" => Credentials::Header(value("key"), value("value")),
        other => Credentials::Unsupported(other.to_owned()),
    }
}
