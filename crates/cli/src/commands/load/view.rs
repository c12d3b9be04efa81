//! What is shown on a terminal while a load runs: one line, written again each interval.

use super::duration;
use prony_load::{Job, WarmUp};
use prony_measurement::{Event, Interval, Phase};
use std::io::{IsTerminal as _, Write as _};

/// Intervals in the sparkline.
const WIDTH: usize = 30;

/// The view. Where standard error is no terminal it shows nothing.
pub(super) struct View {
    shown: bool,
    colour: bool,
    total_s: f64,
    recent: Vec<f64>,
    errors: u64,
    written: bool,
}

impl View {
    pub(super) fn new(job: &Job) -> Self {
        let shown = std::io::stderr().is_terminal();
        let warm_up = match job.phases.warm_up {
            WarmUp::FixedNs(ns) => ns,
            WarmUp::UntilTold { limit_ns } => limit_ns,
        };
        Self {
            shown,
            colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            total_s: (warm_up + job.phases.measurement_ns) as f64 / 1e9,
            recent: Vec::with_capacity(WIDTH),
            errors: 0,
            written: false,
        }
    }

    pub(super) fn show(&mut self, event: &Event) {
        if !self.shown {
            return;
        }
        match event {
            Event::Interval { phase, interval } => self.interval(*phase, interval),
            Event::Phase {
                phase: Phase::Measurement,
                ..
            } => self.errors = 0,
            _ => {}
        }
    }

    fn interval(&mut self, phase: Phase, interval: &Interval) {
        let rate = interval.completed as f64 / interval.length_s.max(1e-9);
        if self.recent.len() == WIDTH {
            self.recent.remove(0);
        }
        self.recent.push(rate);
        self.errors += interval.errors;
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), duration);
        let name = match phase {
            Phase::WarmUp => "warm-up",
            Phase::Measurement | Phase::Drain => "measuring",
        };
        let errors = if self.errors > 0 && self.colour {
            format!("\x1b[31m{} errors\x1b[0m", self.errors)
        } else {
            format!("{} errors", self.errors)
        };
        let line = format!(
            "{name} {:.0}/{:.0} s  {rate:.0}/s  p50 {}  p99 {}  {errors}  {}",
            interval.start_s + interval.length_s,
            self.total_s,
            time(interval.response_time_ns_p50),
            time(interval.response_time_ns_p99),
            sparkline(&self.recent),
        );
        // A terminal that is gone is no reason to stop measuring.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        self.written = true;
    }

    /// Clears the line.
    pub(super) fn finish(&mut self) {
        if std::mem::take(&mut self.written) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// The values as bars of eight heights, from 0 to the largest.
fn sparkline(values: &[f64]) -> String {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let bars: Vec<char> = "▁▂▃▄▅▆▇█".chars().collect();
    let bar = |value: &f64| {
        let height = if largest > 0.0 { value / largest * 7.0 } else { 0.0 };
        bars[(height.round() as usize).min(7)]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_rise_with_their_values() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0]), "▁▅█");
        assert_eq!(sparkline(&[0.0]), "▁");
    }
}
