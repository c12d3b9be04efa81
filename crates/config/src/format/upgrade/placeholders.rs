//! Placeholders of former files: `#{name}`, `$name` and `{ row, column }` besides `{name}`.

use prony_load::escape;
use std::collections::BTreeMap;

/// What a placeholder stood for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// A number: constant, drawn, or counted.
    Number,
    /// Texts that are known, or hexadecimal digits.
    Texts(Vec<String>),
    /// Numbers, and these texts.
    Mixed(Vec<String>),
    /// A column of rows, by its new name.
    Row(String),
    /// A value of a JSON reply, whose type is that of the reply.
    CapturedJson,
    /// A text from a reply or a signed token.
    Text,
}

impl Source {
    /// The source of a placeholder that other calls fill differently.
    pub(super) fn add(&mut self, other: Self) {
        let texts = match (&*self, other) {
            (Self::Texts(own), Self::Texts(texts)) => {
                *self = Self::Texts([own.clone(), texts].concat());
                return;
            }
            (Self::Number, Self::Texts(texts)) => texts,
            (Self::Texts(texts), Self::Number) => texts.clone(),
            (Self::Mixed(own), Self::Texts(texts)) => [own.clone(), texts].concat(),
            _ => return,
        };
        *self = Self::Mixed(texts);
    }
}

/// Where a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    /// A value or key of JSON.
    Json,
    /// A message, whose fields have types of their own.
    Message,
    Other,
}

/// The sources of the placeholders of a call, by name.
pub(super) type Sources = BTreeMap<String, Source>;

/// A text of a former file in the current grammar.
pub(super) fn upgraded(text: &str, place: Place, has_formulas: bool, sources: &Sources) -> String {
    let is_value = matches!(place, Place::Json | Place::Message);
    if is_value && let Some(name) = text.strip_prefix('$') {
        return match name {
            "null" => "{= null}".to_owned(),
            name if name.contains('{') || sources.contains_key(name) => format!("{{value.{name}}}"),
            name => format!("{{{name}}}"),
        };
    }
    if is_value && let Some(inner) = text.strip_prefix("#{").and_then(|rest| rest.strip_suffix('}')) {
        if let Some(formula) = inner.strip_prefix('=').filter(|_| has_formulas) {
            return format!("{{={}}}", unbraced(formula));
        }
        if is_name(inner) {
            return typed(inner, sources);
        }
    }
    if is_value && let Some(name) = lone(text) {
        return as_text(name, place, sources);
    }
    // An entry of a word list is a text anyway.
    if let (true, Place::Json, Some(formula)) = (has_formulas, place, lone_formula(text))
        && !formula.contains('[')
    {
        return format!("{{={}:text}}", unbraced(formula));
    }
    pieces(text, place, has_formulas, sources)
}

/// `"#{name}"`: the value as JSON.
fn typed(name: &str, sources: &Sources) -> String {
    match sources.get(name) {
        Some(Source::Row(column)) => format!("{{{column}:raw}}"),
        Some(Source::Number | Source::CapturedJson) => format!("{{{name}}}"),
        // A name without a source is a column of a table of users, which is text.
        Some(Source::Texts(_) | Source::Mixed(_) | Source::Text) | None => format!("{{{name}:raw}}"),
    }
}

/// `"{name}"` as a whole JSON value: the value as a text.
fn as_text(name: &str, place: Place, sources: &Sources) -> String {
    match sources.get(name) {
        Some(Source::Row(column)) if place == Place::Message => format!("{{{column}}}"),
        Some(Source::Row(column)) => format!("{{{column}:text}}"),
        Some(Source::Number | Source::Mixed(_) | Source::CapturedJson) if place == Place::Json => {
            format!("{{{name}:text}}")
        }
        _ => format!("{{{name}}}"),
    }
}

/// A text with placeholders within it.
fn pieces(text: &str, place: Place, has_formulas: bool, sources: &Sources) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let at_start = out.is_empty();
        let opened = braces(rest, '{');
        let inner = &rest[opened..];
        let is_formula = inner.starts_with('=');
        let end = if is_formula {
            formula_end(inner)
        } else {
            inner.find('}')
        };
        let Some(end) = end else {
            // It was sent as it is.
            out.push_str(&"{".repeat(opened + usize::from(is_formula)));
            rest = inner;
            continue;
        };
        let name = &inner[..end];
        let kept = if is_formula && has_formulas {
            format!("{{={}}}", unbraced(&name[1..]))
        } else if is_name(name) {
            inserted(name, place, at_start && opened == 1, sources)
        } else if is_formula || looks_like_name(name) {
            let pairs = opened.min(braces(&inner[end..], '}'));
            out.push_str(&"{".repeat(opened - pairs));
            out.push_str(&doubled(name, pairs));
            rest = &inner[end + pairs..];
            continue;
        } else {
            out.push_str(&"{".repeat(opened));
            rest = inner;
            continue;
        };
        // Braces around a value are text.
        let pairs = (opened - 1).min(braces(&inner[end + 1..], '}'));
        out.push_str(&"{".repeat(opened - 1 + pairs));
        out.push_str(&kept);
        out.push_str(&"}".repeat(2 * pairs));
        rest = &inner[end + 1 + pairs..];
    }
    out + rest
}

/// How often a text begins with a brace.
fn braces(text: &str, brace: char) -> usize {
    text.chars().take_while(|letter| *letter == brace).count()
}

/// What stands for a text in this number of pairs of braces, which would be a placeholder otherwise.
fn doubled(text: &str, pairs: usize) -> String {
    format!("{}{text}{}", "{".repeat(2 * pairs), "}".repeat(2 * pairs))
}

