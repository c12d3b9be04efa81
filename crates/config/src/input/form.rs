//! Parses the fields of a multipart form in the notation of curl's `-F`, and encodes them (RFC 7578).

use super::multipart;
use prony_load::{Part, Template};

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormField {
    /// Its name.
    pub name: String,
    /// Where its content is.
    pub content: FormContent,
    /// The name of the file, if it is to be sent as one.
    pub filename: Option<String>,
    /// The media type, if it is given or known by the name of the file.
    pub media_type: Option<String>,
}

/// The content of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormContent {
    /// A text.
    Text(String),
    /// The path of a file.
    File(String),
}

/// Why a field cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// No name.
    #[error("write it as NAME=VALUE, NAME=@FILE or NAME=<FILE")]
    NoName,
    /// A quote that is not closed.
    #[error("a quote is not closed")]
    OpenQuote,
    /// Something after `;` that is unknown.
    #[error(
        "`;{0}` is neither `;type=MEDIA/TYPE` nor `;filename=NAME`: put a value with `;` in double quotes"
    )]
    Unknown(String),
}

/// Media types by the end of a file's name.
const KNOWN: [(&str, &str); 12] = [
    (".csv", "text/csv"),
    (".gif", "image/gif"),
    (".htm", "text/html"),
    (".html", "text/html"),
    (".jpeg", "image/jpeg"),
    (".jpg", "image/jpeg"),
    (".json", "application/json"),
    (".pdf", "application/pdf"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".xml", "application/xml"),
];

impl std::str::FromStr for FormField {
    type Err = FormError;

    /// Parses `name=value`, `name=@file` (sent as a file) or `name=<file` (sent as a text), each followed by
    /// `;type=…` and `;filename=…`.
    fn from_str(text: &str) -> Result<Self, FormError> {
        let (name, rest) = text.split_once('=').ok_or(FormError::NoName)?;
        if name.is_empty() {
            return Err(FormError::NoName);
        }
        let kind = rest.chars().next().filter(|letter| matches!(letter, '@' | '<'));
        let (content, mut rest) = word(rest.strip_prefix(['@', '<']).unwrap_or(rest))?;
        let is_file = kind == Some('@');
        let mut field = Self {
            name: name.to_owned(),
            filename: is_file.then(|| content.rsplit('/').next().unwrap_or_default().to_owned()),
            media_type: None,
            content: match kind {
                Some(_) => FormContent::File(content),
                None => FormContent::Text(content),
            },
        };
        while let Some(option) = rest.strip_prefix(';') {
            let (target, value) = match option.trim_start().split_once('=') {
                Some(("type", value)) => (&mut field.media_type, value),
                Some(("filename", value)) => (&mut field.filename, value),
                _ => return Err(FormError::Unknown(option.to_owned())),
            };
            let (value, left) = media_type_or_word(value)?;
            *target = Some(value);
            rest = left;
        }
        if is_file && field.media_type.is_none() {
            field.media_type = field
                .filename
                .as_deref()
                .map(|name| media_type_of(name).to_owned());
        }
        Ok(field)
    }
}

fn media_type_of(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let known = KNOWN.iter().find(|(end, _)| name.ends_with(end));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// Splits off a word that ends at `;`, unless it is in double quotes.
fn word(text: &str) -> Result<(String, &str), FormError> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let mut word = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((word, &quoted[at + 1..])),
            '\\' => word.extend(letters.next().map(|(_, letter)| letter)),
            letter => word.push(letter),
        }
    }
    Err(FormError::OpenQuote)
}

/// The same for the value of an option: parameters of a media type, such as `;charset=utf-8`, belong to it.
fn media_type_or_word(text: &str) -> Result<(String, &str), FormError> {
    let (mut value, mut rest) = word(text)?;
    while let Some(parameter) = rest.strip_prefix(';')
        && !["type=", "filename="]
            .iter()
            .any(|option| parameter.trim_start().starts_with(option))
    {
        let (more, left) = word(parameter)?;
        value = format!("{value};{more}");
        rest = left;
    }
    Ok((value, rest))
}

/// An encoded form: the value of `Content-Type`, and the body. Each field comes with its content.
pub fn encode(fields: &[(FormField, Template)]) -> (String, Template) {
    let boundary = multipart::free_boundary(|boundary| {
        let mut parts = fields.iter().flat_map(|(_, content)| &content.0);
        parts.any(|part| matches!(part, Part::Literal(bytes) if multipart::has(bytes.as_slice(), boundary)))
    });
    let literal = |text: String| Part::Literal(text.as_str().into());
    let mut parts = Vec::new();
    for (field, content) in fields {
        let (file_name, media_type) = (field.filename.as_deref(), field.media_type.as_deref());
        parts.push(literal(multipart::head(
            &boundary,
            &field.name,
            file_name,
            media_type,
        )));
        parts.extend(content.0.iter().cloned());
        parts.push(literal("\r\n".to_owned()));
    }
    parts.push(literal(multipart::end(&boundary)));
    (multipart::media_type(&boundary), Template(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> FormField {
        text.parse().expect("a field")
    }

    #[test]
    fn fields_are_texts_and_files() {
        let text = field("a=1=2");
        assert_eq!(
            (text.name.as_str(), &text.content),
            ("a", &FormContent::Text("1=2".into()))
        );
        assert_eq!((text.filename, text.media_type), (None, None));
        let file = field("doc=@dir/Report.PDF");
        assert_eq!(file.content, FormContent::File("dir/Report.PDF".into()));
        assert_eq!(file.filename.as_deref(), Some("Report.PDF"));
        assert_eq!(file.media_type.as_deref(), Some("application/pdf"));
        let named = field("doc=@x;type=text/plain;charset=utf-8;filename=\"a;b.txt\"");
        assert_eq!(named.content, FormContent::File("x".into()));
        assert_eq!(named.media_type.as_deref(), Some("text/plain;charset=utf-8"));
        assert_eq!(named.filename.as_deref(), Some("a;b.txt"));
        let inline = field("note=<note.txt");
        assert_eq!(
            (inline.content, inline.filename),
            (FormContent::File("note.txt".into()), None)
        );
        assert_eq!(
            field("a=\"x; \\\"y\\\"\"").content,
            FormContent::Text("x; \"y\"".into())
        );
        for (wrong, part) in [
            ("a", "NAME=VALUE"),
            ("=a", "NAME=VALUE"),
            ("a=\"b", "quote"),
            ("a=b;c", "`;c`"),
        ] {
            let error = wrong.parse::<FormField>().expect_err(wrong).to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_form_is_encoded_with_a_boundary_of_its_own() {
        let value = Template(vec![Part::Literal("n=".into()), Part::Value(3)]);
        let file = Template::literal("prony-form-boundary");
        let (media_type, body) = encode(&[(field("a\"b=x"), value), (field("f=@x.txt"), file)]);
        assert_eq!(media_type, "multipart/form-data; boundary=prony-form-boundary-1");
        let mut text = Vec::new();
        body.render(&mut text, |index, out| {
            out.extend_from_slice(index.to_string().as_bytes());
        });
        assert_eq!(
            String::from_utf8(text).expect("text"),
            "--prony-form-boundary-1\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\nn=3\r\n\
             --prony-form-boundary-1\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.txt\"\r\n\
             Content-Type: text/plain\r\n\r\nprony-form-boundary\r\n\
             --prony-form-boundary-1--\r\n"
        );
    }
}
