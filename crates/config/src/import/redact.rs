//! Takes the secrets out of a draft, which becomes a file that people share.

use crate::import::{Body, Draft, Expect, ExpectedBody, Operation};
use crate::input::multipart;
use prony_load::secrets::{KnownSecrets, MASK, is_secret, is_secret_parameter, mask_header, mask_named};
use serde_json::{Value, json};

/// What is written in place of a secret.
pub(crate) const MARK: &str = "SECRET";

impl Draft {
    /// Replaces the secrets in recorded requests and replies by `SECRET`, wherever they are, and says so in comments.
    pub fn redact(&mut self) {
        let mut known = KnownSecrets::new();
        let mut count = 0;
        for operation in &mut self.operations {
            let removed = requests_of(operation, self.has_real_requests, &mut known);
            if !removed.is_empty() {
                count += removed.len();
                operation.remarks.push(format!(
                    "Secrets were removed: {}. Write them in place of each \"{MARK}\" to send this request.",
                    removed.join(", ")
                ));
            }
        }
        for operation in &mut self.operations {
            let schema = redact_expect(&mut operation.expect, &known, &mut operation.remarks);
            if let Some(schema) = schema {
                operation.expect.body = Some(ExpectedBody::Schema(operation.name.clone()));
                self.schemas.insert(operation.name.clone(), schema);
            }
        }
        self.schemas
            .values_mut()
            .for_each(|schema| redact_schema(schema, &known));
        self.texts()
            .for_each(|text| *text = mask_named(&known.mask(text)).replace(MASK, MARK));
        if count > 0 {
            self.remarks.push(format!(
                "Secrets in requests ({count}) were replaced by \"{MARK}\": write yours in their places before a check, and do not share the \
                 file with them. A contract can take the key of a [jwt] from a file or a variable, but no other secret."
            ));
        }
    }

    /// Every text that is not part of a request or a reply.
    fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let operations = self.operations.iter_mut().flat_map(|operation| {
            let own = [&mut operation.from, &mut operation.summary];
            own.into_iter().chain(&mut operation.remarks)
        });
        let omitted = self.omitted.iter_mut();
        let omitted = omitted.flat_map(|omission| [&mut omission.place, &mut omission.reason]);
        [&mut self.title, &mut self.summary, &mut self.source]
            .into_iter()
            .chain(&mut self.remarks)
            .chain(omitted)
            .chain(self.skip_common_cases.iter_mut().map(|(_, reason)| reason))
            .chain(operations)
    }
}

/// Redacts a request. Returns what was removed. The values of queries and bodies that a description gives, or that were made from its schemas,
/// are no secrets: `code` of a search is not the code of a login.
fn requests_of(operation: &mut Operation, is_real: bool, known: &mut KnownSecrets) -> Vec<String> {
    let mut removed = Vec::new();
    let places: Vec<String> = operation.with.keys().map(|name| format!("{{{name}}}")).collect();
    let is_place = |value: &str| places.iter().any(|place| value.contains(place.as_str()));
    for (name, value) in &mut operation.headers {
        if is_secret(name) && !value.is_empty() && !is_place(value) {
            known.add_header(name, value);
            *value = mask_header(name, value).replace(MASK, MARK);
            removed.push(format!("`{name}`"));
        }
    }
    if let Some((path, query)) = operation.path.split_once('?').filter(|_| is_real) {
        known.add_query(&operation.path);
        let query = redact_pairs(query, &is_place, &mut removed);
        operation.path = format!("{path}?{query}");
    }
    let form = has_form(operation);
    let boundary = form_boundary(operation);
    match &mut operation.body {
        Some(Body::Json(value)) if is_real => redact_json(value, known, &mut removed),
        Some(Body::Text(text) | Body::Template(text)) if is_real && form => {
            known.add_query(&format!("?{text}"));
            *text = redact_pairs(text, &is_place, &mut removed);
        }
        Some(Body::Text(text) | Body::Template(text)) if is_real && boundary.is_some() => {
            let boundary = boundary.unwrap_or_default();
            *text = redact_parts(text, &boundary, (known, &is_place, &mut removed));
        }
        Some(Body::Text(text) | Body::Template(text)) if is_real => {
            let masked = between(text, &places, |text| mask_named(text).replace(MASK, MARK));
            if masked != *text {
                removed.push("in the body".to_owned());
            }
            *text = masked;
        }
        _ => {}
    }
    removed
}

