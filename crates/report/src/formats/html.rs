//! The page: built from `web/` beforehand, with the report put in as data.

use super::write;
use crate::{Report, ReportError};

/// The page without data, as `web/` builds it.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// The only part of the page that changes.
const SLOT: &str = "type=\"application/json\">null</script>";

/// The page with the report in it: one file that loads nothing else.
pub fn page(report: &Report) -> Result<String, ReportError> {
    let lean = report.clone().lean();
    let data = serde_json::to_string(&lean).map_err(|error| write("HTML", &error))?;
    Ok(PAGE.replacen(
        SLOT,
        &format!("type=\"application/json\">{}</script>", quoted(&data)),
        1,
    ))
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
    fn the_page_has_one_slot_and_loads_nothing() {
        assert_eq!(PAGE.matches(SLOT).count(), 1);
        assert!(PAGE.contains("Content-Security-Policy") && PAGE.len() < 1_572_864);
    }
}
