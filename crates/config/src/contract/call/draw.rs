//! The values of the placeholders of a call.

use super::{Bindings, BoundValue, Call};
use crate::ConfigError;
use crate::contract::jwt::{self, Jwts};
use crate::contract::named_file;
use crate::contract::source::{
    DrawnSource, MOST_REQUESTS, RowTable, SourceToml, ValueGenerator, stand_in, text_of,
};
use crate::contract::toml::{EventsToml, ExpectToml, HeaderExpectToml, MessagesToml, TextOrNumber};
use crate::format::suggestion::suggest;
use crate::format::template::mentioned;
use crate::format::{Spanned, TomlValue};
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
        let mut count: u64 = 1;
        for (name, source) in self.with() {
            count = count.saturating_mul(source.get_ref().count());
            if count > MOST_REQUESTS as u64 {
                let message = format!("with `{name}`, a call of a case has {count} combinations of values");
                let help = format!("give fewer values: a case has at most {MOST_REQUESTS} requests");
                return Err(self
                    .contract
                    .file
                    .invalid_with(self.place_of(name), message, help));
            }
        }
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
    fn completed(
        &self,
        mut bindings: Bindings,
        draw: &mut ValueGenerator<'_>,
    ) -> Result<Bindings, ConfigError> {
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

    /// Values that differ between the requests of a load, for the columns of rows that the call uses.
    pub(crate) fn drawn_rows(&self) -> Result<Vec<(String, BoundValue)>, ConfigError> {
        let columns = self.row_columns()?.into_iter().map(|(name, column, full)| {
            let table = self.tables().get(&name);
            let found = table.and_then(|table| Some((table, table.column(&column)?)));
            let values = found.map_or_else(
                || vec![stand_in()],
                |(table, column)| table.rows.iter().map(|row| row[column].clone()).collect(),
            );
            let pick = Some(Pick::Each);
            (full, BoundValue::Drawn(DrawnSource::Values { values, pick }))
        });
        Ok(columns.collect())
    }

    /// The placeholders of columns of rows that the call itself uses.
    pub(crate) fn row_names(&self) -> Result<Vec<String>, ConfigError> {
        let mut own = BTreeSet::new();
        self.texts(&mut |text, _| own.extend(mentioned(text)));
        let columns = self.row_columns()?.into_iter().map(|(_, _, full)| full);
        Ok(columns.filter(|full| own.contains(full)).collect())
    }

    /// The columns of rows that the call uses: the name of the rows, the column, and both as a placeholder. Once rows have been
    /// read, their columns must exist.
    fn row_columns(&self) -> Result<BTreeSet<(String, String, String)>, ConfigError> {
        let tables = self.contract.table_names();
        let mut found = BTreeSet::new();
        if tables.is_empty() {
            return Ok(found);
        }
        let mut names = self.mentioned();
        // Which constants the call uses may depend on its values.
        for value in self.contract.written.value.values() {
            TomlValue::texts(value, &mut |text, _| names.extend(mentioned(text)));
        }
        for source in self.with().values() {
            if let SourceToml::Reference(target) = source.get_ref() {
                names.insert(target.clone());
            }
        }
        for full in names {
            let Some((name, column)) = full.split_once('.') else {
                continue;
            };
            if !tables.contains(&name) {
                continue;
            }
            if let Some(table) = self.tables().get(name)
                && table.column(column).is_none()
            {
                let help = suggest(table.columns.iter().map(String::as_str), column);
                let message = format!("`rows.{name}` has no column `{column}`");
                return Err(self
                    .contract
                    .file
                    .invalid_with(self.place_of(&full), message, help));
            }
            found.insert((name.to_owned(), column.to_owned(), full.clone()));
        }
        Ok(found)
    }

    /// Where the call uses a name.
    fn place_of(&self, name: &str) -> Range<usize> {
        let file = &self.contract.file;
        let mut found = None;
        self.texts(&mut |text, span| {
            if found.is_none() && mentioned(text).iter().any(|mentioned| mentioned == name) {
                let at = text.find(name).map_or(0..text.len(), |at| at..at + name.len());
                found = Some(file.part_of_text(&span, text, &at));
            }
        });
        let source = self
            .with()
            .values()
            .find(|source| matches!(source.get_ref(), SourceToml::Reference(target) if target == name));
        found
            .or_else(|| source.map(Spanned::span))
            .unwrap_or_else(|| self.span.clone())
    }

    /// Calls `each` with every text of the call that may have placeholders, and its position.
    pub(crate) fn texts<'a>(&'a self, each: &mut impl FnMut(&'a str, Range<usize>)) {
        let written = &self.written;
        let texts = [&written.http, &written.websocket, &written.text];
        for text in texts.into_iter().flatten() {
            each(text.get_ref(), text.span());
        }
        for header in written.headers.values() {
            for text in header.get_ref().texts() {
                each(text, header.span());
            }
        }
        let values = [&written.json, &written.message];
        for value in values.into_iter().flatten() {
            TomlValue::texts(value, each);
        }
        if let Some(messages) = &written.messages {
            let MessagesToml {
                count,
                each: message,
                unanswered,
            } = messages.get_ref();
            numbers([Some(count), unanswered.as_ref()], each);
            TomlValue::texts(message, each);
        }
        numbers(
            [written
                .generated
                .as_ref()
                .map(|generated| &generated.get_ref().bytes)],
            each,
        );
        for step in written.script.iter().flat_map(Spanned::get_ref) {
            step.get_ref().texts(&mut |text| each(text, step.span()));
        }
        if let Some(expect) = &written.expect {
            texts_of(expect.get_ref(), each);
        }
    }

    /// The names that the call uses: in its texts and files, in the values that its placeholders refer to, in constants and in
    /// claims of tokens.
    pub(crate) fn mentioned(&self) -> BTreeSet<String> {
        let mut open = Vec::new();
        self.texts(&mut |text, _| open.extend(mentioned(text)));
        for file in self.files() {
            open.extend(mentioned(&file));
        }
        let contract = &self.contract.written;
        let mut found = BTreeSet::new();
        while let Some(name) = open.pop() {
            if !found.insert(name.clone()) {
                continue;
            }
            if let Some(SourceToml::Reference(target)) = self.with().get(&name).map(Spanned::get_ref) {
                open.push(target.clone());
            }
            if let Some(value) = contract.value.get(name.strip_prefix("value.").unwrap_or(&name)) {
                TomlValue::texts(value, &mut |text, _| open.extend(mentioned(text)));
            }
            if let Some(jwt) = contract.jwt.get(&name) {
                open.extend(jwt::places(jwt.get_ref()));
            }
        }
        found
    }

    /// The contents of the files whose placeholders are filled.
    fn files(&self) -> Vec<String> {
        let expect = self
            .written
            .expect
            .as_ref()
            .and_then(|expect| expect.get_ref().file.as_ref());
        let files = [self.written.file.as_ref(), expect].into_iter().flatten();
        files
            .filter_map(|file| named_file::read(&self.contract.folder, file.get_ref()).ok())
            .collect()
    }

    /// The tokens that the call carries, with the placeholders of their claims filled: one, or one for each row.
    pub(crate) fn tokens(&self, bindings: &Bindings) -> Result<Vec<(String, Vec<Value>)>, ConfigError> {
        let bound = |name: &str| match bindings.get(name)? {
            BoundValue::Alias(target) => bindings.get(target),
            bound => Some(bound),
        };
        let value = |name: &str| match bound(name)? {
            BoundValue::Known(value) => Some(vec![text_of(value)]),
            BoundValue::Drawn(DrawnSource::Values {
                values,
                pick: Some(Pick::Each),
            }) => Some(values.iter().map(text_of).collect()),
            _ => None,
        };
        let contract = self.contract;
        if contract.written.jwt.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.mentioned();
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

/// Calls `each` with the numbers that are texts.
fn numbers<'a, const N: usize>(
    numbers: [Option<&'a Spanned<TextOrNumber>>; N],
    each: &mut impl FnMut(&'a str, Range<usize>),
) {
    for number in numbers.into_iter().flatten() {
        if let TextOrNumber::Text(text) = number.get_ref() {
            each(text, number.span());
        }
    }
}

/// Calls `each` with every text of the messages of a stream that may have placeholders.
fn event_texts<'a>(events: &'a EventsToml, each: &mut impl FnMut(&'a str, Range<usize>)) {
    numbers([Some(&events.count), events.gap_us.as_ref()], each);
    let differing = [&events.first, &events.last].into_iter().flatten();
    let all = std::iter::once(&events.each).chain(differing.flat_map(|several| &several.0));
    for event in all {
        let values = [&event.json, &event.json_contains, &event.message];
        for value in values.into_iter().flatten() {
            TomlValue::texts(value, each);
        }
        for text in [&event.id, &event.event, &event.text].into_iter().flatten() {
            each(text.get_ref(), text.span());
        }
    }
}

/// Calls `each` with every text of an expectation that may have placeholders.
fn texts_of<'a>(expect: &'a ExpectToml, each: &mut impl FnMut(&'a str, Range<usize>)) {
    let part = expect.file_part.as_ref().map(Spanned::get_ref);
    let texts = [expect.text.as_ref(), part.map(|part| &part.file)];
    for text in texts.into_iter().flatten() {
        each(text.get_ref(), text.span());
    }
    if let Some(part) = part {
        numbers([part.from.as_ref(), part.to.as_ref()], each);
    }
    if let Some(media_type) = &expect.content_type {
        each(media_type, 0..media_type.len());
    }
    for header in expect.headers.values() {
        if let HeaderExpectToml::Text(text) = header.get_ref() {
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
    if let Some(text) = &expect.json_text {
        TomlValue::texts(&text.get_ref().json, each);
    }
    for one in &expect.any_of {
        texts_of(one.get_ref(), each);
    }
    if let Some(list) = &expect.json_list {
        let list = list.get_ref();
        numbers([list.first.as_ref(), Some(&list.count)], each);
        TomlValue::texts(&list.each, each);
    }
    if let Some(builtin) = &expect.builtin {
        for text in [&builtin.integers, &builtin.fibonacci].into_iter().flatten() {
            each(text.get_ref(), text.span());
        }
        if let Some(lines) = &builtin.html_lines {
            for text in &lines.get_ref().0 {
                each(text, lines.span());
            }
        }
    }
    if let Some(events) = &expect.events {
        event_texts(events.get_ref(), each);
    }
    if let Some(table) = &expect.html_table {
        for text in table.get_ref().more.iter().flatten() {
            each(text, table.span());
        }
    }
}
