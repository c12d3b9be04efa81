//! The values of the placeholders of a call.

use super::{Bindings, BoundValue, Call};
use crate::ConfigError;
use crate::contract::backing::Rows;
use crate::contract::jwt::{self, Jwts};
use crate::contract::source::{Drawn, RowTable, SourceToml, ValueGenerator, stand_in, text_of};
use crate::contract::template::mentioned;
use crate::format::TomlValue;
use crate::format::suggestion::suggest;
use prony_load::{GeneratedBody, Pick};
use rand::rngs::SmallRng;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The placeholder at the end of a generated body.
pub(crate) const BODY_END: &str = "body_end";

impl Call<'_> {
    /// A value for each placeholder.
    pub(crate) fn draw(&self, random: &mut SmallRng) -> Result<Bindings, ConfigError> {
        let mut draw = ValueGenerator::new(random, self.tables());
        let bindings = self
            .with()
            .iter()
            .map(|(name, source)| {
                let value = source.get_ref().draw(&mut draw);
                (name.clone(), BoundValue::of(source.get_ref(), value))
            })
            .collect();
        self.completed(bindings, &mut draw)
    }

    /// A value for each placeholder: one set for each combination of listed values.
    pub(crate) fn combinations(&self, draw: &mut ValueGenerator<'_>) -> Result<Vec<Bindings>, ConfigError> {
        let mut combinations = vec![Bindings::new()];
        for (name, source) in self.with() {
            combinations = combinations
                .into_iter()
                .flat_map(|bindings| {
                    source.get_ref().values(draw).into_iter().map(move |value| {
                        let mut more = bindings.clone();
                        more.insert(name.clone(), BoundValue::of(source.get_ref(), value));
                        more
                    })
                })
                .collect();
        }
        combinations
            .into_iter()
            .map(|bindings| self.completed(bindings, draw))
            .collect()
    }

    /// Adds the values that contracts do not bind: columns of rows, the end of a generated body, and tokens that depend on the
    /// other values.
    fn completed(&self, mut bindings: Bindings, draw: &mut ValueGenerator<'_>) -> Result<Bindings, ConfigError> {
        for (name, column, full) in self.row_columns()? {
            bindings
                .entry(full)
                .or_insert_with(|| BoundValue::Known(draw.of_row(&name, &column)));
        }
        if self.written.generated.is_some() {
            let digits = SourceToml::RandomHex(GeneratedBody::end_length(u64::MAX));
            bindings.insert(BODY_END.to_owned(), BoundValue::Known(digits.draw(draw)));
        }
        for (name, tokens) in self.tokens(&bindings)? {
            let token = SourceToml::List(tokens).draw(draw);
            bindings.insert(name, BoundValue::Known(token));
        }
        Ok(bindings)
    }

    /// The columns of rows that the call uses, as values that differ between the requests of a load.
    pub(crate) fn drawn_rows(&self) -> Result<Vec<(String, BoundValue)>, ConfigError> {
        let columns = self.row_columns()?.into_iter().map(|(name, column, full)| {
            let table = self.tables().get(&name);
            let found = table.and_then(|table| Some((table, table.column(&column)?)));
            let values = found.map_or_else(
                || vec![stand_in()],
                |(table, column)| table.rows.iter().map(|row| row[column].clone()).collect(),
            );
            let pick = Some(Pick::Each);
            (full, BoundValue::Drawn(Drawn::Values { values, pick }))
        });
        Ok(columns.collect())
    }

    /// The columns of rows that the call itself uses, as placeholders.
    pub(crate) fn row_names(&self) -> Result<Vec<String>, ConfigError> {
        let mut own = BTreeSet::new();
        self.texts(&mut |text, _| own.extend(mentioned(text)));
        let columns = self.row_columns()?.into_iter().map(|(_, _, full)| full);
        Ok(columns.filter(|full| own.contains(full)).collect())
    }

    /// The columns of rows that the call uses: the name of the rows, the column, and both as a placeholder. Once rows have been
    /// read, their columns must exist.
    fn row_columns(&self) -> Result<BTreeSet<(String, String, String)>, ConfigError> {
        let rows = self.contract.rows();
        let mut found = BTreeSet::new();
        let mut wrong = None;
        self.texts(&mut |text, span| {
            for full in mentioned(text) {
                let Some((name, column)) = full.split_once('.') else {
                    continue;
                };
                if !rows.iter().any(|rows| rows.name() == name) {
                    continue;
                }
                if let Some(table) = self.tables().get(name)
                    && table.column(column).is_none()
                {
                    let help = suggest(table.columns.iter().map(String::as_str), column);
                    let file = &self.contract.file;
                    let at = text.find(&full).map_or(0..text.len(), |at| at..at + full.len());
                    let at = file.part_of_text(&span, text, &at);
                    let message = format!("`rows.{name}` has no column `{column}`");
                    wrong.get_or_insert(file.invalid_with(at, message, help));
                }
                found.insert((name.to_owned(), column.to_owned(), full.clone()));
            }
        });
        for source in self.with().values() {
            if let SourceToml::Reference(full) = source.get_ref()
                && let Some((name, column)) = full.split_once('.')
                && rows.iter().any(|rows| Rows::name(rows) == name)
            {
                found.insert((name.to_owned(), column.to_owned(), full.clone()));
            }
        }
        // Constants may use rows, too.
        for value in self.contract.written.value.values() {
            TomlValue::texts(value, &mut |text, _| {
                for full in mentioned(text) {
                    if let Some((name, column)) = full.split_once('.')
                        && rows.iter().any(|rows| Rows::name(rows) == name)
                    {
                        found.insert((name.to_owned(), column.to_owned(), full.clone()));
                    }
                }
            });
        }
        wrong.map_or(Ok(found), Err)
    }

    /// Calls `each` with every text of the call that may have placeholders, and its position.
    pub(crate) fn texts<'a>(&'a self, each: &mut impl FnMut(&'a str, Range<usize>)) {
        let written = &self.written;
        let texts = [&written.http, &written.websocket, &written.text];
        for text in texts.into_iter().flatten() {
            each(text.get_ref(), text.span());
        }
        for (_, header) in &written.headers {
            for text in header.get_ref().texts() {
                each(text, header.span());
            }
        }
        let values = [&written.json, &written.message];
        for value in values.into_iter().flatten() {
            TomlValue::texts(value, each);
        }
        if let Some(messages) = &written.messages {
            TomlValue::texts(&messages.get_ref().each, each);
        }
        let Some(expect) = written.expect.as_ref().map(crate::format::Spanned::get_ref) else {
            return;
        };
        let texts = [&expect.text];
        for text in texts.into_iter().flatten() {
            each(text.get_ref(), text.span());
        }
        for (_, header) in &expect.headers {
            if let crate::contract::toml::HeaderExpectToml::Text(text) = header.get_ref() {
                each(text, header.span());
            }
        }
        for several in [&expect.contains, &expect.json_rules].into_iter().flatten() {
            for text in &several.get_ref().0 {
                each(text, several.span());
            }
        }
        let values = [
            &expect.json,
            &expect.json_contains,
            &expect.json_not_contains,
            &expect.message,
        ];
        for value in values.into_iter().flatten() {
            TomlValue::texts(value, each);
        }
        if let Some(list) = &expect.json_list {
            TomlValue::texts(&list.get_ref().each, each);
        }
        if let Some(events) = &expect.events {
            for event in std::iter::once(&events.get_ref().each).chain(&events.get_ref().last) {
                for value in [&event.json, &event.message].into_iter().flatten() {
                    TomlValue::texts(value, each);
                }
                for text in [&event.id, &event.event, &event.text].into_iter().flatten() {
                    each(text.get_ref(), text.span());
                }
            }
        }
        if let Some(table) = &expect.html_table {
            for text in table.get_ref().more.iter().flatten() {
                each(text, table.span());
            }
        }
    }

    /// The tokens that the call carries, with the placeholders of their claims filled: one, or one for each row.
    pub(crate) fn tokens(&self, bindings: &Bindings) -> Result<Vec<(String, Vec<Value>)>, ConfigError> {
        let bound = |name: &str| match bindings.get(name)? {
            BoundValue::Alias(target) => bindings.get(target),
            bound => Some(bound),
        };
        let value = |name: &str| match bound(name)? {
            BoundValue::Known(value) => Some(vec![text_of(value)]),
            BoundValue::Drawn(Drawn::Values {
                values,
                pick: Some(Pick::Each),
            }) => Some(values.iter().map(text_of).collect()),
            _ => None,
        };
        let contract = self.contract;
        let mut names = BTreeSet::new();
        self.texts(&mut |text, _| names.extend(mentioned(text)));
        let carried: Jwts = contract
            .written
            .jwt
            .iter()
            .filter(|(name, _)| !bindings.contains_key(*name) && names.contains(*name))
            .map(|(name, jwt)| (name.clone(), jwt.clone()))
            .collect();
        let minted = jwt::filled_by(&contract.file, &contract.folder, &carried, value)?;
        Ok(minted
            .into_iter()
            .map(|(name, tokens)| (name, tokens.into_iter().map(Value::from).collect()))
            .collect())
    }

    /// The rows that were read from backing services.
    pub(crate) const fn tables(&self) -> &BTreeMap<String, RowTable> {
        &self.contract.tables
    }
}
