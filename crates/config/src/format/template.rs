//! The grammar of texts: placeholders `{name}`, formulas `{= a + b}`, and everything else as it is.
//!
//! Only what looks like a name is a placeholder: JSON, regular expressions and style sheets keep their braces. `{{name}}` is the
//! text `{name}`, and `{{{name}}}` the value in braces.

use crate::ConfigError;
use std::ops::Range;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Reference(Reference),
    Formula(FormulaText),
}

/// A placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) name: Name,
    pub(crate) form: Form,
    /// Its bytes in the text.
    pub(crate) range: Range<usize>,
}

/// The name of a placeholder. It may contain placeholders itself: `{value.person_{id}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) Vec<NamePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamePart {
    Text(String),
    Placeholder(String),
}

impl Name {
    /// The name, if it contains no placeholders.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [NamePart::Text(name)] => Some(name),
            _ => None,
        }
    }

    /// The names that it mentions: itself, or those of its placeholders.
    pub(crate) fn mentioned(&self) -> impl Iterator<Item = &str> {
        let is_plain = self.0.len() == 1;
        self.0.iter().filter_map(move |part| match part {
            NamePart::Text(name) => is_plain.then_some(name.as_str()),
            NamePart::Placeholder(name) => Some(name.as_str()),
        })
    }
}

/// How a value is inserted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// As its type and its place require.
    #[default]
    Typed,
    /// `{name:text}`: as text, also where it is the whole JSON value.
    Text,
    /// `{name:raw}`: as it is, without quotes or escaping.
    Raw,
}

/// A formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormulaText {
    /// The text between `{=` and `}`.
    pub(crate) text: String,
    pub(crate) form: Form,
    /// Its bytes in the text, with the braces.
    pub(crate) range: Range<usize>,
}

/// Something in braces that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateError {
    /// The bytes in the text at fault.
    pub(crate) range: Range<usize>,
    pub(crate) message: String,
    /// What to write instead.
    pub(crate) help: Option<String>,
    /// The error of the constant that the text inserts.
    pub(crate) inside: Option<Box<ConfigError>>,
}

impl TemplateError {
    pub(crate) fn new(range: Range<usize>, message: impl Into<String>, help: Option<String>) -> Self {
        Self {
            range,
            message: message.into(),
            help,
            inside: None,
        }
    }
}

/// Whether a name is valid for a placeholder.
pub(crate) fn is_place(name: &str) -> bool {
    name.starts_with(|first: char| matches!(first, 'a'..='z' | '_'))
        && name
            .chars()
            .all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_'))
}

/// Whether a letter can be part of a name.
const fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')
}

/// Splits a text at its placeholders and formulas.
pub(crate) fn parse(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Pieces::default();
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|found| found + at) {
        pieces.literal.push_str(&text[at..open]);
        at = match escape(text, open) {
            Some(escape) => pieces.escaped(text, &escape)?,
            None if text[open..].starts_with("{{=") && !text[open..].contains('}') => {
                pieces.literal.push_str("{=");
                open + 3
            }
            None => {
                if let Some((piece, end)) = piece(text, open)? {
                    pieces.add(piece);
                    end
                } else {
                    pieces.literal.push('{');
                    open + 1
                }
            }
        };
    }
    pieces.literal.push_str(&text[at..]);
    pieces.close();
    Ok(pieces.all)
}

/// The pieces so far.
#[derive(Default)]
struct Pieces {
    all: Vec<Piece>,
    literal: String,
}

impl Pieces {
    fn close(&mut self) {
        if !self.literal.is_empty() {
            self.all.push(Piece::Text(std::mem::take(&mut self.literal)));
        }
    }

    fn add(&mut self, piece: Piece) {
        self.close();
        self.all.push(piece);
    }

