//! One request as its bytes, and the reply as it stands on the wire.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// A reply that does not come is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a service.
pub(super) struct Line {
    reader: BufReader<TcpStream>,
    request: String,
}

/// A reply as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) status: u16,
    /// Of head and body, as sent.
    pub(super) bytes: usize,
    /// Names of the headers, as sent, in their order.
    pub(super) headers: Vec<String>,
    pub(super) framing: Framing,
    /// The service says that it will close.
    pub(super) closes: bool,
}

/// What ends a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Its length was told before.
    Length,
    /// It comes in chunks.
    Chunked,
    /// The connection ends.
    Close,
}

impl Framing {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Chunked => "chunked",
            Self::Close => "until close",
        }
    }
}

impl Line {
    pub(super) fn open((host, port): (&str, u16), path: &str) -> io::Result<Self> {
        let stream = TcpStream::connect((host, port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            reader: BufReader::new(stream),
            request: format!("GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"),
        })
    }

    /// Sends the request and reads one reply.
    pub(super) fn ask(&mut self) -> io::Result<Raw> {
        self.reader.get_mut().write_all(self.request.as_bytes())?;
        let mut raw = Raw {
            status: 0,
            bytes: 0,
            headers: Vec::new(),
            framing: Framing::Close,
            closes: false,
        };
        let first = self.line(&mut raw)?;
        raw.status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .ok_or_else(|| io::Error::other(format!("`{first}` is no status line")))?;
        raw.closes = first.starts_with("HTTP/1.0");
        let mut length = 0;
        loop {
            let line = self.line(&mut raw)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            let value = value.trim().to_ascii_lowercase();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    raw.framing = Framing::Length;
                    length = value.parse().map_err(io::Error::other)?;
                }
                "transfer-encoding" => raw.framing = Framing::Chunked,
                "connection" => raw.closes = value.contains("close"),
                _ => {}
            }
            raw.headers.push(name.to_owned());
        }
        self.body(&mut raw, length)?;
        Ok(raw)
    }

    fn body(&mut self, raw: &mut Raw, length: usize) -> io::Result<()> {
        match raw.framing {
            Framing::Length => self.skip(raw, length),
            Framing::Chunked => loop {
                let line = self.line(raw)?;
                let size = line.split(';').next().unwrap_or_default().trim();
                let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
                // Each chunk, the empty last one too, ends with an empty line.
                self.skip(raw, size + 2)?;
                if size == 0 {
                    return Ok(());
                }
            },
            Framing::Close => {
                raw.closes = true;
                raw.bytes += self.reader.read_to_end(&mut Vec::new())?;
                Ok(())
            }
        }
    }

    fn skip(&mut self, raw: &mut Raw, bytes: usize) -> io::Result<()> {
        self.reader.read_exact(&mut vec![0; bytes])?;
        raw.bytes += bytes;
        Ok(())
    }

    /// A line without its end.
    fn line(&mut self, raw: &mut Raw) -> io::Result<String> {
        let mut line = Vec::new();
        let read = self.reader.read_until(b'\n', &mut line)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        raw.bytes += read;
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    fn told(reply: &'static str) -> (Raw, bool) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut head = [0; 256];
            while stream.read(&mut head).is_ok_and(|read| read > 0) {
                stream.write_all(reply.as_bytes()).expect("sent");
                if !reply.contains("length") && !reply.contains("chunked") {
                    return;
                }
            }
        });
        let mut line = Line::open(("127.0.0.1", port), "/api/test").expect("open");
        let raw = line.ask().expect("a reply");
        let again = line.ask().is_ok_and(|second| second == raw);
        drop(line);
        server.join().expect("ended");
        (raw, again)
    }

    #[test]
    fn a_reply_is_read_however_its_body_ends() {
        let length = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-length: 5\r\n\r\nhello";
        let (raw, again) = told(length);
        assert_eq!(
            (raw.status, raw.bytes, raw.framing),
            (200, length.len(), Framing::Length)
        );
        assert_eq!(raw.headers, ["Server", "Content-length"]);
        assert!(again && !raw.closes);

        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
        let (raw, again) = told(chunked);
        assert_eq!((raw.bytes, raw.framing), (chunked.len(), Framing::Chunked));
        assert!(again);

        let closing = "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nhello";
        let (raw, again) = told(closing);
        assert_eq!((raw.bytes, raw.framing), (closing.len(), Framing::Close));
        assert!(raw.closes && !again);
    }
}
