//! An order as a client sends it.

use super::Fault;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Draft {
    pub(crate) customer_id: i64,
    pub(crate) note: Option<String>,
    pub(crate) lines: Vec<OrderLine>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderLine {
    pub(crate) product_id: i64,
    pub(crate) quantity: i64,
}

impl Draft {
    /// All that is wrong with it.
    pub(crate) fn faults(
        &self,
        fault: Option<Fault>,
        has_customer: bool,
        prices: &HashMap<i64, i32>,
    ) -> Vec<Value> {
        let is = |other| fault == Some(other);
        let mut faults = Vec::new();
        let mut found = |field: String, code: &str| faults.push(json!({ "field": field, "code": code }));
        if !has_customer {
            found("customerId".to_owned(), "unknown");
        }
        let longest = if is(Fault::NoteOf501) { 501 } else { 500 };
        if self
            .note
            .as_ref()
            .is_some_and(|note| note.chars().count() > longest)
        {
            found("note".to_owned(), "length");
        }
        let fewest = usize::from(!is(Fault::NoLines));
        let most = if is(Fault::LinesOf21) { 21 } else { 20 };
        if !(fewest..=most).contains(&self.lines.len()) {
            found("lines".to_owned(), "range");
        }
        let least = i64::from(!is(Fault::QuantityOf0));
        let largest = if is(Fault::QuantityOf1001) { 1001 } else { 1000 };
        let from = usize::from(is(Fault::LinesFrom1));
        for (i, line) in self.lines.iter().enumerate() {
            let field = |name| format!("lines[{}].{name}", i + from);
            if !prices.contains_key(&line.product_id) {
                found(field("productId"), "unknown");
            }
            if !(least..=largest).contains(&line.quantity) {
                found(field("quantity"), "range");
            }
        }
        faults
    }

    /// One line for each product.
    pub(crate) fn merge(&mut self) {
        let mut merged: Vec<OrderLine> = Vec::new();
        for line in self.lines.drain(..) {
            match merged
                .iter_mut()
                .find(|other| other.product_id == line.product_id)
            {
                Some(other) => other.quantity += line.quantity,
                None => merged.push(line),
            }
        }
        self.lines = merged;
    }
}
