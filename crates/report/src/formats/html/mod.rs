//! The page: prebuilt from `web/`, with the report inserted as data.

mod data;
mod pairs;

pub(crate) use data::drawn;
pub use data::page_data;

use super::write;
use crate::model::MetricTable;
use crate::{Report, ReportError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write as _;
use std::sync::LazyLock;

/// The page without data, as `web/` builds it.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// Where the table of metrics goes.
const METRICS: &str = "<script id=\"prony-metrics\" type=\"application/json\">{}</script>";
/// Where the report goes. Nothing else of the page is replaced.
const SLOT: &str = "type=\"application/json\">null</script>";
/// Longer data is compressed, bytes; shorter data stays readable in the file.
const LONG: usize = 512 * 1024;

/// The page with the report in it: one file that loads nothing else.
pub fn page(report: &Report) -> Result<String, ReportError> {
    page_of(&page_data(report)?)
}

/// The page with this data in it.
pub(crate) fn page_of(data: &Value) -> Result<String, ReportError> {
    let data = data.to_string();
    let element = if data.len() > LONG {
        format!("type=\"application/gzip\">{}</script>", packed(&data)?)
    } else {
        format!("type=\"application/json\">{}</script>", quoted(&data))
    };
    Ok(served_page().replacen(SLOT, &element, 1))
}

/// Compressed and encoded in characters that cannot end an element.
fn packed(json: &str) -> Result<String, ReportError> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = gzip.write_all(json.as_bytes()).and_then(|()| gzip.finish());
    Ok(STANDARD.encode(bytes.map_err(|error| write("HTML", &error))?))
}

/// The page without a report: when served, it requests its data from its server.
pub fn served_page() -> &'static str {
    static WITH_METRICS: LazyLock<String> = LazyLock::new(|| {
        let table =
            serde_json::to_string(&MetricTable).expect("invariant: the table of metrics is plain data");
        PAGE.replacen(METRICS, &METRICS.replace("{}", &quoted(&table)), 1)
    });
    &WITH_METRICS
}

/// Escapes JSON so that it cannot end its script element: `<` occurs only in strings, where it may be escaped.
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
    fn long_data_survives_compression() {
        let json = format!("\"{}</script>\"", "axum ".repeat(10_000));
        let text = packed(&json).expect("packs");
        assert!(!text.contains('<') && text.len() < json.len() / 10);
        let bytes = STANDARD.decode(text).expect("letters");
        let mut read = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut read)
            .expect("unpacks");
        assert_eq!(read, json);
    }

    #[test]
    fn the_page_has_one_slot_and_loads_nothing() {
        assert_eq!(PAGE.matches(SLOT).count(), 1);
        assert!(PAGE.contains("Content-Security-Policy") && PAGE.len() < 1_572_864);
    }
}
