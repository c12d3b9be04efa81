//! Expectations of replies, built from a contract.

use super::{Call, Context, PlaceholderValues};
use crate::ConfigError;
use crate::contract::digest;
use crate::contract::toml::{ContentEncoding, EchoFormat, ExpectToml, HeaderExpectToml, OneOrMany, Status};
use crate::format::template::is_place;
use crate::format::{Spanned, SpannedValue, TomlValue};
use prony_load::{
    BodyRule, Bytes, Capture, Encoding, Expectation, HeaderRule, HeaderValue, JsonRule, JsonRuleError,
    Origin, Part, Request, Series, Source, Template,
};
use std::ops::Range;

/// A table of the bodies of a series is precomputed up to this size; beyond it, each body is computed when its reply arrives.
const LARGEST_TABLE: usize = 256 * 1024;
/// The media types of JSON.
const JSON_TYPE: &str = r"(?i)application/([a-z0-9.+-]+\+)?json[ \t]*(;.*)?";

impl ExpectToml {
    /// Whether it says nothing but a limit of time.
    pub(super) fn is_only_within(&self) -> bool {
        self.within.is_some() && !self.speaks_of_http() && !self.speaks_of_grpc() && !self.echoed
    }

    pub(super) fn speaks_of_http(&self) -> bool {
        self.status.is_some()
            || self.content_type.is_some()
            || !self.headers.is_empty()
            || self.text.is_some()
            || self.file.is_some()
            || self.json.is_some()
            || self.json_contains.is_some()
            || self.json_not_contains.is_some()
            || self.json_rules.is_some()
            || self.json_list.is_some()
            || self.html_table.is_some()
            || self.content_encoding.is_some()
            || self.json_schema.is_some()
            || self.matches.is_some()
            || self.contains.is_some()
            || self.builtin.is_some()
            || self.file_part.is_some()
            || self.events.is_some()
    }

    pub(super) fn speaks_of_grpc(&self) -> bool {
        let events = self.events.as_ref().map(Spanned::get_ref);
        self.grpc_status.is_some()
            || self.json.is_some()
            || self.message.is_some()
            || events.is_some_and(|events| events.each.message.is_some())
    }

    /// Whether it accepts the same statuses as another expectation. A limit of time alone says nothing of a status.
    pub(super) fn has_status_of(&self, other: &Self) -> bool {
        let grpc = |expect: &Self| {
            expect
                .grpc_status
                .as_ref()
                .map_or("OK", |name| name.get_ref())
                .to_owned()
        };
        self.is_only_within() || (self.statuses() == other.statuses() && grpc(self) == grpc(other))
    }

    /// The accepted statuses; 200 by default.
    fn statuses(&self) -> Vec<u16> {
        self.status
            .as_ref()
            .map_or_else(|| vec![200], |OneOrMany(codes)| Status::codes(codes))
    }
}

