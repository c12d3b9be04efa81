//! Turns a call of a contract into a request and the expectation of its reply.

mod draw;
mod events;
mod expect;
mod generated;
mod grpc;
mod json_schema;
mod placeholders;
mod websocket;

pub(crate) use draw::BODY_END;
pub use grpc::grpc_code_name;
pub(crate) use placeholders::{Bindings, BoundValue, Context, PlaceholderValues, Slots};
pub use websocket::{ExpectedFrame, Frame, FrameKind, Member, ScriptStep};

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::named_file;
use crate::contract::source::SourceToml;
use crate::contract::template::constant;
use crate::contract::toml::{CallToml, CaptureToml, ExpectToml};
use crate::format::Spanned;
use crate::format::suggestion::suggest;
use crate::format::template::{Piece, parse};
use prony_load::Part;
use prony_load::{Body, Expectation, Header, Protocol, Request, Template};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A call, completed with the keys of its operation.
#[derive(Clone)]
pub(crate) struct Call<'a> {
    contract: &'a Contract,
    /// The operation that it calls, if it names one.
    operation: Option<String>,
    pub(crate) written: CallToml,
    /// Whether the call uses keys that only HTTP has.
    http_only: bool,
    /// The operations that must be called before.
    pub(crate) needs: Vec<Spanned<String>>,
    /// What the operation says about its safety; `None` for another request.
    pub(crate) safe: Option<bool>,
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
        let is_other = own.http.is_some() || own.grpc.is_some() || own.websocket.is_some();
        let operation = own.operation.take();
        let (mut needs, mut safe) = (Vec::new(), None);
        if let Some(name) = &operation {
            let base = self.written.operation.get(name.get_ref()).ok_or_else(|| {
                let names = self.written.operation.keys().map(String::as_str);
                let help = suggest(names, name.get_ref());
                let message = format!("there is no operation `{}`", name.get_ref());
                self.file.invalid_with(name.span(), message, help)
            })?;
            needs.clone_from(&base.get_ref().needs);
            safe = base.get_ref().safe.filter(|_| !is_other);
            complete(&mut own, base.get_ref().into());
        }
        for (name, token) in &self.tokens.shared {
            let source = || Spanned::new(call.span(), SourceToml::One(token.as_str().into()));
            own.with.entry(name.clone()).or_insert_with(source);
        }
        if own.http.is_none() && own.grpc.is_none() && own.websocket.is_none() {
            let help = "add `http`, such as \"GET /items/{id}\", or `grpc` or `websocket`";
            return Err(self
                .file
                .invalid_with(call.span(), "the request is missing", help));
        }
        let Some(expect) = &own.expect else {
            let help = "add it, such as `expect.status = 200`";
            return Err(self.file.invalid_with(call.span(), "`expect` is missing", help));
        };
        let says = expect.get_ref();
        if !says.speaks_of_http() && !says.speaks_of_grpc() && !says.echoed {
            let help = "give at least `status` or `grpc_status`";
            return Err(self.file.invalid_with(expect.span(), "`expect` is empty", help));
        }
        self.verify_web_socket(call.span(), &own)?;
        Ok(Call {
            contract: self,
            operation: operation.map(Spanned::into_inner),
            http_only: changes_http && !changes_grpc,
            needs,
            safe,
            written: own,
            span: call.span(),
        })
    }
}

