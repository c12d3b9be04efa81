//! Requests serialised as far as possible before the run.

use super::hpack::{Field, HeaderPlan};
use crate::protocol::{PrepareError, expects_content};
use crate::request_rules::{self, ReservedHeaders};
use crate::request_values::Values;
use prony_load::grpc::{PREFIX, frame};
use prony_load::{Body, Header, Part, Request, Target, Template};

/// Headers that the protocol itself sends, or that HTTP/2 forbids (RFC 9113, section 8.2.2).
const RESERVED: ReservedHeaders = ReservedHeaders {
    names: &[
        "connection",
        "content-length",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
        "te",
    ],
    reason: "the protocol sends it itself, or forbids it",
};

/// A request that all connections share.
#[derive(Debug)]
pub struct Http2Request {
    pub(super) headers: HeaderPlan,
    varying: Vec<DynamicHeader>,
    body: PreparedBody,
    /// Number of messages of the body that may wait for replies at a time; `None`: all.
    pub(super) unanswered: Option<u32>,
    /// Whether the reply has no body, whatever its headers say.
    pub(super) is_head: bool,
}

/// A header value that differs per request.
#[derive(Debug)]
enum DynamicHeader {
    Value(Template),
    BodyLength,
}

#[derive(Debug)]
enum PreparedBody {
    None,
    Constant(Vec<u8>),
    Varying { template: Template, grpc: bool },
}

/// Headers that a protocol on top of HTTP/2 adds, and whether messages carry the gRPC prefix.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Headers added to those of the request.
    pub headers: &'static [(&'static str, &'static str)],
    /// Whether the body is a gRPC message.
    pub grpc: bool,
}

impl Http2Request {
    /// Serialises a request.
    pub fn new(request: &Request, target: &Target, dialect: Dialect) -> Result<Self, PrepareError> {
        let method = request.method.as_str();
        request_rules::check(request, &[RESERVED])?;
        // HTTP/2 uses `:authority` instead (RFC 9113, section 8.3.1).
        let is_host = |header: &&Header| header.name.eq_ignore_ascii_case("host");
        let host = request.headers.iter().find(is_host);
        let authority = host.map_or_else(
            || Template::literal(target.authority.as_str()),
            |header| header.value.clone(),
        );
        let scheme = if target.tls.is_some() { "https" } else { "http" };
        let mut fields: Vec<(String, Template)> = vec![
            (":method".into(), Template::literal(method)),
            (":scheme".into(), Template::literal(scheme)),
            (":authority".into(), authority),
            (":path".into(), request.path.clone()),
        ];
        for (name, value) in dialect.headers {
            fields.push(((*name).into(), Template::literal(*value)));
        }
        let body = PreparedBody::new(&request.body, dialect.grpc);
        if let (PreparedBody::Constant(bytes), false) = (&body, dialect.grpc) {
            let length = bytes.len().to_string();
            fields.push(("content-length".into(), Template::literal(length.as_str())));
        }
        if matches!(body, PreparedBody::None) && expects_content(method) {
            fields.push(("content-length".into(), Template::literal("0")));
        }
        if let Some(authorization) = target.authorization(request) {
            fields.push(("authorization".into(), Template::literal(authorization.as_str())));
        }
        for header in request.headers.iter().filter(|header| !is_host(header)) {
            let name = header.name.to_ascii_lowercase();
            if dialect.headers.iter().any(|(own, _)| *own == name) {
                return Err(PrepareError::Header {
                    name: header.name.clone(),
                    reason: RESERVED.reason,
                });
            }
            fields.push((name, header.value.clone()));
        }
        let unanswered = match &request.body {
            Body::Messages(messages) => messages.unanswered,
            _ => None,
        };
        Ok(Self {
            unanswered,
            ..Self::of(&fields, body, method == "HEAD")
        })
    }

    fn of(fields: &[(String, Template)], body: PreparedBody, is_head: bool) -> Self {
        let constants: Vec<Option<Vec<u8>>> = fields.iter().map(|(_, value)| constant(value)).collect();
        let mut planned: Vec<Field<'_>> = fields
            .iter()
            .zip(&constants)
            .map(|((name, _), value)| Field {
                name: name.as_bytes(),
                value: value.as_deref(),
            })
            .collect();
        let templates = fields.iter().map(|(_, value)| value);
        let mut varying: Vec<DynamicHeader> = templates
            .filter(|value| !value.is_constant())
            .map(|value| DynamicHeader::Value(value.clone()))
            .collect();
        if matches!(body, PreparedBody::Varying { grpc: false, .. }) {
            planned.push(Field {
                name: b"content-length",
                value: None,
            });
            varying.push(DynamicHeader::BodyLength);
        }
        Self {
            headers: HeaderPlan::new(&planned),
            varying,
            body,
            unanswered: None,
            is_head,
        }
    }