    /// Adds a text in doubled braces, and returns its end.
    fn escaped(&mut self, text: &str, escape: &Escape) -> Result<usize, TemplateError> {
        let Escape { open, close, braces } = *escape;
        let pairs = braces / 2;
        self.literal.extend(std::iter::repeat_n('{', pairs));
        let end = if braces % 2 == 0 {
            self.literal.push_str(&text[open..close]);
            close
        } else if let Some((piece, end)) = piece(text, open - 1)? {
            self.add(piece);
            end
        } else {
            self.literal.push_str(&text[open - 1..=close]);
            close + 1
        };
        self.literal.extend(std::iter::repeat_n('}', pairs));
        Ok(end + 2 * pairs)
    }
}

/// A name or a formula in more than one pair of braces: two pairs stand for one that is text.
struct Escape {
    /// The byte after the opening braces.
    open: usize,
    /// The first closing brace.
    close: usize,
    /// The number of pairs.
    braces: usize,
}

/// The escape that begins at a brace. Further braces before it are text.
fn escape(text: &str, at: usize) -> Option<Escape> {
    let opened = run(text, at, '{');
    let open = at + opened;
    let is_formula = text[open..].starts_with('=');
    let length = if is_formula {
        text[open..].find("}}")
    } else {
        name_length(&text[open..])
    };
    let close = open + length?;
    let braces = opened.min(run(text, close, '}'));
    (braces == opened && braces > 1).then_some(Escape { open, close, braces })
}

/// The length of a name, which may have a form and contain placeholders, if a brace follows it.
fn name_length(text: &str) -> Option<usize> {
    if !text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return None;
    }
    let mut at = 0;
    loop {
        let rest = &text[at..];
        at += rest.find(|letter| !is_name_letter(letter) && letter != ':')?;
        match text[at..].strip_prefix('{') {
            Some(nested) => at += nested.find('}').filter(|&end| is_place(&nested[..end]))? + 2,
            None => return text[at..].starts_with('}').then_some(at),
        }
    }
}

/// The number of braces from a byte on.
fn run(text: &str, from: usize, brace: char) -> usize {
    text[from..].chars().take_while(|letter| *letter == brace).count()
}

/// The placeholder or formula that begins at a brace, and its end; `None` if the brace is text.
fn piece(text: &str, open: usize) -> Result<Option<(Piece, usize)>, TemplateError> {
    if text[open + 1..].starts_with('=') {
        formula(text, open).map(Some)
    } else {
        reference(text, open)
    }
}

/// The text that stands for `text` as it is; `None` if there is none.
pub(crate) fn escaped(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut at = 0;
    while let Some(first) = text[at..].find('{').map(|found| found + at) {
        out.push_str(&text[at..first]);
        let inner = first + run(text, first, '{');
        let opened = inner - first;
        let close = meaning_end(text, inner - 1);
        let pairs = close.map_or(0, |close| opened.min(run(text, close, '}')));
        out.push_str(&"{".repeat(opened + pairs));
        at = inner;
        if let Some(close) = close {
            out.push_str(&text[inner..close]);
            out.push_str(&"}".repeat(2 * pairs));
            at = close + pairs;
        } else if text[inner..].starts_with('=') {
            out.push('{');
        }
    }
    out.push_str(&text[at..]);
    let is_same = match parse(&out).ok()?.as_slice() {
        [] => text.is_empty(),
        [Piece::Text(read)] => read == text,
        _ => false,
    };
    is_same.then_some(out)
}

/// The closing brace of what begins at a brace, unless that brace is text.
fn meaning_end(text: &str, open: usize) -> Option<usize> {
    match piece(text, open) {
        Ok(piece) => piece.map(|(_, end)| end - 1),
        Err(_) => text[open..].find('}').map(|found| open + found),
    }
}

