//! The values of the placeholders of a call.

use super::Call;
use crate::ConfigError;
use crate::contract::backing::Rows;
use crate::format::suggestion::known;
use crate::contract::jwt::{self, Jwts};
use crate::contract::source::{RowTable, SourceToml, ValueGenerator};
use crate::contract::template::{Bindings, BoundValue, names};
use crate::contract::toml::HeaderText;
use prony_load::{GeneratedBody, Parameter, Pick, Source};
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use crate::format::Spanned;

/// The placeholder at the end of a generated body.
pub(crate) const BODY_END: &str = "body_end";

impl Call<'_> {
    /// A value for each placeholder.
    pub(crate) fn draw(&self, random: &mut SmallRng) -> Result<Bindings, ConfigError> {
        self.drawn_by(&mut ValueGenerator::new(random, self.tables()))
    }

    fn drawn_by(&self, draw: &mut ValueGenerator<'_>) -> Result<Bindings, ConfigError> {
        let bindings = self
            .with()
            .iter()
            .map(|(name, source)| (name.clone(), BoundValue::Text(source.get_ref().draw(draw))))
            .collect();
        self.completed(bindings, draw)
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
                        more.insert(name.clone(), BoundValue::Text(value));
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

    /// Adds the values that contracts never write: the end of a generated body, and tokens that depend on the other values.
    fn completed(
        &self,
        mut bindings: Bindings,
        draw: &mut ValueGenerator<'_>,
    ) -> Result<Bindings, ConfigError> {
        if self.written.generated.is_some() {
            let digits = SourceToml::Hex(GeneratedBody::end_length(u64::MAX));
            bindings.insert(BODY_END.to_owned(), BoundValue::Text(digits.draw(draw)));
        }
        for (name, token) in self.tokens(&bindings, &[])? {
            bindings.insert(name, BoundValue::Text(token.draw(draw)));
        }
        Ok(bindings)
    }

    /// The tokens that the call carries, with the placeholders of their claims filled.
    pub(crate) fn tokens(
        &self,
        bindings: &Bindings,
        parameters: &[Parameter],
    ) -> Result<Vec<(String, SourceToml)>, ConfigError> {
        let value = |name: &str| match bindings.get(name)? {
            BoundValue::Text(text) => Some(vec![text.clone()]),
            BoundValue::Parameter(index) => match &parameters[*index].source {
                Source::Column {
                    values,
                    pick: Pick::Each,
                } => Some(values.clone()),
                _ => None,
            },
        };
        let contract = self.contract;
        let carried: Jwts = contract
            .written
            .jwt
            .iter()
            .filter(|(name, _)| !bindings.contains_key(*name) && self.mentions(name))
            .map(|(name, jwt)| (name.clone(), jwt.clone()))
            .collect();
        let minted = jwt::filled_by(&contract.file, &contract.folder, &carried, value)?;
        Ok(minted
            .into_iter()
            .map(|(name, mut tokens)| match tokens.as_slice() {
                [_] => (name, SourceToml::One(tokens.remove(0))),
                _ => (name, SourceToml::List(tokens)),
            })
            .collect())
    }

    /// Whether the request's head or body has this placeholder.
    fn mentions(&self, name: &str) -> bool {
        let in_text = |text: &str| names(text).any(|known| known == name);
        let written = &self.written;
        let texts = [&written.http, &written.websocket, &written.text];
        texts.into_iter().flatten().any(|text| in_text(text.get_ref()))
            || written
                .json
                .as_ref()
                .is_some_and(|json| in_text(&json.get_ref().to_string()))
            || written.headers.values().any(|header| match header.get_ref() {
                HeaderText::Absent => false,
                HeaderText::Texts(texts) => texts.iter().any(|text| in_text(text)),
            })
    }

    /// The rows that were read from backing services.
    pub(crate) const fn tables(&self) -> &BTreeMap<String, RowTable> {
        &self.contract.tables
    }

    /// A value from rows must name existing rows and, once they have been read, an existing column.
    pub(crate) fn verify_row(&self, name: &str, source: &Spanned<SourceToml>) -> Result<(), ConfigError> {
        let SourceToml::Row { row, column } = source.get_ref() else {
            return Ok(());
        };
        let at = |reason: String| Err(self.invalid(source.span(), format!("`with.{name}`: {reason}")));
        let rows = self.contract.rows();
        if !rows.iter().any(|rows| rows.name() == row) {
            let allowed = known(rows.iter().map(Rows::name));
            return at(format!("no `[rows.{row}]`: {allowed}"));
        }
        match self.tables().get(row) {
            Some(table) if table.column(column).is_none() => {
                let allowed = known(table.columns.iter().map(String::as_str));
                at(format!("`rows.{row}` has no column `{column}`: {allowed}"))
            }
            _ => Ok(()),
        }
    }
}
