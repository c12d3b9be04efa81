//! Parses a `curl` command line, as browsers copy it.
//!
//! The words are split here and not by a crate such as `shlex`, because browsers quote with `$'…'` as soon as a request contains
//! a quote, a control character or a letter beyond ASCII, and those crates split only what POSIX defines.

/// The request of a `curl` command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CurlRequest {
    /// The URL, with a scheme.
    pub url: String,
    /// The method, if given.
    pub method: Option<String>,
    /// Headers, as `Name: value`.
    pub headers: Vec<String>,
    /// The body, if given.
    pub body: Option<String>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// Whether HTTP/2 is requested.
    pub http2: bool,
    /// Whether compressed replies are requested.
    pub compressed: bool,
}

impl CurlRequest {
    /// The method to send: the given one, else POST if there is a body, else GET.
    pub fn method(&self) -> &str {
        match (&self.method, &self.body) {
            (Some(method), _) => method,
            (None, Some(_)) => "POST",
            (None, None) => "GET",
        }
    }
}

/// Why a `curl` command line cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CurlError {
    /// It does not start with `curl`.
    #[error("it does not start with `curl`: give the whole line in quotes, as in --curl 'curl http://…'")]
    NoCurl,
    /// A quote that is not closed.
    #[error(
        "a quote is not closed: put the whole line in quotes of the other kind, or in a file and give --curl @FILE"
    )]
    OpenQuote,
    /// No URL.
    #[error("there is no URL in it")]
    NoUrl,
    /// More than one URL.
    #[error(
        "there are two URLs in it, `{0}` and `{1}`: to send to several, put them in a file and give --urls FILE"
    )]
    TwoUrls(String, String),
    /// A switch without its value.
    #[error("`{0}` has no value")]
    NoValue(String),
    /// A switch that follows redirects.
    #[error(
        "`{0}` of curl follows redirects, which prony does not: leave it out, and give the URL where they end"
    )]
    Redirects(String),
    /// A switch that would change the request in an unsupported way.
    #[error("`{0}` of curl is not supported: leave it out, and use the matching option of `prony load`")]
    Unknown(String),
}

/// Switches of curl without a value that do not affect the request.
const IGNORED: [&str; 12] = [
    "-s",
    "--silent",
    "-S",
    "--show-error",
    "-v",
    "--verbose",
    "-i",
    "--include",
    "-f",
    "--fail",
    "-#",
    "--http1.1",
];
/// Switches of curl with a value that do not affect the request.
const IGNORED_WITH_VALUE: [&str; 8] = [
    "-o",
    "--output",
    "-w",
    "--write-out",
    "-m",
    "--max-time",
    "--retry",
    "--connect-timeout",
];

/// Parses a `curl` command line.
pub fn parse(line: &str) -> Result<CurlRequest, CurlError> {
    let mut words = words(line)?.into_iter();
    if words.next().as_deref() != Some("curl") {
        return Err(CurlError::NoCurl);
    }
    let mut reading = CurlParser::default();
    while let Some(word) = words.next() {
        let (switch, joined) = apart(&word);
        if !switch.starts_with('-') || switch == "-" {
            reading.url(word)?;
            continue;
        }
        let mut value = || {
            joined
                .clone()
                .or_else(|| words.next())
                .ok_or_else(|| CurlError::NoValue(switch.clone()))
        };
        reading.switch(&switch, &mut value)?;
    }
    reading.finish()
}

/// Splits a switch from a value attached to it, as in `-XPOST` and `--request=POST`.
fn apart(word: &str) -> (String, Option<String>) {
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((switch, value)) => (switch.to_owned(), Some(value.to_owned())),
            None => (word.to_owned(), None),
        };
    }
    let takes_value = ["-X", "-H", "-d", "-u", "-A", "-e", "-b", "-o", "-w", "-m"];
    match word.char_indices().nth(2) {
        Some((at, _)) if takes_value.contains(&&word[..at]) => {
            (word[..at].to_owned(), Some(word[at..].to_owned()))
        }
        _ => (word.to_owned(), None),
    }
}

#[derive(Default)]
struct CurlParser {
    request: CurlRequest,
    data: Vec<String>,
    as_query: bool,
}

impl CurlParser {
    fn url(&mut self, url: String) -> Result<(), CurlError> {
        if !self.request.url.is_empty() {
            return Err(CurlError::TwoUrls(self.request.url.clone(), url));
        }
        self.request.url = if url.contains("://") {
            url
        } else {
            format!("http://{url}")
        };
        Ok(())
    }

