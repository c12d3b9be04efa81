//! Generated and computed bodies: lists by formulas, HTML tables, and bodies of a given length.

use super::draw::BODY_END;
use super::{Bindings, Call, Context, PlaceholderValues, Slots};
use crate::ConfigError;
use crate::contract::source::text_of;
use crate::contract::template::constant;
use crate::contract::toml::{GeneratedBodyToml, HtmlTableToml, ListToml, TableRowsToml, TextOrNumber};
use crate::format::Spanned;
use crate::format::suggestion::suggest;
use prony_load::{BodyRule, GeneratedBody, HtmlTable, List, Template};
use std::cell::RefCell;

/// The longest generated body, bytes.
const LONGEST: u64 = 64 << 20;

impl Call<'_> {
    /// The length of the body in bytes, if it is generated.
    pub(crate) fn generated_bytes(&self, bindings: &Bindings) -> Result<Option<u64>, ConfigError> {
        let Some(written) = &self.written.generated else {
            return Ok(None);
        };
        let (slots, parameters) = (Slots::default(), RefCell::default());
        let filling = PlaceholderValues::for_load(self.contract, bindings, &slots, &parameters);
        self.bytes(written, &filling).map(Some)
    }

    fn bytes(
        &self,
        written: &Spanned<GeneratedBodyToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<u64, ConfigError> {
        let bytes = &written.get_ref().bytes;
        let at = |reason: String| self.invalid(bytes.span(), format!("`bytes` is {reason}"));
        let bytes = match bytes.get_ref() {
            TextOrNumber::Number(bytes) => *bytes,
            TextOrNumber::Text(_) => {
                let text = filling.known_text(&TextOrNumber::at(bytes))?;
                text.parse()
                    .map_err(|_| at(format!("\"{text}\": give a number of bytes")))?
            }
        };
        if bytes > LONGEST {
            return Err(at(format!("{bytes}: give at most {LONGEST}")));
        }
        Ok(bytes)
    }

    pub(super) fn generated(
        &self,
        written: &Spanned<GeneratedBodyToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<GeneratedBody, ConfigError> {
        let bytes = self.bytes(written, filling)?;
        let chunk = written.get_ref().chunk;
        let end = Spanned::new(written.span(), format!("{{{BODY_END}}}"));
        let end = filling.fill(&end, Context::Text)?;
        let end = if end.is_constant() {
            let mut end = constant(&end);
            end.truncate(usize::from(GeneratedBody::end_length(bytes)));
            Template::literal(end)
        } else {
            end
        };
        Ok(GeneratedBody { bytes, chunk, end })
    }

    pub(super) fn list(
        &self,
        written: &Spanned<ListToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<BodyRule, ConfigError> {
        let list = written.get_ref();
        if let Some(at) = list.at.as_ref().filter(|at| !at.get_ref().starts_with('/')) {
            let pointer = at.get_ref().trim_start_matches('$').trim_start_matches('.');
            let message = format!(
                "`at` is \"{}\": write the JSON Pointer /{}",
                at.get_ref(),
                pointer.replace('.', "/")
            );
            return Err(self.invalid(at.span(), message));
        }
        let number = |key: &str, number: &Spanned<TextOrNumber>| self.whole_number(key, number, filling);
        Ok(BodyRule::List(List {
            first: match &list.first {
                None => Template::literal("1"),
                Some(first) => number("first", first)?,
            },
            count: number("count", &list.count)?,
            each: filling.json(&list.each, true)?,
            at: list.at.as_ref().map(|at| at.get_ref().clone()),
            only: list.only,
        }))
    }

    /// A number that may differ between requests.
    pub(super) fn whole_number(
        &self,
        key: &str,
        number: &Spanned<TextOrNumber>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        let template = filling.fill(&TextOrNumber::at(number), Context::Text)?;
        let known = String::from_utf8_lossy(&constant(&template)).into_owned();
        if template.is_constant() && known.parse::<i64>().is_err() {
            let message = format!("`{key}` is \"{known}\": give a whole number");
            return Err(self.invalid(number.span(), message));
        }
        Ok(template)
    }

    pub(super) fn html_table(
        &self,
        written: &Spanned<HtmlTableToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<BodyRule, ConfigError> {
        let at = |reason: String| self.invalid(written.span(), format!("`html_table`: {reason}"));
        let table = written.get_ref();
        let rows = match &table.rows {
            None => Vec::new(),
            Some(TableRowsToml::Written(rows)) => rows.clone(),
            Some(TableRowsToml::Named(name)) => self.named_rows(name, &table.header).map_err(at)?,
        };
        let mut more = Vec::new();
        for row in &table.more {
            let cells = row
                .iter()
                .map(|cell| filling.fill(&Spanned::new(written.span(), cell.clone()), Context::Text));
            more.push(cells.collect::<Result<Vec<_>, _>>()?);
        }
        let columns = table.header.len();
        if rows.iter().any(|row| row.len() != columns) || more.iter().any(|row| row.len() != columns) {
            return Err(at("each row must have as many cells as `header`".to_owned()));
        }
        let sort = match &table.sort {
            None => None,
            Some(name) => {
                let place = table.header.iter().position(|known| known == name);
                let help = suggest(table.header.iter().map(String::as_str), name);
                Some(place.ok_or_else(|| at(format!("`sort` is \"{name}\": {help}")))?)
            }
        };
        Ok(BodyRule::HtmlTable(HtmlTable {
            title: table.title.clone(),
            header: table.header.clone(),
            rows,
            more,
            sort,
        }))
    }

    /// These columns of rows that were read from a backing service; none before they were read.
    fn named_rows(&self, name: &str, columns: &[String]) -> Result<Vec<Vec<String>>, String> {
        let all = self.contract.rows();
        if !all.iter().any(|rows| rows.name() == name) {
            let help = suggest(all.iter().map(crate::contract::Rows::name), name);
            return Err(format!("there is no `[rows.{name}]`: {help}"));
        }
        let Some(table) = self.tables().get(name) else {
            return Ok(Vec::new());
        };
        let mut places = Vec::new();
        for column in columns {
            places.push(table.column(column).ok_or_else(|| {
                let help = suggest(table.columns.iter().map(String::as_str), column);
                format!("`rows.{name}` has no column `{column}`: {help}")
            })?);
        }
        let cells = |row: &Vec<serde_json::Value>| places.iter().map(|place| text_of(&row[*place])).collect();
        Ok(table.rows.iter().map(cells).collect())
    }
}
