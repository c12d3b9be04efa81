//! The values that stand in the places of a call.

use super::Call;
use crate::ContractError;
use crate::companion::Rows;
use crate::error::known;
use crate::source::{Draw, RowTable, WrittenSource};
use crate::template::{Bindings, Bound};
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use toml::Spanned;

impl Call<'_> {
    /// A value for each place.
    pub(crate) fn draw(&self, random: &mut SmallRng) -> Bindings {
        let mut draw = Draw::new(random, self.tables());
        self.with()
            .iter()
            .map(|(name, source)| (name.clone(), Bound::Text(source.get_ref().draw(&mut draw))))
            .collect()
    }

    /// The rows that were read from companions.
    pub(crate) const fn tables(&self) -> &BTreeMap<String, RowTable> {
        &self.contract.tables
    }

    /// A value that stands in rows must name rows that there are, and where they were read a column of them.
    pub(crate) fn verify_row(
        &self,
        name: &str,
        source: &Spanned<WrittenSource>,
    ) -> Result<(), ContractError> {
        let WrittenSource::Row { row, column } = source.get_ref() else {
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