fn inserted(name: &str, place: Place, at_start: bool, sources: &Sources) -> String {
    let source = sources.get(name);
    let full = match source {
        Some(Source::Row(column)) => column,
        _ => name,
    };
    // In paths, values were not encoded.
    let raw = place == Place::Path
        && !at_start
        && match source {
            Some(Source::Texts(texts) | Source::Mixed(texts)) => texts.iter().any(|text| {
                escape::path(text.as_bytes()) != *text || escape::query(text.as_bytes()) != *text
            }),
            Some(Source::Text) | None => true,
            Some(Source::Number | Source::Row(_) | Source::CapturedJson) => false,
        };
    let form = if raw { ":raw" } else { "" };
    format!("{{{full}{form}}}")
}

/// A formula whose names had braces.
fn unbraced(formula: &str) -> String {
    formula.replace(['{', '}'], "")
}

/// The end of a formula in a text that starts with `=`: names within it may have braces.
fn formula_end(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn lone(text: &str) -> Option<&str> {
    text.strip_prefix('{')?
        .strip_suffix('}')
        .filter(|name| is_name(name))
}

fn lone_formula(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("{=")?;
    let end = formula_end(&text[1..])?;
    (end + 2 == text.len()).then(|| &inner[..inner.len() - 1])
}

/// Whether this was the name of a placeholder.
fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| matches!(first, 'a'..='z' | '_'))
        && name
            .chars()
            .all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_'))
}

/// Whether this is the name of a placeholder now, or would be an error.
fn looks_like_name(name: &str) -> bool {
    let (name, form) = name.split_once(':').unwrap_or((name, "text"));
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.');
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(is_part)
        && !form.is_empty()
        && form.chars().all(is_part)
}

/// A value of a placeholder, which was sent as it is.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let opened = braces(rest, '{');
        let inner = &rest[opened..];
        let is_formula = inner.starts_with('=');
        match inner.find('}') {
            Some(end) if is_formula || looks_like_name(&inner[..end]) => {
                let pairs = opened.min(braces(&inner[end..], '}'));
                out.push_str(&"{".repeat(opened - pairs));
                out.push_str(&doubled(&inner[..end], pairs));
                rest = &inner[end + pairs..];
            }
            found => {
                out.push_str(&"{".repeat(opened + usize::from(is_formula && found.is_none())));
                rest = inner;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_placeholders_have_one_form_now() {
        let sources = Sources::from([
            ("n".to_owned(), Source::Number),
            ("hex".to_owned(), Source::Texts(vec!["0f".to_owned()])),
            ("word".to_owned(), Source::Texts(vec!["a b".to_owned()])),
            ("row".to_owned(), Source::Row("order.id".to_owned())),
            ("id".to_owned(), Source::CapturedJson),
            ("place".to_owned(), Source::Text),
        ]);
        for (text, place, formulas, expected) in [
            ("$null", Place::Json, false, "{= null}"),
            ("$item", Place::Json, false, "{item}"),
            ("$n", Place::Json, false, "{value.n}"),
            ("$person_{n}", Place::Json, false, "{value.person_{n}}"),
            ("${who}", Place::Json, false, "{value.{who}}"),
            ("#{n}", Place::Json, false, "{n}"),
            ("#{id}", Place::Json, false, "{id}"),
            ("#{hex}", Place::Json, false, "{hex:raw}"),
            ("#{row}", Place::Json, false, "{order.id:raw}"),
            ("#{column}", Place::Json, false, "{column:raw}"),
            ("{column}", Place::Json, false, "{column}"),
            ("/{column}", Place::Path, false, "/{column:raw}"),
            ("{n}", Place::Json, false, "{n:text}"),
            ("{hex}", Place::Json, false, "{hex}"),
            ("{id}", Place::Json, false, "{id:text}"),
            ("{row}", Place::Json, false, "{order.id:text}"),
            ("{n}", Place::Message, false, "{n}"),
            ("no {n}", Place::Json, false, "no {n}"),
            ("#{= i * 2}", Place::Json, true, "{= i * 2}"),
            ("{= i}", Place::Json, true, "{= i:text}"),
            ("{= i}", Place::Message, true, "{= i}"),
            ("a {= {n} * i} b", Place::Json, true, "a {= n * i} b"),
            ("{= {offset} + 1}", Place::Json, false, "{{= {offset} + 1}}"),
            ("GET {place}", Place::Other, false, "GET {place}"),
            ("{place}", Place::Path, false, "{place}"),
            ("/a/{word}?x={n}", Place::Path, false, "/a/{word:raw}?x={n}"),
            ("/a/{hex}/{row}", Place::Path, false, "/a/{hex}/{order.id}"),
            ("{{n}}", Place::Other, false, "{{{n}}}"),
            (
                "{{n} {{Name}} {= x",
                Place::Other,
                false,
                "{{n} {{{{Name}}}} {{= x",
            ),
            ("{Name} {a.b} {2}", Place::Other, false, "{{Name}} {{a.b}} {2}"),
            (r#"{"a":{"b":{}}}"#, Place::Other, false, r#"{"a":{"b":{}}}"#),
        ] {
            assert_eq!(upgraded(text, place, formulas, &sources), expected, "{text}");
        }
        for (text, expected) in [
            (r#"{"a":1} {b} {= c}"#, r#"{"a":1} {{b}} {{= c}}"#),
            ("{{y}}", "{{{{y}}}}"),
            ("{{y} {y}}", "{{{y}} {{y}}}"),
            ("{x:int} {x:}", "{{x:int}} {x:}"),
            ("{= x", "{{= x"),
            ("{a{b}c}", "{a{{b}}c}"),
        ] {
            assert_eq!(literal(text), expected, "{text}");
        }
    }
}
