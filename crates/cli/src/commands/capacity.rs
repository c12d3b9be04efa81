//! `prony capacity`: the highest offered load that meets an objective, and the curve that was walked to find it.

use super::load::{
    JobError, LoadArgs, RequestArgs, Shape, aim, carry_out, fleet, is_asked, no_job, warn_of_others,
};
use crate::checkout::LabArgs;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::shares::share;
use crate::shown::{duration, quantile};
use crate::telemetry::{self, Live};
use prony_bench::capacity::{Next, Plan, Point, walk};
use prony_load::{Arrival, Job, Load, Objective, Profile, Rate, Spacing};
use prony_measurement::{Event, Latency, Quantile, ResponseTimes, WarningKind};
use prony_telemetry::Collector;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::mpsc;

/// Find the highest offered load that meets an objective
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the requests go: http://host:port/path, or messages: ws://…
    url: String,
    /// What must hold, as in 'p99<10ms,errors<0.1%', or with --llm 'ttft<500ms,tpot<50ms'
    #[arg(long, value_name = "LIST")]
    objective: Objective,
    /// First rate to try, per second; 1000 unless told, of language models 1
    #[arg(long, value_name = "PER_S", value_parser = above_zero)]
    start: Option<f64>,
    /// Highest rate to try, per second
    #[arg(long, value_name = "PER_S", default_value_t = 1_000_000.0, value_parser = above_zero)]
    limit: f64,
    /// How close to the limit of the service the search goes, as in 2%
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = precision)]
    precision: f64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Send live metrics to a collector of OpenTelemetry (OTLP over HTTP), as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL", hide_short_help = true)]
    otlp: Option<Collector>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    lab: LabArgs,
    #[command(flatten)]
    request: RequestArgs,
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("`{text}` is no rate above 0"))
}

fn precision(text: &str) -> Result<f64, String> {
    let inside = share(text).ok().filter(|share| (0.001..=0.5).contains(share));
    inside.ok_or_else(|| format!("`{text}`: give 0.1% to 50%"))
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.load.rate.is_some()
        || args.load.ramp.is_some()
        || args.load.staircase.is_some()
        || args.load.users.is_some()
        || !args.load.schedule.stages.is_empty()
        || args.load.schedule.requests.is_some()
        || args.load.connections.growth.is_some()
    {
        return Err(bad_input(anyhow::anyhow!(
            "capacity chooses the offered load itself: leave out --rate, --ramp, --staircase, --stages, --users, -n and -c \
             A:B:TIME, and use --start and --limit"
        )));
    }
    let first = job(args, start(args)).map_err(no_job)?;
    let fleet = fleet(&args.lab, &first.target)?;
    if fleet.is_none() {
        warn_of_others();
    }
    let plan = Plan {
        start: start(args),
        limit: args.limit,
        precision: args.precision,
    };
    let under_way = f64::from(args.load.connections.most) * f64::from(args.load.in_flight);
    let (_commands, never) = mpsc::channel();
    let live = Live::to(args.otlp.as_ref())?;
    let mut loads = 0;
    let mut load = |rate: f64| {
        let job = offering(&first, rate, loads);
        loads += 1;
        let labels = telemetry::labels(&job, None);
        let mut on_event = |event: Event| {
            if let Some(live) = &live {
                live.take(&labels, &event);
                live.warning().iter().for_each(|text| eprintln!("{text}"));
            }
        };
        match &fleet {
            None => carry_out(&job, &mut on_event),
            Some(fleet) => Ok(fleet.load(&job, &mut on_event, &never)?),
        }
    };
    let walked = walk(plan, (&args.objective, under_way), &mut load, &mut tell);
    if let Some(live) = &live {
        live.finish();
    }
    let (end, points) = walked?;
    print(&if args.json {
        as_json(args, end, &points)
    } else {
        as_text(args, end, &points)
    })?;
    Ok(if end == Next::None {
        Exit::ObjectiveFailed
    } else {
        Exit::Fine
    })
}

/// Rates of language models are low.
fn start(args: &Args) -> f64 {
    let usual = if args.request.llm.llm { 1.0 } else { 1_000.0 };
    args.start.unwrap_or(usual)
}

/// The same job at another rate, the next after so many loads. A language model hears other prompts each time: it may have kept
/// what it worked out for those before.
fn offering(first: &Job, rate: f64, loads: u64) -> Job {
    let mut job = first.clone();
    if let Load::Open { arrival, .. } = &mut job.load {
        arrival.profile = constant(rate);
    }
    if is_asked(first) {
        job.seed = job.seed.wrapping_add(loads);
    }
    job
}

fn constant(rate: f64) -> Profile {
    Profile::Constant {
        rate: Rate::per_second(rate).expect("invariant: the search stays above 0"),
    }
}

fn job(args: &Args, rate: f64) -> Result<Job, JobError> {
    let spacing = if args.load.poisson {
        Spacing::Poisson
    } else {
        Spacing::Even
    };
    let load = Load::Open {
        arrival: Arrival {
            profile: constant(rate),
            spacing,
        },
        connections: args.load.connections.most,
        in_flight: args.load.in_flight,
        backlog: args.load.backlog,
        members: None,
    };
    let mut job = Shape::new(&args.url, &args.request)?.job(load, &args.load);
    aim(&mut job, Some(&args.objective))?;
    Ok(job)
}

/// The generator's own limit is told apart from the service's.
fn generator_was_limit(point: &Point) -> bool {
    point.recording.generator.saturated
}

fn network_was_limit(point: &Point) -> bool {
    let mut warnings = point.recording.warnings.iter();
    warnings.any(|warning| warning.kind == WarningKind::NetworkBound)
}