    fn switch(
        &mut self,
        switch: &str,
        value: &mut dyn FnMut() -> Result<String, CurlError>,
    ) -> Result<(), CurlError> {
        let request = &mut self.request;
        match switch {
            "-X" | "--request" => request.method = Some(value()?),
            "-I" | "--head" => request.method = Some("HEAD".to_owned()),
            "-H" | "--header" => request.headers.push(value()?),
            "-A" | "--user-agent" => request.headers.push(format!("User-Agent: {}", value()?)),
            "-e" | "--referer" => request.headers.push(format!("Referer: {}", value()?)),
            "-b" | "--cookie" => request.headers.push(format!("Cookie: {}", value()?)),
            "-d" | "--data" | "--data-raw" | "--data-binary" | "--data-ascii" => {
                let data = value()?;
                if data.starts_with('@') && switch != "--data-raw" {
                    return Err(CurlError::Unknown(format!("{switch} {data}")));
                }
                self.data.push(data);
            }
            "--json" => {
                self.data.push(value()?);
                for header in ["Content-Type: application/json", "Accept: application/json"] {
                    request.headers.push(header.to_owned());
                }
            }
            "-G" | "--get" => self.as_query = true,
            "--url" => {
                let url = value()?;
                self.url(url)?;
            }
            "-k" | "--insecure" => request.insecure = true,
            "--http2" | "--http2-prior-knowledge" => request.http2 = true,
            "--compressed" => request.compressed = true,
            "-L" | "--location" | "--location-trusted" => {
                return Err(CurlError::Redirects(switch.to_owned()));
            }
            ignored if IGNORED.contains(&ignored) => {}
            ignored if IGNORED_WITH_VALUE.contains(&ignored) => {
                value()?;
            }
            unknown => return Err(CurlError::Unknown(unknown.to_owned())),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<CurlRequest, CurlError> {
        if self.request.url.is_empty() {
            return Err(CurlError::NoUrl);
        }
        if self.data.is_empty() {
            return Ok(self.request);
        }
        let data = self.data.join("&");
        if self.as_query {
            let joint = if self.request.url.contains('?') { '&' } else { '?' };
            self.request.url = format!("{}{joint}{data}", self.request.url);
            return Ok(self.request);
        }
        let has_type = |header: &String| header.to_ascii_lowercase().starts_with("content-type:");
        if !self.request.headers.iter().any(has_type) {
            let form = "Content-Type: application/x-www-form-urlencoded";
            self.request.headers.push(form.to_owned());
        }
        self.request.body = Some(data);
        Ok(self.request)
    }
}

/// Splits a line like a shell: both kinds of quotes, `$'…'` as browsers write it, and lines continued with `\`.
fn words(line: &str) -> Result<Vec<String>, CurlError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => quoted(&mut letters, word.get_or_insert_default())?,
            '"' => double_quoted(&mut letters, word.get_or_insert_default())?,
            '$' if letters.peek() == Some(&'\'') => {
                letters.next();
                escaped(&mut letters, word.get_or_insert_default())?;
            }
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some('\r') => {
                    letters.next_if_eq(&'\n');
                }
                Some(other) => word.get_or_insert_default().push(other),
            },
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

type CharIterator<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn quoted(letters: &mut CharIterator<'_>, word: &mut String) -> Result<(), CurlError> {
    loop {
        match letters.next().ok_or(CurlError::OpenQuote)? {
            '\'' => return Ok(()),
            letter => word.push(letter),
        }
    }
}

fn double_quoted(letters: &mut CharIterator<'_>, word: &mut String) -> Result<(), CurlError> {
    loop {
        match letters.next().ok_or(CurlError::OpenQuote)? {
            '"' => return Ok(()),
            '\\' => match letters.next().ok_or(CurlError::OpenQuote)? {
                '\n' => {}
                letter @ ('"' | '\\' | '$' | '`') => word.push(letter),
                letter => word.extend(['\\', letter]),
            },
            letter => word.push(letter),
        }
    }
}

/// Parses `$'…'` with the escapes of C.
fn escaped(letters: &mut CharIterator<'_>, word: &mut String) -> Result<(), CurlError> {
    loop {
        match letters.next().ok_or(CurlError::OpenQuote)? {
            '\'' => return Ok(()),
            '\\' => match letters.next().ok_or(CurlError::OpenQuote)? {
                'n' => word.push('\n'),
                'r' => word.push('\r'),
                't' => word.push('\t'),
                'u' => word.push(coded(letters, 4)),
                'x' => word.push(coded(letters, 2)),
                letter => word.push(letter),
            },
            letter => word.push(letter),
        }
    }
}

/// The character given by up to `most` hexadecimal digits.
fn coded(letters: &mut CharIterator<'_>, most: usize) -> char {
    let mut code = 0;
    for _ in 0..most {
        let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(16)) else {
            break;
        };
        letters.next();
        code = code * 16 + digit;
    }
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the format that browsers copy.
    #[test]
    fn a_copied_line_is_understood() {
        let line = "curl 'https://h.example/api?a=1' \\\n  -X 'PUT' -H 'Accept: */*' \\\n  --data-raw $'{\"a\":\"it\\'s\\u0021\"}' --compressed -k";
        let request = parse(line).expect("good");
        assert_eq!(
            (request.url.as_str(), request.method()),
            ("https://h.example/api?a=1", "PUT")
        );
        assert_eq!(request.body.as_deref(), Some("{\"a\":\"it's!\"}"));
        assert!(request.insecure && request.compressed && !request.http2);
        assert_eq!(request.headers[0], "Accept: */*");
        assert!(request.headers[1].ends_with("x-www-form-urlencoded"));
    }

    #[test]
    fn data_makes_a_post_or_a_query() {
        let post = parse("curl h/a -d a=1 -d \"b=\\\"2\\\"\"").expect("good");
        assert_eq!((post.url.as_str(), post.method()), ("http://h/a", "POST"));
        assert_eq!(post.body.as_deref(), Some("a=1&b=\"2\""));
        let get = parse("curl -G http://h/a?x=0 -da=1").expect("good");
        assert_eq!((get.url.as_str(), get.method()), ("http://h/a?x=0&a=1", "GET"));
        let json = parse("curl --json={} -XPATCH http://h").expect("good");
        assert_eq!((json.method(), json.headers.len()), ("PATCH", 2));
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (line, part) in [
            ("", "start with `curl`"),
            ("wget http://h", "start with `curl`"),
            ("curl -s", "no URL"),
            ("curl 'http://h", "quote"),
            ("curl http://h http://i", "two URLs"),
            ("curl http://h -H", "no value"),
            ("curl http://h -F a=b", "`-F`"),
            ("curl http://h -d @file", "not supported"),
            ("curl -L http://h", "`-L` of curl follows redirects"),
            ("curl http://h --location", "give the URL where they end"),
        ] {
            let error = parse(line).expect_err(line).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
