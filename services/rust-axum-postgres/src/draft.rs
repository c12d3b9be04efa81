use std::collections::HashMap;

use serde::{Deserialize, Serialize};

const LARGEST_QUANTITY: i64 = 1000;
const MOST_LINES: usize = 20;
const LONGEST_NOTE: usize = 500;

/// An order as a client sends it. What is missing is 0, which no row has.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Draft {
    pub customer_id: i64,
    pub note: Option<String>,
    pub lines: Vec<DraftLine>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DraftLine {
    pub product_id: i64,
    pub quantity: i64,
}

#[derive(Serialize)]
pub struct Fault {
    field: String,
    code: &'static str,
}

impl Draft {
    /// Everything that is wrong with a draft at once.
    pub fn check(&self, customer_known: bool, prices: &HashMap<i64, i32>) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |field: String, code| faults.push(Fault { field, code });
        if !customer_known {
            fault("customerId".to_owned(), "unknown");
        }
        if let Some(note) = &self.note {
            if note.chars().count() > LONGEST_NOTE {
                fault("note".to_owned(), "length");
            }
            // PostgreSQL has no text with this character.
            if note.contains('\0') {
                fault("note".to_owned(), "character");
            }
        }
        if !(1..=MOST_LINES).contains(&self.lines.len()) {
            fault("lines".to_owned(), "range");
        }
        for (i, line) in self.lines.iter().enumerate() {
            if !prices.contains_key(&line.product_id) {
                fault(format!("lines[{i}].productId"), "unknown");
            }
            if !(1..=LARGEST_QUANTITY).contains(&line.quantity) {
                fault(format!("lines[{i}].quantity"), "range");
            }
        }
        faults
    }
}
