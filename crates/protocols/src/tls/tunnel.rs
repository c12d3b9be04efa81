//! The way to a service through a proxy: a `CONNECT` request before the TLS handshake (RFC 9110, section 9.3.6).

use crate::layer::LayerError;
use prony_load::{Proxy, Target};
use std::sync::Arc;

/// Longest head of a proxy's reply, bytes.
const LONGEST_HEAD: usize = 16 << 10;

/// The request that opens a tunnel, as bytes.
#[derive(Debug, Clone)]
pub(super) struct ConnectRequest(Arc<str>);

impl ConnectRequest {
    pub(super) fn new(target: &Target, proxy: &Proxy) -> Self {
        let host = if target.host.contains(':') {
            format!("[{}]:{}", target.host, target.port)
        } else {
            format!("{}:{}", target.host, target.port)
        };
        let authorization = proxy
            .authorization()
            .map_or_else(String::new, |value| format!("Proxy-Authorization: {value}\r\n"));
        Self(format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{authorization}\r\n").into())
    }
}

/// A tunnel that the proxy has not opened yet.
pub(super) struct Tunnel {
    request: ConnectRequest,
    /// The head of the reply so far.
    head: Vec<u8>,
}

impl Tunnel {
    pub(super) fn new(request: &ConnectRequest) -> Self {
        Self {
            request: request.clone(),
            head: Vec::new(),
        }
    }

    pub(super) fn open(&self, wire: &mut Vec<u8>) {
        wire.extend_from_slice(self.request.0.as_bytes());
    }

    /// Takes bytes from the proxy. Returns those that follow its reply, once it has opened the tunnel.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, LayerError> {
        self.head.extend_from_slice(bytes);
        let Some(end) = memchr::memmem::find(&self.head, b"\r\n\r\n") else {
            return if self.head.len() > LONGEST_HEAD {
                Err(LayerError(
                    "the proxy sent no reply to CONNECT that is HTTP/1.1".to_owned(),
                ))
            } else {
                Ok(None)
            };
        };
        let line = self.head.split(|&byte| byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let status = line
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.split_ascii_whitespace().nth(1));
        match status {
            Some(status) if status.len() == 3 && status.starts_with('2') => {
                Ok(Some(self.head.split_off(end + 4)))
            }
            Some("407") => Err(LayerError(
                "the proxy wants a name and a password (status 407): write them as --proxy http://NAME:PASSWORD@HOST:PORT"
                    .to_owned(),
            )),
            Some(status) => Err(LayerError(format!("the proxy does not connect to the service (status {status})"))),
            None => Err(LayerError("the proxy sent no reply to CONNECT that is HTTP/1.1".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::{ConnectOptions, Credentials};

    fn proxy(user: &str) -> Proxy {
        Proxy {
            host: "p".into(),
            port: 3128,
            credentials: Credentials::of_url(user, Some("pw")).filter(|_| !user.is_empty()),
        }
    }

    fn tunnel(host: &str, user: &str) -> Tunnel {
        let target = Target {
            url: "https://h/".into(),
            host: host.into(),
            port: 443,
            authority: host.into(),
            tls: None,
            connect: ConnectOptions::default(),
            credentials: None,
        };
        Tunnel::new(&ConnectRequest::new(&target, &proxy(user)))
    }

    #[test]
    fn the_request_names_the_service_and_may_have_a_password() {
        let sent = |host, user| {
            let mut wire = Vec::new();
            tunnel(host, user).open(&mut wire);
            String::from_utf8(wire).expect("text")
        };
        assert_eq!(sent("h", ""), "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n");
        assert!(sent("::1", "").starts_with("CONNECT [::1]:443 HTTP/1.1\r\n"));
        assert!(sent("h", "me").contains("\r\nProxy-Authorization: Basic bWU6cHc=\r\n"));
    }

    #[test]
    fn a_reply_in_pieces_opens_the_tunnel_and_the_rest_is_kept() {
        let mut tunnel = tunnel("h", "");
        assert_eq!(tunnel.receive(b"HTTP/1.1 200 Connec"), Ok(None));
        assert_eq!(tunnel.receive(b"ted\r\nVia: a\r\n\r"), Ok(None));
        assert_eq!(tunnel.receive(b"\nrest"), Ok(Some(b"rest".to_vec())));
    }

    #[test]
    fn a_refusal_is_an_error() {
        let error = |bytes: &[u8]| tunnel("h", "").receive(bytes).expect_err("refused").0;
        assert!(error(b"HTTP/1.1 407 No\r\n\r\n").contains("NAME:PASSWORD"));
        assert!(error(b"HTTP/1.0 502 Bad\r\n\r\n").contains("status 502"));
        assert!(error(b"SSH-2.0\r\n\r\n").contains("no reply to CONNECT"));
        assert!(error(&vec![b'x'; LONGEST_HEAD + 1]).contains("no reply to CONNECT"));
    }
}
