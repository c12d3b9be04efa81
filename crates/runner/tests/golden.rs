//! Records of whole runs on a made-up host and generator, compared with those that are kept in `golden/`: what a design does,
//! in which order, and all that it writes down.
//!
//! `UPDATE_GOLDEN=1 cargo test -p prony-runner golden` writes them anew; a difference is then judged in review.

use crate::common::{TestJournal, Testbed};
use crate::fakes::{FakeGenerator, begin, intervals, process, recording, run, served};
use prony_config::{Design, Entry, GroupPlan, Starts, WarmUpChoice};
use prony_host::{FakeHost, HostError, Placement};
use prony_load::{Job, Load, WarmUp};
use prony_records::{Command, CompactHistogram, Event, Outcomes, Phase, TrialRecord, WarningKind};
use prony_runner::generators::{Generator, GeneratorMessage as Said, GeneratorUsage, RunningLoad};
use prony_runner::{NoiseLimits, Progress};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is different each time, as the clock, or is declared elsewhere, as the sentence of a kind of warning.
const VARIES: &[&str] = &[
    "started_at",
    "took_s",
    "took_ms",
    "warm_up_s",
    "listening_ms",
    "first_valid_ms",
    "warm_up_cpu_ns",
    "sentence",
];

fn masked(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if VARIES.contains(&name.as_str()) && !member.is_null() {
                    *member = json!("varies");
                } else {
                    masked(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(masked),
        _ => {}
    }
}

/// What happened, in words without numbers of the clock.
fn story(progress: &Progress) -> Option<String> {
    Some(match progress {
        Progress::Begins {
            number,
            of,
            service,
            workload,
            ..
        } => format!("begins {number}/{of} {service} {workload}"),
        Progress::Phase(phase) => format!("phase {phase:?}"),
        Progress::Checked(check) => format!("checked {} {}", check.service, check.passed),
        Progress::Ended(record) => format!("ended {} {}", record.number, record.result.is_ok()),
        Progress::Repeats { reason } => format!("repeats: {reason}"),
        Progress::Round { round } => format!("round {round}"),
        Progress::Cycle { number, of } => format!("cycle {number}/{of}"),
        Progress::Turn { number } => format!("turn {number}"),
        _ => return None,
    })
}

fn is_golden(name: &str, heard: &TestJournal) {
    let mut found = json!({
        "records": heard.records,
        "story": heard.progress.iter().filter_map(story).collect::<Vec<String>>(),
    });
    masked(&mut found);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
    let text = serde_json::to_string_pretty(&found).expect("plain data") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("written");
        return;
    }
    let kept = std::fs::read_to_string(&path).expect("kept");
    let (kept, found): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), text.lines().collect());
    let at = kept.iter().zip(&found).position(|(one, other)| one != other);
    let at = at.unwrap_or(kept.len().min(found.len()));
    let around =
        |lines: &[&str]| lines[at.saturating_sub(6).min(lines.len())..(at + 6).min(lines.len())].join("\n");
    assert!(
        kept == found,
        "{name}, line {}:\n{}\n--- now:\n{}",
        at + 1,
        around(&kept),
        around(&found)
    );
}

/// A host of four cores whose processes are all alike.
fn host() -> FakeHost {
    let host = FakeHost::new(4, served());
    host.set(process());
    host
}

/// Two services under these numbers of connections.
fn testbed(rounds: u32, loads: &[u32]) -> Testbed {
    let mut testbed = Testbed::new(&["ok", "late 1"]);
    let plan = &mut testbed.plan;
    plan.rounds = rounds;
    let (group, entries): (GroupPlan, Vec<Entry>) = (plan.groups[0].clone(), plan.entries.clone());
    plan.groups = loads
        .iter()
        .map(|&connections| GroupPlan {
            load: Load::closed(connections, 1),
            ..group.clone()
        })
        .collect();
    plan.entries = (0..loads.len())
        .flat_map(|group| entries.iter().cloned().map(move |entry| Entry { group, ..entry }))
        .collect();
    testbed
}

#[test]
fn a_sequence() {
    let heard = run(&testbed(2, &[1, 2]), &host(), &FakeGenerator::new(vec![1_000; 3]));
    is_golden("sequence", &heard);
}

