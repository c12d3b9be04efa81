//! Turns a call of a contract into a request and the expectation of its reply.

mod draw;
mod events;
mod expect;
mod generated;
mod grpc;
mod json_schema;
mod placeholders;
mod value;
mod websocket;

pub(crate) use draw::BODY_END;
pub use grpc::grpc_code_name;
pub(crate) use placeholders::PlaceholderValues;
pub(crate) use value::as_json;
pub use websocket::{ExpectedFrame, Frame, FrameKind, Member, ScriptStep};

use crate::format::suggestion::known;
use crate::contract::source::SourceToml;
use crate::contract::template::{BoundValue, constant};
use crate::contract::toml::{CallToml, ExpectToml, HeaderText};
use crate::ConfigError;
use crate::contract::Contract;
use prony_load::Part;
use prony_load::{Body, Expectation, Header, Protocol, Request, Template};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use crate::format::Spanned;

/// A call, completed with the keys of its operation.
#[derive(Clone)]
pub(crate) struct Call<'a> {
    contract: &'a Contract,
    pub(crate) written: CallToml,
    /// Whether the call uses keys that only HTTP has.
    http_only: bool,
    span: Range<usize>,
}

impl Contract {
    /// Completes a call with the keys of its operation.
    pub(crate) fn call(&self, call: &Spanned<CallToml>) -> Result<Call<'_>, ConfigError> {
        let mut own = call.get_ref().clone();
        let changes_http = own.http.is_some()
            || own.text.is_some()
            || own.file.is_some()
            || own.json.is_some()
            || own.generated.is_some()
            || !own.headers.is_empty();
        let changes_grpc =
            own.grpc.is_some() || own.message.is_some() || own.messages.is_some() || own.deadline.is_some();
        let operation = own.operation.take();
        if let Some(name) = &operation {
            let base = self.written.operation.get(name.get_ref()).ok_or_else(|| {
                let allowed = known(self.written.operation.keys().map(String::as_str));
                self.invalid(
                    name.span(),
                    format!("`operation` is `{}`: {allowed}", name.get_ref()),
                )
            })?;
            complete(&mut own, base.get_ref().into());
        }
        for (name, token) in &self.tokens.shared {
            let source = || Spanned::new(call.span(), SourceToml::One(token.clone()));
            own.with.entry(name.clone()).or_insert_with(source);
        }
        if own.http.is_none() && own.grpc.is_none() && own.websocket.is_none() {
            let message = "a call without `operation`, `http`, `grpc` or `websocket`: give one";
            return Err(self.invalid(call.span(), message));
        }
        let Some(expect) = &own.expect else {
            let message = "no expectation: give `expect`, or call an operation with one";
            return Err(self.invalid(call.span(), message));
        };
        let says = expect.get_ref();
        if !says.speaks_of_http() && !says.speaks_of_grpc() && !says.echoed {
            let message = "`expect` is empty: give at least `status`, or `grpc`";
            return Err(self.invalid(expect.span(), message));
        }
        self.verify_web_socket(call.span(), &own)?;
        Ok(Call {
            contract: self,
            http_only: changes_http && !changes_grpc,
            written: own,
            span: call.span(),
        })
    }
}

/// Fills the keys that the call does not set from the operation.
fn complete(own: &mut CallToml, base: CallToml) {
    let own_body = own.json.is_some()
        || own.text.is_some()
        || own.file.is_some()
        || own.generated.is_some()
        || own.script.is_some();
    own.http = own.http.take().or(base.http);
    own.grpc = own.grpc.take().or(base.grpc);
    own.websocket = own.websocket.take().or(base.websocket);
    own.message = own.message.take().or(base.message);
    own.messages = own.messages.take().or(base.messages);
    own.deadline = own.deadline.or(base.deadline);
    own.expect = own.expect.take().or(base.expect);
    if !own_body {
        (own.json, own.text, own.file) = (base.json, base.text, base.file);
        own.generated = base.generated;
    }
    for (name, value) in base.headers {
        own.headers.entry(name).or_insert(value);
    }
    for (name, value) in base.with {
        own.with.entry(name).or_insert(value);
    }
}

