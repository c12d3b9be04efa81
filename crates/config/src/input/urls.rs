//! Lists of requests: one per line, `[WEIGHT] METHOD URL [BODY]`.

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlLine {
    /// Its weight, relative to the other lines.
    pub weight: u32,
    /// The method.
    pub method: String,
    /// The URL, or its path alone.
    pub url: String,
    /// The rest of the line.
    pub body: Option<String>,
}

/// Why a list cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlsError {
    /// It has no request.
    #[error("it contains no request: write one per line, as in `GET http://127.0.0.1:8080/a`")]
    Empty,
    /// A line without a URL.
    #[error("line {line}: `{text}` is not a request: write [WEIGHT] METHOD URL [BODY]")]
    Line {
        /// The line number, from 1.
        line: usize,
        /// The line as written.
        text: String,
    },
    /// A weight that is 0 or too large.
    #[error("line {line}: a weight is 1 to 1000000")]
    Weight {
        /// The line number, from 1.
        line: usize,
    },
}

/// Parses a list. Empty lines and lines that start with `#` are skipped.
pub fn parse(text: &str) -> Result<Vec<UrlLine>, UrlsError> {
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            all.push(parse_line(line, number + 1)?);
        }
    }
    if all.is_empty() {
        return Err(UrlsError::Empty);
    }
    Ok(all)
}

fn parse_line(text: &str, line: usize) -> Result<UrlLine, UrlsError> {
    let wrong = || UrlsError::Line {
        line,
        text: text.to_owned(),
    };
    let (first, rest) = next_word(text);
    let (weight, method, rest) = if first.bytes().all(|byte| byte.is_ascii_digit()) {
        let weight: u32 = first.parse().map_err(|_| UrlsError::Weight { line })?;
        if !(1..=1_000_000).contains(&weight) {
            return Err(UrlsError::Weight { line });
        }
        let (method, rest) = next_word(rest);
        (weight, method, rest)
    } else {
        (1, first, rest)
    };
    let (url, body) = next_word(rest);
    // A host alone would be a word like any other.
    let is_url = url.contains(['/', ':']);
    if method.is_empty()
        || !method
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
        || !is_url
    {
        return Err(wrong());
    }
    Ok(UrlLine {
        weight,
        method: method.to_owned(),
        url: url.to_owned(),
        body: (!body.is_empty()).then(|| body.to_owned()),
    })
}

/// Splits off the first word and the space after it.
fn next_word(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_weights_and_bodies() {
        let text = "# two\nGET http://h/a\n\n3 POST /b {\"a\": 1}\n";
        let [first, second] = parse(text).expect("good").try_into().expect("two");
        assert_eq!(
            (first.weight, first.method.as_str(), first.body),
            (1, "GET", None)
        );
        assert_eq!((second.weight, second.url.as_str()), (3, "/b"));
        assert_eq!(second.body.as_deref(), Some("{\"a\": 1}"));
        let [line] = parse("GET localhost:8080/a")
            .expect("good")
            .try_into()
            .expect("one");
        assert_eq!(line.url, "localhost:8080/a");
    }

    #[test]
    fn an_invalid_list_is_an_error_with_its_line() {
        for (text, part) in [
            ("", "no request"),
            ("# only\n", "no request"),
            ("GET /a\nGET", "line 2"),
            ("http://h/a", "line 1"),
            ("0 GET /a", "weight"),
            ("99999999999 GET /a", "weight"),
            ("GET a", "METHOD URL"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
