//! Bodies of type `multipart/form-data`, as browsers and curl write them (RFC 7578).

use sha2::{Digest as _, Sha256};

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

/// A boundary that is not in any part. It is the same for the same form.
pub(crate) fn boundary(parts: &[FormPart]) -> String {
    let mut contents = parts.iter().map(|part| String::from_utf8_lossy(&part.content));
    if !contents.any(|content| content.contains(BOUNDARY)) {
        return BOUNDARY.to_owned();
    }
    let digest = parts
        .iter()
        .fold(Sha256::new(), |digest, part| digest.chain_update(&part.content));
    let digits = digest
        .finalize()
        .iter()
        .take(8)
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    format!("{BOUNDARY}-{digits}")
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
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            escaped(&part.name)
        );
        if let Some(name) = &part.file_name {
            head = format!("{head}; filename=\"{}\"", escaped(name));
        }
        if let Some(kind) = &part.media_type {
            head = format!("{head}\r\nContent-Type: {kind}");
        }
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(&part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}

/// A name in quotes.
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
