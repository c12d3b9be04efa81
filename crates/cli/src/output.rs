//! Standard output, for results only.

use std::io::{ErrorKind, Write as _};

/// Prints a text and a newline. A reader that closed the pipe (`prony list services | head -1`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// How a server prints its listening address.
pub(crate) fn address_said(url: &str, json: bool) -> String {
    if json {
        serde_json::json!({ "schema": prony_records::SCHEMA, "url": url }).to_string()
    } else {
        url.to_owned()
    }
}