impl Call<'_> {
    fn expect(&self) -> &Spanned<ExpectToml> {
        self.written
            .expect
            .as_ref()
            .expect("invariant: a call is only created with an expectation")
    }

    fn invalid(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        self.contract.invalid(span, message)
    }

    /// Whether the call can be sent over a protocol.
    pub(crate) fn speaks(&self, protocol: Protocol) -> bool {
        let expect = self.expect().get_ref();
        match protocol {
            Protocol::Http1 | Protocol::Http2 => self.written.http.is_some() && expect.speaks_of_http(),
            Protocol::Grpc => self.written.grpc.is_some() && !self.http_only && expect.speaks_of_grpc(),
            Protocol::WebSocket => self.written.websocket.is_some(),
        }
    }

    /// The values of the call's placeholders, by name.
    pub(crate) fn with(&self) -> &BTreeMap<String, Spanned<SourceToml>> {
        &self.written.with
    }

    /// Whether the reply is a stream.
    pub(crate) fn expects_events(&self) -> bool {
        self.expect().get_ref().events.is_some()
    }

    /// The names of the values that are captured from the reply.
    pub(crate) fn taken_names(&self) -> impl Iterator<Item = &str> {
        self.expect().get_ref().capture.keys().map(String::as_str)
    }

    /// Every placeholder must have a value, and each of the call's own values a placeholder.
    pub(crate) fn verify(
        &self,
        own: &BTreeMap<String, Spanned<SourceToml>>,
        taken: &BTreeSet<String>,
        protocols: &[Protocol],
    ) -> Result<(), ConfigError> {
        let mut random = SmallRng::seed_from_u64(0);
        for (name, source) in self.with() {
            self.verify_row(name, source)?;
        }
        let mut bindings = self.draw(&mut random)?;
        for name in taken {
            bindings.entry(name.clone()).or_insert(BoundValue::Parameter(0));
        }
        let filling = PlaceholderValues::for_case(&bindings);
        for &protocol in protocols.iter().filter(|protocol| self.speaks(**protocol)) {
            let (request, _) = self.build(protocol, &filling)?;
            self.script(&request, &filling)?;
        }
        let used = filling.used();
        match own.iter().find(|(name, _)| !used.contains(*name)) {
            Some((name, source)) => Err(self.invalid(
                source.span(),
                format!("`with.{name}`: no text has the placeholder `{{{name}}}`"),
            )),
            None => Ok(()),
        }
    }

    /// The request and the expected reply.
    pub(crate) fn build(
        &self,
        protocol: Protocol,
        filling: &PlaceholderValues<'_>,
    ) -> Result<(Request, Expectation), ConfigError> {
        match protocol {
            Protocol::Http1 | Protocol::Http2 => {
                let request = self.http_request(filling)?;
                let expectation = self.http_expectation(&request, filling)?;
                Ok((request, expectation))
            }
            Protocol::Grpc => self.grpc(filling),
            Protocol::WebSocket => self.web_socket(filling),
        }
    }

    /// The request alone: the expected reply may not be known for every value.
    pub(crate) fn request(
        &self,
        protocol: Protocol,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Request, ConfigError> {
        match protocol {
            Protocol::Http1 | Protocol::Http2 => self.http_request(filling),
            Protocol::Grpc => self.grpc_request(filling).map(|(_, request)| request),
            Protocol::WebSocket => self.web_socket_request(filling),
        }
    }

    fn http_request(&self, filling: &PlaceholderValues<'_>) -> Result<Request, ConfigError> {
        let http = self
            .written
            .http
            .as_ref()
            .expect("invariant: the call speaks HTTP");
        let (method, path) = http
            .get_ref()
            .split_once(' ')
            .filter(|(method, path)| !method.is_empty() && path.starts_with(['/', '{']))
            .ok_or_else(|| {
                let message = "`http`: give method and path, like `GET /api/test`";
                self.invalid(http.span(), message)
            })?;
        let path = self.path("http", (http.span(), path), filling)?;
        let (body, is_json) = self.http_body(filling)?;
        let mut headers = self.headers(filling)?;
        if is_json
            && !self
                .written
                .headers
                .keys()
                .any(|name| name.eq_ignore_ascii_case("content-type"))
        {
            headers.push(Header {
                name: "Content-Type".into(),
                value: Template::literal("application/json"),
            });
        }
        Ok(Request {
            method: method.to_owned(),
            path,
            headers,
            body,
        })
    }

    fn http_body(&self, filling: &PlaceholderValues<'_>) -> Result<(Body, bool), ConfigError> {
        let written = &self.written;
        let given = [
            written.json.is_some(),
            written.text.is_some(),
            written.file.is_some(),
            written.generated.is_some(),
        ];
        if given.into_iter().filter(|given| *given).count() > 1 {
            let message = "more than one of `json`, `text`, `file` and `generated`: a request has one body";
            return Err(self.invalid(self.span.clone(), message));
        }
        if let Some(json) = &written.json {
            return Ok((Body::Bytes(self.json_text("json", json, filling)?), true));
        }
        if let Some(text) = &written.text {
            return Ok((Body::Bytes(self.filled("text", text, filling)?), false));
        }
        if let Some(generated) = &written.generated {
            return Ok((Body::Generated(self.generated(generated, filling)?), false));
        }
        match &written.file {
            Some(file) => Ok((Body::Bytes(self.file_text(file, filling)?), false)),
            None => Ok((Body::None, false)),
        }
    }

    /// A text of the contract with its placeholders filled.
    fn filled(
        &self,
        key: &str,
        text: &Spanned<String>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        filling
            .fill(text.get_ref(), str::to_owned)
            .map_err(|reason| self.invalid(text.span(), format!("`{key}`: {reason}")))
    }

    /// A file of the contract's folder with its placeholders filled.
    fn file_text(
        &self,
        file: &Spanned<String>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        let at = |reason: String| self.invalid(file.span(), format!("`file`: {}: {reason}", file.get_ref()));
        let path = self.contract.folder.join(file.get_ref());
        let text = std::fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
        filling.fill(&text, str::to_owned).map_err(at)
    }

    /// A value with its `$name`s resolved.
    fn value(
        &self,
        key: &str,
        value: &Spanned<toml::Value>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Value, ConfigError> {
        let data = value::Data {
            values: &self.contract.data,
            filling,
        };
        as_json(value.get_ref())
            .and_then(|json| data.resolve(json, 0))
            .map_err(|reason| self.invalid(value.span(), format!("`{key}`: {reason}")))
    }
}

impl Call<'_> {
    /// The path of a key, with its placeholders filled.
    fn path(
        &self,
        key: &str,
        (span, path): (Range<usize>, &str),
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        let at = |reason: String| self.invalid(span.clone(), format!("`{key}`: {reason}"));
        let path = filling.fill(path, str::to_owned).map_err(at)?;
        let sent = constant(&path);
        if matches!(path.0.first(), None | Some(Part::Literal(_))) && !sent.starts_with(b"/") {
            return Err(at(format!(
                "`{}` is not a path: it must start with `/`",
                sent.escape_ascii()
            )));
        }
        match sent.into_iter().find(|byte| !byte.is_ascii_graphic()) {
            None => Ok(path),
            Some(byte) => Err(at(format!(
                "`{}` in the path: percent-encode it",
                byte.escape_ascii()
            ))),
        }
    }

    /// The headers of the call, with their placeholders filled.
    fn headers(&self, filling: &PlaceholderValues<'_>) -> Result<Vec<Header>, ConfigError> {
        let mut headers = Vec::new();
        for (name, value) in &self.written.headers {
            let HeaderText::Texts(texts) = value.get_ref() else {
                continue;
            };
            for text in texts {
                let value = filling
                    .fill(text, str::to_owned)
                    .map_err(|reason| self.invalid(value.span(), format!("`headers.{name}`: {reason}")))?;
                headers.push(Header {
                    name: name.clone(),
                    value,
                });
            }
        }
        Ok(headers)
    }
}
