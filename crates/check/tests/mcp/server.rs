//! A server of the Model Context Protocol: without sessions (2026-07-28), and with them (2025-06-18).

use crate::right;
use crate::toy::{Call, ScriptedReply};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

const VERSION: &str = "2026-07-28";
const SESSIONS: &str = "2025-06-18";
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;

/// What the server verifies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) client: bool,
    pub(super) headers: bool,
    pub(super) name_required: bool,
    pub(super) origin: bool,
    pub(super) arguments: bool,
    pub(super) tools: bool,
    pub(super) session: bool,
    pub(super) revision: bool,
    /// Each client has its own session.
    pub(super) own_sessions: bool,
}

pub(super) const ALL: Rules = Rules {
    client: true,
    headers: true,
    name_required: true,
    origin: true,
    arguments: true,
    tools: true,
    session: true,
    revision: true,
    own_sessions: true,
};

/// An error of the protocol: the status and the member `error`.
type Refusal = (u16, Value);

fn refused(status: u16, code: i64, message: &str) -> Refusal {
    (status, json!({ "code": code, "message": message }))
}

pub(super) fn json_reply(status: u16, value: &Value) -> ScriptedReply {
    ScriptedReply::of(status, "application/json", value.to_string())
}

pub(super) fn request(call: &Call) -> Value {
    serde_json::from_slice(&call.body).unwrap_or_default()
}

