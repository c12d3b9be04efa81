//! Requests as browsers copy them for `PowerShell`: `Invoke-WebRequest -Uri … -Headers @{ … }`.

use super::url::{self, UrlOptions};
use super::{CurlCommand, CurlError, CurlRequest};
use form_urlencoded::Serializer;
use regex::Regex;
use std::sync::LazyLock;

/// A command that sends a request, at the start of a line: its program and the rest of the line. `curl` is another name of
/// `Invoke-WebRequest` in `PowerShell` for Windows, with its parameters.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    let own = "invoke-webrequest|invoke-restmethod|iwr|irm";
    let pattern = format!(
        r"(?im)^[ \t]*(?:\$\w+[ \t]*=[ \t]*)?(?:({own})\b|((?:curl|wget)[ \t](?:[^\n]*?[ \t])?-uri[ \t]))"
    );
    Regex::new(&pattern).expect("invariant: the pattern is a constant")
});

const FORM: &str = "application/x-www-form-urlencoded";
/// Parameters without a value that do not change the request.
const FLAGS: [&str; 3] = ["usebasicparsing", "disablekeepalive", "passthru"];
/// Parameters with a value that do not change the request.
const VALUES: [&str; 7] = [
    "sessionvariable",
    "outfile",
    "timeoutsec",
    "proxy",
    "maximumredirection",
    "httpversion",
    "erroraction",
];
/// The pseudo-headers of HTTP/2, which browsers copy without their colon.
const PSEUDO_HEADERS: [&str; 4] = ["authority", "method", "path", "scheme"];

/// Whether a script is one of `PowerShell`.
pub(super) fn is_powershell(text: &str) -> bool {
    COMMAND.is_match(text)
}

/// The requests of a script.
pub(super) fn commands(text: &str) -> Vec<CurlCommand> {
    let mut session = Session::default();
    let mut commands = Vec::new();
    let mut end = 0;
    for found in COMMAND.captures_iter(text) {
        let (Some(command), Some(whole)) = (found.get(1).or(found.get(2)), found.get(0)) else {
            continue;
        };
        if whole.start() < end {
            continue;
        }
        session.read(&text[end..whole.start()]);
        let program = command.as_str().find([' ', '\t']).unwrap_or(command.len());
        let mut reader = PowerShellReader {
            text,
            at: command.start() + program,
        };
        let request = reader.request(&session);
        end = reader.at;
        let before = &text[..command.start()];
        commands.push(CurlCommand {
            line: before.matches('\n').count() + 1,
            request,
        });
    }
    commands
}

/// What the statements before a command say about its session.
#[derive(Default)]
struct Session {
    agent: Option<String>,
    cookies: Vec<String>,
}

impl Session {
    fn read(&mut self, text: &str) {
        for statement in text.lines() {
            let value = |begin: &str| {
                let at = statement.find(begin)? + begin.len();
                let mut reader = PowerShellReader { text: statement, at };
                let first = reader.value("$session").ok()?;
                reader.skip(" ,");
                Some((first, reader.value("$session").unwrap_or_default()))
            };
            if let Some((agent, _)) = value(".UserAgent = ") {
                self.agent = Some(agent);
            } else if let Some((name, value)) = value("System.Net.Cookie(") {
                self.cookies.push(format!("{name}={value}"));
            }
        }
    }
}

/// The body of a request.
enum PowerShellBody {
    Text(String),
    Pairs(Vec<(String, String)>),
}

struct PowerShellReader<'a> {
    text: &'a str,
    at: usize,
}

