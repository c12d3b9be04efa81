//! The name, the unit and the relevant warnings of each metric, for readers of the JSON.

use prony_statistics::Metric;
use serde::{Serialize, Serializer};
use serde_json::json;

/// A table of all metrics. Its content depends only on the version of prony.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MetricTable;

impl Serialize for MetricTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Metric::ALL.iter().map(|metric| {
            let row = json!({
                "title": metric.title(),
                "unit": metric.unit(),
                "better": metric.better(),
                "figures": metric.figures(),
            });
            (metric.key(), row)
        }))
    }
}
