//! The values that the users of a workload carry: captured values, their row of a table, their cookies.

use crate::contract::call::Call;
use crate::contract::jwt;
use crate::contract::toml::WorkloadToml;
use crate::ConfigError;
use crate::contract::Contract;
use crate::input::table::{self, Table};
use prony_load::{Capture, Header, Operation, Origin, Parameter, Part, Pick, Source, Template};
use std::collections::BTreeSet;
use crate::format::Spanned;

/// The name of the slot for the cookies; it is not a valid placeholder.
const COOKIES: &str = "cookies!";

/// The values that the users of a workload carry.
#[derive(Default)]
pub(super) struct State {
    /// Columns of the table of users.
    columns: Vec<(String, Source)>,
    /// The names of all captured values, in the order of their slots.
    pub(super) slots: Vec<String>,
    /// Those that the steps so far capture.
    taken: BTreeSet<String>,
    cookies: bool,
}

impl State {
    /// Reads the table, and assigns a slot to each value that a step captures.
    pub(super) fn new(
        contract: &Contract,
        name: &str,
        written: &WorkloadToml,
        calls: &[Call<'_>],
    ) -> Result<Self, ConfigError> {
        let mut state = Self {
            cookies: written.cookies,
            ..Self::default()
        };
        if let Some(table) = &written.data {
            state.columns = columns(contract, name, table)?;
        }
        if written.sequence.is_empty() {
            return Ok(state);
        }
        let names = calls.iter().flat_map(Call::taken_names);
        for name in names.chain(written.cookies.then_some(COOKIES)) {
            if !state.slots.iter().any(|known| known == name) {
                state.slots.push(name.to_owned());
            }
        }
        Ok(state)
    }

    /// The placeholders that users can fill so far, and their sources. A captured value takes precedence over a column of the same
    /// name.
    pub(super) fn sources(&self) -> impl Iterator<Item = (String, Source)> {
        let taken = self.taken.iter().filter(|name| *name != COOKIES);
        let taken = taken.filter_map(|name| Some((name.clone(), Source::Taken(self.slot(name)?))));
        let columns = self.columns.iter().filter(|(name, _)| !self.taken.contains(name));
        taken.chain(columns.cloned())
    }

    /// The carried values that a call's placeholders use: they distinguish two calls of one operation.
    pub(super) fn carried(&self, call: &Call<'_>) -> BTreeSet<String> {
        let used = |name: &&String| call.with().contains_key(*name);
        let mut carried: BTreeSet<String> = self.taken.iter().filter(used).cloned().collect();
        if self.cookies && self.taken.contains(COOKIES) {
            carried.insert(COOKIES.to_owned());
        }
        carried
    }

    /// Completes a step: later steps can use the values that it captures.
    pub(super) fn pass(&mut self, call: &Call<'_>) {
        self.taken.extend(call.taken_names().map(str::to_owned));
        if self.cookies {
            self.taken.insert(COOKIES.to_owned());
        }
    }

    /// Makes an operation keep the cookies that it receives, and send those that earlier operations received.
    pub(super) fn add_cookies(&self, operation: &mut Operation, parameters: &mut Vec<Parameter>) {
        let Some(slot) = self.slot(COOKIES) else { return };
        operation.expect.take.push(Capture {
            name: "cookies".to_owned(),
            slot,
            from: Origin::Cookies,
        });
        if !self.taken.contains(COOKIES) {
            return;
        }
        let parameter = Parameter {
            name: COOKIES.to_owned(),
            source: Source::Taken(slot),
        };
        let index = parameters
            .iter()
            .position(|known| *known == parameter)
            .unwrap_or_else(|| {
                parameters.push(parameter);
                parameters.len() - 1
            });
        operation.request.headers.push(Header {
            name: "Cookie".to_owned(),
            value: Template(vec![Part::Value(index)]),
        });
    }

    fn slot(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|known| known == name)
    }
}

fn columns(
    contract: &Contract,
    name: &str,
    table: &Spanned<crate::contract::toml::TableToml>,
) -> Result<Vec<(String, Source)>, ConfigError> {
    let written = table.get_ref();
    let at = |reason: String| {
        let message = format!("`data` of workload `{name}`: {}: {reason}", written.file);
        contract.invalid(table.span(), message)
    };
    if written.pick == Pick::Once && contract.is_file() {
        return Err(at(
            "a run is limited by time and may need more rows than any table has: use `in_turn` or `random`"
                .to_owned(),
        ));
    }
    let path = contract.folder.join(&written.file);
    let text = std::fs::read_to_string(&path).map_err(|error| at(error.to_string()))?;
    let Table { mut columns } = table::parse(&path, &text).map_err(|error| at(error.to_string()))?;
    columns.extend(jwt::columns(
        &contract.file,
        &contract.folder,
        &contract.written.jwt,
        &columns,
    )?);
    let source = |values| Source::Column {
        values,
        pick: written.pick,
    };
    Ok(columns
        .into_iter()
        .map(|(column, values)| (column, source(values)))
        .collect())
}