/// A text in which everything but the placeholders is changed.
fn between(text: &str, places: &[String], change: impl Fn(&str) -> String) -> String {
    let (mut out, mut begin) = (String::new(), 0);
    for (at, _) in text.match_indices('{') {
        let Some(length) = text[at..].find('}') else { break };
        let end = at + length + 1;
        if at >= begin && places.iter().any(|place| *place == text[at..end]) {
            out = out + &change(&text[begin..at]) + &text[at..end];
            begin = end;
        }
    }
    out + &change(&text[begin..])
}

fn has_form(operation: &Operation) -> bool {
    let mut headers = operation.headers.iter();
    headers.any(|(name, value)| name.eq_ignore_ascii_case("content-type") && value.contains("urlencoded"))
}

/// The boundary of a form in parts, if the body is one.
fn form_boundary(operation: &Operation) -> Option<String> {
    let is_type = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-type");
    let (_, kind) = operation.headers.iter().find(is_type)?;
    let is_form = kind.to_ascii_lowercase().starts_with("multipart/form-data");
    let boundary = multipart::boundary_of(kind).filter(|_| is_form)?;
    Some(format!("--{boundary}"))
}

/// A form in parts without its secrets.
fn redact_parts(
    text: &str,
    boundary: &str,
    (known, is_place, removed): (&mut KnownSecrets, &impl Fn(&str) -> bool, &mut Vec<String>),
) -> String {
    let parts = text.split(boundary).map(|part| {
        let Some((head, content)) = part.split_once("\r\n\r\n") else {
            return part.to_owned();
        };
        let name = head
            .split_once("name=\"")
            .map_or("", |(_, rest)| rest.split('"').next().unwrap_or_default());
        let value = content.trim_end_matches("\r\n");
        if !is_secret_parameter(name) || value.is_empty() || is_place(value) {
            return part.to_owned();
        }
        known.add(value);
        removed.push(format!("`{name}` of the body"));
        format!("{head}\r\n\r\n{MARK}{}", &content[value.len()..])
    });
    parts.collect::<Vec<_>>().join(boundary)
}

/// A query or a form without its secrets.
fn redact_pairs(text: &str, is_place: &impl Fn(&str) -> bool, removed: &mut Vec<String>) -> String {
    let pairs = text.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if is_secret_parameter(name) && !value.is_empty() && !is_place(value) => {
            removed.push(format!("`{name}`"));
            format!("{name}={MARK}")
        }
        _ => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

fn redact_json(value: &mut Value, known: &mut KnownSecrets, removed: &mut Vec<String>) {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| redact_json(item, known, removed)),
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if is_secret(name) && !text.is_empty() => {
                        known.add(text);
                        MARK.clone_into(text);
                        removed.push(format!("`{name}` of the body"));
                    }
                    other => redact_json(other, known, removed),
                }
            }
        }
        _ => {}
    }
}

/// Redacts an expected reply. If its body has secrets, which differ between servers anyway, returns the schema that replaces it.
fn redact_expect(expect: &mut Expect, known: &KnownSecrets, remarks: &mut Vec<String>) -> Option<Value> {
    let is_clean = |text: &str| mask_named(&known.mask(text)) == text;
    match &expect.body {
        Some(ExpectedBody::Json(value)) => {
            let mut secrets = Vec::new();
            secret_members(value, "", known, &mut secrets);
            if secrets.is_empty() {
                return None;
            }
            let schema = open_schema(value, "", known);
            remarks.push(format!(
                "Any text is valid for {}, which may be a secret.",
                secrets.join(", ")
            ));
            Some(schema)
        }
        Some(ExpectedBody::Text(text) | ExpectedBody::Matches(text)) if !is_clean(text) => {
            remarks.push("The body of the reply contains a secret: status and type only.".to_owned());
            expect.body = None;
            None
        }
        _ => None,
    }
}

