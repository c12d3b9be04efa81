//! `prony load --debug`: sends the first request once, and prints it and its reply in full, without secrets.

use super::input::JobError;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::text::duration;
use prony_load::secrets::{mask_header, mask_path};
use prony_load::{Body, Job, Protocol, Request, Template};
use prony_protocols::client::{BodyFraming, Client, ClientError, Reply};
use prony_protocols::protocol::Version;
use prony_protocols::request_values::{Parameters, Values};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Bytes on one line of a body that is not a text.
const HEX_COLUMNS: usize = 16;

pub(super) fn run(job: &Job) -> anyhow::Result<Exit> {
    if job.protocol == Protocol::WebSocket {
        return Err(bad_input(JobError::OfHttp("--debug")));
    }
    let operation = &job.workload.operations[0];
    let parameters = Parameters::new(&job.workload.parameters, job.seed);
    let values = parameters.values(0);
    print(&request_text(job, &operation.request, values))?;
    let answer = match ask(job, values) {
        Ok(answer) => answer,
        Err(error) => {
            print(&format!("\nFAILED: {error}"))?;
            return Ok(Exit::ObjectiveFailed);
        }
    };
    print(&reply_text(&answer.reply))?;
    print(&answer.times())?;
    match judge(job, &answer.reply, values) {
        Ok(()) => {
            print("OK: the reply is valid")?;
            Ok(Exit::Fine)
        }
        Err(reason) => {
            print(&format!("FAILED: {reason}"))?;
            Ok(Exit::ObjectiveFailed)
        }
    }
}

/// A reply, and how it was received.
struct DebugReply {
    reply: Reply,
    protocol: Protocol,
    tls: Option<(String, String)>,
    connect: Duration,
    first_byte: Option<Duration>,
    whole: Duration,
}

impl DebugReply {
    /// The protocols, and the time of each part.
    fn times(&self) -> String {
        let shown = |time: Duration| duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let mut text = format!("{}, ", self.protocol.title());
        if let Some((version, suite)) = &self.tls {
            let _ = write!(text, "{version} {suite}, ");
        }
        let _ = write!(text, "connected after {}", shown(self.connect));
        if let Some(first) = self.first_byte {
            let _ = write!(text, ", first byte of the body {} after that", shown(first));
        }
        let _ = write!(
            text,
            ", reply complete after {}, {} bytes",
            shown(self.whole),
            self.reply.body.len()
        );
        text
    }
}

fn ask(job: &Job, values: Values<'_>) -> Result<DebugReply, ClientError> {
    let client = Client::new(&job.target, job.protocol)?;
    let request = client.prepare(&job.workload.operations[0].request, BodyFraming::Length)?;
    let deadline = Instant::now() + Duration::from_nanos(job.timeout_ns);
    let begun = Instant::now();
    let mut connection = client.connect(deadline)?;
    let connect = begun.elapsed();
    let tls = connection.tls_parameters();
    let token = connection.start(&request, values);
    let reply = connection.reply(token, deadline)?;
    let first_byte = reply.pieces().next().map(|(_, at)| at);
    Ok(DebugReply {
        whole: reply.started.elapsed(),
        first_byte,
        protocol: job.protocol,
        connect,
        tls,
        reply,
    })
}

/// Whether the load would count the reply as valid.
fn judge(job: &Job, reply: &Reply, values: Values<'_>) -> Result<(), String> {
    let expect = &job.workload.operations[0].expect;
    if expect.is_stream() {
        return Ok(());
    }
    let expect = expect.compile().map_err(|error| error.to_string())?;
    let headers: Vec<(&[u8], &[u8])> = reply
        .headers
        .iter()
        .map(|(name, value)| (name.as_slice(), value.as_slice()))
        .collect();
    let judged = prony_load::Reply {
        status: reply.status,
        grpc_status: reply.grpc_status,
        headers: &headers,
        body: &reply.body,
    };
    expect
        .judge(&judged, |index, out| values.append(index, out))
        .map_err(|wrong| format!("{}: expected {}, got {}", wrong.what, wrong.expected, wrong.got))
}

