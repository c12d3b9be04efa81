//! What must come back, and whether it did. The same expectation judges a reply in the check and under load.

use crate::{Bytes, Template};
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

/// What must come back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Status codes that are right; empty: 200 to 299.
    #[serde(default)]
    pub status: Vec<u16>,
    /// `grpc-status` that is right, where gRPC is spoken; absent: 0.
    #[serde(default)]
    pub grpc_status: Option<u32>,
    /// What headers must say.
    #[serde(default)]
    pub headers: Vec<HeaderRule>,
    /// What the body must be; all rules must hold.
    #[serde(default)]
    pub body: Vec<BodyRule>,
}

/// What a header must say. Names are compared without regard to case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderRule {
    /// The header's name.
    pub name: String,
    /// A regular expression that the whole value must match; absent: the header must not be there.
    pub matches: Option<String>,
}

/// What a body must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BodyRule {
    /// These bytes.
    Exact(Template),
    /// Equal as JSON: key order and white space are free, numbers compare as numbers, and a member that is `null` equals
    /// one that is absent.
    Json(Template),
    /// A regular expression that is found in the body.
    Matches(String),
    /// Bytes that stand somewhere in the body.
    Contains(Template),
    /// The body for each value of a parameter: `bodies[value − low]`.
    Table {
        /// Index of the parameter.
        parameter: usize,
        /// The value of the first body.
        low: u64,
        /// One body for each value from `low` on.
        bodies: Vec<Bytes>,
    },
}

/// A reply as a protocol delivers it.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// HTTP status.
    pub status: u16,
    /// `grpc-status` of the trailers, where gRPC is spoken.
    pub grpc_status: Option<u32>,
    /// Headers in the order they came.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// The whole body, or the message of a unary gRPC reply.
    pub body: &'a [u8],
}

/// How a reply differs from its expectation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mismatch {
    /// What was looked at: `status`, `grpc-status`, `header content-type`, `body`.
    pub what: String,
    /// What should have come.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// An expectation that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ExpectationError {
    /// A regular expression that does not compile.
    #[error("`{pattern}` is no regular expression: {reason}")]
    Pattern {
        /// The expression.
        pattern: String,
        /// What the compiler says.
        reason: String,
    },
}

/// An [`Expectation`] with its regular expressions compiled.
#[derive(Debug, Clone)]
pub struct CompiledExpectation {
    status: Vec<u16>,
    grpc_status: u32,
    headers: Vec<(String, Option<Regex>)>,
    body: Vec<CompiledRule>,
}

#[derive(Debug, Clone)]
enum CompiledRule {
    Exact(Template),
    Json(Template),
    Matches(Regex),
    Contains(Template),
    Table {
        parameter: usize,
        low: u64,
        bodies: Vec<Bytes>,
    },
}

/// Longest excerpt of a body in a [`Mismatch`], bytes.
const EXCERPT: usize = 400;