/// Whether a text of a reply is a secret: by the name of its member, or because it contains one.
fn is_secret_text(name: &str, text: &str, known: &KnownSecrets) -> bool {
    !text.is_empty() && (is_secret(name) || mask_named(&known.mask(text)) != text)
}

fn secret_members(value: &Value, name: &str, known: &KnownSecrets, found: &mut Vec<String>) {
    match value {
        Value::String(text) if is_secret_text(name, text, known) => {
            let name = if name.is_empty() {
                "the body".to_owned()
            } else {
                format!("`{name}`")
            };
            if !found.contains(&name) {
                found.push(name);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| secret_members(item, name, known, found)),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, member)| secret_members(member, name, known, found)),
        _ => {}
    }
}

/// A schema for exactly this value, but for its secrets: any text in their places.
fn open_schema(value: &Value, name: &str, known: &KnownSecrets) -> Value {
    match value {
        Value::String(text) if is_secret_text(name, text, known) => json!({ "type": "string" }),
        Value::Array(items) => {
            let each: Vec<Value> = items.iter().map(|item| open_schema(item, name, known)).collect();
            let count = each.len();
            json!({ "type": "array", "minItems": count, "prefixItems": each, "items": false })
        }
        Value::Object(members) => {
            let required: Vec<&String> = members.keys().collect();
            let properties: serde_json::Map<String, Value> = members
                .iter()
                .map(|(name, member)| (name.clone(), open_schema(member, name, known)))
                .collect();
            json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
        }
        other => json!({ "const": other }),
    }
}

/// Opens the constants of a schema that are secrets.
fn redact_schema(schema: &mut Value, known: &KnownSecrets) {
    redact_part(schema, "", known);
}