fn formula(text: &str, open: usize) -> Result<(Piece, usize), TemplateError> {
    let Some(length) = text[open..].find('}') else {
        let help = "close it with `}`, or write `{{=` for the text `{=`".to_owned();
        return Err(TemplateError::new(
            open..text.len(),
            "a formula is not closed",
            Some(help),
        ));
    };
    let end = open + length + 1;
    let inner = &text[open + 2..end - 1];
    let (inner, form) = match inner.trim_end().strip_suffix(":text") {
        Some(inner) => (inner, Form::Text),
        None => (inner, Form::Typed),
    };
    if let Some(brace) = inner.find('{') {
        let at = open + 2 + brace;
        let name = inner[brace + 1..].trim();
        let help = format!("names in a formula need none: write `{name}`");
        return Err(TemplateError::new(at..end, "braces in a formula", Some(help)));
    }
    let formula = FormulaText {
        text: inner.to_owned(),
        form,
        range: open..end,
    };
    Ok((Piece::Formula(formula), end))
}

/// The placeholder that begins at a brace, and its end; `None` if the brace is text.
fn reference(text: &str, open: usize) -> Result<Option<(Piece, usize)>, TemplateError> {
    let inner = &text[open + 1..];
    if !inner.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return Ok(None);
    }
    let mut parts = Vec::new();
    let mut length = 0;
    loop {
        let rest = &inner[length..];
        let letters = rest.find(|letter| !is_name_letter(letter)).unwrap_or(rest.len());
        if letters > 0 {
            parts.push(NamePart::Text(rest[..letters].to_owned()));
            length += letters;
        }
        let Some(nested) = inner[length..].strip_prefix('{') else {
            break;
        };
        let Some(end) = nested.find('}').filter(|&end| is_place(&nested[..end])) else {
            return Ok(None);
        };
        parts.push(NamePart::Placeholder(nested[..end].to_owned()));
        length += end + 2;
    }
    let rest = &inner[length..];
    let (form, rest_length) = if rest.starts_with('}') {
        (Form::Typed, 1)
    } else if let Some(modifier) = rest.strip_prefix(':').and_then(|rest| rest.split_once('}')) {
        let word = modifier.0;
        let form = match word {
            "text" => Form::Text,
            "raw" => Form::Raw,
            // A style sheet, a regular expression, code.
            _ if !word.chars().all(is_name_letter) || word.is_empty() => return Ok(None),
            _ => {
                let at = open + 1 + length;
                return Err(TemplateError::new(
                    at..at + 1 + word.len(),
                    format!("`:{word}` is not a form of a value"),
                    Some("write `:text` or `:raw`, or nothing".to_owned()),
                ));
            }
        };
        (form, word.len() + 2)
    } else {
        return Ok(None);
    };
    let end = open + 1 + length + rest_length;
    let reference = Reference {
        name: Name(parts),
        form,
        range: open..end,
    };
    Ok(Some((Piece::Reference(reference), end)))
}

