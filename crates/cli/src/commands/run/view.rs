//! The live view of a run, on standard error: progress bars on a terminal, else one line per trial.

use crate::output::line_of_bar;
use crate::reporting;
use crate::text::{duration, plural, quantile, sparkline};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use prony_config::{Entry, Plan};
use prony_records::{Fault, Interval, Phase, TrialRecord, count};
use prony_report::{TerminalStyle, describe_load, standings};
use prony_runner::{BuildResults, Progress, SessionObserver};
use prony_statistics::{Options, summarise};
use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::time::Duration;

/// Intervals in a sparkline.
const SPARKS: usize = 20;
/// Maximum number of services in the ranking so far.
const STANDING: usize = 12;
/// Lines of a terminal that are reserved for the rest of the view and for some earlier output.
const OTHER_LINES: usize = 10;

pub(super) struct View {
    bars: MultiProgress,
    /// Progress of the run; `None` before the first trial.
    whole: Option<ProgressBar>,
    /// The current activity.
    now: ProgressBar,
    current: String,
    position: String,
    /// Whether the lines must name the workload.
    names_workload: bool,
    /// Workloads with several loads, whose lines must name the load.
    several: BTreeSet<String>,
    /// Width of the names of services in lines of trials.
    widest: usize,
    /// Number of rounds.
    rounds: u32,
    /// Length of the measurement of each trial of the plan, s.
    durations: Vec<f64>,
    /// That of the current trial.
    duration_s: f64,
    /// The names of the entries of the plan.
    entries: Vec<String>,
    recent: Vec<f64>,
    /// 99th percentiles of the same intervals; 0 if there was no reply.
    recent_p99: Vec<f64>,
    /// The ranking so far, below the bars; `None` without a terminal.
    standings: Option<LiveRanking>,
    table: Option<ProgressBar>,
}

