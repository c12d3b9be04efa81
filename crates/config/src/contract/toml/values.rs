//! Values with more than one notation.

use crate::format::Spanned;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A header's text, several texts for a repeated header, or `false` for an absent one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a text, a list of texts for a repeated header, or false for none"))]
pub(crate) enum HeaderText {
    One(String),
    Repeated(Vec<String>),
    /// Only `false`.
    Absent(#[schemars(extend("const" = false))] bool),
}

impl HeaderText {
    /// The texts of the header.
    pub(crate) fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Repeated(texts) => texts,
            Self::Absent(_) => &[],
        }
    }
}

/// The expected value of a header.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "an exact text, { matches = \"REGEX\" }, true (present) or false (absent)"))]
pub(crate) enum HeaderExpectToml {
    /// Exactly this text.
    Text(String),
    /// A value of any text, or none.
    Present(bool),
    Matches(MatchesToml),
}

/// A regular expression that matches the whole value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatchesToml {
    /// The regular expression.
    pub(crate) matches: String,
}

/// One value, or a list of them. The file is brought into the form of a list before it is read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<T>);

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 1 }], "x-list": true })
    }
}

/// A whole number, or a text with a placeholder.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a whole number, or a text with a placeholder"))]
pub(crate) enum TextOrNumber {
    Number(u64),
    Text(String),
}

impl TextOrNumber {
    /// The text, or the number as text, with the position of the number.
    pub(crate) fn at(number: &Spanned<Self>) -> Spanned<String> {
        Spanned::new(number.span(), number.get_ref().text())
    }

    /// The text, or the number as text.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}
