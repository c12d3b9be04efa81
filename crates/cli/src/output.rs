//! Standard output: results go here, and nothing else does.

use std::io::{ErrorKind, Write as _};

/// Prints a text and a line end. A reader that went away (`prony list services | head -1`) is no failure.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// How a server says where it listens.
pub(crate) fn address_said(url: &str, json: bool) -> String {
    if json {
        serde_json::json!({ "schema": 1, "url": url }).to_string()
    } else {
        url.to_owned()
    }
}