fn tell(point: &Point) {
    let verdict = match point.missed.first() {
        None => "met".to_owned(),
        Some(miss) => format!("missed: {miss}"),
    };
    eprintln!("{:>12.1}/s offered  {verdict}", point.rate);
}

/// A rate as people read it: low ones have digits behind the point.
fn shown(rate: f64) -> String {
    let digits = if rate < 10.0 { 2 } else { 0 };
    format!("{rate:.digits$}")
}

/// The end in words.
fn verdict(args: &Args, end: Next, points: &[Point]) -> String {
    let what = if args.request.llm.llm {
        "prompts"
    } else {
        "requests"
    };
    let last_miss = points.iter().rev().find(|point| !point.missed.is_empty());
    let limited = last_miss.filter(|point| generator_was_limit(point));
    let mut text = match end {
        Next::Found(rate) => format!(
            "capacity: {} {what}/s meet the objective, three times",
            shown(rate)
        ),
        Next::Beyond(rate) => {
            let rate = shown(rate);
            format!("capacity: above {rate} {what}/s, the highest rate that was to be tried (--limit)")
        }
        Next::None | Next::Try(_) => {
            let reason = last_miss
                .and_then(|point| point.missed.first())
                .map_or("nothing came back", String::as_str);
            format!(
                "capacity: none, because even at {} {what}/s {reason}",
                shown(last_miss.map_or(start(args), |point| point.rate))
            )
        }
    };
    if limited.is_some() {
        text.push_str(
            "\nthe generator was saturated above it: the service may be able to do more (-t, --cpus)",
        );
    }
    if points.iter().any(network_was_limit) {
        text.push_str("\nthe network was nearly full at some rates: the service may be able to do more over a faster one");
    }
    text
}

fn sorted(points: &[Point]) -> Vec<&Point> {
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|left, right| left.rate.total_cmp(&right.rate));
    sorted
}

fn as_text(args: &Args, end: Next, points: &[Point]) -> String {
    let table = if args.request.llm.llm {
        tokens_table(points)
    } else {
        table(points)
    };
    table + "\n" + &verdict(args, end, points)
}

const fn met(point: &Point) -> &'static str {
    if point.missed.is_empty() { "met" } else { "missed" }
}

/// The curve of a language model.
fn tokens_table(points: &[Point]) -> String {
    let mut text = format!(
        "{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}  objective\n",
        "offered/s", "good/s", "ttft p50", "ttft p99", "tpot p50", "tpot p99", "good"
    );
    for point in sorted(points) {
        let recording = &point.recording;
        let llm = recording.messages.and_then(|messages| messages.llm);
        let time = |times: Option<Latency>, of: fn(&Latency) -> u64| {
            times.map_or_else(|| "-".to_owned(), |times| duration(of(&times)))
        };
        let (ttft, tpot) = (llm.and_then(|llm| llm.ttft_ns), llm.and_then(|llm| llm.tpot_ns));
        let good = llm.and_then(|llm| llm.good);
        let _ = writeln!(
            text,
            "{:>10.2}{:>10.2}{:>10}{:>10}{:>10}{:>10}{:>8}  {}",
            point.rate,
            good.map_or(recording.goodput_per_s, |good| good.per_s),
            time(ttft, |times| times.p50),
            time(ttft, |times| times.p99),
            time(tpot, |times| times.p50),
            time(tpot, |times| times.p99),
            good.map_or_else(|| "-".to_owned(), |good| format!("{:.1} %", good.share() * 100.0)),
            met(point)
        );
    }
    text
}

fn table(points: &[Point]) -> String {
    let mut text = format!(
        "{:>14}{:>14}{:>10}{:>10}{:>10}{:>10}  objective\n",
        "offered/s", "goodput/s", "p50", "p99", "p99.9", "errors"
    );
    for point in sorted(points) {
        let times = point.recording.response_time_ns;
        let time = |of: fn(&ResponseTimes) -> Quantile| {
            times
                .as_ref()
                .map_or_else(|| "-".to_owned(), |times| quantile(of(times)))
        };
        let _ = writeln!(
            text,
            "{:>14.1}{:>14.1}{:>10}{:>10}{:>10}{:>10}  {}",
            point.rate,
            point.recording.goodput_per_s,
            time(|times| times.p50),
            time(|times| times.p99),
            time(|times| times.p99_9),
            point.recording.outcomes.errors(),
            met(point)
        );
    }
    text
}

fn as_json(args: &Args, end: Next, points: &[Point]) -> String {
    let curve: Vec<_> = sorted(points)
        .iter()
        .map(|point| {
            let llm = point.recording.messages.and_then(|messages| messages.llm);
            let mut row = json!({
                "offered_per_s": point.rate,
                "throughput_per_s": point.recording.throughput_per_s,
                "goodput_per_s": point.recording.goodput_per_s,
                "response_time_ns": point.recording.response_time_ns,
                "outcomes": point.recording.outcomes,
                "met": point.missed.is_empty(),
                "missed": point.missed,
                "generator_saturated": generator_was_limit(point),
                "network_bound": network_was_limit(point),
            });
            if let Some(llm) = llm {
                row["llm"] = json!(llm);
            }
            row
        })
        .collect();
    let capacity = match end {
        Next::Found(rate) | Next::Beyond(rate) => Some(rate),
        Next::None | Next::Try(_) => None,
    };
    json!({
        "schema": 1,
        "target": args.url,
        "capacity_per_s": capacity,
        "limit_reached": matches!(end, Next::Beyond(_)),
        "verdict": verdict(args, end, points),
        "curve": curve,
    })
    .to_string()
}
