//! `prony list services --replies`: the reply of each service to `hello`, side by side.

use crate::checkout::Checkout;
use crate::exit::Exit;
use crate::output::print;
use crate::signals;
use crate::text::{self, Column};
use prony_config::{Catalogue, Service};
use prony_runner::LocalTestbed;
use prony_runner::import_replies::{ObservedReply, Row, replies};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(super) fn run(services: &[&Service], catalogue: &Catalogue, as_json: bool) -> anyhow::Result<Exit> {
    let checkout = Checkout::find()?;
    let workbench = LocalTestbed::of(&checkout, &signals::listen()?)?;
    let rows = replies(services, (&checkout, catalogue), &workbench, &|text| {
        eprintln!("{text}");
    })?;
    if as_json {
        let objects: Vec<Value> = rows.iter().map(object).collect();
        print(&json!({ "schema": prony_records::SCHEMA, "replies": objects }).to_string())?;
    } else {
        print(&text(&rows))?;
    }
    Ok(if rows.iter().any(is_at_fault) {
        Exit::ObjectiveFailed
    } else {
        Exit::Fine
    })
}

fn is_at_fault(row: &Row) -> bool {
    row.seen.as_ref().is_ok_and(|seen| !seen.faults.is_empty())
}

fn text(rows: &[Row]) -> String {
    const HEADINGS: [Column<'static>; 6] = [
        Column::text("service", 0),
        Column::text("variant", 0),
        Column::number("bytes", 0),
        Column::text("keep-alive", 1),
        Column::text("body ends by", 1),
        Column::text("headers", 0),
    ];
    let cells = rows.iter().map(|row| {
        let mut cells = vec![row.id.service.clone(), row.id.variant.clone()];
        match &row.seen {
            Ok(seen) => cells.extend([
                seen.bytes.to_string(),
                if seen.keep_alive { "yes" } else { "no" }.to_owned(),
                seen.framing.word().to_owned(),
                seen.headers.join(" "),
            ]),
            Err(reason) => cells.extend(["–", "–", "–", reason].map(str::to_owned)),
        }
        cells
    });
    let mut out = text::table(&HEADINGS, &cells.collect::<Vec<_>>(), 0, text::columns());
    for row in rows {
        for fault in row.seen.iter().flat_map(|seen| &seen.faults) {
            let _ = write!(out, "\n\u{2717} {}: {fault}", row.id);
        }
    }
    out
}

fn object(row: &Row) -> Value {
    let (service, variant) = (&row.id.service, &row.id.variant);
    match &row.seen {
        Ok(ObservedReply {
            bytes,
            headers,
            keep_alive,
            framing,
            faults,
        }) => json!({
            "service": service, "variant": variant, "bytes": bytes, "headers": headers,
            "keep_alive": keep_alive, "body_ends_by": framing.word(), "faults": faults,
        }),
        Err(reason) => json!({ "service": service, "variant": variant, "reason": reason }),
    }
}