fn request_text(job: &Job, request: &Request, values: Values<'_>) -> String {
    let filled = |template: &Template| {
        let mut out = Vec::new();
        template.render(&mut out, |index, out| values.append(index, out));
        out
    };
    let text_of = |template: &Template| String::from_utf8_lossy(&filled(template)).into_owned();
    let body = match &request.body {
        Body::None => Vec::new(),
        Body::Bytes(template) => filled(template),
        Body::Generated(generated) => [generated.filler(), filled(&generated.end)].concat(),
        Body::Messages(messages) => messages.framed(),
    };
    let version = match job.protocol {
        Protocol::Http2 | Protocol::Grpc => "HTTP/2",
        Protocol::Http1 | Protocol::WebSocket => "HTTP/1.1",
    };
    let mut lines = vec![format!(
        "{} {} {version}",
        request.method,
        mask_path(&text_of(&request.path))
    )];
    let names = |name: &str| {
        request
            .headers
            .iter()
            .any(|header| header.name.eq_ignore_ascii_case(name))
    };
    if !names("host") {
        lines.push(format!("Host: {}", job.target.authority));
    }
    if let Some(value) = job.target.authorization(request) {
        lines.push(format!("Authorization: {}", mask_header("Authorization", &value)));
    }
    for header in &request.headers {
        let value = text_of(&header.value);
        lines.push(format!("{}: {}", header.name, mask_header(&header.name, &value)));
    }
    if !body.is_empty() {
        lines.push(format!("Content-Length: {}", body.len()));
    }
    marked('>', &lines, &body)
}

fn reply_text(reply: &Reply) -> String {
    let version = match reply.version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
        Version::Http2 => "HTTP/2",
    };
    let mut lines = vec![format!("{version} {}", reply.status)];
    for (name, value) in &reply.headers {
        let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        lines.push(format!("{name}: {}", mask_header(&name, &value)));
    }
    if let Some(code) = reply.grpc_status {
        lines.push(format!("grpc-status: {code}"));
        if !reply.grpc_message.is_empty() {
            lines.push(format!(
                "grpc-message: {}",
                String::from_utf8_lossy(&reply.grpc_message)
            ));
        }
    }
    marked('<', &lines, &reply.body)
}

/// A head with a mark before each line, and then the body.
fn marked(mark: char, head: &[String], body: &[u8]) -> String {
    let mut text = String::new();
    for line in head {
        let _ = writeln!(text, "{mark} {line}");
    }
    let _ = writeln!(text, "{mark}");
    text.push_str(&body_text(body));
    text
}

/// A text as it is, other bytes in hexadecimal digits.
fn body_text(body: &[u8]) -> String {
    match std::str::from_utf8(body) {
        Ok(text) if !text.contains(|letter: char| letter.is_control() && !letter.is_whitespace()) => {
            let text = text.replace("\r\n", "\n");
            if text.is_empty() || text.ends_with('\n') {
                text
            } else {
                text + "\n"
            }
        }
        _ => {
            let mut text = String::new();
            for (row, bytes) in body.chunks(HEX_COLUMNS).enumerate() {
                let _ = write!(text, "{:08x} ", row * HEX_COLUMNS);
                for byte in bytes {
                    let _ = write!(text, " {byte:02x}");
                }
                text.push('\n');
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::body_text;

    #[test]
    fn a_body_is_a_text_or_hexadecimal() {
        assert_eq!(body_text(b""), "");
        assert_eq!(body_text(b"a\r\nb"), "a\nb\n");
        assert_eq!(body_text("ü\n".as_bytes()), "ü\n");
        assert_eq!(body_text(&[0, 255]), "00000000  00 ff\n");
        assert!(body_text(&[7; 17]).ends_with("07\n00000010  07\n"));
    }
}
