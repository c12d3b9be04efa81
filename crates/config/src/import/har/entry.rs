//! An entry of a HAR file.

use super::body;
use super::members::{number, pairs, text};
use crate::import::draft::is_json;
use crate::import::message::{CapturedReply, CapturedRequest, parts};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// One exchange of the file.
pub(super) struct Entry {
    pub(super) pointer: String,
    pub(super) origin: String,
    pub(super) target: String,
    pub(super) sent: CapturedRequest,
    /// Where the request differs from the one that was sent.
    pub(super) gaps: Vec<String>,
    /// The reply, or why there is none.
    pub(super) reply: Result<CapturedReply, String>,
    /// What the recording lacks of the reply.
    pub(super) remark: Option<String>,
}

/// What distinguishes two requests.
pub(super) type RequestKey<'a> = (&'a str, &'a str, Option<&'a str>, Vec<&'a str>);

/// Headers that make two requests of one target and body different.
const SELECTING: [&str; 3] = ["accept", "authorization", "content-type"];

impl Entry {
    pub(super) fn key(&self) -> RequestKey<'_> {
        let selecting = |(name, _): &&(String, String)| {
            SELECTING
                .iter()
                .any(|selecting| name.eq_ignore_ascii_case(selecting))
        };
        let sent = &self.sent;
        let mut headers: Vec<&str> = sent
            .headers
            .iter()
            .filter(selecting)
            .map(|(_, value)| value.as_str())
            .collect();
        headers.sort_unstable();
        (&sent.method, &self.target, sent.body.as_deref(), headers)
    }

    pub(super) fn media_type(&self) -> Option<&str> {
        self.reply.as_ref().ok()?.media_type.as_deref()
    }
}

/// The entry, or why it is left out.
pub(super) fn read(entry: &Value, pointer: &str) -> Result<Entry, String> {
    let needed = |member: &str| {
        text(entry, member).ok_or_else(|| {
            let name = member[1..].replace('/', ".");
            format!("it has no text `{name}`")
        })
    };
    let url = needed("/request/url")?;
    if entry.get("_webSocketMessages").is_some_and(Value::is_array)
        || text(entry, "/_resourceType") == Some("websocket")
        || number(entry, "/response/status") == Some(101)
    {
        return Err(format!(
            "`{}` is a WebSocket, whose messages are not requests",
            crate::target::shown(url)
        ));
    }
    let method = needed("/request/method")?;
    let headers = pairs(entry, "/request/headers");
    let has_header = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let is_preflight = method == "OPTIONS" && has_header("access-control-request-method");
    if method == "CONNECT" || is_preflight {
        return Err(format!("{method} is a request of the browser itself"));
    }
    let url = with_query(entry, url);
    let (origin, target) = parts(&url)?;
    let mut headers = headers;
    let cookies = pairs(entry, "/request/cookies");
    if !cookies.is_empty()
        && !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("cookie"))
    {
        let cookies: Vec<String> = cookies
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        headers.push(("Cookie".to_owned(), cookies.join("; ")));
    }
    let mut gaps = Vec::new();
    let body = body::read(entry, &mut headers, &mut gaps)?;
    let (reply, remark) = match reply(entry) {
        Ok((reply, remark)) => (Ok(reply), remark),
        Err(why) => (Err(why), None),
    };
    Ok(Entry {
        pointer: format!("{pointer}/request/url"),
        origin,
        target,
        sent: CapturedRequest {
            method: standard_method(method),
            url,
            headers,
            body,
            is_of_browser: true,
        },
        gaps,
        reply,
        remark,
    })
}

/// Standard methods in the case in which browsers send them.
fn standard_method(method: &str) -> String {
    let upper = method.to_ascii_uppercase();
    let is_standard = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(&upper.as_str());
    if is_standard { upper } else { method.to_owned() }
}

/// The URL, with the query that some programs write only as a list.
fn with_query(entry: &Value, url: &str) -> String {
    let query = pairs(entry, "/request/queryString");
    if url.contains('?') || query.is_empty() {
        return url.to_owned();
    }
    let url = url.split('#').next().unwrap_or_default();
    let begin = format!("{url}?");
    let length = begin.len();
    let mut form = form_urlencoded::Serializer::for_suffix(begin, length);
    form.extend_pairs(query).finish()
}

/// The reply and what it lacks, or why there is none.
fn reply(entry: &Value) -> Result<(CapturedReply, Option<String>), String> {
    let status = match number(entry, "/response/status") {
        Some(304) => return Err("304: the browser had the reply in its cache".to_owned()),
        Some(status @ 200..=999) => status as u16,
        _ => {
            let error = text(entry, "/response/_error").or_else(|| text(entry, "/response/statusText"));
            return Err(match error {
                Some(error) => format!("The recording has no reply ({error})"),
                None => "The recording has no reply".to_owned(),
            });
        }
    };
    let headers = pairs(entry, "/response/headers");
    let kind = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        .map(|(_, kind)| kind.clone());
    let written = || text(entry, "/response/content/mimeType").filter(|kind| *kind != "x-unknown");
    let kind = if headers.is_empty() {
        written().map(str::to_owned)
    } else {
        kind
    };
    let body = reply_body(entry, kind.as_deref().unwrap_or_default());
    let size = number(entry, "/response/content/size").unwrap_or(0);
    let cut = body.as_ref().filter(|body| (body.len() as i64) < size);
    let remark = cut.map(|body| {
        format!(
            "The recording has {} of the {size} bytes of the reply: status and type only.",
            body.len()
        )
    });
    let reply = CapturedReply {
        status,
        media_type: kind,
        body: body.filter(|_| remark.is_none()),
    };
    Ok((reply, remark))
}

/// The reply's body if it is text.
fn reply_body(entry: &Value, kind: &str) -> Option<String> {
    let content = entry.pointer("/response/content")?;
    let body = content.get("text")?.as_str()?;
    if text(content, "/encoding") != Some("base64") {
        return Some(body.to_owned());
    }
    let is_text = is_json(kind) || kind.starts_with("text/");
    let bytes = STANDARD.decode(body).ok().filter(|_| is_text)?;
    String::from_utf8(bytes).ok()
}