fn text(call: &Call, name: &str) -> Option<String> {
    let value = call.header(name)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The reply of a server without sessions.
pub(super) fn stateless(call: &Call, rules: Rules) -> ScriptedReply {
    if let Some(reply) = rejected(call, rules) {
        return reply;
    }
    if call.method != "POST" {
        return ScriptedReply::new(405);
    }
    let request = match parsed(call) {
        Ok(request) => request,
        Err(error) => return failure(&Value::Null, error),
    };
    let Some(id) = request.get("id") else {
        return ScriptedReply::new(202);
    };
    let result = about_client(call, &request, rules)
        .and_then(|()| about_headers(call, &request, rules))
        .and_then(|()| run(&request, rules));
    match result {
        Ok(mut result) => {
            result["resultType"] = json!("complete");
            let method = request["method"].as_str().unwrap_or_default();
            if matches!(method, "server/discover" | "tools/list" | "resources/read") {
                result["ttlMs"] = json!(60_000);
                result["cacheScope"] = json!("public");
            }
            json_reply(200, &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
        }
        Err(error) => failure(id, error),
    }
}

fn failure(id: &Value, (status, error): Refusal) -> ScriptedReply {
    json_reply(status, &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

/// What is refused before the body is read.
fn rejected(call: &Call, rules: Rules) -> Option<ScriptedReply> {
    if call.path != "/mcp" {
        return Some(ScriptedReply::new(404));
    }
    if rules.origin && call.header("origin").is_some() {
        return Some(ScriptedReply::new(403));
    }
    let kind = text(call, "content-type").unwrap_or_default();
    (call.method == "POST" && !kind.starts_with("application/json")).then(|| ScriptedReply::new(415))
}

fn parsed(call: &Call) -> Result<Value, Refusal> {
    let request: Value =
        serde_json::from_slice(&call.body).map_err(|_| refused(400, -32700, "malformed JSON"))?;
    if request["jsonrpc"] == "2.0" && request["method"].is_string() {
        Ok(request)
    } else {
        Err(refused(400, -32600, "no request"))
    }
}

fn about_client(call: &Call, request: &Value, rules: Rules) -> Result<(), Refusal> {
    let meta = &request["params"]["_meta"];
    let of = |name: &str| &meta[format!("io.modelcontextprotocol/{name}").as_str()];
    if rules.client && !(of("clientCapabilities").is_object() && of("protocolVersion").is_string()) {
        return Err(refused(400, INVALID_PARAMS, "`_meta` is not complete"));
    }
    let header = text(call, "mcp-protocol-version").unwrap_or_default();
    let body = of("protocolVersion").as_str().unwrap_or(&header);
    if rules.headers && header != body {
        return Err(refused(400, HEADER_MISMATCH, "two revisions"));
    }
    if rules.headers && header != VERSION {
        let data = json!({ "supported": [VERSION], "requested": header });
        return Err((
            400,
            json!({ "code": -32022, "message": "unknown revision", "data": data }),
        ));
    }
    Ok(())
}

fn about_headers(call: &Call, request: &Value, rules: Rules) -> Result<(), Refusal> {
    let params = &request["params"];
    let name = match request["method"].as_str().unwrap_or_default() {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let has_method = text(call, "mcp-method").as_deref() == request["method"].as_str();
    let has_name = match (text(call, "mcp-name"), name) {
        (Some(header), Some(name)) => decoded(&header).as_deref() == Some(name),
        (None, Some(_)) => !rules.name_required,
        (_, None) => true,
    };
    if !rules.headers || (has_method && has_name) {
        Ok(())
    } else {
        Err(refused(400, HEADER_MISMATCH, "the headers differ from the body"))
    }
}

/// A name may be written in Base64.
fn decoded(name: &str) -> Option<String> {
    let coded = name
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match coded {
        None => Some(name.to_owned()),
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
    }
}

/// The result of a request.
fn run(request: &Value, rules: Rules) -> Result<Value, Refusal> {
    let params = &request["params"];
    match request["method"].as_str().unwrap_or_default() {
        "server/discover" => Ok(json!({
            "supportedVersions": [VERSION],
            "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
        })),
        "tools/list" => Ok(json!({ "tools": tools() })),
        "tools/call" => called(params, rules),
        "resources/read" => {
            let uri = params["uri"].as_str().unwrap_or_default();
            let number = uri.strip_prefix("item://").and_then(|number| number.parse().ok());
            let number = number.ok_or_else(|| refused(400, INVALID_PARAMS, "unknown resource"))?;
            let item = right::item(number);
            let costs = format!(
                "{} costs {}",
                item["name"].as_str().expect("a name"),
                item["price"]
            );
            Ok(json!({ "contents": [{ "uri": uri, "mimeType": "text/plain", "text": costs }] }))
        }
        "prompts/get" => match (params["name"].as_str(), params["arguments"]["name"].as_str()) {
            (Some("greet"), Some(name)) => {
                let content = json!({ "type": "text", "text": format!("Greet {name}.") });
                Ok(json!({ "messages": [{ "role": "user", "content": content }] }))
            }
            _ => Err(refused(400, INVALID_PARAMS, "unknown prompt, or no name")),
        },
        _ => Err(refused(404, -32601, "unknown method")),
    }
}

pub(super) fn tools() -> Value {
    let integer = json!({ "type": "integer" });
    let output = json!({
        "type": "object",
        "properties": {
            "id": integer, "name": { "type": "string" }, "price": integer,
            "tags": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["id", "name", "price", "tags"],
    });
    let input = |properties: Value| {
        let names: Vec<&String> = properties.as_object().expect("an object").keys().collect();
        json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
    };
    json!([
        { "name": "echo", "inputSchema": input(json!({ "message": { "type": "string", "title": "Message" } })) },
        { "name": "add", "inputSchema": input(json!({ "a": integer, "b": integer })) },
        { "name": "item", "inputSchema": input(json!({ "id": integer })), "outputSchema": output },
    ])
}

fn called(params: &Value, rules: Rules) -> Result<Value, Refusal> {
    let arguments = &params["arguments"];
    let said = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let wrong = || {
        let mut result = said("a wrong argument");
        result["isError"] = json!(true);
        result
    };
    let number = |name: &str| match arguments[name].as_i64() {
        None if !rules.arguments => Some(0),
        number => number,
    };
    Ok(match params["name"].as_str().unwrap_or_default() {
        "echo" => arguments["message"].as_str().map_or_else(wrong, said),
        "add" => match number("a").zip(number("b")) {
            Some((a, b)) => said(&(a + b).to_string()),
            None => wrong(),
        },
        "item" => match arguments["id"].as_u64() {
            Some(id) => {
                let mut item = right::item(id);
                item.as_object_mut().expect("an object").remove("description");
                let mut result = said(&item.to_string());
                result["structuredContent"] = item;
                result
            }
            None => wrong(),
        },
        _ if !rules.tools => said(""),
        _ => return Err(refused(400, INVALID_PARAMS, "unknown tool")),
    })
}

/// The open sessions of a server.
#[derive(Default)]
pub(super) struct Sessions {
    opened: Mutex<u64>,
    open: Mutex<BTreeSet<String>>,
}

impl Sessions {
    fn open(&self, own: bool) -> String {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        *opened += u64::from(own || *opened == 0);
        let name = format!("session-{opened}");
        self.all().insert(name.clone());
        name
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply of a server with sessions.
    pub(super) fn answer(&self, call: &Call, rules: Rules) -> ScriptedReply {
        if let Some(reply) = rejected(call, rules) {
            return reply;
        }
        let session = text(call, "mcp-session-id");
        let is_open = session.as_ref().is_some_and(|name| self.all().contains(name));
        let request = match (call.method.as_str(), is_open) {
            ("DELETE", true) => {
                self.all().remove(session.as_deref().unwrap_or_default());
                return ScriptedReply::new(204);
            }
            ("DELETE", false) => return ScriptedReply::new(404),
            ("POST", _) => match parsed(call) {
                Ok(request) => request,
                Err(error) => return failure(&Value::Null, error),
            },
            _ => return ScriptedReply::new(405),
        };
        if request["method"] == "initialize" {
            return self.initialize(&request, rules);
        }
        match (&session, is_open || !rules.session) {
            (None, _) => return ScriptedReply::new(400),
            (Some(_), false) => return ScriptedReply::new(404),
            (Some(_), true) => {}
        }
        if text(call, "mcp-protocol-version").is_some_and(|version| version != SESSIONS) {
            return ScriptedReply::new(400);
        }
        let Some(id) = request.get("id") else {
            return ScriptedReply::new(202);
        };
        match run(&request, rules) {
            Ok(result) => json_reply(200, &json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            Err(error) => failure(id, error),
        }
    }

    fn initialize(&self, request: &Value, rules: Rules) -> ScriptedReply {
        let wanted = &request["params"]["protocolVersion"];
        let version = if rules.revision {
            json!(SESSIONS)
        } else {
            wanted.clone()
        };
        let result = json!({
            "protocolVersion": version,
            "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
            "serverInfo": { "name": "toy", "version": "1" },
        });
        let value = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        let mut reply = json_reply(200, &value);
        reply.set("Mcp-Session-Id", &self.open(rules.own_sessions));
        reply
    }
}