impl PowerShellReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Result<char, CurlError> {
        let letter = self.rest().chars().next().ok_or(CurlError::OpenQuote)?;
        self.at += letter.len_utf8();
        Ok(letter)
    }

    fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn skip(&mut self, letters: &str) {
        while self.rest().starts_with(|letter| letters.contains(letter)) {
            self.at += 1;
        }
    }

    /// Skips spaces, and ends of lines after a backtick.
    fn spaces(&mut self) {
        self.skip(" \t");
        while self.take("`\r\n") || self.take("`\n") {
            self.skip(" \t");
        }
    }

    fn request(&mut self, session: &Session) -> Result<CurlRequest, CurlError> {
        let mut request = CurlRequest::default();
        let (mut kind, mut body) = (None, None);
        loop {
            self.spaces();
            if self.rest().is_empty() || self.rest().starts_with(['\n', '\r', ';', '|', ')', '}']) {
                break;
            }
            if !self.take("-") {
                request.url = self.value("-Uri")?;
                continue;
            }
            let shown = format!("-{}", self.word(":;|)"));
            self.take(":");
            self.spaces();
            match shown[1..].to_ascii_lowercase().as_str() {
                "uri" => request.url = self.value(&shown)?,
                "method" => request.method = self.value(&shown)?.to_ascii_uppercase(),
                "contenttype" => kind = Some(self.value(&shown)?),
                "useragent" => request
                    .headers
                    .push(("User-Agent".to_owned(), self.value(&shown)?)),
                "headers" => request.headers.extend(self.table(&shown)?),
                "body" if self.rest().starts_with("@{") => {
                    body = Some(PowerShellBody::Pairs(self.table(&shown)?));
                }
                "body" => body = Some(PowerShellBody::Text(self.value(&shown)?)),
                "websession" => {
                    self.value("$session")?;
                    request.add_session(session);
                }
                "skipcertificatecheck" => request.insecure = true,
                name if FLAGS.contains(&name) => {}
                name if VALUES.contains(&name) => drop(self.value("$session")?),
                _ => return Err(CurlError::Unknown(shown)),
            }
        }
        request.complete(kind, body)
    }

    /// Letters up to a space or one of `ends`.
    fn word(&mut self, ends: &str) -> String {
        let rest = self.rest();
        let end = rest.find(|letter: char| letter.is_whitespace() || ends.contains(letter));
        let word = rest[..end.unwrap_or(rest.len())].to_owned();
        self.at += word.len();
        word
    }

    /// The value of a parameter: a text in quotes, a word, or the bytes of a text. Variables have no value, and are accepted only
    /// where it does not matter, for `$session`.
    fn value(&mut self, of: &str) -> Result<String, CurlError> {
        self.spaces();
        if self.take("\"") {
            return self.double_quoted(of);
        }
        if self.take("'") {
            let mut value = String::new();
            loop {
                match self.next()? {
                    '\'' if !self.take("'") => return Ok(value),
                    letter => value.push(letter),
                }
            }
        }
        if self.take("([System.Text.Encoding]::UTF8.GetBytes(") {
            let value = self.value(of)?;
            self.skip(")");
            return Ok(value);
        }
        if self.rest().starts_with(['(', '@']) || self.rest().starts_with('$') && of != "$session" {
            return Err(not_run(of));
        }
        match self.word(";|)},") {
            word if word.is_empty() => Err(CurlError::NoValue(of.to_owned())),
            word => Ok(word),
        }
    }

    fn double_quoted(&mut self, of: &str) -> Result<String, CurlError> {
        // Letters beyond ASCII are written as units of UTF-16.
        let mut units: Vec<u16> = Vec::new();
        loop {
            let letter = match self.next()? {
                '"' if !self.take("\"") => return Ok(String::from_utf16_lossy(&units)),
                '`' => match self.next()? {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '0' => '\0',
                    letter => letter,
                },
                '$' if self.take("([char]") => {
                    let unit = self.word(")").parse().map_err(|_| not_run(of))?;
                    self.take(")");
                    units.push(unit);
                    continue;
                }
                '$' if self
                    .rest()
                    .starts_with(|letter: char| letter.is_alphabetic() || "({".contains(letter)) =>
                {
                    return Err(not_run(of));
                }
                letter => letter,
            };
            units.extend_from_slice(letter.encode_utf16(&mut [0; 2]));
        }
    }

    /// The pairs of `@{ name = value }`.
    fn table(&mut self, of: &str) -> Result<Vec<(String, String)>, CurlError> {
        if !self.take("@{") {
            return Err(not_run(of));
        }
        let mut pairs = Vec::new();
        loop {
            self.skip(" \t\r\n;");
            if self.take("}") {
                return Ok(pairs);
            }
            let name = if self.rest().starts_with(['"', '\'']) {
                self.value(of)?
            } else {
                self.word("=")
            };
            self.skip(" \t=");
            if name.is_empty() {
                return Err(CurlError::OpenQuote);
            }
            pairs.push((name, self.value(of)?));
        }
    }
}

/// The error of a variable or an expression.
fn not_run(of: &str) -> CurlError {
    CurlError::value(of, "variables and expressions are not filled in: write the value")
}

impl CurlRequest {
    fn add_session(&mut self, session: &Session) {
        if let Some(agent) = &session.agent {
            self.headers.push(("User-Agent".to_owned(), agent.clone()));
        }
        if !session.cookies.is_empty() {
            self.headers
                .push(("Cookie".to_owned(), session.cookies.join("; ")));
        }
    }

    /// The request with its body, as `PowerShell` sends it.
    fn complete(mut self, kind: Option<String>, body: Option<PowerShellBody>) -> Result<Self, CurlError> {
        if self.url.is_empty() {
            return Err(CurlError::NoUrl);
        }
        if self.method.is_empty() {
            "GET".clone_into(&mut self.method);
        }
        let options = UrlOptions {
            default_scheme: "http",
            keeps_dots: false,
            has_no_patterns: true,
            query: "",
        };
        self.url = url::sent(&self.url, &options)?.url;
        let of_http2 = |name: &str| self.headers.iter().any(|(known, _)| known == name);
        if PSEUDO_HEADERS.into_iter().all(of_http2) {
            self.headers
                .retain(|(name, _)| !PSEUDO_HEADERS.contains(&name.as_str()));
        }
        let mut kind = kind;
        self.body = match body {
            Some(PowerShellBody::Pairs(pairs)) => {
                let form = Serializer::new(String::new()).extend_pairs(pairs).finish();
                if self.method == "GET" {
                    let joint = if self.url.contains('?') { '&' } else { '?' };
                    self.url = format!("{}{joint}{form}", self.url);
                    None
                } else {
                    kind.get_or_insert_with(|| FORM.to_owned());
                    Some(form.into_bytes())
                }
            }
            Some(PowerShellBody::Text(text)) => {
                if self.method == "POST" {
                    kind.get_or_insert_with(|| FORM.to_owned());
                }
                Some(text.into_bytes())
            }
            None => None,
        };
        let has_kind = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
        if let Some(kind) = kind.filter(|_| !self.headers.iter().any(has_kind)) {
            self.headers.push(("Content-Type".to_owned(), kind));
        }
        Ok(self)
    }
}
