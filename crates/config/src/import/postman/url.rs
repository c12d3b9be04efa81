//! The URL of a request.

use super::variables::{RequestVariables, is_disabled, plain};
use serde_json::Value;
use std::collections::BTreeMap;

/// A server for URLs whose host is not known.
const SOME_SERVER: &str = "server.invalid";

/// The URL of a request, and its server as the collection writes it.
pub(super) struct Address {
    pub(super) url: String,
    pub(super) server: String,
}

/// The address of a request. The error is a reason.
pub(super) fn read(url: &Value, variables: &RequestVariables<'_>) -> Result<Address, String> {
    let text = match url {
        Value::String(text) => text.clone(),
        Value::Object(_) => match of_parts(url) {
            Some(text) => text,
            None => url
                .get("raw")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        },
        _ => String::new(),
    };
    if text.trim().is_empty() {
        return Err("it has no `url`".to_owned());
    }
    let text = variables.fill(text.trim());
    let text = text.split('#').next().unwrap_or_default();
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) if !variables.has_sign(scheme) => (scheme, rest),
        Some((_, rest)) => ("http", rest),
        None => ("http", text),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query.to_owned())),
        None => (rest, None),
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let query = match url.get("query").and_then(Value::as_array) {
        Some(list) => queries(list, variables),
        None => query,
    };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let path = with_segments(path, url, variables);
    let sent_host = if variables.has_sign(host) {
        SOME_SERVER
    } else {
        host
    };
    Ok(Address {
        url: format!("{scheme}://{sent_host}{path}{query}"),
        server: variables.written(host),
    })
}

/// The text of a URL that is written in parts, without its query if that is a part.
fn of_parts(url: &Value) -> Option<String> {
    let joined = |name: &str, separator: &str| match url.get(name)? {
        Value::Array(list) => {
            let items = list.iter().filter_map(|item| match item {
                Value::Object(members) => plain(members.get("value")?),
                other => plain(other),
            });
            Some(items.collect::<Vec<_>>().join(separator))
        }
        other => plain(other),
    };
    let host = joined("host", ".").filter(|host| !host.is_empty())?;
    let protocol = joined("protocol", "").filter(|protocol| !protocol.is_empty());
    let protocol = protocol.map(|text| format!("{}://", text.trim_end_matches(['/', ':'])));
    let port = joined("port", "").filter(|port| !port.is_empty());
    let port = port.map(|port| format!(":{port}"));
    let path = joined("path", "/").map(|path| {
        let path = path.replace('?', "%3F").replace('#', "%23");
        format!("/{}", path.strip_prefix('/').unwrap_or(&path))
    });
    let raw = url.get("raw").and_then(Value::as_str).unwrap_or_default();
    let raw = raw.split('#').next().unwrap_or_default();
    let query = raw.split_once('?').map(|(_, query)| format!("?{query}"));
    let parts = [protocol, Some(host), port, path, query];
    Some(parts.into_iter().flatten().collect())
}

/// The query of a list of parameters.
fn queries(list: &[Value], variables: &RequestVariables<'_>) -> Option<String> {
    let pairs = list.iter().filter(|pair| !is_disabled(pair)).filter_map(|pair| {
        let text = |name: &str| {
            let text = plain(pair.get(name)?)?;
            Some(variables.fill(&text).replace('#', "%23"))
        };
        match (text("key"), text("value")) {
            (None, None) => None,
            (key, Some(value)) => Some(format!("{}={value}", key.unwrap_or_default())),
            (key, None) => key,
        }
    });
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| pairs.join("&"))
}

/// A path with the values of its variables: `/:id`, always a whole segment.
fn with_segments(path: &str, url: &Value, variables: &RequestVariables<'_>) -> String {
    let list = url.get("variable").and_then(Value::as_array);
    let mut known: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for variable in list.into_iter().flatten() {
        let name = variable.get("key").or_else(|| variable.get("id"));
        let value = variable.get("value").and_then(plain);
        if let Some(name) = name.and_then(Value::as_str) {
            known.insert(name, value.filter(|value| !value.is_empty()));
        }
    }
    let segments = path.split('/').map(|segment| {
        let name = segment.strip_prefix(':').unwrap_or_default();
        match known.get(name) {
            Some(Some(value)) => variables.fill(value).replace('?', "%3F").replace('#', "%23"),
            Some(None) => variables.open_segment(name),
            None => segment.to_owned(),
        }
    });
    segments.collect::<Vec<_>>().join("/")
}
