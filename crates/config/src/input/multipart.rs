//! Bodies of type `multipart/form-data`, as browsers and curl write them (RFC 7578).

/// A part of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FormPart {
    pub(crate) name: String,
    pub(crate) file_name: Option<String>,
    pub(crate) media_type: Option<String>,
    pub(crate) content: Vec<u8>,
}

/// The boundary of forms that do not contain it.
const BOUNDARY: &str = "prony-form-boundary";

/// A boundary that is not in any content. It is the same for the same form.
pub(super) fn free_boundary(contains: impl Fn(&str) -> bool) -> String {
    let numbered = (1_u64..).map(|number| format!("{BOUNDARY}-{number}"));
    std::iter::once(BOUNDARY.to_owned())
        .chain(numbered)
        .find(|boundary| !contains(boundary))
        .expect("invariant: a finite content has finitely many of them")
}

/// A boundary that is not in any part.
pub(crate) fn boundary(parts: &[FormPart]) -> String {
    free_boundary(|boundary| parts.iter().any(|part| has(&part.content, boundary)))
}

/// Whether bytes contain a boundary.
pub(super) fn has(content: &[u8], boundary: &str) -> bool {
    content
        .windows(boundary.len())
        .any(|window| window == boundary.as_bytes())
}

/// The media type of a form.
pub(crate) fn media_type(boundary: &str) -> String {
    format!("multipart/form-data; boundary={boundary}")
}

/// The boundary of a media type, if it has one.
pub(crate) fn boundary_of(media_type: &str) -> Option<&str> {
    let begin = media_type.to_ascii_lowercase().find("boundary=")? + "boundary=".len();
    let value = media_type[begin..].trim_start_matches('"');
    let end = value.find(['"', ';', ' ', ',']).unwrap_or(value.len());
    Some(&value[..end]).filter(|boundary| !boundary.is_empty())
}

/// The body.
pub(crate) fn body(parts: &[FormPart], boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        let (file_name, media_type) = (part.file_name.as_deref(), part.media_type.as_deref());
        body.extend_from_slice(head(boundary, &part.name, file_name, media_type).as_bytes());
        body.extend_from_slice(&part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(end(boundary).as_bytes());
    body
}

/// What precedes the content of a part. `\r\n` follows the content.
pub(super) fn head(boundary: &str, name: &str, file_name: Option<&str>, media_type: Option<&str>) -> String {
    let name = escaped(name);
    let file_name = file_name.map_or_else(String::new, |name| format!("; filename=\"{}\"", escaped(name)));
    let media_type =
        media_type.map_or_else(String::new, |kind| format!("\r\nContent-Type: {}", escaped(kind)));
    format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file_name}{media_type}\r\n\r\n")
}

/// The end of a form.
pub(super) fn end(boundary: &str) -> String {
    format!("--{boundary}--\r\n")
}

/// A name as browsers write it into a header.
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
