//! Errors of TOML's syntax in plain words.

use super::validate::Fault;
use std::ops::Range;
use toml::de::Error;

/// The errors of a text that is not TOML, in its order. Those that only follow from another one are left out.
pub(super) fn faults(text: &str, errors: &[Error]) -> Vec<Fault> {
    let mut errors: Vec<(Range<usize>, &str)> = errors
        .iter()
        .map(|error| (error.span().unwrap_or(0..0), error.message()))
        .collect();
    errors.sort_by_key(|(span, _)| span.start);
    let mut faults: Vec<Fault> = Vec::new();
    let mut lines: Vec<usize> = Vec::new();
    // The end of the last table that is there twice: each of its keys would be an error.
    let mut ignored = 0;
    for (span, message) in errors {
        let line = line_of(text, span.start);
        if span.start < ignored || lines.contains(&line.start) {
            continue;
        }
        let of_line = &text[line.clone()];
        if message.starts_with("duplicate key") && of_line.trim_start().starts_with('[') {
            ignored = text[line.end..]
                .find("\n[")
                .map_or(text.len(), |at| line.end + at);
        }
        lines.push(line.start);
        faults.push(explained(text, &line, span, message));
    }
    faults
}

/// The bytes of the line of a byte, without its end.
fn line_of(text: &str, at: usize) -> Range<usize> {
    let at = at.min(text.len());
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    start..end
}

fn explained(text: &str, line: &Range<usize>, span: Range<usize>, message: &str) -> Fault {
    let of_line = &text[line.clone()];
    let (what, wanted) = message.split_once(", expected ").unwrap_or((message, ""));
    let fault = |span: Range<usize>, message: String, help: &str| Fault {
        span,
        message,
        help: (!help.is_empty()).then(|| help.to_owned()),
    };
    if matches!(what, "key with no value" | "invalid unquoted key")
        && let Some((key, _)) = of_line.split_once(':')
        && key
            .trim()
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_-.\"".contains(letter))
    {
        let at = line.start + key.len();
        return fault(
            at..at + 1,
            "`:` after a key".to_owned(),
            &format!("write `{} = …`", key.trim()),
        );
    }
    match what {
        "duplicate key" if of_line.trim_start().starts_with('[') => {
            let header = of_line.split('#').next().unwrap_or_default().trim();
            fault(span, format!("`{header}` is there twice"), "join the two tables")
        }
        "duplicate key" => {
            let key = text[span.clone()].to_owned();
            fault(span, format!("`{key}` is there twice"), "remove one of the two")
        }
        "key with no value" | "missing value for key" => {
            let key = of_line.trim().trim_end_matches('=').trim();
            let start = line.start + of_line.find(key).unwrap_or(0);
            fault(
                start..start + key.len(),
                format!("`{key}` has no value"),
                &format!("write `{key} = …`"),
            )
        }
        "invalid basic string"
        | "invalid literal string"
        | "invalid multi-line basic string"
        | "invalid multi-line literal string"
            if wanted
                .trim_matches('`')
                .chars()
                .all(|letter| matches!(letter, '"' | '\'')) =>
        {
            let mark = wanted.trim_matches('`');
            let start = text[..span.start].rfind(mark).filter(|at| *at >= line.start);
            let start = start.unwrap_or(span.start);
            fault(
                start..span.end.max(start),
                "a text is not closed".to_owned(),
                &format!("close it with `{mark}`"),
            )
        }
        "unclosed array" => fault(span, "a list is not closed".to_owned(), "close it with `]`"),
        "unclosed inline table" => fault(span, "a table is not closed".to_owned(), "close it with `}`"),
        "unclosed table" => fault(
            span,
            "the header of a table is not closed".to_owned(),
            "close it with `]`",
        ),
        "unclosed array table" => fault(
            span,
            "the header of a table is not closed".to_owned(),
            "close it with `]]`",
        ),
        "missing escaped value" => {
            let letter = text[span.start..].chars().next().unwrap_or_default();
            let start = span.start.saturating_sub(1);
            let help = format!("write `\\\\{letter}`, or the whole text in single quotes");
            fault(
                start..start + 1 + letter.len_utf8(),
                format!("`\\{letter}` is no escape"),
                &help,
            )
        }
        "missing comma between array elements" | "missing comma between key-value pairs" => fault(
            span,
            "a comma is missing".to_owned(),
            "write `,` between two values",
        ),
        "extra comma in array" | "extra comma in inline table" => {
            fault(span, "there is a comma too many".to_owned(), "remove it")
        }
        "unexpected key or value" => {
            let help = "write each key on a line of its own, and a text with quotes in it in the other kind of quotes";
            fault(
                span.start..line.end,
                "the line goes on after the value".to_owned(),
                help,
            )
        }
        "missing assignment between key-value pairs" => {
            fault(span, "`=` is missing".to_owned(), "write `key = value`")
        }
        "string values must be quoted" => unquoted(text, line, span),
        _ if what.starts_with("invalid ") && !what.ends_with("key") && !what.ends_with("string") => {
            unquoted(text, line, span)
        }
        other => fault(span, other.to_owned(), ""),
    }
}

/// A value that is none, because it has no quotes.
fn unquoted(text: &str, line: &Range<usize>, span: Range<usize>) -> Fault {
    let begin = |letter: char| matches!(letter, '=' | '[' | '{' | ',');
    let end = |letter: char| matches!(letter, ']' | '}' | ',' | '#');
    let at = span.start.clamp(line.start, line.end);
    let start = text[line.start..at]
        .rfind(begin)
        .map_or(line.start, |found| line.start + found + 1);
    let stop = text[at..line.end].find(end).map_or(line.end, |found| at + found);
    let written = &text[start..stop];
    let value = written.trim();
    let start = start + (written.len() - written.trim_start().len());
    let span = start..start + value.len();
    let fault = |message: String, help: String| Fault {
        span: span.clone(),
        message,
        help: Some(help),
    };
    match value.to_lowercase().as_str() {
        "" => {
            let key = text[line.clone()].split('=').next().unwrap_or_default().trim();
            let start = line.start + text[line.clone()].find(key).unwrap_or(0);
            Fault {
                span: start..start + key.len(),
                message: format!("`{key}` has no value"),
                help: Some(format!("write `{key} = …`")),
            }
        }
        lower @ ("true" | "false") => fault(format!("`{value}` is no value"), format!("write {lower}")),
        "yes" | "on" => fault(format!("`{value}` is no value"), "write true".to_owned()),
        "no" | "off" => fault(format!("`{value}` is no value"), "write false".to_owned()),
        "null" | "nil" | "none" => fault(
            format!("`{value}` is no value"),
            "remove the key: what is not there has no value".to_owned(),
        ),
        _ => fault("a text has no quotes".to_owned(), format!("write \"{value}\"")),
    }
}
