//! What the server offers: three tools, a resource and a prompt.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::items::Item;
use crate::protocol::{Failure, INVALID_PARAMS, METHOD_NOT_FOUND, Message, REVISION};

static TOOLS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("tools.json")).expect("the file is JSON"));

#[derive(Serialize)]
#[serde(untagged)]
pub enum Outcome {
    Call(CallResult),
    Other(Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    result_type: &'static str,
    content: [Text; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Item>,
    is_error: bool,
}

#[derive(Serialize)]
struct Text {
    r#type: &'static str,
    text: String,
}

#[derive(Deserialize)]
struct EchoArguments {
    message: String,
}

#[derive(Deserialize)]
struct AddArguments {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct ItemArguments {
    id: usize,
}

#[derive(Deserialize)]
struct GreetArguments {
    name: String,
}

pub fn run(message: &Message<'_>) -> Result<Outcome, Failure> {
    let params = &message.params;
    match &*message.method {
        "server/discover" => Ok(Outcome::Other(discovery())),
        "tools/list" => Ok(Outcome::Other(cacheable("tools", TOOLS.clone()))),
        "tools/call" => call_tool(&params.name, params.arguments).map(Outcome::Call),
        "resources/read" => read_resource(&params.uri).map(Outcome::Other),
        "prompts/get" => get_prompt(&params.name, params.arguments).map(Outcome::Other),
        method => Err(Failure::new(METHOD_NOT_FOUND, format!("unknown method {method}"))),
    }
}

fn discovery() -> Value {
    let mut result = cacheable("supportedVersions", json!([REVISION]));
    result["capabilities"] = json!({ "tools": {}, "resources": {}, "prompts": {} });
    result["_meta"] =
        json!({ "io.modelcontextprotocol/serverInfo": { "name": "rust-hyper-mcp", "version": "1" } });
    result
}

/// A result that a client may keep for a minute.
fn cacheable(name: &str, value: Value) -> Value {
    json!({ "resultType": "complete", "ttlMs": 60_000, "cacheScope": "public", name: value })
}

fn call_tool(name: &str, arguments: Option<&RawValue>) -> Result<CallResult, Failure> {
    Ok(match name {
        "echo" => match read(arguments) {
            Some(EchoArguments { message }) => CallResult::text(message),
            None => CallResult::error("message must be a text"),
        },
        "add" => match read(arguments) {
            Some(AddArguments { a, b }) => CallResult::text(a.saturating_add(b).to_string()),
            None => CallResult::error("a and b must be integers"),
        },
        "item" => match read(arguments).and_then(|ItemArguments { id }| Item::find(id)) {
            Some(item) => CallResult::item(item),
            None => CallResult::error("no such item"),
        },
        _ => return Err(Failure::new(INVALID_PARAMS, format!("unknown tool {name}"))),
    })
}

fn read<'a, T: Deserialize<'a>>(arguments: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(arguments?.get()).ok()
}

fn read_resource(uri: &str) -> Result<Value, Failure> {
    let number = uri.strip_prefix("item://").and_then(|id| id.parse().ok());
    let Some(item) = number.and_then(Item::find) else {
        return Err(Failure::new(INVALID_PARAMS, "unknown resource").with(json!({ "uri": uri })));
    };
    let text = format!("{} costs {}", item.name, item.price);
    Ok(cacheable(
        "contents",
        json!([{ "uri": uri, "mimeType": "text/plain", "text": text }]),
    ))
}

fn get_prompt(prompt: &str, arguments: Option<&RawValue>) -> Result<Value, Failure> {
    match read(arguments) {
        Some(GreetArguments { name }) if prompt == "greet" => Ok(json!({
            "resultType": "complete",
            "messages": [{ "role": "user", "content": { "type": "text", "text": format!("Greet {name}.") } }],
        })),
        _ => Err(Failure::new(
            INVALID_PARAMS,
            "unknown prompt, or it lacks its argument",
        )),
    }
}

impl CallResult {
    fn text(text: String) -> Self {
        let content = [Text { r#type: "text", text }];
        Self {
            result_type: "complete",
            content,
            structured_content: None,
            is_error: false,
        }
    }

    fn error(text: &str) -> Self {
        Self {
            is_error: true,
            ..Self::text(text.to_owned())
        }
    }

    fn item(item: Item) -> Self {
        let text = serde_json::to_string(&item).expect("an item has only texts as keys");
        Self {
            structured_content: Some(item),
            ..Self::text(text)
        }
    }
}
