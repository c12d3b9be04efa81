//! Everything that this program prints passes here: without the secrets that it knows, and with visible control characters. A log, a
//! reply, a file of somebody else may hold sequences that clear a terminal, set its title or turn the direction of its text.

use crate::colour;
use prony_runner::secrets;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};

/// Prints a line on standard error. It shadows the macro of std: no text takes another way.
macro_rules! eprintln {
    ($($argument:tt)*) => {
        $crate::output::print_note(&format!($($argument)*))
    };
}

/// Prints a result and a newline on standard output, which is for results only. A reader that closed the pipe
/// (`prony list services | head -1`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let stream = std::io::stdout();
    let text = shown(text, colour::is_wanted(&stream));
    let text = plain_letters(&text, &stream);
    write(&mut stream.lock(), &text)
}

/// Prints what was asked for and must not be changed, such as the body of a reply. Only secrets that the user gave are masked, and only
/// a terminal gets visible control characters.
pub(crate) fn print_verbatim(text: &str) -> anyhow::Result<()> {
    let stream = std::io::stdout();
    let text = secrets::mask_known(text);
    let text = if stream.is_terminal() {
        visible(&text, false)
    } else {
        text.as_str().into()
    };
    write(&mut stream.lock(), &text)
}

/// Prints a line on standard error. A lost terminal is no reason to end differently.
pub(crate) fn print_note(text: &str) {
    let stream = std::io::stderr();
    let text = shown(text, colour::is_wanted(&stream));
    let _ = write(&mut stream.lock(), &plain_letters(&text, &stream));
}

/// The text of a line that something else prints, such as a progress bar on standard error.
pub(crate) fn line_of_bar(text: &str) -> String {
    let stream = std::io::stderr();
    plain_letters(&shown(text, colour::is_wanted(&stream)), &stream).into_owned()
}

/// The text without letters that the terminal cannot show. Other readers, such as files and the logs of a CI, take UTF-8.
pub(crate) fn plain_letters<'a>(text: &'a str, stream: &impl IsTerminal) -> Cow<'a, str> {
    if stream.is_terminal() && !takes_utf8(|name| std::env::var(name).ok()) {
        ascii(text).into()
    } else {
        text.into()
    }
}

/// Whether the locale has UTF-8. Without a locale, as in a container, terminals usually show it.
fn takes_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Replaces the symbols of our own texts. Columns stay aligned: a longer replacement takes the place of a space before it.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let instead = match letter {
            '✓' => "ok",
            '✗' | '×' => "x",
            '⚠' => "!",
            'µ' => "u",
            '→' => "->",
            '≥' => ">=",
            '≤' => "<=",
            '±' => "+-",
            '…' => "...",
            '–' | '—' | '−' | '·' | '▃' | '▄' => "-",
            '▁' | '▂' | '░' => "_",
            '▅' | '▆' => "=",
            '▇' | '█' => "#",
            other => {
                out.push(other);
                continue;
            }
        };
        for _ in 1..instead.len() {
            let line = out.rsplit('\n').next().unwrap_or_default();
            // Also of a deep indentation: a full line must not become longer.
            if line.ends_with("  ") && (line.len() > 2 || !line.trim().is_empty()) {
                out.pop();
            }
        }
        out.push_str(instead);
    }
    out
}

fn write(stream: &mut impl Write, text: &str) -> anyhow::Result<()> {
    match writeln!(stream, "{text}").and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn shown(text: &str, colours: bool) -> String {
    visible(&secrets::mask(text), colours).into_owned()
}

/// The text with each control character as `\u001b`, the form that JSON has, too. Newlines, tabs and, where there are some, colours
/// stay.
fn visible(text: &str, colours: bool) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match colour_length(rest).filter(|_| colours) {
            Some(length) => {
                out.push_str(&rest[..length]);
                length
            }
            None if is_control(letter) => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
                letter.len_utf8()
            }
            None => {
                out.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out.into()
}

/// Whether a terminal obeys this character: controls, and those that change the direction of text (Unicode, annex 9).
fn is_control(letter: char) -> bool {
    !matches!(letter, '\n' | '\t')
        && (letter.is_control()
            || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// The length of a colour at the start of a text. Text that blinks or is hidden is no colour of ours.
fn colour_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    let known = |number: &str| matches!(number.parse(), Ok(0..=2 | 4 | 30..=37 | 90..=97));
    let is_colour = parameters[end..].starts_with('m') && parameters[..end].split(';').all(known);
    is_colour.then_some(2 + end + 1)
}

/// How a server prints its listening address.
pub(crate) fn address_said(url: &str, json: bool) -> String {
    if json {
        serde_json::json!({ "schema": prony_records::SCHEMA, "url": url }).to_string()
    } else {
        url.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_control_a_terminal() {
        for (text, seen) in [
            ("plain ü ✓\n\ttext", "plain ü ✓\n\ttext"),
            ("\x1b]0;PWNED\x07\x1b[2J", "\\u001b]0;PWNED\\u0007\\u001b[2J"),
            ("a\rb\x7f\u{9b}2J\u{202e}c", "a\\u000db\\u007f\\u009b2J\\u202ec"),
            ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ] {
            assert_eq!(visible(text, false), seen);
        }
    }

    #[test]
    fn a_locale_without_utf8_gets_ascii() {
        let with = |set: &[(&str, &str)], expected: bool| {
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(takes_utf8(variable), expected, "{set:?}");
        };
        with(&[], true);
        with(&[("LANG", "de_DE.UTF-8")], true);
        with(&[("LANG", "C.utf8"), ("LC_ALL", "")], true);
        with(&[("LANG", "C.utf8"), ("LC_ALL", "C")], false);
        with(&[("LANG", "POSIX")], false);
        assert_eq!(
            ascii("  ✓ 9–10 s\n  ⚠ p99 ≥ 3 µs   → raise it\nrate   ≥ 1,250/s"),
            "  ok 9-10 s\n  ! p99 >= 3 us  -> raise it\nrate  >= 1,250/s"
        );
        assert_eq!(ascii("    → raise it"), "   -> raise it");
    }

    #[test]
    fn colours_stay_on_a_terminal_that_has_some() {
        for text in [
            "\x1b[31mred\x1b[0m",
            "\x1b[1;31mred\x1b[0m",
            "\x1b[1m\x1b[32mx\x1b[0m",
        ] {
            assert_eq!(visible(text, true), text);
        }
        for text in [
            "\x1b[2J",
            "\x1b[8mhidden",
            "\x1b[5m",
            "\x1b[31;8m",
            "\x1b[31",
            "\x1b[38m",
        ] {
            assert!(!visible(text, true).contains('\x1b'), "{text:?}");
        }
    }

    #[test]
    fn json_stays_json() {
        let text = "{\"a\":\"\u{9b}\u{202e}\"}";
        let value: serde_json::Value = serde_json::from_str(&visible(text, false)).expect("JSON");
        assert_eq!(value["a"], "\u{9b}\u{202e}");
    }
}