    /// Whether the request ends with its headers.
    pub(super) const fn is_bodyless(&self) -> bool {
        matches!(self.body, PreparedBody::None)
    }

    /// Appends the value of the varying field `place`, for a request with a body of `body_length` bytes.
    pub(super) fn value(&self, place: usize, values: Values<'_>, body_length: usize, out: &mut Vec<u8>) {
        match &self.varying[place] {
            DynamicHeader::Value(template) => template.render(out, |index, out| values.append(index, out)),
            DynamicHeader::BodyLength => out.extend_from_slice(body_length.to_string().as_bytes()),
        }
    }

    /// Returns the body, rendered into `scratch` if it differs per request.
    pub(super) fn body<'a>(&'a self, values: Values<'_>, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        match &self.body {
            PreparedBody::None => &[],
            PreparedBody::Constant(bytes) => bytes,
            PreparedBody::Varying { template, grpc } => {
                scratch.clear();
                if *grpc {
                    scratch.extend_from_slice(&[0; PREFIX]);
                }
                template.render(scratch, |index, out| values.append(index, out));
                if *grpc {
                    write_length(scratch);
                }
                scratch
            }
        }
    }
}

impl PreparedBody {
    fn new(body: &Body, grpc: bool) -> Self {
        match body {
            // An empty gRPC message still has its prefix.
            Body::None if grpc => Self::Constant(vec![0; PREFIX]),
            Body::None => Self::None,
            Body::Generated(generated) => {
                let mut parts = vec![Part::Literal(generated.filler().into())];
                parts.extend(generated.end.0.iter().cloned());
                Self::new(&Body::Bytes(Template(parts)), grpc)
            }
            Body::Messages(messages) => Self::Constant(messages.framed()),
            Body::Bytes(template) => match constant(template) {
                Some(bytes) if grpc => {
                    let mut message = Vec::new();
                    frame(&bytes, &mut message);
                    Self::Constant(message)
                }
                Some(bytes) => Self::Constant(bytes),
                None => Self::Varying {
                    template: template.clone(),
                    grpc,
                },
            },
        }
    }
}

/// Writes the length of a message into its prefix.
fn write_length(message: &mut [u8]) {
    let length = (message.len() - PREFIX) as u32;
    message[1..PREFIX].copy_from_slice(&length.to_be_bytes());
}

fn constant(template: &Template) -> Option<Vec<u8>> {
    template.is_constant().then(|| {
        let mut bytes = Vec::new();
        template.render(&mut bytes, |_, _| {
            unreachable!("a constant template has no values")
        });
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_values::Parameters;
    use prony_load::formula::{Formula, Operator};
    use prony_load::{ConnectOptions, Parameter, Source};

    #[test]
    fn formulas_are_sent_with_their_numbers_and_the_right_length() {
        let number = Formula::Of(
            Box::new((Formula::Value(0), Formula::Number(10))),
            Operator::Times,
        );
        let request = Request {
            method: "POST".into(),
            path: Template(vec![Part::Literal("/p/".into()), Part::Formula(number.clone())]),
            headers: Vec::new(),
            body: Body::Bytes(Template(vec![Part::Literal("n=".into()), Part::Formula(number)])),
        };
        let target = Target {
            url: "http://h/".into(),
            host: "h".into(),
            port: 80,
            authority: "h".into(),
            tls: None,
            connect: ConnectOptions::default(),
            credentials: None,
        };
        let parameter = Parameter {
            name: "n".into(),
            source: Source::Counter { start: 9 },
        };
        let parameters = Parameters::new(&[parameter], 0);
        let prepared = |grpc| {
            let headers = &[];
            Http2Request::new(&request, &target, Dialect { headers, grpc }).expect("a good request")
        };
        for (place, path, body) in [(0, "/p/90", "n=90"), (1, "/p/100", "n=100")] {
            let values = parameters.values(place);
            let (plain, grpc) = (prepared(false), prepared(true));
            let (mut scratch, mut out) = (Vec::new(), Vec::new());
            assert_eq!(plain.body(values, &mut scratch), body.as_bytes());
            plain.value(0, values, body.len(), &mut out);
            out.push(b' ');
            plain.value(1, values, body.len(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!("{path} {}", body.len()));
            let mut message = Vec::new();
            frame(body.as_bytes(), &mut message);
            assert_eq!(grpc.body(values, &mut scratch), message);
        }
    }
}