impl View {
    /// Uses plain lines instead of bars if standard error is not a terminal.
    pub(super) fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bars = MultiProgress::with_draw_target(target);
        // A line that wraps could not be overwritten.
        let style =
            ProgressStyle::with_template("{spinner} {wide_msg}").expect("invariant: a valid template");
        Self {
            now: bars.add(ProgressBar::new_spinner().with_style(style)),
            whole: None,
            bars,
            current: String::new(),
            position: String::new(),
            names_workload: false,
            several: BTreeSet::new(),
            widest: 0,
            rounds: 0,
            durations: Vec::new(),
            duration_s: 0.0,
            entries: Vec::new(),
            recent: Vec::with_capacity(SPARKS),
            recent_p99: Vec::with_capacity(SPARKS),
            standings: None,
            table: None,
        }
    }

    /// Prints a permanent line.
    fn line(&self, text: &str) {
        if self.bars.is_hidden() {
            eprintln!("{text}");
        } else {
            // A lost terminal is no reason to stop measuring.
            let _ = self.bars.println(line_of_bar(text));
        }
    }

    /// Prints the plan, before the run starts.
    pub(super) fn announce(&mut self, plan: &Plan, resumed: Option<&str>) {
        self.standings = (!self.bars.is_hidden()).then(|| LiveRanking::of(plan));
        let workloads = || plan.groups.iter().map(|group| &group.workload);
        let loads = |wanted: &String| workloads().filter(|workload| *workload == wanted).count();
        self.several = workloads()
            .filter(|workload| loads(workload) > 1)
            .cloned()
            .collect();
        let first = workloads().next();
        self.names_workload = workloads().any(|workload| Some(workload) != first);
        let line = |entry: &Entry| {
            let group = plan.group_of(entry);
            let load = if self.several.contains(&group.workload) {
                format!(", {}", describe_load(&group.load_record(), false))
            } else {
                String::new()
            };
            format!("{}/{} {}{load}", entry.service, entry.variant, group.workload)
        };
        self.entries = plan.entries.iter().map(line).collect();
        let names = plan
            .entries
            .iter()
            .map(|entry| entry.service.len() + 1 + entry.variant.len());
        self.widest = names.max().unwrap_or(0);
        self.rounds = plan.rounds;
        let length = |entry: usize| plan.group_of(&plan.entries[entry]).duration_ns as f64 / 1e9;
        self.durations = plan.trials().map(|planned| length(planned.entry)).collect();
        let profile = plan
            .profile
            .as_ref()
            .map(|profile| format!(" ({profile})"))
            .unwrap_or_default();
        let rows = plan.entries.len();
        let services: BTreeSet<&str> = plan.entries.iter().map(|entry| entry.service.as_str()).collect();
        let what = match rows {
            1 => "service",
            _ if services.len() == rows => "services",
            _ => "rows",
        };
        self.line(&format!(
            "{}{profile}: {rows} {what} × {} rounds = {} trials, about {}, seed {}",
            plan.title,
            plan.rounds,
            plan.len(),
            minutes(plan.expected()),
            plan.seed
        ));
        if let Some(run) = resumed {
            self.line(&format!("continuing {run}"));
        }
    }

    fn leaves_out(&self, round: u32, entries: &[usize]) {
        let from = round + 1;
        if entries.is_empty() {
            return self.line(&format!("round {from}: all services take part again"));
        }
        let names = entries.iter().filter_map(|&entry| self.entries.get(entry));
        let names: Vec<&str> = names.map(String::as_str).collect();
        self.line(&format!(
            "round {from}: continues without the services that are settled: {}",
            names.join(", ")
        ));
    }

    fn whole(&mut self, number: u32, of: u32, round: u32, remaining: Duration) {
        let whole = self.whole.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{prefix}  {bar:18}  {pos}/{len}  {msg}")
                .expect("invariant: a valid template")
                .progress_chars("██░");
            self.bars
                .insert_after(&self.now, ProgressBar::new(u64::from(of)).with_style(style))
        });
        whole.set_position(u64::from(number.saturating_sub(1)));
        whole.set_prefix(format!("round {} of {}", round + 1, self.rounds));
        whole.set_message(format!("{} left", about(remaining)));
    }

    fn interval(&mut self, phase: Phase, interval: &Interval) {
        let (rate, p99) = (interval.throughput_per_s(), interval.response_time_ns_p99);
        if self.recent.len() == SPARKS {
            self.recent.remove(0);
            self.recent_p99.remove(0);
        }
        self.recent.push(rate);
        self.recent_p99.push(p99.map_or(0.0, |ns| ns as f64));
        let at = interval.start_s + interval.length_s;
        let name = match phase {
            Phase::WarmUp => format!("warm-up {at:.0} s"),
            Phase::Measurement => format!("load {at:.0}/{:.0} s", self.duration_s.max(at)),
            Phase::Drain => "last replies".to_owned(),
        };
        let p99 = p99.map_or_else(|| "-".to_owned(), duration);
        let errors = if interval.errors > 0 {
            format!("  {}", plural(interval.errors, "error"))
        } else {
            String::new()
        };
        self.now.set_message(format!(
            "{}: {name}  {} {}/s  p99 {} {p99}{errors}",
            self.current,
            sparkline(&self.recent),
            thousands(rate),
            sparkline(&self.recent_p99)
        ));
    }

    fn show_ended_trial(&mut self, record: &TrialRecord) {
        if let Some(whole) = &self.whole {
            whole.inc(1);
        }
        let text = match &record.result {
            Ok(measurement) if !measurement.has_load() => {
                let first = measurement.start_up.first_valid_ms;
                first.map_or_else(
                    || "no valid reply".to_owned(),
                    |ms| format!("first reply after {}", duration((ms * 1e6) as u64)),
                )
            }
            Ok(measurement) => {
                let recording = &measurement.recording;
                let p99 = recording
                    .response_time_ns
                    .map_or_else(|| "-".to_owned(), |times| quantile(times.p99));
                let errors = recording.outcomes.errors();
                let errors = if errors > 0 {
                    format!("   {}", plural(errors, "error"))
                } else {
                    String::new()
                };
                let rate = thousands(recording.throughput_per_s);
                format!("{rate:>9}/s   p99 {p99}{errors}")
            }
            Err(excluded) => match excluded.fault {
                Fault::Service => format!("excluded: {}", excluded.reason),
                Fault::Infrastructure => format!("infrastructure failure: {}", excluded.reason),
            },
        };
        let load = if self.several.contains(&record.workload) {
            let measured = record.result.as_ref();
            let sequences = measured.is_ok_and(|measured| measured.recording.sequences_per_s.is_some());
            format!(", {}", describe_load(&record.load, sequences))
        } else {
            String::new()
        };
        let workload = if self.names_workload {
            format!("  {}", record.workload)
        } else {
            String::new()
        };
        let service = record.service.to_string();
        self.line(&format!(
            "{} {service:<width$}{workload}{load}  {text}",
            self.position,
            width = self.widest
        ));
        self.stored_trials(std::slice::from_ref(record));
    }
}

impl SessionObserver for View {
    fn message(&self, text: &str) {
        self.line(&format!("prony: {text}"));
    }

    fn build_progress(&self, progress: &Progress) {
        match progress {
            Progress::Building(service) => self.now.set_message(format!("building {service}")),
            Progress::Seeds(contract) => {
                self.now.set_message(format!("creating the data of {contract}"));
            }
            Progress::Built {
                service,
                cached: false,
                took,
            } => {
                self.line(&format!("built {service} in {:.0} s", took.as_secs_f64()));
            }
            Progress::NotBuilt { service, reason } => self.line(&format!("not built: {service}: {reason}")),
            other => {
                if let Some(text) = other.waits() {
                    self.line(&text);
                }
            }
        }
        self.now.tick();
    }

