//! Formulas within templates, and the names that they may use.

use super::{Context, PlaceholderValues, Resolved, source_of};
use crate::contract::source::DrawnSource;
use crate::format::suggestion::nearest;
use crate::format::template::{Form, FormulaText, TemplateError};
use prony_load::formula::{Formula, Names};
use prony_load::{Bytes, Encoding, Part};
use serde_json::Value;

impl PlaceholderValues<'_> {
    /// The part of a template for a formula.
    pub(super) fn formula(
        &self,
        formula: &FormulaText,
        context: Context,
        has_items: bool,
    ) -> Result<Part, TemplateError> {
        let scope = FormulaScope {
            values: self,
            context,
            has_items,
        };
        let names = Names {
            formula: &|name| scope.number(name),
            words: &|name| scope.words(name),
        };
        let parsed = Formula::parse(&formula.text, &names).map_err(|error| {
            let start = formula.range.start + 2;
            let range = start + error.range.start..start + error.range.end.max(error.range.start + 1);
            let range = range.start.min(formula.range.end - 1)..range.end.min(formula.range.end);
            let is_entry = formula
                .text
                .get(error.range.end..)
                .is_some_and(|rest| rest.trim_start().starts_with('['));
            match &error.name {
                Some(name) => {
                    let (message, help) = self.unknown_in_formula(name, is_entry, error.message);
                    TemplateError::new(range, message, Some(help))
                }
                None => TemplateError::new(range, error.message, None),
            }
        })?;
        Ok(match parsed.constant() {
            Some(number) => Part::Literal(Bytes::from(number.to_string().as_str())),
            None => Part::Formula(parsed),
        })
    }

    /// What is wrong with a name that a formula cannot use, and what to do. `is_entry`: it is followed by an index.
    fn unknown_in_formula(&self, name: &str, is_entry: bool, message: String) -> (String, String) {
        let words = || self.contract.written.words.keys().map(String::as_str);
        if is_entry {
            let help = nearest(words(), name);
            let help = help.map(|near| format!("did you mean `{near}`?"));
            return (
                message,
                help.unwrap_or_else(|| format!("add it to `[words]`: `{name} = [\"…\"]`")),
            );
        }
        let near = nearest(self.names().chain(words()).filter(|known| *known != name), name);
        match (name, self.find(name)) {
            ("i", None) => (
                message,
                "`i` is the number of an item: only lists, streams and messages have it".to_owned(),
            ),
            ("null", None) => (
                "`{= null}` within a text".to_owned(),
                "a text that is nothing else is null".to_owned(),
            ),
            (_, Some(Resolved::Fact { .. })) => (
                format!("`{name}` differs between requests"),
                "a formula cannot use it".to_owned(),
            ),
            (_, Some(_)) => (
                format!("`{name}` is not always a whole number"),
                "a formula computes with whole numbers".to_owned(),
            ),
            (_, None) if words().any(|known| known == name) => (
                format!("`{name}` is a word list"),
                format!("write `{name}[i]` for an entry"),
            ),
            (_, None) => {
                let help = near.map(|near| format!("did you mean `{near}`?"));
                (message, help.unwrap_or_else(|| format!("give `with.{name} = …`")))
            }
        }
    }
}

/// The names that a formula may use.
struct FormulaScope<'a> {
    values: &'a PlaceholderValues<'a>,
    context: Context,
    has_items: bool,
}

impl FormulaScope<'_> {
    fn number(&self, name: &str) -> Option<Formula> {
        if name == "i" && self.has_items && !self.values.bindings.contains_key("i") {
            return Some(Formula::Item);
        }
        let whole = |value: &Value| match value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let index = |part: Part| match part {
            Part::Value(index) => Some(Formula::Value(index)),
            _ => None,
        };
        match self.values.find(name)? {
            Resolved::Known(value) => whole(value).map(Formula::Number),
            Resolved::Constant(value) => whole(&value.get_ref().to_json()).map(Formula::Number),
            Resolved::Drawn(DrawnSource::Digits { is_number: false, .. }) => None,
            Resolved::Drawn(drawn) => {
                let source = source_of(drawn, |value| match whole(value) {
                    Some(number) => Ok(number.to_string()),
                    None => Err(String::new()),
                });
                index(self.values.parameter(name, source.ok()?))
            }
            Resolved::Captured => index(self.values.captured(name, Encoding::Text)),
            Resolved::Fact {
                part: Part::Literal(bytes),
                is_text: false,
            } => whole(&String::from_utf8_lossy(bytes.as_slice()).into()).map(Formula::Number),
            Resolved::Fact { .. } => None,
        }
    }

    fn words(&self, name: &str) -> Option<Vec<String>> {
        let words = self.values.contract.written.words.get(name)?;
        words
            .iter()
            .map(|word| self.context.escaped(word, Form::Typed).ok())
            .collect()
    }
}
