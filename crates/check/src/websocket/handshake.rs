//! The handshake (RFC 6455, section 4): a request of HTTP/1.1 that asks for another protocol, and the reply that must switch to
//! it, or refuse to.

use crate::exchange::{Answer, Wrong, bytes, failure};
use crate::http1;
use crate::report::Failure;
use prony_config::contract::Exchange;
use prony_load::Bag;
use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;

const SWITCHED: u16 = 101;

/// Asks for a WebSocket. Gives whether there is one now: a service may have to refuse.
pub(super) async fn shake(
    connection: &mut http1::Connection,
    authority: &str,
    exchange: &Exchange,
    in_bytes: bool,
) -> Result<bool, Wrong> {
    let key = generate_key();
    let request = asked(exchange, authority, &key);
    if in_bytes {
        connection.send_single_bytes(&request).await?;
    } else {
        connection.send(&request).await?;
    }
    let answer = connection.switched().await?;
    let expected = &exchange.expect.status;
    if !expected.contains(&answer.status) {
        let codes: Vec<String> = expected.iter().map(u16::to_string).collect();
        let got = answer.status.to_string();
        return Err(failure("status", codes.join(" or "), got).into());
    }
    if answer.status != SWITCHED {
        return Ok(false);
    }
    judge(&answer, &key)?;
    Ok(true)
}

fn asked(exchange: &Exchange, authority: &str, key: &str) -> Vec<u8> {
    // Nothing of a talk depends on earlier replies.
    let bag = Bag::default();
    let mut out = b"GET ".to_vec();
    out.extend_from_slice(&bytes(&exchange.request.path, &bag));
    out.extend_from_slice(format!(" HTTP/1.1\r\nHost: {authority}\r\n").as_bytes());
    for header in &exchange.request.headers {
        out.extend_from_slice(format!("{}: ", header.name).as_bytes());
        out.extend_from_slice(&bytes(&header.value, &bag));
        out.extend_from_slice(b"\r\n");
    }
    let upgrade =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ";
    out.extend_from_slice(format!("{upgrade}{key}\r\n\r\n").as_bytes());
    out
}

/// What a reply that switches must say.
fn judge(answer: &Answer, key: &str) -> Result<(), Failure> {
    let said = |name: &str| {
        let value = answer.header(name);
        value.map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let wrong = |name: &str, expected: &str| {
        let got = said(name).unwrap_or_else(|| "none".to_owned());
        Err(failure(&format!("header {name}"), expected.to_owned(), got))
    };
    let options = said("connection").unwrap_or_default();
    if !options
        .split(',')
        .any(|option| option.trim().eq_ignore_ascii_case("upgrade"))
    {
        return wrong("connection", "Upgrade");
    }
    if !said("upgrade").is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket")) {
        return wrong("upgrade", "websocket");
    }
    let accept = derive_accept_key(key.as_bytes());
    if said("sec-websocket-accept").as_deref() != Some(accept.as_str()) {
        return wrong("sec-websocket-accept", &accept);
    }
    for name in ["sec-websocket-extensions", "sec-websocket-protocol"] {
        if said(name).is_some_and(|value| !value.is_empty()) {
            return wrong(name, "none");
        }
    }
    Ok(())
}