impl Contract {
    /// Values that nothing uses are mistakes.
    pub(crate) fn verify_used(
        &self,
        own: &BTreeMap<String, Spanned<SourceToml>>,
        used: &BTreeSet<String>,
    ) -> Result<(), ConfigError> {
        match own.iter().find(|(name, _)| !used.contains(*name)) {
            Some((name, source)) => Err(self.file.invalid_with(
                source.span(),
                format!("`with.{name}` is not used"),
                format!("no text has the placeholder `{{{name}}}`"),
            )),
            None => Ok(()),
        }
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
    // A reply with another status has other content: nothing of the operation's is captured from it.
    let is_other = own.expect.as_ref().zip(base.expect.as_ref());
    let is_other = is_other.is_some_and(|(own, base)| !own.get_ref().has_status_of(base.get_ref()));
    own.expect = match (own.expect.take(), base.expect) {
        // A limit of time alone does not replace the expectation.
        (Some(only), Some(base)) if only.get_ref().is_only_within() => {
            let mut expect = base.into_inner();
            expect.within = only.get_ref().within;
            Some(Spanned::new(only.span(), expect))
        }
        (own, base) => own.or(base),
    };
    if own.capture.is_none() && !is_other {
        own.capture = base.capture;
    }
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
    pub(crate) fn expect(&self) -> &Spanned<ExpectToml> {
        self.written
            .expect
            .as_ref()
            .expect("invariant: a call is only created with an expectation")
    }

    fn invalid(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        self.contract.invalid(span, message)
    }

    pub(crate) const fn contract(&self) -> &Contract {
        self.contract
    }

    pub(crate) fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
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

    /// What is captured from the reply, by name.
    pub(crate) fn captures(&self) -> impl Iterator<Item = (&String, &Spanned<CaptureToml>)> {
        self.written.capture.iter().flatten()
    }

    /// The names of the values that are captured from the reply.
    pub(crate) fn captured_names(&self) -> impl Iterator<Item = &str> {
        self.captures().map(|(name, _)| name.as_str())
    }

    /// Every placeholder must have a value, and each of the call's own values a placeholder.
    pub(crate) fn verify(
        &self,
        own: &BTreeMap<String, Spanned<SourceToml>>,
        captured: &BTreeSet<String>,
        protocols: &[Protocol],
    ) -> Result<(), ConfigError> {
        let mut random = SmallRng::seed_from_u64(0);
        let mut bindings = self.draw(&mut random)?;
        for name in captured {
            bindings.entry(name.clone()).or_insert(BoundValue::Captured);
        }
        let slots = Slots::default();
        let filling = PlaceholderValues::for_case(self.contract, &bindings, &slots);
        for &protocol in protocols.iter().filter(|protocol| self.speaks(**protocol)) {
            let (request, _) = self.build(protocol, &filling)?;
            self.script(&request, &filling)?;
        }
        self.contract.verify_used(own, &filling.used())
    }

    /// The request and the expected reply.
    pub(crate) fn build(
        &self,
        protocol: Protocol,
        filling: &PlaceholderValues<'_>,
    ) -> Result<(Request, Expectation), ConfigError> {
        filling.verify_references(self.with())?;
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
        let text = http.get_ref();
        // The text as it is in the file: older placeholders were brought to today's form.
        let file = &self.contract.file;
        let written = file
            .text
            .get(http.span())
            .map_or(text.as_str(), |quoted| quoted.trim_matches(['"', '\'']));
        let refused = |help: &str| {
            let message = format!("`http` is \"{written}\"");
            Err(self.contract.file.invalid_with(http.span(), message, help))
        };
        if let Some(request) = text
            .strip_suffix(" HTTP/1.1")
            .or_else(|| text.strip_suffix(" HTTP/2"))
        {
            return refused(&format!("the protocol is set by a suite: write `{request}`"));
        }
        let Some((method, path)) = text.split_once(' ') else {
            return refused("give method and path, such as `GET /items/{id}`");
        };
        if method.is_empty()
            || !method
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return refused("give method and path, such as `GET /items/{id}`");
        }
        if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
            let file = &self.contract.file;
            let at = file.part_of_text(&http.span(), text, &(0..method.len()));
            let help = format!(
                "methods are case-sensitive: write `{}`",
                method.to_ascii_uppercase()
            );
            return Err(file.invalid_with(at, format!("`{method}` is not a method"), help));
        }
        if path.starts_with("http://") || path.starts_with("https://") {
            return refused("give only the path: the service sets the host");
        }
        if !path.starts_with(['/', '{']) {
            return refused(&format!(
                "a path starts with `/`: write `{method} /{}`",
                path.trim()
            ));
        }
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
        let given: Vec<(&str, Range<usize>)> = [
            ("json", written.json.as_ref().map(Spanned::span)),
            ("text", written.text.as_ref().map(Spanned::span)),
            ("file", written.file.as_ref().map(Spanned::span)),
            ("generated", written.generated.as_ref().map(Spanned::span)),
        ]
        .into_iter()
        .filter_map(|(key, span)| Some((key, span?)))
        .collect();
        if let [(first, _), (second, span), ..] = given.as_slice() {
            let message = format!("`{first}` and `{second}`: a request has one body");
            return Err(self
                .contract
                .file
                .invalid_with(span.clone(), message, "remove one of them"));
        }
        if let Some(json) = &written.json {
            let body = filling.json(json, false)?;
            self.verify_json("json", json.span(), &body)?;
            return Ok((Body::Bytes(body), true));
        }
        if let Some(text) = &written.text {
            return Ok((Body::Bytes(filling.fill(text, Context::Text)?), false));
        }
        if let Some(generated) = &written.generated {
            return Ok((Body::Generated(self.generated(generated, filling)?), false));
        }
        match &written.file {
            Some(file) => Ok((Body::Bytes(self.file_text(file, filling)?), false)),
            None => Ok((Body::None, false)),
        }
    }

    /// Values that are inserted as they are must leave valid JSON.
    fn verify_json(&self, key: &str, span: Range<usize>, json: &Template) -> Result<(), ConfigError> {
        if !json.is_constant() {
            return Ok(());
        }
        let json = constant(json);
        serde_json::from_slice::<serde_json::Value>(&json)
            .map(drop)
            .map_err(|error| {
                let message = format!(
                    "`{key}` is not JSON once its placeholders are filled ({error}): {}",
                    prony_load::excerpt(&json)
                );
                self.invalid(span, message)
            })
    }

    /// A file of the contract's folder with its placeholders filled.
    fn file_text(
        &self,
        file: &Spanned<String>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        let text = named_file::read(&self.contract.folder, file.get_ref()).map_err(|reason| {
            let message = format!("`file` is \"{}\": {reason}", file.get_ref());
            self.invalid(file.span(), message)
        })?;
        filling.fill(&Spanned::new(file.span(), text), Context::Text)
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
        let written = path;
        let path = filling.target((&span, written))?;
        let sent = constant(&path);
        if matches!(path.0.first(), None | Some(Part::Literal(_))) && !sent.starts_with(b"/") {
            return Err(at(format!(
                "`{}` is not a path: it must start with `/`",
                sent.escape_ascii()
            )));
        }
        if sent.iter().all(u8::is_ascii_graphic) {
            return Ok(path);
        }
        let pieces = parse(written).unwrap_or_default();
        let wrong = pieces.into_iter().find_map(|piece| match piece {
            Piece::Text(text) => text.chars().find(|letter| !letter.is_ascii_graphic()),
            Piece::Reference(_) | Piece::Formula(_) => None,
        });
        let Some(wrong) = wrong else {
            return Err(at(format!("`{}` is not a path", sent.escape_ascii())));
        };
        let encoded = prony_load::escape::path(wrong.encode_utf8(&mut [0; 4]).as_bytes());
        let help = format!("write `{encoded}`");
        let file = &self.contract.file;
        let what = match wrong {
            ' ' => "a space".to_owned(),
            other => format!("`{}`", other.escape_debug()),
        };
        Err(file.invalid_with(span, format!("{what} in the path"), help))
    }

    /// The headers of the call, with their placeholders filled.
    fn headers(&self, filling: &PlaceholderValues<'_>) -> Result<Vec<Header>, ConfigError> {
        let mut headers = Vec::new();
        for (name, value) in &self.written.headers {
            if !is_token(name) {
                let message = format!("`{name}` is not the name of a header");
                let help = "use letters, digits and `-`";
                return Err(self.contract.file.invalid_with(value.span(), message, help));
            }
            for text in value.get_ref().texts() {
                let text = Spanned::new(value.span(), text.clone());
                headers.push(Header {
                    name: name.clone(),
                    value: filling.fill(&text, Context::Header)?,
                });
            }
        }
        Ok(headers)
    }
}

/// Whether a text is a token of RFC 9110, as the name of a header is.
pub(crate) fn is_token(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_letter)
}