impl Call<'_> {
    /// The values that later requests use. The slots follow once all of these requests are known.
    fn captured(&self) -> Result<Vec<Capture>, ConfigError> {
        self.captures()
            .map(|(name, from)| {
                if !is_place(name) {
                    let message = format!("`{name}` is not the name of a placeholder");
                    let help = "use lower-case letters, digits and `_`";
                    return Err(self.contract.file.invalid_with(from.span(), message, help));
                }
                let origin = from
                    .get_ref()
                    .origin()
                    .map_err(|reason| self.invalid(from.span(), reason))?;
                if let Origin::Regex(pattern) = &origin {
                    self.verify_pattern(("regex", from.span()), pattern)?;
                }
                let capture = Capture {
                    name: name.clone(),
                    slot: 0,
                    from: origin,
                    encoding: Encoding::default(),
                };
                let alone = Expectation {
                    take: vec![capture.clone()],
                    ..Expectation::default()
                };
                alone
                    .compile()
                    .map_err(|error| self.invalid(from.span(), error.to_string()))?;
                Ok(capture)
            })
            .collect()
    }

    /// Whether a regular expression of a key compiles.
    fn verify_pattern(&self, (key, span): (&str, Range<usize>), pattern: &str) -> Result<(), ConfigError> {
        let file = &self.contract.file;
        let part = file.part_of_text(&span, pattern, &(0..pattern.len()));
        crate::toolchain::regex_error(pattern).map_or(Ok(()), |reason| {
            let message = format!("`{key}`: `{pattern}` is not a regular expression");
            Err(file.invalid_with(part, message, reason))
        })
    }

    pub(super) fn http_expectation(
        &self,
        request: &Request,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Expectation, ConfigError> {
        let expect = self.expect().get_ref();
        filling.set_body(&request.body);
        let mut expectation = Expectation {
            decode: expect.content_encoding.is_some(),
            status: expect.statuses(),
            grpc_status: None,
            headers: self.header_rules(expect, filling)?,
            body: self.body_rules(expect, (request, filling))?,
            json: self.json_rules(expect, filling)?,
            take: self.captured()?,
            events: match &expect.events {
                None => None,
                Some(events) => Some(self.events(events, filling)?),
            },
        };
        if let Some(builtin) = &expect.builtin {
            if let Some(line) = &builtin.header_lines {
                expectation.body.extend(header_lines(line.get_ref(), request));
            }
            match builtin.received {
                None => {}
                Some(EchoFormat::Digest) => expectation.headers.push(HeaderRule {
                    name: digest::HEADER.into(),
                    value: HeaderValue::Sha256(digest::canonical(request)),
                }),
                Some(EchoFormat::Description) => {
                    let json = digest::description(request).to_string();
                    let rule = BodyRule::Json(Template::literal(json.as_str()));
                    expectation.body.push(rule);
                }
            }
        }
        expectation.body.extend(self.part_rules(expect, filling)?);
        let compiled = expectation
            .compile()
            .map_err(|error| self.invalid(self.expect().span(), error.to_string()))?;
        if expectation.events.is_some() && compiled.judges_body() {
            let message =
                "`events` describes the whole body: remove the other keys of `expect` about the body";
            return Err(self.invalid(self.expect().span(), message));
        }
        Ok(expectation)
    }

    fn header_rules(
        &self,
        expect: &ExpectToml,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Vec<HeaderRule>, ConfigError> {
        let mut rules = Vec::new();
        let is_json = expect.json.is_some();
        match expect.content_type.as_deref() {
            Some("any") => {}
            Some(media_type) => rules.push(HeaderRule {
                name: "Content-Type".into(),
                value: self.media_type(media_type, filling)?,
            }),
            None if is_json => rules.push(HeaderRule {
                name: "Content-Type".into(),
                value: HeaderValue::Matches(JSON_TYPE.to_owned()),
            }),
            None => {}
        }
        if let Some(codings) = &expect.content_encoding {
            rules.extend(coding_rule(&codings.get_ref().0));
        }
        for (name, value) in &expect.headers {
            let rule = HeaderRule {
                name: name.clone(),
                value: match value.get_ref() {
                    HeaderExpectToml::Present(false) => HeaderValue::Absent,
                    HeaderExpectToml::Present(true) => HeaderValue::Matches("(?s).*".to_owned()),
                    HeaderExpectToml::Matches(pattern) => HeaderValue::Matches(pattern.matches.clone()),
                    HeaderExpectToml::Text(text) => {
                        let text = Spanned::new(value.span(), text.clone());
                        HeaderValue::Equals(filling.fill(&text, Context::Header)?)
                    }
                },
            };
            if let HeaderExpectToml::Matches(pattern) = value.get_ref() {
                self.verify_pattern((&format!("headers.{name}"), value.span()), &pattern.matches)?;
            }
            let alone = Expectation {
                headers: vec![rule.clone()],
                ..Expectation::default()
            };
            alone
                .compile()
                .map_err(|error| self.invalid(value.span(), format!("`{name}`: {error}")))?;
            rules.push(rule);
        }
        Ok(rules)
    }

    fn media_type(&self, written: &str, filling: &PlaceholderValues<'_>) -> Result<HeaderValue, ConfigError> {
        if !written.contains('{') && !written.contains(" or ") {
            return Ok(HeaderValue::MediaType(written.to_owned()));
        }
        let text = Spanned::new(self.expect().span(), written.to_owned());
        Ok(HeaderValue::MediaTypeOf(filling.fill(&text, Context::Text)?))
    }

    fn body_rules(
        &self,
        expect: &ExpectToml,
        (request, filling): (&Request, &PlaceholderValues<'_>),
    ) -> Result<Vec<BodyRule>, ConfigError> {
        let mut rules = Vec::new();
        if let Some(text) = &expect.text {
            rules.push(BodyRule::Exact(filling.fill(text, Context::Text)?));
        }
        if let Some(file) = &expect.file {
            rules.push(BodyRule::Exact(self.file_text(file, filling)?));
        }
        if let Some(part) = &expect.file_part {
            rules.push(self.contract.file_part(part, filling)?);
        }
        if let Some(json) = &expect.json {
            rules.push(if is_upload(json) {
                // The digest of the part that is the same for all requests is computed once.
                BodyRule::Uploaded(request.body.clone())
            } else {
                BodyRule::Json(self.expected_json("json", json, filling)?)
            });
        }
        if let Some(json) = &expect.json_contains {
            rules.push(BodyRule::JsonPart(self.expected_json(
                "json_contains",
                json,
                filling,
            )?));
        }
        if let Some(json) = &expect.json_not_contains {
            rules.push(BodyRule::JsonNotContains(self.expected_json(
                "json_not_contains",
                json,
                filling,
            )?));
        }
        if let Some(list) = &expect.json_list {
            rules.push(self.list(list, filling)?);
        }
        if let Some(table) = &expect.html_table {
            rules.push(self.html_table(table, filling)?);
        }
        if let Some(schema) = &expect.json_schema {
            rules.push(self.json_schema(schema)?);
        }
        let Some(builtin) = &expect.builtin else {
            return Ok(rules);
        };
        for (series, n) in [
            (Series::Integers, &builtin.integers),
            (Series::Fibonacci, &builtin.fibonacci),
        ] {
            if let Some(n) = n {
                rules.push(series_rule(series, filling.fill(n, Context::Text)?, filling));
            }
        }
        Ok(rules)
    }

    fn expected_json(
        &self,
        key: &str,
        json: &SpannedValue,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        let template = filling.json(json, false)?;
        self.verify_json(key, json.span(), &template)?;
        Ok(template)
    }

    /// Rules for single values of a JSON reply.
    fn json_rules(
        &self,
        expect: &ExpectToml,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Vec<JsonRule>, ConfigError> {
        let mut rules = Vec::new();
        for text in several(expect.json_rules.as_ref()) {
            let at = |reason: String| {
                let written = text.get_ref();
                self.invalid(text.span(), format!("`json_rules` has \"{written}\": {reason}"))
            };
            let rule = JsonRule::read(text.get_ref(), |value| {
                let value = Spanned::new(text.span(), value.to_owned());
                filling.fill(&value, Context::Text)
            });
            let rule = rule.map_err(|error| match error {
                JsonRuleError::Value(error) => error,
                other => at(other.to_string()),
            })?;
            let alone = Expectation {
                json: vec![rule.clone()],
                ..Expectation::default()
            };
            alone.compile().map_err(|error| at(error.to_string()))?;
            rules.push(rule);
        }
        Ok(rules)
    }

    /// Rules that search for a part of the body.
    fn part_rules(
        &self,
        expect: &ExpectToml,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Vec<BodyRule>, ConfigError> {
        let mut rules = Vec::new();
        for text in several(expect.contains.as_ref()) {
            rules.push(BodyRule::Contains(filling.fill(&text, Context::Text)?));
        }
        let lines = expect
            .builtin
            .as_ref()
            .and_then(|builtin| builtin.html_lines.as_ref());
        for text in several(lines) {
            rules.push(BodyRule::HtmlLine(filling.fill(&text, Context::Text)?));
        }
        for pattern in several(expect.matches.as_ref()) {
            self.verify_pattern(("matches", pattern.span()), pattern.get_ref())?;
            let rule = BodyRule::Matches(pattern.get_ref().clone());
            let alone = Expectation {
                body: vec![rule.clone()],
                ..Expectation::default()
            };
            alone
                .compile()
                .map_err(|error| self.invalid(pattern.span(), format!("`matches`: {error}")))?;
            rules.push(rule);
        }
        Ok(rules)
    }
}

/// The texts of a key, each with the span of the key.
fn several(texts: Option<&Spanned<OneOrMany<String>>>) -> Vec<Spanned<String>> {
    texts.map_or_else(Vec::new, |texts| {
        let OneOrMany(list) = texts.get_ref();
        list.iter()
            .map(|text| Spanned::new(texts.span(), text.clone()))
            .collect()
    })
}

/// The exact text if the number is known, a table of texts if they are few, else the rule itself.
fn series_rule(series: Series, n: Template, filling: &PlaceholderValues<'_>) -> BodyRule {
    // In a check, the rule itself names the wrong number, and speed does not matter.
    if !filling.is_for_load() {
        return BodyRule::Series { series, n };
    }
    if n.is_constant() {
        let number = String::from_utf8_lossy(&crate::contract::template::constant(&n))
            .parse()
            .ok();
        if let Some(text) = number.and_then(|number| series.text(number)) {
            return BodyRule::Exact(Template::literal(text.as_str()));
        }
    }
    if let [Part::Value(parameter)] = n.0.as_slice() {
        let parameters = filling.parameters();
        let range = parameters
            .get(*parameter)
            .and_then(|parameter| match parameter.source {
                Source::Range { low, high } | Source::Random { low, high } => Some((low, high)),
                _ => None,
            });
        if let Some(rule) = range.and_then(|(low, high)| table(series, *parameter, low, high)) {
            return rule;
        }
    }
    BodyRule::Series { series, n }
}

fn table(series: Series, parameter: usize, low: u64, high: u64) -> Option<BodyRule> {
    let mut bodies = Vec::new();
    let mut size = 0;
    for number in low..=high {
        let text = series.text(number)?;
        size += text.len();
        if size > LARGEST_TABLE {
            return None;
        }
        bodies.push(Bytes::from(text.as_str()));
    }
    Some(BodyRule::Table {
        parameter,
        low,
        bodies,
    })
}

/// A line of HTML for each header of the request. Repeated headers are left out, since a service may join them.
fn header_lines(line: &str, request: &Request) -> Vec<BodyRule> {
    let names: Vec<String> = request
        .headers
        .iter()
        .map(|header| header.name.to_ascii_lowercase())
        .collect();
    let once = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let (before, after) = line.split_once("$name").unwrap_or((line, ""));
    let (between, after) = after.split_once("$value").unwrap_or((after, ""));
    names
        .iter()
        .zip(&request.headers)
        .filter(|(name, _)| once(name))
        .map(|(name, header)| {
            let mut text = crate::contract::template::Builder::default();
            text.literal(format!("{before}{name}{between}").as_bytes());
            text.template(&header.value);
            text.literal(after.as_bytes());
            BodyRule::HtmlLine(text.build())
        })
        .collect()
}

/// The rule that the header names one of these codings, or is absent if that is allowed.
fn coding_rule(codings: &[ContentEncoding]) -> Option<HeaderRule> {
    if codings.contains(&ContentEncoding::Any) {
        return None;
    }
    let names: Vec<&str> = codings.iter().map(|coding| coding.name()).collect();
    let pattern = format!("(?i:{})", names.join("|"));
    Some(HeaderRule {
        name: "Content-Encoding".into(),
        value: if codings.contains(&ContentEncoding::Identity) {
            HeaderValue::MatchesIfThere(pattern)
        } else {
            HeaderValue::Matches(pattern)
        },
    })
}

/// Whether the expected JSON is the length and the digest of the request's body.
fn is_upload(json: &SpannedValue) -> bool {
    let TomlValue::Table(members) = json.get_ref() else {
        return false;
    };
    members.len() == 2
        && members.iter().all(|(name, value)| {
            let expected = match name.get_ref().as_str() {
                "bytes" => "{body.bytes}",
                "sha256" => "{body.sha256}",
                _ => return false,
            };
            matches!(value.get_ref(), TomlValue::Text(text) if text == expected)
        })
}
