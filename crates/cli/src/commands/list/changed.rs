//! `prony list services --changed`: the services that differ between two revisions.

use super::{Heading, shown};
use crate::checkout::Checkout;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::text::{self, Column};
use anyhow::anyhow;
use prony_records::Part;
use prony_runner::{ServiceChange, ServiceChangeKind, changed_services};
use serde_json::{Value, json};

const HEADINGS: [Heading; 3] = [
    ("service", Column::text("service", 0)),
    ("variant", Column::text("variant", 0)),
    ("change", Column::text("change", 1)),
];

/// `revisions`: `BASE`, which is compared with the files as they are now, or `BASE..HEAD`.
pub(super) fn run(revisions: &str, json: bool) -> anyhow::Result<Exit> {
    let (base, head) = match revisions.split_once("..") {
        Some((base, head)) => (base, Some(head)),
        None => (revisions, None),
    };
    if base.is_empty() || head.is_some_and(|head| head.is_empty() || head.starts_with('.')) {
        return Err(bad_input(anyhow!(
            "`{revisions}` does not name two revisions → Write BASE..HEAD, such as main..HEAD, or BASE alone for the files as they are now."
        )));
    }
    let found = changed_services(&Checkout::find()?, base, head)?;
    if json {
        let mut object = serde_json::to_value(&found)?;
        object["schema"] = json!(prony_records::SCHEMA);
        print(&object.to_string())?;
        return Ok(Exit::Fine);
    }
    let changed = found.services.iter();
    let rows: Vec<Vec<Value>> = changed.filter_map(row).collect();
    if rows.is_empty() {
        print("no service changed")?;
    } else {
        print(&shown((&HEADINGS, &rows), text::columns()))?;
    }
    Ok(Exit::Fine)
}

/// The row of a service that changed.
fn row(service: &ServiceChange) -> Option<Vec<Value>> {
    let what = match &service.change {
        ServiceChangeKind::None => return None,
        ServiceChangeKind::New => "new".to_owned(),
        ServiceChangeKind::Removed => "removed".to_owned(),
        ServiceChangeKind::Changed { parts } if parts.is_empty() => "one of them cannot be read".to_owned(),
        ServiceChangeKind::Changed { parts } => {
            let parts = parts.iter().map(|part| Part::description(*part));
            parts.collect::<Vec<_>>().join(", ")
        }
    };
    Some(vec![
        json!(service.id.service),
        json!(service.id.variant),
        json!(what),
    ])
}