#[test]
fn a_sequence_of_steady_services() {
    let mut testbed = testbed(1, &[1]);
    testbed.plan.groups[0].warm_up = WarmUpChoice::Steady {
        least_ns: 1_000_000_000,
        most_ns: 4_000_000_000,
    };
    let heard = run(&testbed, &host(), &FakeGenerator::new(vec![1_000; 40]));
    is_golden("steady", &heard);
}

#[test]
fn a_sequence_in_which_the_generator_dies_and_others_disturb() {
    let mut testbed = testbed(2, &[1]);
    testbed.plan.groups[0].warm_up = WarmUpChoice::Steady {
        least_ns: 1_000_000_000,
        most_ns: 4_000_000_000,
    };
    testbed.options.noise = Some(NoiseLimits {
        others: 0.02,
        steal: 0.01,
    });
    let mut generator = FakeGenerator::new(vec![1_000; 40]);
    generator.dies = Arc::new(Mutex::new(4));
    let heard = run(&testbed, &host(), &generator);
    assert!(
        heard
            .records
            .iter()
            .any(|record| has(record, WarningKind::Repeated))
    );
    is_golden("disturbed", &heard);
}

fn has(record: &TrialRecord, kind: WarningKind) -> bool {
    let warnings = record
        .result
        .as_ref()
        .map(|measured| measured.warnings.as_slice());
    warnings.is_ok_and(|warnings| warnings.iter().any(|warning| warning.kind == kind))
}

#[test]
fn shared_starts() {
    let mut testbed = testbed(2, &[1, 2, 3]);
    testbed.plan.starts = Starts::Shared;
    let heard = run(&testbed, &host(), &PacedGenerator);
    is_golden("shared_starts", &heard);
}

/// A generator that waits for commands, like a real one.
struct PacedGenerator;

struct PacedLoad {
    sender: Sender<Event>,
    events: Receiver<Event>,
    ends: bool,
}

impl PacedLoad {
    fn say(&self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.sender.send(event).expect("its own end is open");
        }
    }

    fn rest() -> Vec<Event> {
        let outcomes = Outcomes {
            valid: 2_000,
            ..Outcomes::default()
        };
        vec![
            begin(Phase::Drain),
            Event::Recording {
                recording: Box::new(recording(outcomes, intervals(&[1_000; 2]))),
            },
        ]
    }
}

impl Generator for PacedGenerator {
    fn begin(&self, job: &Job, _: &Placement, _: &Path) -> Result<Box<dyn RunningLoad>, HostError> {
        let (sender, events) = channel();
        let ends = matches!(job.phases.warm_up, WarmUp::FixedNs(_));
        let load = PacedLoad { sender, events, ends };
        load.say([begin(Phase::WarmUp)]);
        load.say(
            intervals(&[1_000; 3])
                .into_iter()
                .map(|interval| Event::Interval {
                    phase: Phase::WarmUp,
                    interval,
                    times: CompactHistogram::default(),
                    failures: Box::default(),
                }),
        );
        if ends {
            load.say([begin(Phase::Measurement)]);
            load.say(PacedLoad::rest());
        }
        Ok(Box::new(load))
    }
}

impl RunningLoad for PacedLoad {
    fn next(&mut self, within: Duration) -> Said {
        self.events
            .recv_timeout(within)
            .map_or(Said::Nothing, Said::Event)
    }

    fn tell(&mut self, command: Command) {
        match command {
            Command::Measure => self.say([begin(Phase::Measurement)]),
            _ if !self.ends => self.say(Self::rest()),
            _ => {}
        }
    }

    fn begin_window(&mut self) {}

    fn end_window(&mut self) -> Option<GeneratorUsage> {
        None
    }
}

#[test]
fn interleaved() {
    let mut testbed = testbed(2, &[1, 2]);
    testbed.plan.design = Design::Interleaved {
        window_ns: 100_000_000,
        cycles: 3,
    };
    testbed
        .plan
        .groups
        .iter_mut()
        .for_each(|group| group.warm_up = WarmUpChoice::FixedNs(100_000_000));
    let heard = run(&testbed, &host(), &PacedGenerator);
    is_golden("interleaved", &heard);
}
