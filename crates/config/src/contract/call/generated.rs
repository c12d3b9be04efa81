//! Generated and computed bodies: JSON with placeholders, lists by formulas, HTML tables, and bodies of a given length.

use super::draw::BODY_END;
use super::{Call, PlaceholderValues};
use crate::ConfigError;
use crate::format::suggestion::known;
use crate::contract::template::{Bindings, Builder, constant, is_place};
use crate::contract::toml::{
    GeneratedBodyToml, HtmlTableToml, ListToml, OneOrMany, TableRowsToml, TextOrNumber,
};
use prony_load::{BodyRule, GeneratedBody, HeaderRule, HeaderValue, HtmlTable, List, Template};
use serde_json::Value;
use crate::format::Spanned;

/// The longest generated body, bytes.
const LONGEST: u64 = 64 << 20;

impl Call<'_> {
    /// A value as JSON text with its placeholders filled. The text `#{name}` becomes the value as JSON, without quotes.
    pub(super) fn json_text(
        &self,
        key: &str,
        value: &Spanned<toml::Value>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ConfigError> {
        let at = |reason: String| self.invalid(value.span(), format!("`{key}`: {reason}"));
        let text = self.value(key, value, filling)?.to_string();
        let mut builder = Builder::default();
        let mut rest = text.as_str();
        let mut bare = false;
        while let Some((before, place, after)) = bare_place(rest) {
            builder.template(&filling.fill(before, quoted).map_err(at)?);
            builder.template(&filling.fill(place, str::to_owned).map_err(at)?);
            (rest, bare) = (after, true);
        }
        builder.template(&filling.fill(rest, quoted).map_err(at)?);
        let template = builder.build();
        if bare && template.is_constant() {
            let json = constant(&template);
            serde_json::from_slice::<Value>(&json).map_err(|error| {
                at(format!(
                    "not JSON once its placeholders are filled ({error}): {}",
                    prony_load::excerpt(&json)
                ))
            })?;
        }
        Ok(template)
    }

    /// The rule that the header names one of these codings, or is absent if that is allowed.
    pub(super) fn coding(&self, codings: &Spanned<OneOrMany<String>>) -> Result<HeaderRule, ConfigError> {
        const KNOWN: [&str; 5] = ["gzip", "br", "zstd", "deflate", "identity"];
        let OneOrMany(names) = codings.get_ref();
        if let Some(name) = names.iter().find(|name| !KNOWN.contains(&name.as_str())) {
            let message = format!("`expect.coding` names `{name}`: {}", known(KNOWN));
            return Err(self.invalid(codings.span(), message));
        }
        let pattern = format!("(?i:{})", names.join("|"));
        let may_be_none = names.iter().any(|name| name == "identity");
        Ok(HeaderRule {
            name: "Content-Encoding".into(),
            value: if may_be_none {
                HeaderValue::MatchesIfThere(pattern)
            } else {
                HeaderValue::Matches(pattern)
            },
        })
    }

    /// The length of the body in bytes, if it is generated.
    pub(crate) fn generated_bytes(&self, bindings: &Bindings) -> Result<Option<u64>, ConfigError> {
        let Some(written) = &self.written.generated else {
            return Ok(None);
        };
        self.bytes(written, &PlaceholderValues::for_case(bindings))
            .map(Some)
    }

    fn bytes(
        &self,
        written: &Spanned<GeneratedBodyToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<u64, ConfigError> {
        let at = |reason: String| self.invalid(written.span(), format!("`generated.bytes`: {reason}"));
        let bytes = match &written.get_ref().bytes {
            TextOrNumber::Number(bytes) => *bytes,
            TextOrNumber::Text(text) => {
                let template = filling.fill(text, str::to_owned).map_err(at)?;
                if !template.is_constant() {
                    return Err(at(
                        "it would differ between requests: set its placeholder in the workload".to_owned(),
                    ));
                }
                let text = String::from_utf8_lossy(&constant(&template)).into_owned();
                text.parse()
                    .map_err(|_| at(format!("`{text}` is not a number of bytes")))?
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
        if chunk == Some(0) {
            return Err(self.invalid(written.span(), "`generated.chunk` is 0: give at least 1"));
        }
        let end = filling
            .fill(&format!("{{{BODY_END}}}"), str::to_owned)
            .map_err(|reason| self.invalid(written.span(), reason))?;
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
        let at = |reason: String| self.invalid(written.span(), format!("`expect.json_list`: {reason}"));
        let list = written.get_ref();
        let item = Spanned::new(written.span(), list.item.clone());
        let item = self.value("expect.json_list.item", &item, filling)?.to_string();
        let (front, back) = match &list.member {
            None => ("[".to_owned(), "]"),
            Some(name) => (format!("{{{}:[", Value::from(name.as_str())), "]}"),
        };
        let words = self.contract.written.words.iter().map(|(name, words)| {
            let words = words.iter().map(|word| quoted(word)).collect();
            (name.clone(), words)
        });
        Ok(BodyRule::List(List {
            from: filling.fill(&list.from, str::to_owned).map_err(at)?,
            count: filling.fill(&list.count, str::to_owned).map_err(at)?,
            front,
            item: item_text(&item),
            back: back.to_owned(),
            words: words.collect(),
        }))
    }

    pub(super) fn html_table(
        &self,
        written: &Spanned<HtmlTableToml>,
        filling: &PlaceholderValues<'_>,
    ) -> Result<BodyRule, ConfigError> {
        let at = |reason: String| self.invalid(written.span(), format!("`expect.html_table`: {reason}"));
        let table = written.get_ref();
        let rows = match &table.rows {
            None => Vec::new(),
            Some(TableRowsToml::Written(rows)) => rows.clone(),
            Some(TableRowsToml::Named(name)) => self.named_rows(name, &table.header).map_err(at)?,
        };
        let mut more = Vec::new();
        for row in &table.more {
            let cells = row.iter().map(|cell| filling.fill(cell, str::to_owned));
            more.push(cells.collect::<Result<Vec<_>, _>>().map_err(at)?);
        }
        let columns = table.header.len();
        if rows.iter().any(|row| row.len() != columns) || more.iter().any(|row| row.len() != columns) {
            return Err(at("each row must have as many cells as `header`".to_owned()));
        }
        let sort = match &table.sort {
            None => None,
            Some(name) => {
                let place = table.header.iter().position(|known| known == name);
                let allowed = known(table.header.iter().map(String::as_str));
                Some(place.ok_or_else(|| at(format!("`sort` is `{name}`: {allowed}")))?)
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
            return Err(format!(
                "no `[rows.{name}]`: {}",
                known(all.iter().map(crate::contract::Rows::name))
            ));
        }
        let Some(table) = self.tables().get(name) else {
            return Ok(Vec::new());
        };
        let mut places = Vec::new();
        for column in columns {
            places.push(table.column(column).ok_or_else(|| {
                let allowed = known(table.columns.iter().map(String::as_str));
                format!("`rows.{name}` has no column `{column}`: {allowed}")
            })?);
        }
        let cells = |row: &Vec<String>| places.iter().map(|place| row[*place].clone()).collect();
        Ok(table.rows.iter().map(cells).collect())
    }
}

/// A text as it appears between the quotes of JSON.
fn quoted(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The first `"#{name}"` of a JSON text: the text before it, `{name}`, and the text after it.
fn bare_place(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find("\"#{")?;
        let inner = &text[at + 2..];
        if let Some(end) = inner.find('}')
            && is_place(&inner[1..end])
            && let Some(after) = inner[end + 1..].strip_prefix('"')
        {
            return Some((&text[..at], &inner[..=end], after));
        }
        from = at + 3;
    }
}

/// The text of an item, in which `"#{= i}"` becomes a number.
pub(super) fn item_text(json: &str) -> String {
    let mut out = String::new();
    let mut rest = json;
    while let Some((before, after)) = rest.split_once("\"#{=") {
        out.push_str(before);
        if let Some((formula, after)) = after.split_once("}\"") {
            out.push_str("{=");
            out.push_str(formula);
            out.push('}');
            rest = after;
        } else {
            out.push_str("\"#{=");
            rest = after;
        }
    }
    out + rest
}
