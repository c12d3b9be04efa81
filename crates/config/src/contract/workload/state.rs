//! The values that the users of a workload carry: captured values, their row of a table, their cookies.

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::call::{BoundValue, Call, Slots};
use crate::contract::jwt;
use crate::contract::named_file;
use crate::contract::source::DrawnSource;
use crate::contract::toml::WorkloadToml;
use crate::format::Spanned;
use crate::input::table::{self, Table};
use prony_load::{Capture, Encoding, Header, Operation, Origin, Parameter, Part, Pick, Source, Template};
use serde_json::Value;
use std::collections::BTreeSet;

/// The name of the slot for the cookies; it is not a valid placeholder.
const COOKIES: &str = "cookies!";

/// The values that the users of a workload carry.
#[derive(Default)]
pub(super) struct State {
    /// Columns of the table of users.
    columns: Vec<(String, DrawnSource)>,
    /// The values that the steps so far capture.
    captured: BTreeSet<String>,
    is_sequence: bool,
    cookies: bool,
}

impl State {
    /// Reads the table.
    pub(super) fn new(contract: &Contract, name: &str, written: &WorkloadToml) -> Result<Self, ConfigError> {
        Ok(Self {
            columns: match &written.data {
                None => Vec::new(),
                Some(table) => columns(contract, name, table)?,
            },
            captured: BTreeSet::new(),
            is_sequence: !written.sequence.is_empty(),
            cookies: written.cookies,
        })
    }

    /// The placeholders that users can fill so far. A captured value takes precedence over a column of the same name.
    pub(super) fn bindings(&self) -> impl Iterator<Item = (String, BoundValue)> {
        let captured = self.captured.iter().filter(|name| *name != COOKIES);
        let captured = captured.map(|name| (name.clone(), BoundValue::Captured));
        let columns = self
            .columns
            .iter()
            .filter(|(name, _)| !self.captured.contains(name));
        captured.chain(columns.map(|(name, drawn)| (name.clone(), BoundValue::Drawn(drawn.clone()))))
    }

    /// The carried values that a call's placeholders use: they distinguish two calls of one operation.
    pub(super) fn carried(&self, call: &Call<'_>) -> BTreeSet<String> {
        let mentioned = call.mentioned();
        let used = |name: &&String| mentioned.contains(*name);
        let mut carried: BTreeSet<String> = self.captured.iter().filter(used).cloned().collect();
        if self.cookies && self.captured.contains(COOKIES) {
            carried.insert(COOKIES.to_owned());
        }
        carried
    }

    /// Completes a step: later steps can use the values that it captures.
    pub(super) fn pass(&mut self, call: &Call<'_>) {
        if !self.is_sequence {
            return;
        }
        self.captured.extend(call.captured_names().map(str::to_owned));
        if self.cookies {
            self.captured.insert(COOKIES.to_owned());
        }
    }

    /// Makes an operation keep the cookies that it receives, and send those that earlier operations received.
    pub(super) fn add_cookies(
        &self,
        operation: &mut Operation,
        parameters: &mut Vec<Parameter>,
        slots: &Slots,
    ) {
        if !self.cookies || !self.is_sequence {
            return;
        }
        let slot = slots.slot(COOKIES, Encoding::Text);
        operation.expect.take.push(Capture {
            name: COOKIES.to_owned(),
            slot,
            from: Origin::Cookies,
            encoding: Encoding::Text,
        });
        if !self.captured.contains(COOKIES) {
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
}

fn columns(
    contract: &Contract,
    name: &str,
    table: &Spanned<crate::contract::toml::TableToml>,
) -> Result<Vec<(String, DrawnSource)>, ConfigError> {
    let written = table.get_ref();
    let of = if contract.is_file() {
        format!("`data` of workload `{name}`")
    } else {
        "`data`".to_owned()
    };
    let at = |reason: String| {
        let message = format!("{of} is \"{}\": {reason}", written.file);
        contract.invalid(table.span(), message)
    };
    if written.pick == Pick::Once && contract.is_file() {
        return Err(at(
            "a run is limited by time and may need more rows than any table has: use `in_turn` or `random`"
                .to_owned(),
        ));
    }
    let text = named_file::read(&contract.folder, &written.file).map_err(at)?;
    let path = contract.folder.join(&written.file);
    let Table { mut columns } = table::parse(&path, &text).map_err(|error| at(error.to_string()))?;
    columns.extend(jwt::columns(
        &contract.file,
        &contract.folder,
        &contract.written.jwt,
        &columns,
    )?);
    let drawn = |values: Vec<String>| DrawnSource::Values {
        values: values.into_iter().map(Value::from).collect(),
        pick: Some(written.pick),
    };
    Ok(columns
        .into_iter()
        .map(|(column, values)| (column, drawn(values)))
        .collect())
}