    fn builds_done(&self, built: &BuildResults) {
        let good = built.values().filter(|result| result.is_ok()).count();
        self.line(&format!("{good} of {} builds are ready", built.len()));
    }

    fn stored_trials(&mut self, trials: &[TrialRecord]) {
        let Some(standings) = &mut self.standings else {
            return;
        };
        standings.add(trials);
        let look = reporting::look_of_errors();
        let height = terminal_size::terminal_size_of(std::io::stderr()).map_or(24, |(_, height)| height.0);
        let most = usize::from(height).saturating_sub(OTHER_LINES).clamp(1, STANDING);
        let Some(lines) = standings.lines(look, most) else {
            return;
        };
        let table = self.table.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{msg}").expect("invariant: a valid template");
            self.bars.add(ProgressBar::new_spinner().with_style(style))
        });
        table.set_message(line_of_bar(&lines.join("\n")));
        table.tick();
    }

    fn progress(&mut self, progress: &Progress) {
        match progress {
            Progress::Begins {
                number,
                of,
                round,
                service,
                workload,
                remaining,
            } => {
                self.current = line_of_bar(&if self.names_workload {
                    format!("{service} {workload}")
                } else {
                    service.to_string()
                });
                let length = self.durations.get(number.saturating_sub(1) as usize);
                self.duration_s = length.copied().unwrap_or(0.0);
                let width = of.to_string().len();
                self.position = format!("[{number:>width$}/{of}]");
                self.recent.clear();
                self.recent_p99.clear();
                self.whole(*number, *of, *round, *remaining);
                self.now.set_message(format!("{}: starting", self.current));
                self.now.enable_steady_tick(Duration::from_millis(200));
            }
            Progress::Cycle { number, of } => {
                self.current = format!("interleaved, cycle {number} of {of}");
                self.now.set_message(line_of_bar(&self.current));
            }
            Progress::Interval { phase, interval, .. } => self.interval(*phase, interval),
            Progress::Ended(record) => self.show_ended_trial(record),
            Progress::Repeats { reason } => self.line(&format!("         repeated: {reason}")),
            Progress::LeavesOut { round, entries } => self.leaves_out(*round, entries),
            Progress::Warning(warning) => self.line(&format!("warning: {}", warning.whole())),
            _ => {}
        }
    }

    fn trials_done(&mut self) {
        self.now.finish_and_clear();
        if let Some(table) = self.table.take() {
            table.finish_and_clear();
        }
        if let Some(whole) = self.whole.take() {
            whole.finish_and_clear();
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.trials_done();
    }
}

/// A time in words: `4 min 30 s`.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let parts: Vec<String> = [(hours, "h"), (minutes, "min"), (seconds, "s")]
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number} {unit}"))
        .collect();
    if parts.is_empty() {
        "0 s".to_owned()
    } else {
        parts.join(" ")
    }
}

/// The same of a time that is only known roughly: without seconds from two minutes on.
fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    let whole = if seconds >= 120 {
        seconds.div_ceil(60) * 60
    } else {
        seconds
    };
    minutes(Duration::from_secs(whole))
}

/// A rate without decimals, with thousands separators.
fn thousands(value: f64) -> String {
    count(value.round_ties_even() as u64)
}

/// The trials from which a ranking is computed.
pub(super) struct LiveRanking {
    options: Options,
    trials: Vec<TrialRecord>,
}

impl LiveRanking {
    /// For a plan of which no trial has ended yet.
    pub(super) fn of(plan: &Plan) -> Self {
        let usual = Options::default();
        Self {
            options: Options {
                confidence: plan.confidence,
                tie_band: plan.tie.unwrap_or(usual.tie_band),
                ..usual
            },
            trials: Vec::new(),
        }
    }

    /// Adds trials that ended.
    pub(super) fn add(&mut self, trials: &[TrialRecord]) {
        self.trials.extend_from_slice(trials);
    }

    /// The ranking of the group of the last trial, with the first `most` services; `None` if the group has no results yet.
    pub(super) fn lines(&self, look: TerminalStyle, most: usize) -> Option<Vec<String>> {
        let last = self.trials.last()?;
        let same = |trial: &&TrialRecord| {
            trial.contract == last.contract && trial.workload == last.workload && trial.load == last.load
        };
        let trials: Vec<TrialRecord> = self.trials.iter().filter(same).cloned().collect();
        // The report explains results that cannot be summarised; the live view leaves them out.
        let summary = summarise(&trials, &self.options).ok()?;
        Some(standings(summary.groups.first()?, look, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_words() {
        let shown = |seconds: u64| minutes(Duration::from_secs(seconds));
        assert_eq!(
            [0, 30, 60, 270, 3_900].map(shown),
            ["0 s", "30 s", "1 min", "4 min 30 s", "1 h 5 min"]
        );
        assert_eq!(about(Duration::from_secs(95)), "1 min 35 s");
        assert_eq!(about(Duration::from_secs(150)), "3 min");
    }
}
