//! Headers that the user gives: on the command line, in a file, or as a token in the environment.
//!
//! All users of the machine see a command line, and shells keep it. So a secret has two other ways in, and its value is taken as it is:
//! a brace in it starts no placeholder.

use super::template::{PlaceholderTable, TemplateError};
use prony_load::secrets::is_secret;
use prony_load::{Header, Template};
use prony_runner::secrets;
use std::env::VarError;

/// Headers of each request
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct HeaderArgs {
    /// Add a header, or those of @FILE; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER|@FILE")]
    headers: Vec<String>,
    /// Send the bearer token in this environment variable
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    bearer_env: Option<String>,
}

/// Why there is no header.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeaderError {
    /// Its text may be a secret.
    #[error("{0} is not a header → Write it as 'Name: value'")]
    Form(String),
    #[error("{place}: the value of `{name}` contains a control character → Remove it.")]
    Control { place: String, name: String },
    #[error("-H @{path}: cannot read the file: {source}")]
    File { path: String, source: std::io::Error },
    #[error("-H @{0}: the file has no header → Write one as `Name: value` on each line.")]
    Empty(String),
    #[error("--bearer-env {name}: the environment variable {reason}")]
    Variable { name: String, reason: &'static str },
    #[error("--bearer-env sets `Authorization`, and -H does, too → Remove one of them.")]
    Twice,
}

/// A header as the user gave it.
#[derive(Clone)]
pub(crate) struct HeaderText {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Whether it was on the command line.
    pub(crate) is_typed: bool,
}

impl HeaderArgs {
    /// All headers. Secrets among them are known from now on, and never printed.
    pub(crate) fn read(&self) -> Result<Vec<HeaderText>, HeaderError> {
        let mut headers = Vec::new();
        for text in &self.headers {
            match text.strip_prefix('@') {
                Some(path) => headers.extend(of_file(path)?),
                None => headers.push(HeaderText::typed(text)?),
            }
        }
        if let Some(name) = &self.bearer_env {
            if headers.iter().any(HeaderText::is_authorization) {
                return Err(HeaderError::Twice);
            }
            headers.push(HeaderText {
                name: "Authorization".to_owned(),
                value: format!("Bearer {}", token(name)?),
                is_typed: false,
            });
        }
        for header in headers.iter().filter(|header| header.is_private()) {
            secrets::add(|known| known.add_header(&header.name, &header.value));
        }
        Ok(headers)
    }
}

impl HeaderText {
    /// A header on the command line.
    pub(crate) fn typed(text: &str) -> Result<Self, HeaderError> {
        Self::parse(text, "a value of -H").map(|(name, value)| Self {
            name,
            value,
            is_typed: true,
        })
    }

    fn parse(text: &str, place: &str) -> Result<(String, String), HeaderError> {
        let parts = text.split_once(':');
        let (name, value) = parts.ok_or_else(|| HeaderError::Form(place.to_owned()))?;
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        if value.contains(|letter: char| letter.is_control() && letter != '\t') {
            let place = place.to_owned();
            return Err(HeaderError::Control { place, name });
        }
        Ok((name, value))
    }

    /// The header of requests. One of the command line may have placeholders.
    pub(crate) fn header(&self, places: &mut PlaceholderTable) -> Result<Header, TemplateError> {
        Ok(Header {
            name: self.name.clone(),
            value: if self.is_typed {
                places.template(&self.value)?
            } else {
                Template::literal(self.value.as_str())
            },
        })
    }

    pub(crate) fn is_authorization(&self) -> bool {
        self.name.eq_ignore_ascii_case("authorization")
    }

    /// Whether its value is a secret: by its name, or because it is not on the command line and no usual header.
    fn is_private(&self) -> bool {
        const USUAL: [&str; 7] = [
            "accept",
            "cache-control",
            "content-",
            "host",
            "origin",
            "referer",
            "user-agent",
        ];
        let name = self.name.to_ascii_lowercase();
        is_secret(&name) || !self.is_typed && !USUAL.iter().any(|usual| name.starts_with(usual))
    }
}

/// The headers in a file. Empty lines and comments after `#` at the start of a line are left out.
fn of_file(path: &str) -> Result<Vec<HeaderText>, HeaderError> {
    let text = std::fs::read_to_string(path).map_err(|source| HeaderError::File {
        path: path.to_owned(),
        source,
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let lines = (1..).zip(text.lines().map(str::trim));
    let written = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let headers: Vec<HeaderText> = written
        .map(|(number, line)| {
            let (name, value) = HeaderText::parse(line, &format!("{path}, line {number}"))?;
            Ok(HeaderText {
                name,
                value,
                is_typed: false,
            })
        })
        .collect::<Result<_, _>>()?;
    if headers.is_empty() {
        return Err(HeaderError::Empty(path.to_owned()));
    }
    Ok(headers)
}

/// The token in a variable.
fn token(name: &str) -> Result<String, HeaderError> {
    let wrong = |reason| HeaderError::Variable {
        name: name.to_owned(),
        reason,
    };
    let value = std::env::var(name).map_err(|error| match error {
        VarError::NotPresent => wrong("is not set"),
        VarError::NotUnicode(_) => wrong("is not a text in UTF-8"),
    })?;
    let value = value.trim();
    if value.is_empty() {
        return Err(wrong("is empty"));
    }
    if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong(
            "is not a token: it must be one word of visible ASCII characters",
        ));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<Vec<HeaderText>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("headers");
        std::fs::write(&file, content).expect("a file");
        of_file(&file.display().to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_has_a_header_on_each_line() {
        let headers = read("# ours\nAuthorization: Bearer {a}\r\n\n  X-Api-Key :k:1\n").expect("headers");
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|header| (header.name.as_str(), header.value.as_str()))
            .collect();
        assert_eq!(headers, [("Authorization", "Bearer {a}"), ("X-Api-Key", "k:1")]);
    }

    #[test]
    fn an_error_names_the_line_and_not_its_text() {
        for (content, part) in [
            ("a: b\nTOPSECRET", "line 2 is not a header"),
            (
                "a: TOPSECRET\u{7}1",
                "line 1: the value of `a` contains a control character",
            ),
            ("# TOPSECRET\n", "has no header"),
        ] {
            let error = read(content).err().expect("no headers");
            assert!(error.contains(part) && !error.contains("TOPSECRET"), "{error}");
        }
        let error = HeaderText::typed("TOPSECRET")
            .err()
            .expect("no header")
            .to_string();
        assert!(!error.contains("TOPSECRET"), "{error}");
    }

    #[test]
    fn what_a_file_holds_is_private_but_for_usual_headers() {
        let headers = read("Accept: text/html\nX-Tenant: blue\n").expect("headers");
        let private: Vec<bool> = headers.iter().map(HeaderText::is_private).collect();
        assert_eq!(private, [false, true]);
        let typed = |text| HeaderText::typed(text).expect("a header").is_private();
        assert!(!typed("X-Tenant: blue") && typed("X-Api-Key: blue"));
    }
}
