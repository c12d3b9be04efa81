//! Errors of the command line in two parts: what is wrong, and what to do.

use clap::Error;
use clap::error::{ContextKind, ContextValue};

/// Options of other load generators, and what they are called here.
const FOREIGN: [(&str, &str); 12] = [
    ("--rps", "--rate"),
    ("--qps", "--rate"),
    ("-q", "--rate"),
    ("-R", "--rate"),
    ("-r", "--rate"),
    ("-z", "-d"),
    ("--time", "-d"),
    ("--concurrency", "-c"),
    ("--clients", "-c"),
    ("--vus", "-c"),
    ("--data-raw", "--body"),
    ("-k", "--insecure"),
];

/// The text of an error without its first word, and advice.
pub(super) fn parts(error: &Error) -> (String, String) {
    let rendered = error.to_string();
    let first = rendered.split("\n\n").next().unwrap_or_default();
    let text = first.trim_start_matches("error: ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.rsplit_once(" → ") {
        Some((text, advice)) => (text.to_owned(), advice.to_owned()),
        None => (text, advice(error, &rendered)),
    }
}

fn advice(error: &Error, rendered: &str) -> String {
    let command = command(rendered);
    let what = if command == "prony" { "commands" } else { "options" };
    let help = format!("`{command} --help` lists the {what}.");
    if let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg)
        && error.kind() == clap::error::ErrorKind::UnknownArgument
    {
        // clap names `-z` for `-z2s`, and only the option for `--rps=5`.
        let known = FOREIGN.iter().find(|(foreign, _)| foreign == wrong);
        if let Some((_, own)) = known {
            return format!("Use {own}. {help}");
        }
    }
    let kinds = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    let suggested = kinds.iter().find_map(|kind| match error.get(*kind)? {
        ContextValue::String(one) => Some(one.as_str()),
        ContextValue::Strings(all) => all.first().map(String::as_str),
        _ => None,
    });
    match suggested {
        Some(name) => format!("Did you mean `{name}`? {help}"),
        None => help,
    }
}

/// The command in the usage line of an error: `prony load`.
fn command(rendered: &str) -> String {
    let usage = rendered.split("Usage: ").nth(1).unwrap_or("prony");
    let is_name = |word: &&str| {
        word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && word
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '-')
    };
    let words: Vec<&str> = usage.split_whitespace().take_while(is_name).collect();
    if words.is_empty() {
        "prony".to_owned()
    } else {
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    fn of(line: &str) -> (String, String) {
        let error = args::command().try_get_matches_from(line.split(' '));
        parts(&error.expect_err("an error"))
    }

    #[test]
    fn options_of_other_tools_are_translated() {
        for (line, own) in [
            ("prony load http://a --rps 5", "--rate"),
            ("prony load http://a --rps=5", "--rate"),
            ("prony load http://a -z 2s", "-d"),
            ("prony load http://a -z2s", "-d"),
            ("prony load http://a --concurrency 5", "-c"),
        ] {
            let (text, advice) = of(line);
            assert!(text.starts_with("unexpected argument '-"), "{text}");
            assert_eq!(
                advice,
                format!("Use {own}. `prony load --help` lists the options.")
            );
        }
    }

    #[test]
    fn each_error_has_advice() {
        assert_eq!(
            of("prony loda"),
            (
                "unrecognized subcommand 'loda'".to_owned(),
                "Did you mean `load`? `prony --help` lists the commands.".to_owned()
            )
        );
        let (text, advice) = of("prony load http://a -c x");
        assert!(
            text.ends_with(": invalid connection count `x`") && advice.starts_with("Example: "),
            "{text} {advice}"
        );
        let (text, advice) = of("prony load");
        assert!(
            text.contains("required arguments were not provided: <URL"),
            "{text}"
        );
        assert_eq!(advice, "`prony load --help` lists the options.");
    }
}
