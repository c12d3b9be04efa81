//! The part of a report's JSON that the page uses.

use super::pairs;
use crate::formats::write;
use crate::model::MetricTable;
use crate::{Report, ReportError};
use prony_records::Warning;
use prony_statistics::{Metric, PairwiseComparison};
use serde::Deserialize as _;
use serde_json::{Map, Number, Value};

/// Fields of an estimate that the page shows; the others are only in the JSON.
const SHOWN: [&str; 4] = ["point", "low", "high", "observed"];
/// Fields that the page does not show, or derives from others.
const LEFT_OUT: [&str; 7] = [
    "histogram",
    "outcomes",
    "response_time_ns_merged",
    "variation",
    "trials_for_precision",
    "classification",
    "error_share",
];
/// Metrics that the page does not show.
const UNSEEN: [Metric; 7] = [
    Metric::ResponseTimeNsP99_99,
    Metric::ServiceTimeNsP50,
    Metric::ServiceTimeNsP99,
    Metric::SequenceTimeNsP50,
    Metric::SequenceTimeNsP99,
    Metric::GeneratorCpuNsPerRequest,
    Metric::WarmUpS,
];
/// A page with more rows has no heat maps, which would be most of its size.
const MOST_WITH_DISTRIBUTIONS: usize = 150;
/// Significant digits of a number in a table. The page rounds it again, to those that other formats show.
const DIGITS: i32 = 8;
/// Significant digits of a number of a single trial.
const DRAWN: i32 = 4;
/// Significant digits of a number of a distribution: its chart shows no more.
const SHAPED: i32 = 3;

/// The part of the report's JSON that the page uses: without whole histograms, with pairs as codes, and with only the
/// digits that a table or a chart needs.
pub fn page_data(report: &Report) -> Result<Value, ReportError> {
    let data = serde_json::to_value(report).map_err(|error| write("HTML", &error))?;
    let pairs = report.groups.iter().map(|group| group.pairs.as_slice());
    Ok(drawn(data, pairs))
}

/// The same for a report that is already JSON, with the pairs of each of its groups.
pub(crate) fn drawn<'a>(mut data: Value, all_pairs: impl Iterator<Item = &'a [PairwiseComparison]>) -> Value {
    data["plan"] = Value::Null;
    data["metrics"] = serde_json::to_value(MetricTable).unwrap_or_default();
    renew_warnings(&mut data);
    let all_rows = data["groups"].as_array().into_iter().flatten();
    let all_rows: usize = all_rows
        .filter_map(|group| group["services"].as_array())
        .map(Vec::len)
        .sum();
    let groups = data["groups"].as_array_mut().into_iter().flatten();
    for (group, of_group) in groups.zip(all_pairs) {
        group["pairs"] = pairs::packed(of_group);
        renew_warnings(group);
        let rows = group["services"].as_array_mut().into_iter().flatten();
        for row in rows {
            renew_warnings(row);
            let Some(row) = row.as_object_mut() else { continue };
            trim(row, all_rows <= MOST_WITH_DISTRIBUTIONS);
        }
    }
    shorten(&mut data);
    data
}

/// Gives the warnings of an older report the current properties of their kinds.
fn renew_warnings(holder: &mut Value) {
    for warning in holder["warnings"].as_array_mut().into_iter().flatten() {
        let known = Warning::deserialize(&*warning).ok();
        if let Some(renewed) = known.and_then(|known| serde_json::to_value(known).ok()) {
            *warning = renewed;
        }
    }
}

fn trim(row: &mut Map<String, Value>, with_distributions: bool) {
    for key in LEFT_OUT {
        row.remove(key);
    }
    // The pairs of other services say the same.
    if row.get("generator_bound") != Some(&Value::Bool(true)) {
        row.remove("tied_with");
    }
    for metric in UNSEEN {
        row.remove(metric.key());
    }
    for metric in Metric::ALL {
        let quantity = row.get_mut(metric.key()).and_then(Value::as_object_mut);
        // Without a bound there are only the numbers of trials.
        if let Some(quantity) = quantity.filter(|quantity| !quantity.contains_key("without_bound")) {
            quantity.retain(|key, _| SHOWN.contains(&key.as_str()));
        }
    }
    let Some(details) = row.get_mut("details").and_then(Value::as_object_mut) else {
        return;
    };
    let series = details.get_mut("series").and_then(Value::as_object_mut);
    if let Some(series) = series.filter(|_| !with_distributions) {
        series.remove("distributions");
    }
    let points = details.get_mut("points").and_then(Value::as_array_mut);
    for point in points.into_iter().flatten().filter_map(Value::as_object_mut) {
        for metric in UNSEEN {
            point.remove(metric.key());
        }
        point.retain(|_, value| !value.is_null());
        for metric in Metric::ALL {
            if let Some(value) = point.get_mut(metric.key()) {
                roughen(value, DRAWN, false);
            }
        }
    }
    for (picture, digits, nines) in [
        ("response_time_curve", SHAPED, true),
        ("response_time_density", SHAPED, false),
        ("series", DRAWN, false),
    ] {
        if let Some(value) = details.get_mut(picture) {
            roughen(value, digits, nines);
        }
    }
}