impl Expectation {
    /// Compiles the regular expressions.
    pub fn compile(&self) -> Result<CompiledExpectation, ExpectationError> {
        let headers = self
            .headers
            .iter()
            .map(|rule| {
                let pattern = rule
                    .matches
                    .as_deref()
                    .map(|pattern| compile(&format!("^(?:{pattern})$")));
                Ok((rule.name.to_ascii_lowercase(), pattern.transpose()?))
            })
            .collect::<Result<_, _>>()?;
        let body = self
            .body
            .iter()
            .map(|rule| {
                Ok(match rule {
                    BodyRule::Exact(template) => CompiledRule::Exact(template.clone()),
                    BodyRule::Json(template) => CompiledRule::Json(template.clone()),
                    BodyRule::Matches(pattern) => CompiledRule::Matches(compile(pattern)?),
                    BodyRule::Contains(template) => CompiledRule::Contains(template.clone()),
                    BodyRule::Table {
                        parameter,
                        low,
                        bodies,
                    } => CompiledRule::Table {
                        parameter: *parameter,
                        low: *low,
                        bodies: bodies.clone(),
                    },
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(CompiledExpectation {
            status: self.status.clone(),
            grpc_status: self.grpc_status.unwrap_or(0),
            headers,
            body,
        })
    }
}

fn compile(pattern: &str) -> Result<Regex, ExpectationError> {
    Regex::new(pattern).map_err(|error| ExpectationError::Pattern {
        pattern: pattern.to_owned(),
        reason: error.to_string(),
    })
}

impl CompiledExpectation {
    /// Whether a status code is right.
    pub fn accepts_status(&self, status: u16) -> bool {
        if self.status.is_empty() {
            (200..300).contains(&status)
        } else {
            self.status.contains(&status)
        }
    }

    /// The `grpc-status` that is right.
    pub const fn grpc_status(&self) -> u32 {
        self.grpc_status
    }

    /// The only body that is right, where there is just one whatever the parameters are.
    pub fn constant_body(&self) -> Option<&[u8]> {
        match self.body.as_slice() {
            [CompiledRule::Exact(Template(parts))] => match parts.as_slice() {
                [] => Some(&[]),
                [crate::Part::Literal(bytes)] => Some(bytes.as_slice()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether headers are looked at.
    pub const fn checks_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    /// Judges a whole reply. `value(i, out)` appends the value that parameter `i` had in the request.
    pub fn judge(
        &self,
        reply: &Reply<'_>,
        mut value: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        self.judge_status(reply)?;
        for (name, pattern) in &self.headers {
            judge_header(reply, name, pattern.as_ref())?;
        }
        for rule in &self.body {
            rule.judge(reply.body, &mut value)?;
        }
        Ok(())
    }

    fn judge_status(&self, reply: &Reply<'_>) -> Result<(), Mismatch> {
        if !self.accepts_status(reply.status) {
            let expected = match self.status.as_slice() {
                [] => "200 to 299".to_owned(),
                codes => codes.iter().map(u16::to_string).collect::<Vec<_>>().join(" or "),
            };
            return Err(Mismatch {
                what: "status".into(),
                expected,
                got: reply.status.to_string(),
            });
        }
        match reply.grpc_status {
            Some(status) if status != self.grpc_status => Err(Mismatch {
                what: "grpc-status".into(),
                expected: self.grpc_status.to_string(),
                got: status.to_string(),
            }),
            _ => Ok(()),
        }
    }
}

fn judge_header(reply: &Reply<'_>, name: &str, pattern: Option<&Regex>) -> Result<(), Mismatch> {
    let found = reply
        .headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
    let mismatch = |expected: String, got: String| Mismatch {
        what: format!("header {name}"),
        expected,
        got,
    };
    match (pattern, found) {
        (None, None) => Ok(()),
        (None, Some((_, value))) => Err(mismatch("no such header".into(), excerpt(value))),
        (Some(pattern), None) => Err(mismatch(pattern.to_string(), "no such header".into())),
        (Some(pattern), Some((_, value))) if pattern.is_match(value) => Ok(()),
        (Some(pattern), Some((_, value))) => Err(mismatch(pattern.to_string(), excerpt(value))),
    }
}

impl CompiledRule {
    fn judge(&self, body: &[u8], value: &mut impl FnMut(usize, &mut Vec<u8>)) -> Result<(), Mismatch> {
        let mut rendered = Vec::new();
        match self {
            Self::Exact(template) => {
                template.render(&mut rendered, value);
                equal(&rendered, body)
            }
            Self::Json(template) => {
                template.render(&mut rendered, value);
                equal_json(&rendered, body)
            }
            Self::Matches(pattern) if pattern.is_match(body) => Ok(()),
            Self::Matches(pattern) => Err(wrong_body(format!("a match of `{pattern}`"), body)),
            Self::Contains(template) => {
                template.render(&mut rendered, value);
                contains(&rendered, body)
            }
            Self::Table {
                parameter,
                low,
                bodies,
            } => {
                value(*parameter, &mut rendered);
                let index = std::str::from_utf8(&rendered)
                    .ok()
                    .and_then(|text| text.parse::<u64>().ok());
                let known = index
                    .and_then(|index| index.checked_sub(*low))
                    .and_then(|row| bodies.get(row as usize));
                match known {
                    Some(bytes) => equal(bytes.as_slice(), body),
                    None => Err(wrong_body(
                        format!("a body known for {}", excerpt(&rendered)),
                        body,
                    )),
                }
            }
        }
    }
}

fn equal(expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    if expected == body {
        Ok(())
    } else {
        Err(wrong_body(excerpt(expected), body))
    }
}

fn contains(expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    if expected.is_empty() || body.windows(expected.len()).any(|window| window == expected) {
        return Ok(());
    }
    Err(wrong_body(
        format!("a body with `{}` in it", excerpt(expected)),
        body,
    ))
}

fn equal_json(expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    let Ok(got) = serde_json::from_slice::<serde_json::Value>(body) else {
        return Err(wrong_body(format!("JSON equal to {}", excerpt(expected)), body));
    };
    let wanted = serde_json::from_slice::<serde_json::Value>(expected).ok();
    if wanted.map(normal) == Some(normal(got)) {
        return Ok(());
    }
    Err(wrong_body(format!("JSON equal to {}", excerpt(expected)), body))
}

/// The value without null members and with numbers in one form, so that equality is equality of JSON.
fn normal(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter(|(_, member)| !member.is_null())
                .map(|(key, member)| (key, normal(member)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(normal).collect()),
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        other => other,
    }
}

fn wrong_body(expected: String, body: &[u8]) -> Mismatch {
    Mismatch {
        what: "body".into(),
        expected,
        got: excerpt(body),
    }
}

/// The first bytes as text, with what is no text escaped.
fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(EXCERPT)];
    let text = match std::str::from_utf8(shown) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => shown.escape_ascii().to_string(),
    };
    if bytes.len() > EXCERPT {
        format!("{text}… ({} bytes)", bytes.len())
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(rule: BodyRule, body: &str) -> Result<(), Mismatch> {
        let expectation = Expectation {
            body: vec![rule],
            ..Expectation::default()
        };
        let reply = Reply {
            status: 200,
            grpc_status: None,
            headers: &[],
            body: body.as_bytes(),
        };
        expectation
            .compile()
            .expect("a valid expectation")
            .judge(&reply, |_, out| out.extend_from_slice(b"2"))
    }

    #[test]
    fn json_is_compared_as_json() {
        let rule = || BodyRule::Json(Template::literal(r#"{"a": 1, "b": [1, 2]}"#));
        assert_eq!(judge(rule(), r#"{"b":[1.0,2],"a":1,"c":null}"#), Ok(()));
        assert!(judge(rule(), r#"{"b":[2,1],"a":1}"#).is_err());
        assert!(judge(rule(), r#"{"b":[1,2],"a":"1"}"#).is_err());
    }

    #[test]
    fn a_table_gives_the_body_of_the_value() {
        let rule = || BodyRule::Table {
            parameter: 0,
            low: 1,
            bodies: vec!["1".into(), "1 2".into()],
        };
        assert_eq!(judge(rule(), "1 2"), Ok(()));
        assert_eq!(judge(rule(), "1").expect_err("wrong").expected, "1 2");
    }

    #[test]
    fn a_header_rule_covers_the_whole_value() {
        let rule = HeaderRule {
            name: "Content-Type".into(),
            matches: Some("text/plain(; *charset=utf-8)?".into()),
        };
        let expectation = Expectation {
            headers: vec![rule],
            ..Expectation::default()
        }
        .compile()
        .expect("valid");
        let judge = |value: &str| {
            let headers: [(&[u8], &[u8]); 1] = [(b"content-type", value.as_bytes())];
            expectation.judge(
                &Reply {
                    status: 200,
                    grpc_status: None,
                    headers: &headers,
                    body: b"",
                },
                |_, _| {},
            )
        };
        assert_eq!(judge("text/plain; charset=utf-8"), Ok(()));
        assert_eq!(judge("text/html").expect_err("wrong").what, "header content-type");
    }

    #[test]
    fn one_byte_short_is_wrong_and_shown() {
        let mismatch = judge(
            BodyRule::Exact(Template::literal("Hello, World!")),
            "Hello, World",
        )
        .expect_err("short");
        assert_eq!(
            (mismatch.expected.as_str(), mismatch.got.as_str()),
            ("Hello, World!", "Hello, World")
        );
    }
}
