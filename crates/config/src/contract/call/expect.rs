//! Expectations of replies, built from a contract.

use super::{Call, PlaceholderValues};
use crate::ConfigError;
use crate::contract::digest;
use crate::contract::template::is_place;
use crate::contract::toml::{EchoFormat, ExpectToml, HeaderText, OneOrMany};
use prony_load::{
    BodyRule, Bytes, Capture, Expectation, HeaderRule, HeaderValue, JsonRule, JsonRuleError, Part, Request,
    Series, Source, Template,
};
use crate::format::Spanned;

/// A table of the bodies of a series is precomputed up to this size; beyond it, each body is computed when its reply arrives.
const LARGEST_TABLE: usize = 256 * 1024;

impl ExpectToml {
    pub(super) fn speaks_of_http(&self) -> bool {
        self.status.is_some()
            || self.media_type.is_some()
            || !self.headers.is_empty()
            || self.text.is_some()
            || self.file.is_some()
            || self.json.is_some()
            || self.json_part.is_some()
            || self.json_rules.is_some()
            || self.json_list.is_some()
            || self.html_table.is_some()
            || self.uploaded
            || self.decoded
            || self.coding.is_some()
            || self.json_schema.is_some()
            || self.matches.is_some()
            || self.contains.is_some()
            || self.html_lines.is_some()
            || self.header_lines.is_some()
            || self.integers.is_some()
            || self.fibonacci.is_some()
            || self.received.is_some()
            || self.events.is_some()
            || !self.capture.is_empty()
    }

    pub(super) fn speaks_of_grpc(&self) -> bool {
        let events = self.events.as_ref().map(Spanned::get_ref);
        self.grpc.is_some()
            || self.json.is_some()
            || self.message.is_some()
            || events.is_some_and(|events| events.each.message.is_some())
    }
}

impl Call<'_> {
    /// The values that later steps capture from the reply, each with the slot that the sequence assigned to its name.
    fn takes(
        &self,
        expect: &ExpectToml,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Vec<Capture>, ConfigError> {
        let take = |(name, from): (&String, &Spanned<String>)| {
            let at = |reason: String| self.invalid(from.span(), format!("`capture.{name}`: {reason}"));
            if !is_place(name) {
                return Err(at(
                    "a placeholder name consists of lowercase letters, digits and _".to_owned(),
                ));
            }
            Ok(Capture {
                name: name.clone(),
                slot: filling.slot(name),
                from: from.get_ref().parse().map_err(at)?,
            })
        };
        expect.capture.iter().map(take).collect()
    }

    pub(super) fn http_expectation(
        &self,
        request: &Request,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Expectation, ConfigError> {
        let expect = self.expect().get_ref();
        let mut expectation = Expectation {
            decode: expect.decoded || expect.coding.is_some(),
            status: expect
                .status
                .as_ref()
                .map_or_else(|| vec![200], |OneOrMany(codes)| codes.clone()),
            grpc_status: None,
            headers: self.header_rules(expect, filling)?,
            body: self.body_rules(expect, filling)?,
            json: self.json_rules(expect, filling)?,
            take: self.takes(expect, filling)?,
            events: match &expect.events {
                None => None,
                Some(events) => Some(self.events(events, filling)?),
            },
        };
        if expect.uploaded {
            expectation.body.push(BodyRule::Uploaded(request.body.clone()));
        }
        if let Some(line) = &expect.header_lines {
            expectation.body.extend(header_lines(line.get_ref(), request));
        }
        expectation.body.extend(self.part_rules(expect, filling)?);
        match expect.received {
            None => {}
            Some(EchoFormat::Digest) => expectation.headers.push(HeaderRule {
                name: digest::HEADER.into(),
                value: HeaderValue::Sha256(digest::canonical(request)),
            }),
            Some(EchoFormat::Description) => {
                let json = digest::description(request).to_string();
                expectation
                    .body
                    .push(BodyRule::Json(Template::literal(json.as_str())));
            }
        }
        let compiled = expectation
            .compile()
            .map_err(|error| self.invalid(self.expect().span(), error.to_string()))?;
        if expectation.events.is_some() && compiled.judges_body() {
            let message =
                "`expect.events` describes the whole body: remove the other keys of `expect` about the body";
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
        if let Some(media_type) = &expect.media_type {
            rules.push(HeaderRule {
                name: "Content-Type".into(),
                value: HeaderValue::MediaType(media_type.clone()),
            });
        }
        if let Some(codings) = &expect.coding {
            rules.push(self.coding(codings)?);
        }
        for (name, value) in &expect.headers {
            let at =
                |reason: String| self.invalid(value.span(), format!("`expect.headers.{name}`: {reason}"));
            let value = match value.get_ref() {
                HeaderText::Absent => HeaderValue::Absent,
                HeaderText::Texts(texts) => {
                    let [text] = texts.as_slice() else {
                        return Err(at(
                            "give one regular expression, or a text with a placeholder".into()
                        ));
                    };
                    let template = filling.fill(text, str::to_owned).map_err(at)?;
                    if template == Template::literal(text.as_str()) {
                        HeaderValue::Matches(text.clone())
                    } else {
                        HeaderValue::Equals(template)
                    }
                }
            };
            let rule = HeaderRule {
                name: name.clone(),
                value,
            };
            let alone = Expectation {
                headers: vec![rule.clone()],
                ..Expectation::default()
            };
            alone.compile().map_err(|error| at(error.to_string()))?;
            rules.push(rule);
        }
        Ok(rules)
    }

    fn body_rules(
        &self,
        expect: &ExpectToml,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Vec<BodyRule>, ConfigError> {
        let mut rules = Vec::new();
        if let Some(text) = &expect.text {
            rules.push(BodyRule::Exact(self.filled("expect.text", text, filling)?));
        }
        if let Some(file) = &expect.file {
            rules.push(BodyRule::Exact(self.file_text(file, filling)?));
        }
        if let Some(json) = &expect.json {
            rules.push(BodyRule::Json(self.json_text("expect.json", json, filling)?));
        }
        if let Some(json) = &expect.json_part {
            rules.push(BodyRule::JsonPart(self.json_text(
                "expect.json_part",
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
        for (series, n) in [
            (Series::Integers, &expect.integers),
            (Series::Fibonacci, &expect.fibonacci),
        ] {
            if let Some(n) = n {
                let template = self.filled("the number of a series", n, filling)?;
                rules.push(series_rule(series, template, filling));
            }
        }
        Ok(rules)
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
                self.invalid(text.span(), format!("`expect.json_rules`: {written}: {reason}"))
            };
            let rule = JsonRule::read(text.get_ref(), |value| {
                let value = Spanned::new(text.span(), value.to_owned());
                self.filled("expect.json_rules", &value, filling)
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
            rules.push(BodyRule::Contains(self.filled(
                "expect.contains",
                &text,
                filling,
            )?));
        }
        for text in several(expect.html_lines.as_ref()) {
            rules.push(BodyRule::HtmlLine(self.filled(
                "expect.html_lines",
                &text,
                filling,
            )?));
        }
        for pattern in several(expect.matches.as_ref()) {
            let rule = BodyRule::Matches(pattern.get_ref().clone());
            let alone = Expectation {
                body: vec![rule.clone()],
                ..Expectation::default()
            };
            alone
                .compile()
                .map_err(|error| self.invalid(pattern.span(), format!("`expect.matches`: {error}")))?;
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
    if !filling.for_load {
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
        let range = filling
            .parameters
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