fn shorten(value: &mut Value) {
    each_number(value, &|number| {
        let long = number.as_f64().filter(|long| number.is_f64() && *long != 0.0)?;
        Some(Value::from(cut_off(long, DIGITS)))
    });
}

/// Rounds further. With `nines`, a value below 1 keeps its digits: 0.9999 is not 0.99995.
fn roughen(value: &mut Value, digits: i32, nines: bool) {
    each_number(value, &|number| {
        if let Some(whole) = number.as_u64() {
            return Some(Value::from(rounded(whole as f64, digits) as u64));
        }
        let long = number.as_f64().filter(|long| !nines || long.abs() >= 1.0)?;
        Some(Value::from(rounded(long, digits)))
    });
}

fn each_number(value: &mut Value, changed: &impl Fn(&Number) -> Option<Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_number(item, changed)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| each_number(member, changed)),
        Value::Number(number) => {
            if let Some(new) = changed(number) {
                *value = new;
            }
        }
        _ => {}
    }
}

/// Rounds to this number of significant digits.
fn rounded(value: f64, digits: i32) -> f64 {
    at_digits(value, digits, f64::round)
}

/// Cuts a number off so that rounding it to fewer digits has the result of rounding it once: the last digit is 0 or 5 only if it is exact.
fn cut_off(value: f64, digits: i32) -> f64 {
    at_digits(value, digits, |scaled| {
        let (whole, near) = (scaled.trunc(), scaled.round());
        // The scale itself adds an error in the last bit.
        if (scaled - near).abs() < 1e-6 {
            near
        } else if whole % 5.0 == 0.0 {
            whole + scaled.signum()
        } else {
            whole
        }
    })
}

/// Changes a number that is scaled so that its last significant digit is before the decimal point.
fn at_digits(value: f64, digits: i32, change: impl Fn(f64) -> f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let places = digits - 1 - value.abs().log10().floor() as i32;
    let scale = 10f64.powi(places.abs().min(300));
    if places < 0 {
        change(value / scale) * scale
    } else {
        change(value * scale) / scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::digits;

    #[test]
    fn numbers_keep_eight_digits() {
        let mut value = serde_json::json!([72_125.434_612, 0.001_234_567_891, 0.0, 7, -1.5, 1.000_000_01]);
        shorten(&mut value);
        assert_eq!(
            value,
            serde_json::json!([72_125.434, 0.001_234_567_8, 0.0, 7, -1.5, 1.000_000_1])
        );
    }

    /// 70,593.454 was rounded to 70,593.5 and then to 70,594, while other formats showed 70,593.
    #[test]
    fn the_page_rounds_as_other_formats_do() {
        for value in [
            70_593.454,
            70_593.499_96,
            70_593.500_01,
            40_926.48,
            1_234_567.849,
            999.499_99,
            0.099_949_999,
        ] {
            let sent = cut_off(value, DIGITS);
            assert_eq!(digits(sent), digits(value), "{value} as {sent}");
        }
    }

    #[test]
    fn pictures_have_shorter_numbers_but_all_nines() {
        let mut value = serde_json::json!([[0.999_901, 72_125_434], [0.5, 12], [-3.25, 61_234.567]]);
        roughen(&mut value, DRAWN, true);
        assert_eq!(
            value,
            serde_json::json!([[0.999_901, 72_130_000], [0.5, 12], [-3.25, 61_230.0]])
        );
        roughen(&mut value, DRAWN, false);
        assert_eq!(value[0][0], 0.9999);
    }
}