/// The names that a text mentions, in placeholders and formulas. A text that cannot be parsed mentions none.
pub(crate) fn mentioned(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for piece in parse(text).unwrap_or_default() {
        match piece {
            Piece::Text(_) => {}
            Piece::Reference(reference) => names.extend(reference.name.mentioned().map(str::to_owned)),
            Piece::Formula(formula) => {
                let words = formula.text.split(|letter| !is_name_letter(letter));
                let is_name =
                    |word: &&str| word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
                names.extend(words.filter(is_name).map(str::to_owned));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces in a readable form: placeholders in `<>`, formulas in `[]`.
    fn shown(text: &str) -> String {
        match parse(text) {
            Err(error) => format!("error at {}: {}", &text[error.range], error.message),
            Ok(pieces) => pieces
                .into_iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text,
                    Piece::Reference(reference) => {
                        let name: String = reference
                            .name
                            .0
                            .iter()
                            .map(|part| match part {
                                NamePart::Text(text) => text.clone(),
                                NamePart::Placeholder(name) => format!("<{name}>"),
                            })
                            .collect();
                        let form = match reference.form {
                            Form::Typed => "",
                            Form::Text => " text",
                            Form::Raw => " raw",
                        };
                        format!("<{name}{form}>")
                    }
                    Piece::Formula(formula) => format!("[{}]", formula.text.trim()),
                })
                .collect(),
        }
    }

    #[test]
    fn only_what_looks_like_a_name_is_a_placeholder() {
        for (text, pieces) in [
            ("a{n}b", "a<n>b"),
            ("{order.id}", "<order.id>"),
            ("{n:text}{m:raw}", "<n text><m raw>"),
            ("{value.person_{id}}", "<value.person_<id>>"),
            ("{value.{who}}", "<value.<who>>"),
            ("{= i * 10 }", "[i * 10]"),
            ("{{name}}", "{name}"),
            ("{{= i}}", "{= i}"),
            ("{{{name}}}", "{<name>}"),
            ("{{{{name}}}}", "{{name}}"),
            ("{{{name}}", "{{name}"),
            ("{{name}}}", "{name}}"),
            ("{{{value.x_{id}}}}", "{<value.x_<id>>}"),
            ("{{value.x_{id}}}", "{value.x_{id}}"),
            ("{{{a{a}}}", "{{a{a}}"),
            ("{a{{{a}}", "{a{{a}"),
            ("{{a{b}c}}", "{a{b}c}"),
            ("{{a{{B}}}}", "{{a{B}}}"),
            ("{{x}{y}}", "{<x><y>}"),
            ("{{n:int}}", "{n:int}"),
            ("{{{= i}}}", "{[i]}"),
            ("{{= {offset} + 1}}", "{= {offset} + 1}"),
            ("a {{= b", "a {= b"),
            (
                r#"{"a":{"b":{}},"c":"{n}","e":"a{2}"}"#,
                r#"{"a":{"b":{}},"c":"<n>","e":"a{2}"}"#,
            ),
            ("[0-9]{1,3}", "[0-9]{1,3}"),
            ("p {color: red}", "p {color: red}"),
            ("{not json", "{not json"),
            ("{", "{"),
            ("{}", "{}"),
            ("{drop me}", "{drop me}"),
            ("größe {x} 王", "größe <x> 王"),
        ] {
            assert_eq!(shown(text), pieces, "{text}");
        }
    }

    #[test]
    fn a_text_is_escaped_where_it_would_mean_something() {
        for (text, written) in [
            ("", Some("")),
            ("a {b} c", Some("a {{b}} c")),
            ("{Name}{n:int}", Some("{{Name}}{{n:int}}")),
            ("{= i + {n}}", Some("{{= i + {n}}}")),
            (r#"{"a": {}, "b": "{2}"}"#, Some(r#"{"a": {}, "b": "{2}"}"#)),
            ("{{name}} {{{name}", Some("{{{{name}}}} {{{{name}}")),
            ("{value.x_{id}}", Some("{{value.x_{id}}}")),
            ("{= i", Some("{{= i")),
            ("{{= i", Some("{{{= i")),
        ] {
            assert_eq!(escaped(text).as_deref(), written, "{text}");
        }
    }

    #[test]
    fn what_means_nothing_is_an_error() {
        for (text, error) in [
            ("{= i", "error at {= i: a formula is not closed"),
            ("a{= {offset} + 1}", "error at {offset}: braces in a formula"),
            ("{n:int}", "error at :int: `:int` is not a form of a value"),
        ] {
            assert_eq!(shown(text), error, "{text}");
        }
    }

    #[test]
    fn names_of_formulas_are_mentioned() {
        assert_eq!(
            mentioned("{a} {= b * (c.d + 2)} {value.x_{e}}"),
            ["a", "b", "c.d", "e"]
        );
    }

    #[test]
    fn every_short_text_is_parsed_and_nearly_every_one_is_escaped() {
        let letters = ['{', '}', '=', 'a', ':', '-'];
        let mut texts = vec![String::new()];
        let mut unwritable = Vec::new();
        for _ in 0..6 {
            texts = texts
                .iter()
                .flat_map(|text| letters.map(|letter| format!("{text}{letter}")))
                .collect();
            unwritable.extend(texts.iter().filter(|text| escaped(text).is_none()).cloned());
        }
        // In one pair of braces it is text, in two pairs it is escaped.
        assert_eq!(unwritable, ["{{a:}}"]);
    }
}