fn redact_part(schema: &mut Value, name: &str, known: &KnownSecrets) {
    let is_secret_constant = match &schema["const"] {
        Value::Null => false,
        constant => {
            let mut found = Vec::new();
            secret_members(constant, name, known, &mut found);
            !found.is_empty()
        }
    };
    if is_secret_constant {
        *schema = open_schema(&schema["const"].clone(), name, known);
        return;
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, property) in properties {
            redact_part(property, name, known);
        }
    }
    for key in ["prefixItems", "items"] {
        match schema.get_mut(key) {
            Some(Value::Array(items)) => items.iter_mut().for_each(|item| redact_part(item, name, known)),
            Some(item @ Value::Object(_)) => redact_part(item, name, known),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Draft {
        let operation = Operation {
            name: "login".to_owned(),
            from: "http://me:S-4-secret@h/login?token=S-1-secret".to_owned(),
            method: "POST".to_owned(),
            path: "/login?token=S-1-secret&page=2".to_owned(),
            headers: vec![
                ("Authorization".to_owned(), "Bearer S-2-secret".to_owned()),
                ("Cookie".to_owned(), "sid=S-3-secret; b=S-5-secret".to_owned()),
                ("X-Api-Key".to_owned(), "{key}".to_owned()),
                ("X-Page".to_owned(), "2".to_owned()),
            ],
            with: [("key".to_owned(), "1".to_owned())].into(),
            body: Some(Body::Json(
                json!({ "user": "ada", "auth": { "password": "S-6-secret" } }),
            )),
            expect: Expect {
                status: vec![200],
                media_type: Some("application/json".to_owned()),
                body: Some(ExpectedBody::Json(json!({
                    "id": 7, "accessToken": "S-7-secret", "echo": ["S-6-secret"], "name": "Ada"
                }))),
            },
            ..Operation::default()
        };
        Draft {
            has_real_requests: true,
            operations: vec![operation],
            ..Draft::default()
        }
    }

    #[test]
    fn a_draft_has_no_secret_of_its_source() {
        let mut draft = recorded();
        draft.redact();
        let files: String = draft.files("mine").into_values().collect();
        assert!(!files.contains("-secret"), "{files}");
        for part in [
            "/login?token=SECRET&page=2",
            "Bearer SECRET",
            "sid=SECRET; b=SECRET",
            "{key}",
            "password = \"SECRET\"",
            "Secrets were removed: `Authorization`, `Cookie`, `token`, `password` of the body",
            "Any text is valid for `accessToken`, `echo`",
        ] {
            assert!(files.contains(part), "no {part}: {files}");
        }
    }

    #[test]
    fn samples_of_a_description_are_no_secrets() {
        let mut draft = Draft {
            has_real_requests: false,
            ..recorded()
        };
        draft.operations[0].path = "/search?code=ABC".to_owned();
        draft.redact();
        assert_eq!(draft.operations[0].path, "/search?code=ABC");
    }

    #[test]
    fn an_open_schema_keeps_everything_else() {
        let mut draft = recorded();
        draft.redact();
        let schema = prony_schema::Schema::compile(&draft.schemas["login"]).expect("a schema");
        let reply = json!({ "id": 7, "accessToken": "another", "echo": ["x"], "name": "Ada" });
        assert_eq!(schema.judge(&reply), Ok(()));
        for (member, wrong) in [
            ("name", json!("Bob")),
            ("accessToken", json!(7)),
            ("echo", json!([])),
        ] {
            let mut reply = reply.clone();
            reply[member] = wrong;
            assert!(schema.judge(&reply).is_err(), "{member}");
        }
    }

    #[test]
    fn a_schema_of_two_replies_is_opened() {
        let mut draft = Draft::default();
        let schema = json!({ "type": "object", "properties": {
            "token": { "const": "S-1-secret" }, "id": { "const": 7 }, "user": { "const": { "password": "S-2-secret", "n": 1 } }
        } });
        draft.schemas.insert("a".to_owned(), schema);
        draft.redact();
        let properties = &draft.schemas["a"]["properties"];
        assert_eq!(properties["token"], json!({ "type": "string" }));
        assert_eq!(properties["id"], json!({ "const": 7 }));
        assert_eq!(properties["user"]["properties"]["n"], json!({ "const": 1 }));
        assert!(!draft.schemas["a"].to_string().contains("-secret"));
    }

    #[test]
    fn forms_and_texts_are_redacted() {
        let mut draft = recorded();
        draft.operations[0].headers = vec![(
            "Content-Type".to_owned(),
            "application/x-www-form-urlencoded".to_owned(),
        )];
        draft.operations[0].body = Some(Body::Text("user=ada&pass=S-8-secret".to_owned()));
        draft.operations[0].expect.body = Some(ExpectedBody::Text("hello S-8-secret".to_owned()));
        draft.redact();
        assert_eq!(
            draft.operations[0].body,
            Some(Body::Text("user=ada&pass=SECRET".to_owned()))
        );
        assert_eq!(draft.operations[0].expect.body, None);
        draft.operations[0].headers[0].1 = "multipart/form-data; boundary=B".to_owned();
        let form = |secret: &str| {
            let part = |name: &str, value: &str| {
                format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
            };
            format!(
                "{}{}{}--B--\r\n",
                part("user", "ada"),
                part("password", secret),
                part("token", "{key}")
            )
        };
        draft.operations[0].body = Some(Body::Template(form("S-9-secret")));
        draft.redact();
        assert_eq!(draft.operations[0].body, Some(Body::Template(form("SECRET"))));
    }

    #[test]
    fn placeholders_are_no_secrets_and_everything_around_them_is_searched() {
        let mut draft = recorded();
        let template = r#"{"password":"S-8-secret","n":{key},"token":"{key}","apiKey":"S-9-secret"}"#;
        draft.operations[0].body = Some(Body::Template(template.to_owned()));
        draft.redact();
        let expected = r#"{"password":"SECRET","n":{key},"token":"{key}","apiKey":"SECRET"}"#;
        assert_eq!(
            draft.operations[0].body,
            Some(Body::Template(expected.to_owned()))
        );
    }
}
