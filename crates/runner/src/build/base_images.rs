//! The images that a Containerfile starts from or copies files from. What they contain is part of what is built.

use std::collections::{BTreeMap, BTreeSet};

/// The names of these images in a Containerfile, without its own stages. Arguments have their defaults; a name with an argument
/// that has none is left out, because only the engine knows it.
pub(super) fn names(containerfile: &str) -> BTreeSet<String> {
    let mut arguments = BTreeMap::new();
    let mut stages = BTreeSet::new();
    let mut names = BTreeSet::new();
    for line in instructions(containerfile) {
        let mut words = line.split_whitespace();
        let instruction = words.next().unwrap_or_default().to_ascii_uppercase();
        let image = match instruction.as_str() {
            "ARG" => {
                let default = words.next().and_then(|argument| argument.split_once('='));
                let default =
                    default.and_then(|(name, value)| Some((name.to_owned(), expanded(value, &arguments)?)));
                arguments.extend(default);
                continue;
            }
            "FROM" => {
                let mut words = words.skip_while(|word| word.starts_with("--"));
                let image = words.next();
                if words.next().is_some_and(|word| word.eq_ignore_ascii_case("as")) {
                    stages.extend(words.next().map(str::to_ascii_lowercase));
                }
                image
            }
            "COPY" => words.find_map(|word| word.strip_prefix("--from=")),
            _ => continue,
        };
        names.extend(image.and_then(|image| expanded(image, &arguments)));
    }
    let is_stage = |name: &str| stages.contains(&name.to_ascii_lowercase()) || name.parse::<u32>().is_ok();
    names.retain(|name| name != "scratch" && !is_stage(name));
    names
}

/// Its lines without comments; a line that ends in `\` continues in the next one.
fn instructions(containerfile: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut continues = false;
    for line in containerfile.lines().map(str::trim) {
        if line.starts_with('#') {
            continue;
        }
        let (text, more) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
        match lines.last_mut().filter(|_| continues) {
            Some(last) => {
                last.push(' ');
                last.push_str(text);
            }
            None => lines.push(text.to_owned()),
        }
        continues = more;
    }
    lines
}

fn unquoted(value: &str) -> &str {
    let quoted = |quote| {
        value
            .strip_prefix(quote)
            .and_then(|value| value.strip_suffix(quote))
    };
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value)
}

/// A name in which `$NAME`, `${NAME}` and `${NAME:-DEFAULT}` have their values; `None` if one has no value.
fn expanded(name: &str, arguments: &BTreeMap<String, String>) -> Option<String> {
    let name = unquoted(name);
    let Some((before, rest)) = name.split_once('$') else {
        return Some(name.to_owned());
    };
    let (argument, default, after) = if let Some(rest) = rest.strip_prefix('{') {
        let (inner, after) = rest.split_once('}')?;
        let (argument, default) = inner
            .split_once(":-")
            .map_or((inner, None), |(argument, default)| (argument, Some(default)));
        (argument, default, after)
    } else {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        (&rest[..end], None, &rest[end..])
    };
    let value = arguments.get(argument).map(String::as_str).or(default)?;
    Some(format!("{before}{value}{}", expanded(after, arguments)?))
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_are_those_of_other_images() {
        let containerfile = r#"
# FROM comment
ARG VERSION=22
ARG BASE="docker.io/library/node:${VERSION}-slim"
FROM --platform=linux/amd64 $BASE AS Build
RUN echo FROM nothing
FROM build AS again
COPY --from=0 /app /app
COPY --chown=1 \
  --from=ghcr.io/astral-sh/uv:${UV:-0.9} /uv /bin/
COPY --from=BUILD /app /app
FROM ${UNKNOWN}:1
from scratch
"#;
        let found: Vec<String> = names(containerfile).into_iter().collect();
        assert_eq!(
            found,
            ["docker.io/library/node:22-slim", "ghcr.io/astral-sh/uv:0.9"]
        );
    }
}
