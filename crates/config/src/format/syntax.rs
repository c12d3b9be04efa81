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

fn fault(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Fault {
    Fault {
        span,
        message: message.into(),
        help: Some(help.into()),
    }
}

fn explained(text: &str, line: &Range<usize>, span: Range<usize>, message: &str) -> Fault {
    let (what, wanted) = message.split_once(", expected ").unwrap_or((message, ""));
    let mark = wanted.trim_matches('`');
    match what {
        "duplicate key" => there_twice(text, line, span),
        "key with no value" | "missing value for key" | "invalid unquoted key" => {
            colon_after_key(text, line).unwrap_or_else(|| no_value(text, line))
        }
        "string values must be quoted" => unquoted(text, line, span),
        _ if what.ends_with(" string") && mark.chars().all(|letter| matches!(letter, '"' | '\'')) => {
            let start = text[..span.start].rfind(mark).filter(|at| *at >= line.start);
            let start = start.unwrap_or(span.start);
            fault(
                start..span.end.max(start),
                "a text is not closed",
                format!("close it with `{mark}`"),
            )
        }
        "missing escaped value" => {
            let letter = text[span.start..].chars().next().unwrap_or_default();
            let start = span.start.saturating_sub(1);
            fault(
                start..start + 1 + letter.len_utf8(),
                format!("`\\{letter}` is no escape"),
                format!("write `\\\\{letter}`, or the whole text in single quotes"),
            )
        }
        "unexpected key or value" => fault(
            span.start..line.end,
            "the line goes on after the value",
            "write each key on a line of its own, and a text with quotes in it in the other kind of quotes",
        ),
        _ => match PUNCTUATION.iter().find(|(theirs, ..)| *theirs == what) {
            Some((_, message, help)) => fault(span, *message, *help),
            None if what.starts_with("invalid ") && !what.ends_with(" key") && !what.ends_with(" string") => {
                unquoted(text, line, span)
            }
            None => Fault {
                span,
                message: what.to_owned(),
                help: None,
            },
        },
    }
}

/// Errors of punctuation, and what they are called here.
const PUNCTUATION: &[(&str, &str, &str)] = &[
    ("unclosed array", "a list is not closed", "close it with `]`"),
    (
        "unclosed inline table",
        "a table is not closed",
        "close it with `}`",
    ),
    (
        "unclosed table",
        "the header of a table is not closed",
        "close it with `]`",
    ),
    (
        "unclosed array table",
        "the header of a table is not closed",
        "close it with `]]`",
    ),
    (
        "missing comma between array elements",
        "a comma is missing",
        "write `,` between two values",
    ),
    (
        "missing comma between key-value pairs",
        "a comma is missing",
        "write `,` between two values",
    ),
    ("extra comma in array", "there is a comma too many", "remove it"),
    (
        "extra comma in inline table",
        "there is a comma too many",
        "remove it",
    ),
    (
        "missing assignment between key-value pairs",
        "`=` is missing",
        "write `key = value`",
    ),
];

fn there_twice(text: &str, line: &Range<usize>, span: Range<usize>) -> Fault {
    let of_line = text[line.clone()].trim_start();
    if of_line.starts_with('[') {
        let header = of_line.split('#').next().unwrap_or_default().trim();
        return fault(span, format!("`{header}` is there twice"), "join the two tables");
    }
    let message = format!("`{}` is there twice", &text[span.clone()]);
    fault(span, message, "remove one of the two")
}

/// A line of YAML.
fn colon_after_key(text: &str, line: &Range<usize>) -> Option<Fault> {
    let (key, _) = text[line.clone()].split_once(':')?;
    let is_key_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.\"".contains(letter);
    let at = line.start + key.len();
    key.trim().chars().all(is_key_letter).then(|| {
        fault(
            at..at + 1,
            "`:` after a key",
            format!("write `{} = …`", key.trim()),
        )
    })
}

fn no_value(text: &str, line: &Range<usize>) -> Fault {
    let of_line = &text[line.clone()];
    let key = of_line.split('=').next().unwrap_or_default().trim();
    let start = line.start + of_line.find(key).unwrap_or(0);
    fault(
        start..start + key.len(),
        format!("`{key}` has no value"),
        format!("write `{key} = …`"),
    )
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
    let no_value_here = format!("`{value}` is no value");
    match value.to_lowercase().as_str() {
        "" => no_value(text, line),
        lower @ ("true" | "false") => fault(span, no_value_here, format!("write {lower}")),
        "yes" | "on" => fault(span, no_value_here, "write true"),
        "no" | "off" => fault(span, no_value_here, "write false"),
        "null" | "nil" | "none" => fault(
            span,
            no_value_here,
            "remove the key: what is not there has no value",
        ),
        _ => fault(span, "a text has no quotes", format!("write \"{value}\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::de::DeTable;

    const TEXT: &str = "title = \"größe 王\" # ü\n[[group]]\nload = { kind = 'a\\d', to = [1, 2.5, true] }\n\
        [x.\"y z\"]\nlong = \"\"\"\na \\u00e4\n\"\"\"\ntime = 2026-11-25\n";

    #[test]
    fn errors_of_any_text_are_within_it() {
        for (at, letter) in TEXT.char_indices() {
            let (before, after) = (&TEXT[..at], &TEXT[at + letter.len_utf8()..]);
            let other = ["", "\"", "'", "=", "[", "}", "\\", ":", "\n", "王", "\r"];
            let changed = other.iter().map(|other| format!("{before}{other}{after}"));
            for text in changed.chain([before.to_owned()]) {
                let (_, errors) = DeTable::parse_recoverable(&text);
                for fault in faults(&text, &errors) {
                    assert!(text.get(fault.span).is_some(), "{text}");
                }
            }
        }
    }
}
