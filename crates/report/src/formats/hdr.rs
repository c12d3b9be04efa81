//! The formats of `HdrHistogram`: a table of percentiles (`.hgrm`) and a log of distributions over time (`.hlog`). Its plotters and
//! libraries read them. Both have the response times of valid replies, in ms.

use super::one_line;
use crate::{Report, ReportError};
use prony_records::{Histogram, TrialRecord, that_count};
use std::time::SystemTime;

/// Percentiles per halving of the distance to 100 %, as in `HdrHistogram`.
const TICKS: u32 = 5;
const NS_PER_MS: f64 = 1e6;

/// The distribution of each service in each group: a name for its file, and its percentiles.
pub fn percentile_tables(report: &Report) -> Result<Vec<(String, String)>, ReportError> {
    let mut tables = Vec::new();
    for (number, group) in (1..).zip(&report.groups) {
        for row in &group.services {
            let Some(encoded) = row.summary.histogram.as_deref() else {
                continue;
            };
            let service = row.summary.id.to_string();
            let histogram = Histogram::decode(encoded).map_err(|source| ReportError::Histogram {
                service: service.clone(),
                source,
            })?;
            let prefix = if report.groups.len() > 1 {
                format!("{number}-")
            } else {
                String::new()
            };
            tables.push((
                format!("{prefix}{}", service.replace('/', "-")),
                table(&histogram),
            ));
        }
    }
    Ok(tables)
}

fn table(histogram: &Histogram) -> String {
    let mut out = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let buckets: Vec<(u64, u64)> = histogram.buckets().collect();
    let total = histogram.len();
    let (mut at, mut below) = (0, 0);
    let mut share = 0.0_f64;
    loop {
        let wanted = ((share * total as f64 - 1e-9).ceil() as u64).max(1);
        while at < buckets.len() && below < wanted {
            below += buckets[at].1;
            at += 1;
        }
        // The last bucket is the line of 100 %.
        if at == buckets.len() {
            break;
        }
        let value = buckets[at - 1].0 as f64 / NS_PER_MS;
        out += &format!(
            "{value:>12.6} {share:>14.12} {below:>10} {:>14.2}\n",
            1.0 / (1.0 - share)
        );
        let halvings = (1.0 / (1.0 - share)).log2().floor() as i32 + 1;
        share += 1.0 / (f64::from(TICKS) * 2f64.powi(halvings));
    }
    let max = buckets.last().map_or(0, |bucket| bucket.0) as f64 / NS_PER_MS;
    out += &format!("{max:>12.6} {:>14.12} {total:>10}\n", 1.0);
    let mean = histogram.mean().unwrap_or_default();
    let variance: f64 = buckets
        .iter()
        .map(|&(ns, count)| (ns as f64 - mean).powi(2) * count as f64)
        .sum::<f64>()
        / (total.max(1) as f64);
    let (mean, deviation) = (mean / NS_PER_MS, variance.sqrt() / NS_PER_MS);
    out += &format!("#[Mean    = {mean:>12.6}, StdDeviation   = {deviation:>12.6}]\n");
    out + &format!("#[Max     = {max:>12.6}, Total count    = {total:>12}]\n")
}

/// One line for each trial with a measurement, in order of time. Its tag is the service, after the number of its group if there are
/// several; comments name the groups.
pub fn interval_log(trials: &[TrialRecord]) -> Result<String, ReportError> {
    let mut counted = that_count(trials);
    counted.retain(|trial| trial.result.is_ok());
    let mut groups: Vec<String> = Vec::new();
    for trial in &counted {
        let group = group_of(trial);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    counted.sort_by(|left, right| left.started_at.cmp(&right.started_at));
    let start = counted.first().map_or(0.0, |trial| seconds(&trial.started_at));
    let mut out = format!(
        "#[Histogram log format version 1.3]\n#[StartTime: {start:.3} (seconds since epoch)]\n#[BaseTime: {start:.3} (seconds since epoch)]\n"
    );
    for (number, group) in (1..).zip(&groups) {
        out += &format!("#[Group {number}: {}]\n", one_line(group));
    }
    out += "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
    for trial in counted {
        let number = groups.iter().position(|group| *group == group_of(trial));
        let group = number
            .filter(|_| groups.len() > 1)
            .map(|at| format!("{}:", at + 1));
        out += &line(trial, &group.unwrap_or_default(), start)?;
    }
    Ok(out)
}

fn line(trial: &TrialRecord, group: &str, start: f64) -> Result<String, ReportError> {
    let Ok(measured) = &trial.result else {
        return Ok(String::new());
    };
    let recording = &measured.recording;
    let service = trial.service.to_string();
    let histogram = Histogram::decode(&recording.histogram).map_err(|source| ReportError::Histogram {
        service: service.clone(),
        source,
    })?;
    let max = histogram.quantile(1.0).unwrap_or_default() as f64 / NS_PER_MS;
    Ok(format!(
        "Tag={},{:.3},{:.3},{max:.6},{}\n",
        format!("{group}{service}").replace([',', ' ', '\n', '\r', '\t', '"'], "_"),
        seconds(&trial.started_at) - start,
        recording.duration_s,
        recording.histogram.trim()
    ))
}

fn group_of(trial: &TrialRecord) -> String {
    format!("{}, {}, {}", trial.contract, trial.workload, trial.load)
}

fn seconds(time: &str) -> f64 {
    humantime::parse_rfc3339_weak(time)
        .ok()
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
        .map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each line of a table is true of the distribution, and the last one has all of it.
        #[test]
        fn a_table_says_what_the_distribution_says(times in prop::collection::vec(1u64..5_000_000_000, 1..300)) {
            let mut histogram = Histogram::new();
            for &ns in &times {
                histogram.record(ns);
            }
            let text = table(&histogram);
            let lines: Vec<Vec<f64>> = text
                .lines()
                .skip(2)
                .filter(|line| !line.starts_with('#'))
                .map(|line| line.split_whitespace().map(|cell| cell.parse().expect("a number")).collect())
                .collect();
            for line in &lines {
                let below = times.iter().filter(|&&ns| ns as f64 / NS_PER_MS <= line[0] * 1.001).count();
                prop_assert!(line[2] >= line[1] * times.len() as f64 - 1e-6 && below as f64 >= line[2], "{line:?} {below}");
            }
            prop_assert!(lines.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] < pair[1][1]));
            prop_assert_eq!(lines.last().map(|line| (line[1], line[2])), Some((1.0, times.len() as f64)));
        }
    }
}
