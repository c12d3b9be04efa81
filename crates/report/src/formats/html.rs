//! The page: built from `web/` beforehand, with the report put in as data.

use super::write;
use crate::{Report, ReportError};
use prony_statistics::Metric;
use serde_json::Value;

/// The page without data, as `web/` builds it.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// The only part of the page that changes.
const SLOT: &str = "type=\"application/json\">null</script>";

/// What an estimate says on the page; the rest is in the JSON.
const SHOWN: [&str; 6] = ["point", "low", "high", "confidence", "trials", "observed"];
/// Digits that a number keeps on its way to a chart.
const DIGITS: i32 = 6;

/// The page with the report in it: one file that loads nothing else.
pub fn page(report: &Report) -> Result<String, ReportError> {
    let data = page_data(report)?.to_string();
    Ok(PAGE.replacen(
        SLOT,
        &format!("type=\"application/json\">{}</script>", quoted(&data)),
        1,
    ))
}

/// The part of the report's JSON that the page draws from: without whole histograms, and with numbers as long as a
/// picture needs.
pub fn page_data(report: &Report) -> Result<Value, ReportError> {
    let mut data = serde_json::to_value(report).map_err(|error| write("HTML", &error))?;
    data["plan"] = Value::Null;
    let groups = data["groups"].as_array_mut().into_iter().flatten();
    for row in groups
        .filter_map(|group| group["services"].as_array_mut())
        .flatten()
    {
        row["histogram"] = Value::Null;
        for metric in Metric::ALL {
            if let Some(quantity) = row.get_mut(metric.key()).and_then(Value::as_object_mut) {
                quantity.retain(|key, _| SHOWN.contains(&key.as_str()));
            }
        }
    }
    shorten(&mut data);
    Ok(data)
}

fn shorten(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        Value::Number(number) if number.is_f64() => {
            let long = number.as_f64().unwrap_or_default();
            if long != 0.0 {
                let places = (DIGITS - 1 - long.abs().log10().floor() as i32).clamp(0, 300);
                let scale = 10f64.powi(places);
                *value = Value::from((long * scale).round() / scale);
            }
        }
        _ => {}
    }
}

/// The page without a report: served, it asks its server for data.
pub fn served_page() -> &'static str {
    PAGE
}

/// JSON that cannot end the script element that it stands in: `<` only occurs in strings, where it may be written so.
fn quoted(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_leave_its_element() {
        let text = "</script><script>alert(1)</script><!-- \u{2028}";
        let json = quoted(&serde_json::to_string(text).expect("a string"));
        assert!(!json.contains('<') && !json.contains('\u{2028}'));
        assert_eq!(serde_json::from_str::<String>(&json).expect("still JSON"), text);
    }

    #[test]
    fn numbers_keep_six_digits() {
        let mut value = serde_json::json!([72_125.434_675, 0.001_234_567_89, 12_345_678.9, 0.0, 7, -1.5]);
        shorten(&mut value);
        assert_eq!(
            value,
            serde_json::json!([72_125.4, 0.001_234_57, 12_345_679.0, 0.0, 7, -1.5])
        );
    }

    #[test]
    fn the_page_has_one_slot_and_loads_nothing() {
        assert_eq!(PAGE.matches(SLOT).count(), 1);
        assert!(PAGE.contains("Content-Security-Policy") && PAGE.len() < 1_572_864);
    }
}
