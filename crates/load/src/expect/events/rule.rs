//! Rules for single messages.

use super::reader::Message;
use crate::expect::{ExpectationError, regular_expression};
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A condition on a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventRule {
    /// The event has this name.
    Name(String),
    /// The data contains this text.
    Contains(String),
    /// A regular expression matches somewhere in the data.
    Matches(String),
    /// The data is JSON, this pointer (RFC 6901) resolves in it, and, if given, its target equals this value.
    Json {
        /// The pointer, as in `/choices/0`.
        pointer: String,
        /// The expected value; absent: any value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        equals: Option<serde_json::Value>,
    },
}

impl fmt::Display for EventRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(formatter, "event:{name}"),
            Self::Contains(text) => formatter.write_str(text),
            Self::Matches(pattern) => write!(formatter, "regex:{pattern}"),
            Self::Json { pointer, equals } => match equals {
                Some(value) => write!(formatter, "json:{pointer}={value}"),
                None => write!(formatter, "json:{pointer}"),
            },
        }
    }
}

impl std::str::FromStr for EventRule {
    type Err = String;

    /// Parses `event:NAME`, `json:/POINTER`, `json:/POINTER=VALUE`, `regex:PATTERN`, or any other text, which the
    /// data must contain.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| {
            format!(
                "`{text}`: {reason}; write event:NAME, json:/POINTER[=VALUE], regex:PATTERN or plain text"
            )
        };
        match text.split_once(':') {
            Some(("event" | "regex", "")) => Err(wrong("nothing follows the colon")),
            Some(("event", name)) => Ok(Self::Name(name.to_owned())),
            Some(("regex", pattern)) => match regular_expression(pattern) {
                Ok(_) => Ok(Self::Matches(pattern.to_owned())),
                Err(error) => Err(error.to_string()),
            },
            Some(("json", rest)) => {
                let (pointer, value) = match rest.split_once('=') {
                    Some((pointer, value)) => (pointer, Some(value)),
                    None => (rest, None),
                };
                if !pointer.is_empty() && !pointer.starts_with('/') {
                    return Err(wrong("a JSON pointer begins with `/`"));
                }
                // A value that is not JSON is a string without its quotes.
                let value = value.map(|value| {
                    serde_json::from_str(value)
                        .unwrap_or_else(|_| serde_json::Value::String(value.to_owned()))
                });
                Ok(Self::Json {
                    pointer: pointer.to_owned(),
                    equals: value,
                })
            }
            _ if text.is_empty() => Err(wrong("it is empty")),
            _ => Ok(Self::Contains(text.to_owned())),
        }
    }
}

/// An [`EventRule`] with its regular expression compiled.
#[derive(Debug, Clone)]
pub(super) struct CompiledRule {
    rule: EventRule,
    regex: Option<Regex>,
}

impl CompiledRule {
    pub(super) fn compile(rule: &EventRule) -> Result<Self, ExpectationError> {
        Ok(Self {
            rule: rule.clone(),
            regex: match rule {
                EventRule::Matches(pattern) => Some(regular_expression(pattern)?),
                _ => None,
            },
        })
    }

    /// Whether it reads the data of messages.
    pub(super) const fn reads_data(&self) -> bool {
        !matches!(self.rule, EventRule::Name(_))
    }

    pub(super) fn is_met(&self, message: &Message<'_>) -> bool {
        match &self.rule {
            EventRule::Name(name) => message.name == name.as_bytes(),
            EventRule::Contains(text) => memchr::memmem::find(message.data, text.as_bytes()).is_some(),
            EventRule::Matches(_) => self
                .regex
                .as_ref()
                .is_some_and(|regex| regex.is_match(message.data)),
            EventRule::Json { pointer, equals } => {
                let Ok(value) = serde_json::from_slice::<serde_json::Value>(message.data) else {
                    return false;
                };
                match (value.pointer(pointer), equals) {
                    (Some(found), Some(wanted)) => found == wanted,
                    (found, None) => found.is_some(),
                    (None, Some(_)) => false,
                }
            }
        }
    }

    pub(super) fn description(&self) -> String {
        match &self.rule {
            EventRule::Name(name) => format!("an event named `{name}`"),
            EventRule::Contains(text) => format!("an event with `{text}` in its data"),
            EventRule::Matches(pattern) => format!("an event whose data matches {pattern}"),
            EventRule::Json {
                pointer,
                equals: None,
            } => format!("an event whose data is JSON with {pointer}"),
            EventRule::Json {
                pointer,
                equals: Some(value),
            } => {
                format!("an event whose data is JSON with {value} at {pointer}")
            }
        }
    }
}
