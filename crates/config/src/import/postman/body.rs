//! The body of a request.

use super::variables::{RequestVariables, is_disabled, plain};
use crate::import::message::text_body;
use crate::input::multipart::{self, FormPart};
use serde_json::{Value, json};

/// A body, and the type that Postman gives it if no header does.
pub(super) struct TypedBody {
    pub(super) text: String,
    pub(super) media_type: Option<String>,
}

/// The body, or why it cannot be sent. What is missing in it is added to `gaps`.
pub(super) fn read(
    request: &Value,
    variables: &RequestVariables<'_>,
    gaps: &mut Vec<String>,
) -> Result<Option<TypedBody>, String> {
    let Some(body) = request
        .get("body")
        .filter(|body| body.is_object() && !is_disabled(body))
    else {
        return Ok(None);
    };
    let mode = body.get("mode").and_then(Value::as_str).unwrap_or_default();
    let content = body.get(mode).filter(|content| !content.is_null());
    let Some(content) = content else { return Ok(None) };
    match mode {
        "raw" => Ok(raw(body, content, variables)),
        "urlencoded" => Ok(form(content, variables)),
        "formdata" => multipart_form(content, variables, gaps),
        "graphql" => Ok(Some(graphql(content, variables))),
        "file" => file(content, variables),
        mode => Err(format!(
            "its body is of mode `{mode}`, whose bytes are not in the collection: save them as a file of the contract, `file = …`"
        )),
    }
}

fn raw(body: &Value, content: &Value, variables: &RequestVariables<'_>) -> Option<TypedBody> {
    let text = variables.fill(&plain(content)?);
    let language = body.pointer("/options/raw/language").and_then(Value::as_str);
    let media_type = match language.unwrap_or_default() {
        "json" => "application/json",
        "xml" => "application/xml",
        "html" => "text/html",
        "javascript" => "application/javascript",
        _ => "text/plain",
    };
    (!text.is_empty()).then(|| TypedBody {
        text,
        media_type: Some(media_type.to_owned()),
    })
}

/// The fields of a form that are switched on.
fn fields(content: &Value) -> impl Iterator<Item = &Value> {
    let list = content.as_array();
    list.into_iter().flatten().filter(|field| !is_disabled(field))
}

fn member(field: &Value, name: &str, variables: &RequestVariables<'_>) -> String {
    let text = field.get(name).and_then(plain);
    variables.fill(&text.unwrap_or_default())
}

fn form(content: &Value, variables: &RequestVariables<'_>) -> Option<TypedBody> {
    let text = if let Value::String(text) = content {
        variables.fill(text)
    } else {
        let mut form = form_urlencoded::Serializer::new(String::new());
        for field in fields(content) {
            form.append_pair(
                &member(field, "key", variables),
                &member(field, "value", variables),
            );
        }
        form.finish()
    };
    (!text.is_empty()).then(|| TypedBody {
        text,
        media_type: Some("application/x-www-form-urlencoded".to_owned()),
    })
}

/// A form of texts. Its files are not in the collection.
fn multipart_form(
    content: &Value,
    variables: &RequestVariables<'_>,
    gaps: &mut Vec<String>,
) -> Result<Option<TypedBody>, String> {
    let mut parts = Vec::new();
    let mut has_file = false;
    for field in fields(content) {
        let name = member(field, "key", variables);
        let is_file = field.get("type").and_then(Value::as_str) == Some("file");
        if is_file || field.get("src").is_some_and(|file| !file.is_null()) {
            has_file = true;
            gaps.push(format!(
                "The file of the field `{}` is not in the collection: the field is not sent.",
                variables.written(&name)
            ));
            continue;
        }
        let kind = field.get("contentType").and_then(Value::as_str);
        parts.push(FormPart {
            name,
            media_type: kind.filter(|kind| !kind.is_empty()).map(str::to_owned),
            content: member(field, "value", variables).into_bytes(),
            ..FormPart::default()
        });
    }
    if parts.is_empty() && !has_file {
        return Ok(None);
    }
    let boundary = multipart::boundary(&parts);
    Ok(Some(TypedBody {
        text: text_body(multipart::body(&parts, &boundary))?,
        media_type: Some(multipart::media_type(&boundary)),
    }))
}

/// A query with its variables, which are a text in JSON.
fn graphql(content: &Value, variables: &RequestVariables<'_>) -> TypedBody {
    let query = json!(member(content, "query", variables));
    let values = member(content, "variables", variables);
    let values = match values.trim() {
        "" => "{}",
        values => values,
    };
    let operation = match member(content, "operationName", variables) {
        name if name.is_empty() => String::new(),
        name => format!(",\"operationName\":{}", json!(name)),
    };
    TypedBody {
        text: format!("{{\"query\":{query},\"variables\":{values}{operation}}}"),
        media_type: Some("application/json".to_owned()),
    }
}

/// A file whose content the collection may have.
fn file(content: &Value, variables: &RequestVariables<'_>) -> Result<Option<TypedBody>, String> {
    if let Some(text) = content.get("content").and_then(Value::as_str) {
        return Ok(Some(TypedBody {
            text: variables.fill(text),
            media_type: None,
        }));
    }
    let name = content.as_str().or_else(|| content.get("src")?.as_str());
    match name.filter(|name| !name.is_empty()) {
        None => Ok(None),
        Some(name) => Err(format!(
            "its body is the file `{name}`, which is not in the collection: save it as a file of the contract, `file = …`"
        )),
    }
}
